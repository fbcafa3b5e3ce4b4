"""goloader.selfcheck: what is known holds here, what is otherwise is seen, and only what needs it is refused."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import cv2  # noqa: F401 - all libraries are looked at
import numpy as np
import pytest
import torch
import torchvision.io
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image, ImageEnhance
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.datasets import MNIST, ImageFolder
from torchvision.transforms import v2

from goloader import selfcheck
from goloader.plan import Plan, Refusal, needs
from goloader.plan.neutral import make_recipes
from goloader.plan.planner import make
from goloader.plan.transforms.torchvision import _operations
from goloader.selfcheck import behaviour, libraries, memory, pillow, resize
from goloader.selfcheck import opencv as opencv_table
from goloader.selfcheck import torch as torch_table
from goloader.selfcheck import torchvision as torchvision_table

TABLES = (pillow, torch_table, torchvision_table, opencv_table)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of the test's own, and nothing found yet."""
    monkeypatch.setenv("GOLOADER_CACHE", str(tmp_path / "cache"))
    selfcheck.forget()
    yield tmp_path / "cache"
    selfcheck.forget()


def found(name: str) -> Any:
    return selfcheck.found_now(selfcheck._table(name)[name])


# ---- the tables


@pytest.mark.parametrize("name", selfcheck.names())
def test_every_behaviour_is_the_one_known(name: str) -> None:
    """With the versions that these tests run on; where the processor has what torch's sums were compared with."""
    if name == "torch.convolve" and not Path("/proc/cpuinfo").read_text().count(" fma "):
        pytest.skip("this processor has no fused multiply-add")
    assert selfcheck.holds(name)
    assert selfcheck.differing(name) is None


def _of_a_picture(name: str) -> bool:
    return selfcheck._table(name)[name].make is not None and ".decode." not in name


@pytest.mark.parametrize("name", [name for name in selfcheck.names() if _of_a_picture(name)])
def test_every_digest_is_of_the_pixels(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One byte more or less of an input is another digest."""
    original = behaviour.picture

    def another(width: int, height: int, channels: int = 3) -> Any:
        made = original(width, height, channels)
        made[height // 2, width // 2] ^= 0x48
        return made

    numbers = behaviour.numbers

    def others(*shape: int) -> Any:
        made = numbers(*shape)
        made.flat[made.size // 2] += 1
        return made

    for table in TABLES:
        for function, replaced in (("picture", another), ("numbers", others)):
            if hasattr(table, function):
                monkeypatch.setattr(table, function, replaced)
    of_a_seed_alone = (
        "torch.randperm",
        "torch.multinomial",
        "torch.strided",
        "numpy.random",
        *(f"torchvision.{v}.GaussianBlur" for v in ("v1", "v2")),
    )
    assert found(name) is None or name in of_a_seed_alone


@pytest.mark.parametrize("name", [name for name in selfcheck.names() if ".decode." in name])
def test_every_decoder_is_looked_at_in_each_file(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A decoder that gets a file of the same kind with other pixels in place of one is noticed."""

    def pixels(file: bytes) -> bytes:
        with Image.open(io.BytesIO(file)) as image:
            return image.convert("RGB").tobytes()

    kind = name.rpartition(".")[2].upper()
    files = list(
        pillow.files_of(getattr(pillow, kind if name.startswith("pillow") else {"PNG": "PNG"}.get(kind, "JPEG")))
    )
    looked = [at for at in range(len(files)) if name.startswith("pillow") or name.endswith("png") or at != 6]
    original = pillow.files_of
    for at in looked:

        def others(packed: str, at: int = at) -> Iterator[bytes]:
            every = list(original(packed))
            other = next(file for file in every if pixels(file) != pixels(every[at]))
            yield from (other if number == at else file for number, file in enumerate(every))

        for table in TABLES:
            if hasattr(table, "files_of"):
                monkeypatch.setattr(table, "files_of", others)
        assert found(name) is None, at


@pytest.mark.parametrize("name", [name for name in selfcheck.names() if name.startswith("torchvision.v")])
def test_every_transform_is_looked_at_in_what_it_draws(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the generator's numbers are others, so are the digests of all transforms that draw."""
    drawing = name.rpartition(".")[2]
    monkeypatch.setattr(torchvision_table, "_SEED", 14)
    draws = drawing not in (
        "Resize", "CenterCrop", "FiveCrop", "TenCrop", "Pad", "Grayscale", "RGB", "ImageClassification",
        "GaussianNoise",  # to which noise is given
    )  # fmt: skip
    assert (found(name) is None) == draws


def test_every_transform_that_is_lowered_is_looked_at() -> None:
    known = [kind for kind, operation in _operations().items() if operation.read is not None]
    assert len(known) > 40
    for kind in known:
        api = "v2" if ".v2." in kind.__module__ else "v1"
        assert f"torchvision.{api}.{kind.__name__}" in selfcheck.names()


def test_nothing_global_is_drawn_from_or_changed() -> None:
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # type: ignore[index,union-attr]
    torch.set_default_dtype(torch.float64)
    try:
        # Bytes times a number are of the default dtype: hooks/torchvision_v2.py asks for that.
        assert all(found(name) is not None for name in selfcheck.names() if ".tensor." not in name)
    finally:
        torch.set_default_dtype(torch.float32)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.array_equal(np.random.get_state()[1], before[1])  # type: ignore[index]


# ---- Pillow's resize


@given(
    st.tuples(st.integers(1, 30), st.integers(1, 40)),
    st.tuples(st.integers(1, 30), st.integers(1, 40)),
    st.sampled_from([1, 2, 3, 4, 5]),
    st.integers(0, 1000),
)
@example(size=(17, 23), out=(15, 17), number=5, seed=178)  # tells 0.54 from 0.54f
@settings(max_examples=200)
def test_the_reference_resize_is_pillows(size: tuple[int, int], out: tuple[int, int], number: int, seed: int) -> None:
    pixels = np.random.default_rng(seed).integers(0, 256, size[::-1], dtype=np.uint8)
    vertical = resize.vertical_first(selfcheck.value("pillow.resize.bilinear"), size, out)
    got = resize.resized(pixels, out, number, vertical=vertical)
    assert np.array_equal(got, np.asarray(Image.fromarray(pixels).resize(out, Image.Resampling(number))))


@pytest.mark.parametrize("name", ["lanczos", "bilinear", "bicubic", "box", "hamming"])
@pytest.mark.parametrize("order", resize.ORDERS)
def test_the_order_of_passes_is_learnt(name: str, order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Pillow with any of the three orders (ours, standing in) is known by it."""

    def made(pixels: Any, out: tuple[int, int], number: int) -> Any:
        size = pixels.shape[1], pixels.shape[0]
        return resize.resized(pixels, out, number, vertical=resize.vertical_first(order, size, out))

    monkeypatch.setattr(pillow, "_made", made)
    assert found(f"pillow.resize.{name}") == order


def test_weights_of_fewer_bits_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As pillow-simd has them: 16 bits in place of 22."""
    original = resize._weights
    for name in ("lanczos", "bilinear", "bicubic", "box", "hamming"):
        with monkeypatch.context() as patched:
            patched.setattr(resize, "_weights", lambda *arguments: original(*arguments) >> 8 << 8)
            assert found(f"pillow.resize.{name}") is None
        assert found(f"pillow.resize.{name}") is not None


def test_both_rules_of_uniform_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The draws used must round differently under the two rules, and none may be a tie in float64."""
    low, high = np.float32(0.08), np.float32(1.0)
    width = np.float32(high - low)
    differ = 0
    for word in torch_table.WORDS:
        share = Fraction(word & 0xFFFFFF, 1 << 24)
        exact = share * Fraction(float(width)) + Fraction(float(low))
        fused = np.float32(float(exact))
        # Rounding to float64 first changed nothing.
        for neighbour in (np.nextafter(fused, np.float32(-9)), np.nextafter(fused, np.float32(9))):
            assert abs(Fraction(float(fused)) - exact) < abs(Fraction(float(neighbour)) - exact)
        differ += fused != np.float32(np.float32(share) * width) + low
    assert differ

    expected: dict[bool, Callable[[Any], Any]] = {
        True: lambda share: np.float32(np.float64(share) * np.float64(width) + np.float64(low)),
        False: lambda share: np.float32(share * width) + low,
    }
    for fma, rule in expected.items():

        def uniform_(self: Any, a: float, b: float, *, generator: Any, rule: Any = rule) -> Any:
            return torch.tensor(rule(torch.rand(1, generator=generator).numpy()))

        monkeypatch.setattr(torch.Tensor, "uniform_", uniform_)
        selfcheck.forget()
        assert found("torch.uniform") is fma
        assert needs.rules(["torch.uniform"]).fma is fma
        memory.store(libraries.stamp("torch"), {"torch.uniform": None})

    monkeypatch.setattr(torch.Tensor, "uniform_", lambda self, a, b, generator: torch.rand(1))
    assert found("torch.uniform") is None


# ---- only what needs it is refused


def photos(folder: Path) -> Path:
    (folder / "class").mkdir(parents=True)
    for seed in range(3):
        pixels = np.random.default_rng(seed).integers(0, 256, (40, 50, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / "class" / f"{seed}.jpg")
    return folder


PIPELINES: dict[str, Callable[[], list[Any]]] = {
    "resized crop": lambda: [transforms.RandomResizedCrop(16), transforms.RandomHorizontalFlip()],
    "bicubic resize": lambda: [v2.Resize((16, 16), transforms.InterpolationMode.BICUBIC)],
    "crop and flip": lambda: [transforms.RandomCrop(16, padding=4), transforms.RandomHorizontalFlip()],
    "jitter": lambda: [transforms.ColorJitter(0.1, 0.1, 0.1, 0.1)],
    "hue": lambda: [v2.ColorJitter(hue=0.1)],
    "grey": lambda: [transforms.Grayscale()],
    "policy": lambda: [transforms.CenterCrop(20), transforms.TrivialAugmentWide()],
    "nothing": lambda: [],
}


def native(folder: Path) -> set[str]:
    """The pipelines that have a plan."""
    made = {
        name: make(DataLoader(ImageFolder(str(folder), transforms.Compose([*steps(), transforms.ToTensor()])), 2))
        for name, steps in PIPELINES.items()
    }
    return {name for name, plan in made.items() if isinstance(plan, Plan)}


def _resize_otherwise(patched: pytest.MonkeyPatch, number: int) -> None:
    original = Image.Image.resize

    def other(self: Any, size: Any, resample: Any = None, *rest: Any) -> Any:
        return original(self, size, 4 if resample == number else resample, *rest)

    patched.setattr(Image.Image, "resize", other)


def _luma_otherwise(patched: pytest.MonkeyPatch) -> None:
    original = Image.Image.convert

    def other(self: Any, mode: Any = None, *rest: Any) -> Any:
        made = original(self, mode, *rest)
        return made.point(lambda value: value ^ 1) if (self.mode, mode) == ("RGB", "L") else made

    patched.setattr(Image.Image, "convert", other)


def _flip_otherwise(patched: pytest.MonkeyPatch) -> None:
    original = torch.rand
    patched.setattr(torch, "rand", lambda *arguments, **options: 1 - original(*arguments, **options))


def _saturation_otherwise(patched: pytest.MonkeyPatch) -> None:
    original = ImageEnhance.Color.__init__

    def other(self: Any, image: Any) -> None:
        original(self, image)
        self.degenerate = self.degenerate.point(lambda value: value ^ 1)

    patched.setattr(ImageEnhance.Color, "__init__", other)


def _equalize_otherwise(patched: pytest.MonkeyPatch) -> None:
    from PIL import ImageOps

    original = ImageOps.equalize
    patched.setattr(ImageOps, "equalize", lambda image, mask=None: original(image).point(lambda value: value ^ 1))


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        (lambda patched: _resize_otherwise(patched, 2), {"resized crop"}),
        (lambda patched: _resize_otherwise(patched, 3), {"bicubic resize"}),
        (lambda patched: _resize_otherwise(patched, 1), set()),
        (_luma_otherwise, {"jitter", "hue", "grey", "policy"}),
        (_flip_otherwise, {"resized crop", "crop and flip", "policy"}),
        (_saturation_otherwise, {"jitter", "hue", "policy"}),
        (_equalize_otherwise, {"policy"}),
    ],
)
def test_only_what_needs_it_is_refused(
    change: Callable[[pytest.MonkeyPatch], None], refused: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A library's function does otherwise, and pipelines that call it are left to torch; no others are."""
    # As if the library shipped it so: what somebody else put there is refused for that alone.
    monkeypatch.setattr("goloader.plan.trust.calls.Calls.look", lambda calls: "")
    folder = photos(tmp_path / "photos")
    assert native(folder) == set(PIPELINES)
    selfcheck.forget()
    (tmp_path / "cache" / "selfcheck.json").unlink()
    with monkeypatch.context() as patched:
        change(patched)
        assert native(folder) == set(PIPELINES) - refused
    selfcheck.forget()
    assert native(folder) == set(PIPELINES), "what differed is not remembered"


def test_a_decoder_that_differs_leaves_files_to_torch_and_arrays_to_us(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = Image.open

    def other(*arguments: Any, **options: Any) -> Any:
        image = original(*arguments, **options)
        return image.point(lambda value: value ^ 1) if image.format == "JPEG" else image

    folder = photos(tmp_path / "photos")
    with monkeypatch.context() as patched:
        patched.setattr(Image, "open", other)
        assert selfcheck.differing("pillow.decode.png", "pillow.decode.jpeg") == (
            libraries.version("pillow"),
            "its JPEG decoder is not the one known",
        )
        assert native(folder) == set()
        made = make_recipes()
        assert isinstance(made, Refusal)
        assert made.what == libraries.version("pillow")
        dataset = MNIST.__new__(MNIST)
        dataset.data, dataset.targets = torch.zeros(3, 28, 28, dtype=torch.uint8), torch.arange(3)
        dataset.transform, dataset.target_transform = transforms.ToTensor(), None
        assert isinstance(make(DataLoader(dataset, 2)), Plan)


def test_filters_in_different_orders_have_no_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(selfcheck._found, "pillow.resize.bilinear", "tall_first")
    monkeypatch.setitem(selfcheck._found, "pillow.resize.bicubic", "shrink_first")
    assert needs.rules(["pillow.resize.bilinear", "pillow.crop"]).pass_order == "tall_first"
    assert needs.rules(["pillow.resize.bicubic"]).pass_order == "shrink_first"
    assert isinstance(make_recipes(), Refusal)


def test_settings_are_read_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assert needs.max_pixels() == Image.MAX_IMAGE_PIXELS == needs._MAX_PIXELS
    for value in (1000, None):
        monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", value)
        assert needs.max_pixels() == value
    Image.preinit()
    assert needs.check_pillow_plugins() is None
    monkeypatch.setitem(Image.OPEN, "JPEG", (test_settings_are_read_each_time, None))
    assert "registered to open JPEG" in str(needs.check_pillow_plugins())


# ---- what is remembered


class Looks:
    """Counts how often behaviours are tried."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        original = selfcheck.found_now

        def counted(behaviour: Any) -> Any:
            self.count += 1
            return original(behaviour)

        monkeypatch.setattr(selfcheck, "found_now", counted)

    def since(self, *names: str) -> int:
        """How many are tried as a new process asks for some."""
        selfcheck.forget()
        self.count = 0
        assert selfcheck.holds(*names)
        assert selfcheck.holds(*names)
        return self.count


NAMES = ("pillow.crop", "pillow.resize.bilinear", "torch.uniform")


def test_what_holds_is_tried_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = Looks(monkeypatch)
    assert looks.since(*NAMES) == 3
    assert looks.since(*NAMES) == 0
    assert looks.since("pillow.crop", "pillow.transpose") == 1
    assert looks.since(*NAMES) == 0
    kept = json.loads((cache / "selfcheck.json").read_text())
    assert len(kept) == 2
    assert [path.name for path in cache.iterdir()] == ["selfcheck.json"]


def test_another_library_processor_or_table_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = Looks(monkeypatch)
    stand_in = tmp_path / "_imaging.so"
    stand_in.write_bytes(b"one")
    monkeypatch.setattr(sys.modules["PIL._imaging"], "__file__", str(stand_in))

    def changed(change: Callable[[], Any]) -> int:
        assert looks.since("pillow.crop") <= 1
        change()
        for each in (libraries._stamp, libraries._tables, libraries._processor):
            each.cache_clear()
        return looks.since("pillow.crop")

    for each in (libraries._stamp, libraries._tables, libraries._processor):
        each.cache_clear()
    try:
        assert changed(lambda: None) == 0
        assert changed(lambda: os.utime(stand_in, ns=(5, 5))) == 1
        assert changed(lambda: stand_in.write_bytes(b"another size")) == 1
        assert changed(lambda: monkeypatch.setenv("ATEN_CPU_CAPABILITY", "default")) == 1
        assert changed(lambda: monkeypatch.delenv("ATEN_CPU_CAPABILITY")) == 0, "the older one is still known"
    finally:
        for each in (libraries._stamp, libraries._tables, libraries._processor):
            each.cache_clear()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b"3",
        b"[" * 100000,
        b'{"a": 3}',
        "stamp: 3",
        "stamp: []",
        'stamp: {"pillow.crop": 3}',
        'stamp: {"pillow.crop": null}',
        'stamp: {"pillow.crop": "tall_first"}',
        'stamp: {"pillow.crop": []}',
        'stamp: {"pillow.crop": false}',
    ],
)
def test_a_damaged_file_is_as_none(content: Any, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if isinstance(content, str):
        content = f"{{{json.dumps(libraries.stamp('pillow'))}{content.removeprefix('stamp')}}}".encode()
    cache.mkdir()
    (cache / "selfcheck.json").write_bytes(content)
    looks = Looks(monkeypatch)
    assert looks.since("pillow.crop") == 1
    assert looks.since("pillow.crop") == 0


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = Looks(monkeypatch)
    (tmp_path / "file").write_bytes(b"")
    for folder in (tmp_path / "file", tmp_path / "file" / "below", "relative", "/proc/nowhere", "/dev/null"):
        monkeypatch.setenv("GOLOADER_CACHE", str(folder))
        assert looks.since("pillow.crop") == 1
        assert looks.since("pillow.crop") == 1
    assert not Path("relative").exists()
    monkeypatch.setenv("GOLOADER_CACHE", str(tmp_path / "cache"))

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full)
        assert looks.since("pillow.crop") == 1
        assert list((tmp_path / "cache").iterdir()) == []
    assert looks.since("pillow.crop") == 1
    assert looks.since("pillow.crop") == 0


def test_the_folder_is_the_users_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOLOADER_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    selfcheck.holds("pillow.crop")
    assert (tmp_path / "xdg" / "goloader" / "selfcheck.json").exists()
    monkeypatch.delenv("XDG_CACHE_HOME")
    selfcheck.forget()
    selfcheck.holds("pillow.crop")
    assert (tmp_path / "home" / ".cache" / "goloader" / "selfcheck.json").exists()


def test_old_stamps_are_forgotten(cache: Path) -> None:
    for number in range(memory._STAMPS_MAX + 10):
        memory.store(f"stamp {number}", {"pillow.crop": True})
    kept = json.loads((cache / "selfcheck.json").read_text())
    assert len(kept) == memory._STAMPS_MAX
    assert f"stamp {memory._STAMPS_MAX + 9}" in kept
    assert "stamp 9" not in kept


def test_threads_find_the_same(cache: Path) -> None:
    answers: list[Any] = []
    threads = [
        threading.Thread(target=lambda: answers.append([selfcheck.value(name) for name in NAMES])) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [[selfcheck.value(name) for name in NAMES]] * 8
    assert json.loads((cache / "selfcheck.json").read_text())


def test_nothing_is_imported_and_a_forked_child_may_ask() -> None:
    code = """
import os, sys
import goloader.selfcheck as selfcheck
assert selfcheck.holds(*selfcheck.names())
assert selfcheck.value("pillow.resize.box") == "shrink_first"
assert not {"torch", "PIL", "cv2", "torchvision"} & sys.modules.keys()
import PIL.Image
child = os.fork()
if child == 0:
    os._exit(0 if selfcheck.holds("pillow.crop", "pillow.resize.box") else 1)
assert os.waitpid(child, 0)[1] == 0
assert selfcheck.holds("pillow.crop", "pillow.resize.box")
assert not {"torch", "cv2", "torchvision"} & sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
def test_the_command_lists_all_behaviours() -> None:
    made = subprocess.run(
        [sys.executable, "-m", "goloader.selfcheck"], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    assert [line.split()[0] for line in made[1:]] == list(selfcheck.names())
    assert torchvision.__version__ in made[0]
