"""A sample in error raises what torch raises, from the next() of its batch.

The next batch comes, and every later one has torch's bits: what the lost batch drew ahead is taken back.
"""

from __future__ import annotations

import re
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import photos
import pytest
import torch
import torchvision.transforms as T
import twins
from photos import Make, tail
from PIL import Image, ImageFile
from torch.utils import data
from torchvision.datasets import ImageFolder
from twins import Program, check, generator, loader_of

import goloader

WORKERS = pytest.mark.parametrize("num_workers", [0, 1, 2])

GOOD = photos.plain(24)
# The order of the dataset: classes a, b, c have the files 0, 3, 6, ...; 1, 4, ...; 2, 5, ...
SMALL = photos.save(photos.picture(10, 12, 1), "JPEG")


def cut(name: str) -> bytes:
    return GOOD[name][: len(GOOD[name]) * 9 // 10]


# Each is at position 3 of the first batch of 8, or behind.
DAMAGES: dict[str, dict[str, bytes]] = {
    "cut short": {"009.jpg": cut("009.jpg")},
    "cut in its header": {"009.jpg": GOOD["009.jpg"][:100]},
    "empty": {"009.jpg": b""},
    "text": {"009.jpg": b"not an image at all"},
    "zeros": {"009.jpg": bytes(3000)},
    "PNG cut short": {"009.jpg": photos.native()["29.png"][:700]},
    "webp cut short": {"009.jpg": photos.foreign()["05.webp"][:500]},
    "two cut": {"009.jpg": cut("009.jpg"), "015.jpg": cut("015.jpg")},
    "two empty": {"009.jpg": b"", "015.jpg": b""},
    "cut, then empty": {"009.jpg": cut("009.jpg"), "012.jpg": b""},
    "empty, then cut": {"009.jpg": b"", "012.jpg": cut("012.jpg")},
    "the first": {"000.jpg": cut("000.jpg")},
    "the last": {"021.jpg": cut("021.jpg")},
    "the last of all": {"023.jpg": b""},
    "one in each batch": {"009.jpg": cut("009.jpg"), "010.jpg": b"", "011.jpg": cut("011.jpg")},
    "all": {name: content[:200] for name, content in GOOD.items()},
}


@WORKERS
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_files(make: Make, num_workers: int, shuffle: bool, name: str) -> None:
    files = make(GOOD | DAMAGES[name])
    events = check(
        Program(
            loader_of(files, batch_size=8, shuffle=shuffle, num_workers=num_workers, generator=generator),
            epochs=3,
            draw=True,
        )
    )
    assert twins.errors(events)


def chain(loader: Any) -> list[str]:
    """The classes of the first error of an epoch and of those that led to it, and how they did, as a user reads it."""
    text = ""
    try:
        for _ in loader:
            pass
    except Exception as error:
        text = "".join(traceback.format_exception(error))
    return re.findall(r"^(?:(?!goloader: )[\w.]+(?=: )|The above |During handling )", text, re.MULTILINE)


@WORKERS
@pytest.mark.parametrize("name", ["cut short", "cut in its header", "PNG cut short", "webp cut short"])
@pytest.mark.slow
def test_an_error_is_told_with_the_errors_that_led_to_it_and_no_others(make: Make, num_workers: int, name: str) -> None:
    files = make(GOOD | DAMAGES[name])
    want, got = (chain(kind(files, 8, num_workers=num_workers)) for kind in (data.DataLoader, goloader.DataLoader))
    assert got == want != []


class Cropped(data.Dataset[Any]):
    """A class of the user's own, whose code makes what Go leaves to it."""

    def __init__(self, files: ImageFolder) -> None:
        self.files = [path for path, _ in files.samples]

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.files[index]).convert("RGB")
        if np.random.rand() < 0.5:
            image = image.transpose(Image.FLIP_LEFT_RIGHT)
        return T.functional.to_tensor(image.crop((0, 0, 5, 5)))


@WORKERS
def test_an_error_of_the_users_code_is_told_alone(make: Make, num_workers: int) -> None:
    files = Cropped(make(GOOD))
    files.files[3] = "none.jpg"
    assert goloader.DataLoader(files).explain().native
    want, got = (chain(kind(files, 8, num_workers=num_workers)) for kind in (data.DataLoader, goloader.DataLoader))
    assert got == want != []


@WORKERS
def test_damaged_files_in_batches_of_any_form(make: Make, num_workers: int) -> None:
    files = make(GOOD | DAMAGES["cut short"])
    forms: list[Any] = [
        [1, 3],
        (2, 3),
        {1, 2, 3},
        {2: 0, 3: 0},
        range(2, 5),
        np.array([2, 3]),
        torch.tensor([3, 2]),
        [3, "x"],
    ]
    for form in forms:
        check(Program(loader_of(files, batch_sampler=[form, [1, 2]], num_workers=num_workers), draw=True))


@WORKERS
def test_files_gone_after_the_dataset_was_built(make: Make, num_workers: int) -> None:
    files = make(GOOD)
    Path(files.samples[4][0]).unlink()
    directory = Path(files.samples[9][0])
    directory.unlink()
    directory.mkdir()
    for batch_size in 5, 24, None:
        events = check(
            Program(loader_of(files, batch_size=batch_size, shuffle=True, num_workers=num_workers), epochs=3, draw=True)
        )
        assert {what[0] for what in twins.errors(events)} <= {"FileNotFoundError", "IsADirectoryError"}


@WORKERS
def test_persistent_workers_forget_damage_that_nobody_asked_for(make: Make, num_workers: int) -> None:
    files = make(GOOD | DAMAGES["one in each batch"])
    how = {"persistent_workers": True} if num_workers else {}
    check(
        Program(
            loader_of(files, batch_size=3, shuffle=True, num_workers=num_workers, **how),
            epochs=6,
            leave=(1, None, 3, 0),
            draw=True,
        )
    )


def flip_and_crop() -> T.Compose:
    """Draws, then refuses images below 30x30."""
    return T.Compose([T.RandomHorizontalFlip(), T.RandomCrop(30), *tail()])


@WORKERS
@pytest.mark.parametrize(
    "damage",
    [
        {"009.jpg": SMALL},
        {"009.jpg": SMALL, "015.jpg": SMALL},
        {"009.jpg": SMALL, "012.jpg": cut("012.jpg")},
        {"009.jpg": cut("009.jpg"), "012.jpg": SMALL},
        {"009.jpg": SMALL, "012.jpg": b""},
        {"009.jpg": b"", "012.jpg": SMALL},
        {"000.jpg": SMALL, "023.jpg": SMALL},
    ],
    ids=["one", "two", "then cut", "cut before", "then empty", "empty before", "first and last"],
)
def test_images_that_a_transform_refuses(make: Make, num_workers: int, damage: dict[str, bytes]) -> None:
    files = make(GOOD | damage, flip_and_crop())
    events = check(Program(loader_of(files, batch_size=8, num_workers=num_workers), epochs=3, draw=True))
    assert twins.errors(events)


def same_size() -> dict[str, bytes]:
    return {name: photos.save(photos.picture(40, 40, seed), "JPEG") for seed, name in enumerate(GOOD)}


LARGE = photos.save(photos.picture(90, 80, 1), "JPEG")


@WORKERS
@pytest.mark.parametrize(
    "damage",
    [
        {"009.jpg": LARGE},
        {"009.jpg": LARGE, "021.jpg": LARGE},
        {"009.jpg": LARGE, "012.jpg": cut("012.jpg")},
        {"009.jpg": cut("009.jpg"), "012.jpg": LARGE},
        {"009.jpg": LARGE, "012.jpg": b""},
        {"009.jpg": b"", "012.jpg": LARGE},
        {"009.jpg": cut("009.jpg"), "012.jpg": LARGE, "015.jpg": b""},
        {"009.jpg": LARGE, "012.jpg": photos.foreign()["01.ppm"]},
    ],
    ids=[
        "one",
        "two",
        "then cut",
        "cut before",
        "then empty",
        "empty before",
        "cut before, then empty",
        "then one of Pillow's",
    ],
)
def test_samples_that_differ_in_shape(make: Make, num_workers: int, damage: dict[str, bytes]) -> None:
    # Larger ones only: for smaller ones torch's workers speak of their shared memory, which we have not.
    files = make(same_size() | damage, T.Compose([T.RandomHorizontalFlip(), *tail()]))
    events = check(Program(loader_of(files, batch_size=8, num_workers=num_workers), epochs=3, draw=True))
    assert twins.errors(events)


def test_a_worker_s_stack_error_is_a_runtime_error_where_torch_s_words_are_about_its_shared_memory(make: Make) -> None:
    files = make(same_size() | {"009.jpg": SMALL}, T.Compose([*tail()]))
    loader = goloader.DataLoader(files, batch_size=8, num_workers=1)
    with pytest.raises(
        RuntimeError, match=r"(?s)^Caught RuntimeError in DataLoader worker process 0\..*\[3, 12, 10\] at entry 3"
    ):
        next(iter(loader))


@pytest.mark.skipif(not hasattr(BaseException, "add_note"), reason="notes came with Python 3.11")
@WORKERS
def test_an_error_names_index_and_file_in_a_note(make: Make, num_workers: int) -> None:
    files = make(GOOD | DAMAGES["cut short"])
    iterator = iter(goloader.DataLoader(files, batch_size=8, num_workers=num_workers))
    with pytest.raises(OSError, match="truncated") as raised:
        next(iterator)
    assert "has been" not in str(raised.value)  # what workers do is beside the message
    notes = [str(raised.value), *getattr(raised.value, "__notes__", ())]
    assert f"goloader: sample 3, {files.samples[3][0]}" in "".join(notes)


@pytest.mark.parametrize("num_workers", [0, 2])
def test_questions_of_the_core_are_answered_while_its_workers_go_on(make: Make, num_workers: int) -> None:
    # All files are left to Pillow or missing; rounds enough for any order of events.
    files = make(GOOD)
    for path, _ in files.samples[::3]:
        Path(path).unlink()
    program = Program(loader_of(files, batch_size=8, shuffle=True, num_workers=num_workers), epochs=1)
    want = twins.run(data.DataLoader, program)
    for _ in range(60):
        twins.compare(twins.run(goloader.DataLoader, program), want)


# Pillow's own settings


@pytest.fixture
def max_pixels() -> Iterator[None]:
    limit = Image.MAX_IMAGE_PIXELS
    yield
    Image.MAX_IMAGE_PIXELS = limit


@WORKERS
@pytest.mark.usefixtures("max_pixels")
@pytest.mark.parametrize("limit", [None, 3000, 2000, 1500, 900])
def test_decompression_bombs(dataset: ImageFolder, num_workers: int, limit: int | None) -> None:
    Image.MAX_IMAGE_PIXELS = limit
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        events = check(Program(loader_of(dataset, batch_size=5, shuffle=True, num_workers=num_workers), draw=True))
    assert bool(twins.errors(events)) == (limit is not None and limit <= 1500)


@pytest.mark.usefixtures("max_pixels")
def test_a_limit_set_between_epochs_holds(dataset: ImageFolder) -> None:
    def before(epoch: int, loader: Any) -> None:
        Image.MAX_IMAGE_PIXELS = (100_000, 900, None)[epoch]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        for num_workers in 0, 2:
            events = check(Program(loader_of(dataset, batch_size=5, num_workers=num_workers), epochs=3, before=before))
            assert twins.errors(events)


@pytest.mark.usefixtures("max_pixels")
def test_pillow_s_warning_of_large_images_comes_through(dataset: ImageFolder) -> None:
    Image.MAX_IMAGE_PIXELS = 2500
    ours, theirs = (
        sorted(twins.warned(lambda kind=kind: list(kind(dataset, batch_size=4))))
        for kind in (goloader.DataLoader, data.DataLoader)
    )
    assert ours == theirs
    assert ours


@pytest.mark.parametrize("num_workers", [0, 2])
def test_truncated_images_that_pillow_was_told_to_load(
    make: Make, num_workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    files = make(
        GOOD
        | {name: cut(name) for name in ("009.jpg", "010.jpg", "012.jpg")}
        | {"015.jpg": photos.native()["29.png"][:700]}
    )
    events = check(Program(loader_of(files, batch_size=8, shuffle=True, num_workers=num_workers), draw=True))
    assert not twins.errors(events)


@pytest.mark.parametrize(
    "size, count",
    [
        ((2**20, 2**20), 1),  # more pixels than an image can have
        (2**20, 400),  # more bytes than are counted: 1 x 2047 pixels become 2^20 x 2047 * 2^20
    ],
)
def test_images_that_no_memory_holds(make: Make, size: Any, count: int) -> None:
    """torch is not asked: Pillow takes what memory there is before it raises MemoryError."""
    files = make(
        {"tall.png": photos.save(photos.picture(1, 2047, 1), "PNG")}, T.Compose([T.Resize(size), T.ToTensor()])
    )
    loader = goloader.DataLoader(files, batch_sampler=[[0] * count] * 2)
    batches = iter(loader)
    for _ in range(2):
        with pytest.raises(MemoryError):
            next(batches)
