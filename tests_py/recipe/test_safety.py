"""Whatever goes wrong with stand-ins, a user gets torch's batches, errors and random numbers."""

from __future__ import annotations

import collections
import importlib
import io
import itertools
import os
import random
import socket
import subprocess
import sys
import time
import warnings
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import classes
import numpy as np
import pytest
import torch
import torchvision.transforms as T
import torchvision.transforms.functional as F
from PIL import Image
from torch.utils import data

import goloader
from goloader import _native, _pillow_steps, _steps
from goloader._core import Augmentation
from goloader.doors.recipe import chains, door, fetch, hooks, trial
from goloader.doors.recipe.native import CoreNative
from goloader.doors.recipe.stand_ins import image as images
from goloader.doors.recipe.wire import DTYPES
from goloader.doors.same import difference
from goloader.plan.refusal import Refusal


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return classes.fill(tmp_path_factory.mktemp("safety"))


def seed() -> None:
    torch.manual_seed(11)
    random.seed(11)
    np.random.seed(11)


def run(loader: Any) -> tuple[list[Any], Any]:
    """Batches and errors of two epochs, and where the generators stand afterwards."""
    seed()
    results: list[Any] = []
    for _ in range(2):
        iterator = iter(loader)
        while True:
            try:
                results.append(next(iterator))
            except StopIteration:
                break
            except Exception as error:
                # From a worker process it comes with a traceback, in which there are frames of ours.
                results.append((type(error).__name__, str(error).rstrip().rpartition("\n")[2]))
    return results, (torch.rand(1).item(), random.random(), np.random.rand())


def compare(dataset: Any, **options: Any) -> Any:
    """Our loader, after its batches were compared with torch's. `dataset` makes one."""
    options = {"batch_size": 5, "shuffle": True} | options
    want = run(data.DataLoader(dataset(), **options))
    loader = goloader.DataLoader(dataset(), **options)
    got = run(loader)
    assert difference(want, got) is None
    return loader


def wrongly(right: Any) -> Any:
    """Leaves out one of the steps that the core has drawn."""

    def draw(self: Any, *arguments: Any) -> Any:
        drawn = right(self, *arguments)
        return drawn._replace(steps=tuple(each for each in drawn.steps if each != _steps.FLIP_HORIZONTAL))

    return draw


@pytest.mark.parametrize("composed", [True, False])
def test_a_wrong_step_is_found_and_ends_tracing(root: Path, composed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_pillow_steps, "TRANSPOSES", _pillow_steps.TRANSPOSES | {0: ((), False)})
    monkeypatch.setattr(Augmentation, "draw", wrongly(Augmentation.draw))
    flip, resize = T.RandomHorizontalFlip(1.0), T.Resize((20, 20))

    def each(image: Any) -> Any:
        return F.to_tensor(resize(flip(image)))

    transform = T.Compose([flip, resize, T.ToTensor()]) if composed else each
    with pytest.warns(
        goloader.GoloaderWarning, match=r"Files: batch|Files: the batch\[0\] has other values when traced"
    ):
        loader = compare(lambda: classes.Files(root, transform))
    assert not door.record(loader).on
    assert "has other values when traced" in str(loader.explain())


@pytest.mark.parametrize("workers", [0, 2])
def test_a_wrong_pixel_is_found_and_ends_tracing(root: Path, workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    right = CoreNative.receive

    def wrong(self: Any, *arguments: Any) -> Any:
        arrays = right(self, *arguments)
        for array in arrays or ():
            array.reshape(-1)[-1] += 1e-6
        return arrays

    monkeypatch.setattr(CoreNative, "receive", wrong)
    with pytest.warns(goloader.GoloaderWarning, match="has other values when traced"):
        loader = compare(lambda: classes.Files(root, classes.VAL), num_workers=workers)
    assert not door.record(loader).on


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize(("owner", "name"), [(images.StandInImage, "crop"), (chains, "derive")])
def test_a_wrong_draw_is_found_and_ends_tracing(
    root: Path, owner: Any, name: str, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = getattr(owner, name)

    def drawing(*arguments: Any) -> Any:
        torch.rand(1)
        return right(*arguments)

    monkeypatch.setattr(owner, name, drawing)
    if owner is not chains:
        monkeypatch.setattr(chains, "runs", lambda transforms, channels: [[*transforms]])
    with pytest.warns(goloader.GoloaderWarning, match="when traced"):
        compare(lambda: classes.Files(root, classes.TRAIN), num_workers=workers)


GENERATOR = np.random.default_rng(1)
LOADED: list[int] = []


class ByGlobal(classes.Files):
    def drawn(self) -> Any:
        return GENERATOR.random()


class ByClosure(classes.Files):
    def __init__(self, root: Path, transform: Any) -> None:
        super().__init__(root, transform)
        generator = random.Random(3)
        self.drawn = lambda: generator.random()


class ByMethod(classes.Files):
    def __init__(self, root: Path, transform: Any) -> None:
        super().__init__(root, transform)
        self.drawn = np.random.RandomState(4).rand


class ByDefault(classes.Files):
    def drawn(self, generator: Any = np.random.default_rng(5)) -> Any:  # noqa: B008, people do
        return generator.random()


class ByClass(classes.Files):
    generator = torch.Generator()

    def drawn(self) -> Any:
        return torch.rand(1, generator=self.generator)


class ByIterator(classes.Files):
    def __init__(self, root: Path, transform: Any) -> None:
        super().__init__(root, transform)
        self.numbers = itertools.count()

    def drawn(self) -> Any:
        return next(self.numbers)


class ByGlobalNumber(classes.Files):
    def drawn(self) -> Any:
        global COUNT
        COUNT = globals().get("COUNT", 0) + 1
        return COUNT


class ByGlobalList(classes.Files):
    def drawn(self) -> Any:
        LOADED.append(1)
        return len(LOADED)


class ByVariable(classes.Files):
    def __init__(self, root: Path, transform: Any) -> None:
        super().__init__(root, transform)
        count = 0

        def drawn() -> int:
            nonlocal count
            count += 1
            return count

        self.drawn = drawn


class ByClassNumber(classes.Files):
    count = 0

    def drawn(self) -> Any:
        type(self).count += 1
        return self.count


DRAWING = [ByGlobal, ByClosure, ByMethod, ByDefault, ByClass, ByIterator]
COUNTING = [ByGlobalNumber, ByGlobalList, ByVariable, ByClassNumber]


@pytest.mark.parametrize("workers", [0, 3])
@pytest.mark.parametrize("kind", [*DRAWING, *COUNTING])
def test_whatever_moves_on_with_a_sample_moves_on_as_with_torch(root: Path, kind: Any, workers: int) -> None:
    class Drawing(kind):  # type: ignore[misc]
        def __getitem__(self, i: int) -> Any:
            return *super().__getitem__(i), self.drawn()

    def epochs(loader: Any) -> list[Any]:
        globals().pop("COUNT", None)
        LOADED.clear()
        ByClassNumber.count = 0
        if "count" in vars(Drawing):
            del Drawing.count
        GENERATOR.bit_generator.state = np.random.default_rng(1).bit_generator.state
        ByDefault.drawn.__defaults__[0].bit_generator.state = np.random.default_rng(5).bit_generator.state
        ByClass.generator.manual_seed(7)
        return [batch for _ in range(3) for batch in loader]

    want = epochs(data.DataLoader(Drawing(root, classes.VAL), 2, num_workers=workers))
    loader = goloader.DataLoader(Drawing(root, classes.VAL), 2, num_workers=workers)
    assert difference(want, epochs(loader)) is None
    assert door.record(loader).state == "native"


def test_checks_come_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("goloader.doors.recipe.record.CHECK_EVERY", 10)
    begun: list[int] = []
    right = fetch.begin_trial
    monkeypatch.setattr(fetch, "begin_trial", lambda *given, **by: (begun.append(1), right(*given, **by))[1])
    loader = compare(lambda: classes.Files(root, classes.TRAIN))
    assert len(begun) > 2 and door.record(loader).state == "native"


class Damaged(classes.Files):
    """Pictures 3 and 7 have an intact header and end, and damage in between."""

    def __init__(self, root: Path, kind: str, careful: bool) -> None:
        super().__init__(root)
        self.kind, self.careful = kind, careful
        self.content = {i: Path(self.path(i, *kind.split("/"))).read_bytes() for i in range(classes.COUNT)}
        for i in (3, 7):
            broken = bytearray(self.content[i])
            for at in range(len(broken) // 2, len(broken) // 2 + 40):
                broken[at] ^= 0x55
            self.content[i] = bytes(broken)

    def __getitem__(self, i: int) -> Any:
        try:
            image = Image.open(io.BytesIO(self.content[i])).convert("RGB")
        except OSError:
            if not self.careful:
                raise
            return self[random.randrange(3)]
        left = random.randrange(5)
        return F.to_tensor(image.crop((left, 0, left + 30, 30))), i


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("careful", [True, False])
@pytest.mark.parametrize("kind", ["photos/jpg", "png/png"])
def test_a_file_with_damage_inside_raises_where_it_is_decoded(
    root: Path, kind: str, careful: bool, workers: int
) -> None:
    loader = compare(lambda: Damaged(root, kind, careful), num_workers=workers, batch_size=2)
    assert door.record(loader).state == "native"


class Vanishing(classes.Files):
    """A picture is gone after it was opened."""

    def __getitem__(self, i: int) -> Any:
        path = Path(self.path(i) + ".copy")
        path.write_bytes(Path(self.path(i)).read_bytes())
        image = Image.open(path).convert("RGB")
        path.unlink()
        return F.to_tensor(image.resize((9, 9))), i


@pytest.mark.parametrize("workers", [0, 2])
def test_a_file_that_vanishes_is_read_in_time(root: Path, workers: int) -> None:
    compare(lambda: Vanishing(root), num_workers=workers)


class Counting(classes.Files):
    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.calls = 0

    def __getitem__(self, i: int) -> Any:
        self.calls += 1
        return F.to_tensor(Image.open(self.path(i)).resize((9, 9))), self.calls


@pytest.mark.parametrize("workers", [0, 2])
def test_a_dataset_that_counts_its_samples_counts_as_with_torch(root: Path, workers: int) -> None:
    loader = compare(lambda: Counting(root), num_workers=workers)
    assert door.record(loader).state == "native"


class Noting(classes.Files):
    """Notes what it loads in containers, which its samples show."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.seen: list[int] = []
        self.counts = collections.Counter[int]()
        self.file: Any = None
        self.opened = [0]

    def __getitem__(self, i: int) -> Any:
        if self.file is None:
            self.file = open(self.path(0), "rb")  # noqa: SIM115, as many do
            self.opened[0] += 1
        self.seen.append(i)
        self.counts[i % 3] += 1
        return F.to_tensor(Image.open(self.path(i)).resize((9, 9))), len(self.seen), self.counts[i % 3]


def test_a_dataset_that_notes_its_samples_notes_each_once(root: Path) -> None:
    made: list[Noting] = []

    def make() -> Noting:
        made.append(Noting(root))
        return made[-1]

    loader = compare(make)
    assert door.record(loader).state == "native"
    theirs, ours = made
    assert ours.seen == theirs.seen and ours.counts == theirs.counts and ours.opened == theirs.opened == [1]
    for each in made:
        each.file.close()


class Importing(classes.Files):
    """Imports modules that were never compiled before."""

    name: str

    def __getitem__(self, i: int) -> Any:
        module = importlib.import_module(f"{self.name}_{i}")
        return super().__getitem__(i), module.NUMBER


@pytest.mark.parametrize("workers", [0, 2])
def test_what_a_trial_imports_first_is_nothing_that_it_changes(
    root: Path, workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))  # type: ignore[no-untyped-call]
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    names = iter((f"theirs_{workers}", f"ours_{workers}"))

    def make() -> Importing:
        made = Importing(root, classes.VAL)
        made.name = next(names)
        for i in range(classes.COUNT):
            (tmp_path / f"{made.name}_{i}.py").write_text(f"NUMBER = {i}")
        importlib.invalidate_caches()
        return made

    loader = compare(make, num_workers=workers)
    assert door.record(loader).state == "native", loader.explain()


class Calls(classes.Files):
    """Tells somebody outside of itself what it loads."""

    calls: list[int]

    def __getitem__(self, i: int) -> Any:
        type(self).calls.append(i)
        return torch.tensor([i])


def test_a_dataset_without_images_is_asked_for_each_sample_once(root: Path) -> None:
    Calls.calls = []
    loader = goloader.DataLoader(Calls(root), 7)
    assert torch.equal(torch.cat(list(loader)), torch.arange(classes.COUNT)[:, None])
    assert Calls.calls == list(range(classes.COUNT))


@pytest.mark.slow
def test_without_pillow_nothing_is_imported_for_this() -> None:
    program = """
import sys, goloader
assert len(list(goloader.DataLoader(list(range(9)), collate_fn=list))) == 9
class Own:
    def __len__(self): return 9
    def __getitem__(self, i): return i
loader = goloader.DataLoader(Own(), 3)
assert [batch.tolist() for batch in loader] == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
assert "nothing has imported" in str(loader.explain())
from PIL import Image
assert [batch.tolist() for batch in loader] == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
assert not any(name.startswith("torchvision") for name in sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


class Slow(classes.Files):
    """Stand-ins cost more here than they save."""

    def __getitem__(self, i: int) -> Any:
        image = Image.open(self.path(i)).resize((4, 4))
        if type(image) is images.StandInImage:
            time.sleep(0.2)
        return F.to_tensor(image), i


class SlowAtFirst(Slow):
    """In each process its first image takes long, without stand-ins too."""

    process = 0

    def __getitem__(self, i: int) -> Any:
        if self.process != os.getpid():
            self.process = os.getpid()
            time.sleep(1)
        return super().__getitem__(i)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Slow, SlowAtFirst])
def test_stand_ins_that_save_no_time_are_given_up(kind: Any, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "_LONGER_MAX", 3.0)
    loader = compare(lambda: kind(root))
    assert not door.record(loader).on and "recording saves no time" in str(loader.explain())


def mixed(samples: list[Any]) -> Any:
    """As MixUp does."""
    images, numbers = data.default_collate(samples)
    return images.roll(1, 0).mul_(0.25).add_(images * 0.75), numbers


def test_images_that_a_collate_fn_looks_at_come_from_the_core(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("goloader.doors.recipe.record._BARREN_SAMPLES", 1)
    loader = compare(lambda: classes.Files(root, classes.VAL), collate_fn=mixed, batch_size=16)
    record = door.record(loader)
    assert record.on and record.leaves == {"for Tensor.roll": record.samples}
    assert not record.reasons and all(line.startswith("test_safety.py") for _, line in record.seen)


class Uneven(classes.Files):
    """Every ninth image is looked at."""

    def __getitem__(self, i: int) -> Any:
        image, number = super().__getitem__(i)
        return image + image.mean() if i % 9 == 0 else image, number


def test_one_image_that_is_looked_at_leaves_the_others_to_the_core(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("goloader.doors.recipe.record._BARREN_SAMPLES", 1)
    loader = compare(lambda: Uneven(root, classes.VAL), batch_size=16)
    record = door.record(loader)
    assert record.on and not record.reasons and sum(record.leaves.values()) == record.samples
    assert 0 < record.leaves["for Tensor.mean"] < record.leaves["for Tensor.stack"]


class Knotted:
    """Refers to itself, and refuses to be compared."""

    def __init__(self, x: torch.Tensor) -> None:
        self.x, self.own = x, self


def test_samples_that_cannot_be_compared_end_tracing(root: Path) -> None:
    loader = goloader.DataLoader(
        classes.Files(root, classes.VAL), 3, collate_fn=lambda samples: Knotted(torch.stack([x for x, _ in samples]))
    )
    want = data.DataLoader(classes.Files(root, classes.VAL), 3)
    for ours, theirs in zip(loader, want, strict=True):
        assert difference(theirs[0], ours.x) is None
    assert "could not be checked" in str(loader.explain())


class Iterators:
    """A batch sampler whose batches can be gone through once."""

    def __iter__(self) -> Iterator[Iterator[int]]:
        return map(iter, [[1, 2], [3], [4, 5]])


def test_indices_that_can_be_gone_through_once(root: Path) -> None:
    compare(lambda: classes.Files(root, classes.VAL), batch_sampler=Iterators(), shuffle=False, batch_size=1)


class Overwriting(classes.Files):
    """Each picture goes through the same file, as frames of a video do."""

    def __getitem__(self, i: int) -> Any:
        path = Path(f"{self.root}/frame.jpg")
        path.write_bytes(Path(self.path(7 * (i % 3))).read_bytes())
        image = Image.open(path)
        os.utime(path, ns=(i, i))
        return F.to_tensor(image.resize((9, 9))), i


@pytest.mark.parametrize("workers", [0, 2])
def test_a_file_that_is_written_again_is_not_taken_for_the_one_before(root: Path, workers: int) -> None:
    loader = compare(lambda: Overwriting(root), num_workers=min(workers, 1))
    assert not door.record(loader).on


class Watched(classes.Files):
    """Holds its tensor by a weak reference too, so that it cannot become another object."""

    def __getitem__(self, i: int) -> Any:
        x = F.to_tensor(Image.open(self.path(i)).resize((9, 9)))
        self.watched = weakref.ref(x)
        return x.exp(), i


@pytest.mark.parametrize("workers", [0, 2])
def test_a_stand_in_that_is_in_the_way_gives_way(root: Path, workers: int) -> None:
    loader = compare(lambda: Watched(root), num_workers=workers)
    assert not door.record(loader).on
    assert "failed with a stand-in" in str(loader.explain())


def raising(samples: Any) -> Any:
    raise KeyError("no such field")


@pytest.mark.parametrize(
    "options",
    [
        {"collate_fn": raising},
        {"batch_size": 21},
        {"batch_size": 50},
        {"drop_last": True},
        {"batch_size": None},
        {"sampler": [3, 1, 4, 900], "shuffle": False},
        {"batch_sampler": [[1, 2], [3, "x"], [4]], "shuffle": False, "batch_size": 1},
        {"batch_sampler": [(1, 2), {3: 1, 4: 1}, {5}, []], "shuffle": False, "batch_size": 1},
    ],
)
@pytest.mark.parametrize("workers", [0, 2])
def test_errors_and_odd_batches_are_torch_s(root: Path, options: dict[str, Any], workers: int) -> None:
    compare(lambda: classes.Files(root, classes.TRAIN), num_workers=workers, **options)


@pytest.mark.parametrize("workers", [0, 2])
def test_samples_of_different_sizes_fail_as_with_torch(root: Path, workers: int) -> None:
    compare(lambda: classes.Files(root, T.ToTensor()), num_workers=workers)


def test_a_default_dtype_counts(root: Path) -> None:
    torch.set_default_dtype(torch.float64)
    try:
        compare(lambda: classes.Files(root, classes.VAL))
    finally:
        torch.set_default_dtype(torch.float32)
    loader = compare(lambda: classes.Files(root, classes.VAL))
    assert door.record(loader).state == "native"


@pytest.mark.parametrize("how", ["argument", "environment", "version", "worker"])
def test_tracing_can_be_off(root: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {}
    if how == "argument":
        options["trace"] = False
    elif how == "environment":
        monkeypatch.setenv("GOLOADER", "door1,door3")
    elif how == "version":
        monkeypatch.setattr(hooks, "refusal", lambda: Refusal("trace", "Image.open", "it was replaced"))
    else:
        monkeypatch.setattr(door, "get_worker_info", lambda: 1)
    monkeypatch.setattr(CoreNative, "run", lambda *_: pytest.fail("the core was asked"))
    loader = goloader.DataLoader(classes.Files(root, classes.TRAIN), 4, **options)
    assert loader.trace is (how != "argument")
    seed()
    got = list(loader)
    seed()
    assert difference(list(data.DataLoader(classes.Files(root, classes.TRAIN), 4)), got) is None
    row = loader.explain().rows[-1]
    assert (row.stage, row.where) == ("trace", "Python") and not loader.explain().native


def test_ctrl_c_leaves_a_loader_that_goes_on(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loader = goloader.DataLoader(classes.Files(root, classes.VAL), 4)
    want = list(loader)
    right = CoreNative.receive
    iterator = iter(loader)
    assert difference(want[0], next(iterator)) is None
    with monkeypatch.context() as patch:
        patch.setattr(CoreNative, "receive", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            next(iterator)
    assert CoreNative.receive is right
    assert difference(want[2:], list(iterator)) is None


def test_batches_are_kept_as_they_are(root: Path) -> None:
    loader = goloader.DataLoader(classes.Files(root, T.Compose([T.Resize((90, 90)), T.ToTensor()])), 8)
    for _ in range(3):
        kept = list(loader)
    again = list(data.DataLoader(classes.Files(root, T.Compose([T.Resize((90, 90)), T.ToTensor()])), 8))
    for _ in loader:
        pass
    assert difference(again, kept) is None
    assert type(kept[0][0]) is torch.Tensor


def test_nothing_is_hooked_when_no_loader_runs(root: Path) -> None:
    loader = goloader.DataLoader(classes.Files(root, classes.VAL), 4)
    code = Image.open.__code__
    iterator = iter(loader)
    next(iterator)
    next(iterator)
    assert door.record(loader).trusted and Image.open.__code__ is code


def test_dtypes_have_the_core_s_numbers() -> None:
    lib = _native.library()
    assert {str(dtype).removeprefix("torch."): number for dtype, number in DTYPES.items()} == {
        _native.dtype_name(lib, number): number for number in DTYPES.values()
    }


@pytest.mark.parametrize(
    "options",
    [
        {"persistent_workers": True},
        {"prefetch_factor": 1},
        {"timeout": 60, "worker_init_fn": lambda number: torch.rand(number)},
    ],
    ids=lambda options: next(iter(options)),
)
def test_options_of_worker_processes(root: Path, options: dict[str, Any]) -> None:
    loader = compare(lambda: classes.Store(root, classes.TRAIN), num_workers=2, batch_size=2, **options)
    assert door.record(loader).state == "native"


@pytest.mark.slow
def test_a_worker_that_is_spawned(root: Path) -> None:
    seed()
    want = list(data.DataLoader(classes.Files(root, classes.TRAIN), 5, num_workers=1))
    loader = goloader.DataLoader(
        classes.Files(root, classes.TRAIN), 5, num_workers=1, multiprocessing_context="spawn", persistent_workers=True
    )
    seed()
    assert difference(want, list(loader)) is None
    while door.record(loader).on and not door.record(loader).samples:  # a spawned worker does not wait for its trial
        list(loader)
    assert door.record(loader).state == "native"


@pytest.mark.slow
@pytest.mark.parametrize("method", ["forkserver", "spawn"])
def test_a_worker_that_is_no_fork_looks_at_pixels_of_the_core(root: Path, method: str) -> None:
    options = {"collate_fn": classes.mixed, "num_workers": 1, "multiprocessing_context": method, "batch_size": 7}
    loader = compare(lambda: classes.Files(root, classes.TRAIN), **options)
    assert door.record(loader).state == "looked at"


class Caught(classes.Files):
    """Handles a damaged picture where it looks at it, which is not where it was decoded."""

    def __getitem__(self, i: int) -> Any:
        content = bytearray(Path(self.path(i)).read_bytes())
        if i == 7:
            for at in range(len(content) // 2, len(content) // 2 + 40):
                content[at] ^= 0x55
        image = Image.open(io.BytesIO(content)).convert("RGB")
        try:
            level = float(np.asarray(image).mean())
        except OSError:
            level = -1.0
        return F.to_tensor(image.resize((9, 9))), level


@pytest.mark.parametrize("workers", [0, 2])
def test_an_error_that_is_handled_elsewhere_than_without_stand_ins_is_raised(root: Path, workers: int) -> None:
    compare(lambda: Caught(root), num_workers=workers)


def test_an_epoch_that_is_broken_off_leaves_workers_that_go_on(root: Path) -> None:
    def some(loader: Any) -> Any:
        seed()
        return [list(itertools.islice(loader, count)) for count in (2, 30, 1, 30)]

    options: dict[str, Any] = {"batch_size": 2, "shuffle": True, "num_workers": 2, "persistent_workers": True}
    want = some(data.DataLoader(classes.Files(root, classes.TRAIN), **options))
    loader = goloader.DataLoader(classes.Files(root, classes.TRAIN), **options)
    assert difference(want, some(loader)) is None
    assert door.record(loader).state == "native"


def test_a_loader_goes_on_from_a_state_of_recorded_batches(root: Path) -> None:
    def make() -> Any:
        return goloader.DataLoader(classes.Files(root, classes.TRAIN), 2, shuffle=True, num_workers=2)

    seed()
    loader = make()
    iterator = iter(loader)
    for _ in range(4):
        next(iterator)
    state = loader.state_dict()
    want = list(iterator)
    assert door.record(loader).state == "native"
    other = make()
    other.load_state_dict(state)
    assert len(want) == 7 and difference(want, list(other)) is None


def test_ctrl_c_leaves_workers_that_go_on(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loader = goloader.DataLoader(classes.Files(root, classes.VAL), 4, num_workers=2)
    want = list(loader)
    right, calls = CoreNative.receive, itertools.count()

    def interrupted(self: Any, *arguments: Any) -> Any:
        arrays = right(self, *arguments)
        if next(calls) % 3 == 1:
            raise KeyboardInterrupt
        return arrays

    monkeypatch.setattr(CoreNative, "receive", interrupted)
    iterator, got, times = iter(loader), [], 0
    while len(got) < len(want):
        try:
            got.append(next(iterator))
        except KeyboardInterrupt:
            times += 1
    assert times > 0 and difference(want, got) is None


def test_no_warnings_where_nothing_is_wrong(root: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compare(lambda: classes.Files(root, classes.TRAIN))


@pytest.mark.slow
def test_a_timeout_ends_a_wait_for_the_core(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A core that gives nothing, as where a storage stops to answer once a worker has read a file's header."""
    dataset = classes.Files(root, T.Compose([T.Resize((16, 16)), T.ToTensor()]))
    loader = goloader.DataLoader(dataset, batch_size=4, num_workers=2, timeout=2)
    want = list(data.DataLoader(dataset, batch_size=4, num_workers=2))
    list(loader)
    assert door.record(loader).state == "native"
    iterator = iter(loader)
    got = [next(iterator)]
    with monkeypatch.context() as silent:

        def nothing(_native: CoreNative, timeout: float = 0) -> None:
            time.sleep(timeout)

        silent.setattr(CoreNative, "receive", nothing)
        with pytest.raises(RuntimeError, match=r"^DataLoader timed out after 2 seconds"):
            got.extend(iterator)  # what the core gave before comes first
    assert difference(want, [*got, *iterator]) is None


class Fetching(classes.Files):
    """Opens a connection for each sample, as a client of a store that tries again and again."""

    address: tuple[str, int]

    def __getitem__(self, i: int) -> Any:
        for _ in range(1_000_000):
            try:
                socket.create_connection(self.address).close()
                break
            except Exception:
                time.sleep(1)
        return super().__getitem__(i)


def test_code_that_tries_again_is_not_waited_for(root: Path) -> None:
    """A check of it in a child process must not connect: the child ends at the first try, not after its time limit."""
    with socket.create_server(("127.0.0.1", 0), backlog=200) as server:
        Fetching.address = server.getsockname()
        loader = goloader.DataLoader(Fetching(root, classes.VAL), 7)
        theirs = data.DataLoader(Fetching(root, classes.VAL), 7)
        for ours, torchs in zip(loader, theirs, strict=True):
            assert torch.equal(ours[0], torchs[0])
        assert list(loader)
    assert "socket.connect" in str(loader.explain())
