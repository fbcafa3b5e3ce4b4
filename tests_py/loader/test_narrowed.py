"""GOLOADER=off leaves torch's own iterators, GOLOADER=door1, door2, door3 these doors; batches stay the same."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import photos
import pytest

from tests_py import fresh

Run = Callable[..., str]


PROLOGUE = """
import sys, warnings
import torch, goloader, torchvision.transforms as T
from PIL import Image
from torch.utils import data
from torch.utils.data import dataloader
from torchvision.datasets import ImageFolder

STEPS = T.Compose([T.RandomResizedCrop(20), T.RandomHorizontalFlip(), T.ToTensor()])

class Own(data.Dataset):
    "Its code can be recorded, but is not compiled."
    def __init__(self, root):
        self.files = ImageFolder(root)
        self.seen = []
    def __len__(self):
        return len(self.files)
    def __getitem__(self, index):
        image, label = Image.open(self.files.samples[index][0]).convert("RGB"), len(repr([index]).swapcase())
        return STEPS(image.resize((40, 40)) if label else image), label

def same(dataset, **arguments):
    "Both loaders' batches, for two epochs; the type of our iterator, and what explain() says."
    def batches(kind):
        torch.manual_seed(3)
        loader = kind(dataset, 4, shuffle=True, **arguments)
        seen = []
        for _ in range(2):
            iterator = iter(loader)
            seen += [[each.clone() for each in batch] for batch in iterator]
        return loader, type(iterator), seen
    loader, kind, ours = batches(goloader.DataLoader)
    _, _, theirs = batches(data.DataLoader)
    assert len(ours) == len(theirs) and all(x.equal(y) for a, b in zip(ours, theirs) for x, y in zip(a, b))
    return kind, loader.explain()

def folder():
    return ImageFolder(sys.argv[1], STEPS)
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs a program behind the prologue above, in a process of its own, and returns what it prints."""
    root = photos.fill(tmp_path_factory.mktemp("plain"), photos.plain(24))

    def program(text: str, *arguments: str, **environment: str) -> str:
        done = fresh.run(PROLOGUE + textwrap.dedent(text), root, *arguments, **environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return program


@pytest.mark.slow
def test_off_leaves_torch_s_own_iterators_and_loads_nothing_of_ours(run: Run) -> None:
    text = """
        for dataset in folder(), Own(sys.argv[1]):
            kinds = dataloader._SingleProcessDataLoaderIter, dataloader._MultiProcessingDataLoaderIter
            for workers, kind in zip((0, 2), kinds):
                got, told = same(dataset, num_workers=workers)
                assert got is kind, got
                assert not told.native and told.native_fraction == 0.0 and told.codes == ("DOOR_CLOSED",), told
                assert all(row.where == "Python" for row in told)
                assert [row.what for row in told if row.code] == ["GOLOADER=off"], told
        from goloader import _native
        assert not _native._load.cache_info().currsize
        from goloader.datasets import ImageFolder as Ours
        assert type(Ours(sys.argv[1]).samples) is list
        print("torch's")
    """
    assert run(text, GOLOADER="off") == "torch's\n"


@pytest.mark.slow
def test_off_has_no_state_and_says_so(run: Run) -> None:
    text = """
        for kind in goloader.DataLoader, goloader.StatefulDataLoader:
            loader = kind(folder(), 4, num_workers=2)
            next(iter(loader))
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                assert loader.state_dict() == {}
            print([(warning.category.__name__, "GOLOADER=off" in str(warning.message)) for warning in seen])
            loader.load_state_dict({})
            assert len(list(loader)) == 6
        try:
            goloader.DataLoader(folder(), rng="sample")
        except ValueError as error:
            print(error)
    """
    assert run(text, GOLOADER="off").splitlines() == [
        "[('GoloaderWarning', True)]",
        "[]",  # told once
        "rng=\"sample\" is goloader's, and GOLOADER=off leaves torch's loader: leave one of them out",
    ]


@pytest.mark.slow
def test_a_state_of_go_s_is_refused_where_torch_s_iterators_run(run: Run) -> None:
    text = """
        import os
        loader = goloader.DataLoader(folder(), 4)
        next(iter(loader))
        state = loader.state_dict()
        os.environ["GOLOADER"] = "off"
        loader.load_state_dict(state)
        try:
            iter(loader)
        except goloader.StateError as error:
            print(error)
    """
    assert run(text).startswith("GOLOADER=off leaves torch's loader, which neither goes on from a state")


# GOLOADER: what makes the batches of a folder with 0 and 2 workers, those of a class that can be recorded, and whether
# Go makes any images of the latter.
NARROWED = {
    "door1": ("InlineIterator PrefetchingIterator", "FetchingIterator False _MultiProcessingDataLoaderIter False"),
    "door2": (
        "FetchingIterator _MultiProcessingDataLoaderIter",
        "FetchingIterator True _MultiProcessingDataLoaderIter False",
    ),
    "door3": ("FetchingIterator ReportedIterator", "FetchingIterator False ReportedIterator False"),
    "door2, door3": ("FetchingIterator TracingIterator", "FetchingIterator True TracingIterator True"),
    "Door1,door3": ("InlineIterator PrefetchingIterator", "FetchingIterator False ReportedIterator False"),
    "": ("InlineIterator PrefetchingIterator", "FetchingIterator True TracingIterator True"),
}


@pytest.mark.slow
def test_doors_that_are_named_are_open_and_no_others(run: Run) -> None:
    text = """
        import os
        for doors in sys.argv[2:]:
            os.environ["GOLOADER"] = doors
            print(*(same(folder(), num_workers=workers)[0].__name__ for workers in (0, 2)))
            made = [same(Own(sys.argv[1]), num_workers=workers) for workers in (0, 2)]
            print(*(f"{kind.__name__} {told.native}" for kind, told in made))
    """
    assert run(text, *NARROWED).splitlines() == [line for lines in NARROWED.values() for line in lines]


@pytest.mark.slow
def test_other_values_are_one_clear_error(run: Run) -> None:
    text = """
        import os
        for os.environ["GOLOADER"] in sys.argv[2:]:
            try:
                goloader.DataLoader([1])
            except ValueError as error:
                print(error)
    """
    values = ["of", "door4", "off,door1", "door1,,door2", "0", "on"]
    said = [f"GOLOADER is {text!r}, neither off nor some of door1, door2, door3 with commas" for text in values]
    assert run(text, *values).splitlines() == [f"{each} between them" for each in said]


@pytest.mark.slow
def test_what_is_closed_is_a_warning_and_no_error(run: Run) -> None:
    text = """
        goloader.strict()
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            for _ in range(2):
                list(goloader.DataLoader(folder(), 4))
        print(*(f"{warning.category.__name__} {warning.filename} {warning.message}" for warning in seen), sep="\\n")
    """
    said = run(text, GOLOADER="off").splitlines()
    assert said == [
        "GoloaderWarning <string> goloader: DataLoader runs in Python: GOLOADER=off: "
        "GOLOADER in the environment turns this door off [DOOR_CLOSED]"
    ]
