"""The cases of bench/against_torch.py: datasets that are read, short ones, own classes, ways home from workers.

A case is a function that makes a dataset in a folder that it may fill, and what a DataLoader takes besides it. What it
writes is made again at each start: it is small, or cheap.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
import torchvision.transforms as T
from torch.utils.data import Dataset, TensorDataset, default_collate
from torchvision import datasets

from goloader import ArrayDataset, FileArray, RaggedArray, TokenDataset
from goloader.collate import Jagged, Pad

Make: TypeAlias = Callable[[Path], Any]


@dataclasses.dataclass(frozen=True)
class Case:
    """One comparison.

    options     for both DataLoaders
    target      how many times the samples a second of torch's best it is to have
    same_bits   False if torch's own batches differ from run to run
    way_home    the dataset costs nothing, and what is timed is how batches come from worker processes: torch's loader
                has as many workers as ours
    lowered     makes a dataset of the same samples that Go knows by itself: what recording the user's code costs
    """

    name: str
    title: str
    make: Make
    options: dict[str, Any]
    target: float
    same_bits: bool = True
    way_home: bool = False
    lowered: Make | None = None


CASES: dict[str, Case] = {}


def case(
    title: str,
    *,
    target: float,
    same_bits: bool = True,
    way_home: bool = False,
    lowered: Make | None = None,
    **options: Any,
) -> Callable[[Make], Make]:
    """Adds the decorated function as a case of its name."""

    def add(make: Make) -> Make:
        all_options = {"shuffle": True, **options}
        CASES[make.__name__] = Case(make.__name__, title, make, all_options, target, same_bits, way_home, lowered)
        return make

    return add


@case("TensorDataset, float32 [60000, 1, 28, 28] and labels", batch_size=256, target=8)
def tensors(scratch: Path) -> Dataset[Any]:
    return TensorDataset(torch.rand(60_000, 1, 28, 28), torch.randint(10, (60_000,)))


class Own(Dataset[Any]):
    """A class such as people write, of numpy arrays and a list."""

    def __init__(self) -> None:
        noise = np.random.default_rng(0)
        self.features = noise.random((60_000, 28, 28), np.float32)
        self.labels = noise.integers(0, 10, 60_000).tolist()

    def __len__(self) -> int:
        return len(self.features)

    def __getitem__(self, index: int) -> Any:
        return self.features[index], self.labels[index]


@case("a class of one's own: numpy float32 [60000, 28, 28] and a list of labels", batch_size=256, target=8)
def own_class(scratch: Path) -> Dataset[Any]:
    return Own()


@case("CIFAR10: RandomCrop(32, 4), flip, ToTensor, Normalize", batch_size=256, target=15)
def cifar(scratch: Path) -> Dataset[Any]:
    dataset: Any = datasets.CIFAR10.__new__(datasets.CIFAR10)  # its files are not downloaded: any pixels take as long
    steps = [T.RandomCrop(32, 4), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize((0.5,) * 3, (0.25,) * 3)]
    datasets.VisionDataset.__init__(dataset, str(scratch), transform=T.Compose(steps))
    random = np.random.default_rng(0)
    dataset.data = random.integers(0, 256, (20_000, 3, 32, 32), np.uint8).transpose(0, 2, 3, 1)
    dataset.targets = random.integers(0, 10, 20_000).tolist()
    made: Dataset[Any] = dataset
    return made


class Textures(Dataset[Any]):
    """A memory map, as people read it."""

    def __init__(self, textures: Any, tokens: Any) -> None:
        self.textures, self.tokens = textures, tokens

    def __len__(self) -> int:
        return len(self.textures)

    def __getitem__(self, index: int) -> Any:
        return torch.from_numpy(self.textures[index].copy()), self.tokens[index]


def mapped_textures(scratch: Path) -> tuple[Any, Any]:
    mapped = np.lib.format.open_memmap(scratch / "textures.npy", "w+", np.float32, (256, 224, 224, 13))
    random = np.random.default_rng(0)
    for row in mapped:
        row[:] = random.random(row.shape, np.float32)
    tokens = random.integers(0, 50_000, (256, 77))
    return np.load(scratch / "textures.npy", mmap_mode="r"), tokens


@case("ArrayDataset, mapped float32 [256, 224, 224, 13] and int64 [256, 77]", batch_size=32, target=4)
def textures(scratch: Path) -> Dataset[Any]:
    x, tokens = mapped_textures(scratch)
    return ArrayDataset(x=x, tokens=tokens)


@case("a class of one's own: torch.from_numpy(self.textures[i].copy()), of the same", batch_size=32, target=4)
def own_textures(scratch: Path) -> Dataset[Any]:
    return Textures(*mapped_textures(scratch))


@case("ArrayDataset, uint16 [20000, 1024] of a .bin file as int64", batch_size=64, target=4)
def rows_as_int64(scratch: Path) -> Dataset[Any]:
    np.random.default_rng(0).integers(0, 50_000, (20_000, 1024), np.uint16).tofile(scratch / "rows.bin")
    return ArrayDataset(FileArray(scratch / "rows.bin", dtype="uint16", shape=(-1, 1024)), dtypes=torch.int64)


@case("TokenDataset: windows of 1024 from 40 MB of uint16", batch_size=64, target=4)
def tokens(scratch: Path) -> Dataset[Any]:
    path = scratch / "tokens.bin"
    np.random.default_rng(0).integers(0, 50_000, 20_000_000, np.uint16).tofile(path)
    return TokenDataset(path, block_size=1024)


@case("TokenDataset: documents packed in windows of 1024", batch_size=64, target=4)
def documents(scratch: Path) -> Dataset[Any]:
    path = scratch / "documents.bin"
    np.random.default_rng(0).integers(0, 500, 5_000_000, np.uint16).tofile(path)
    return TokenDataset(path, block_size=1024, eos=0)


class Sentences(Dataset[Any]):
    """Token lists as people keep them: tensors of 8 to 256 tokens, and a label each."""

    def __init__(self) -> None:
        noise = np.random.default_rng(0)
        self.tokens = [torch.from_numpy(noise.integers(0, 50_000, n)) for n in noise.integers(8, 257, 20_000)]
        self.labels = noise.integers(0, 10, 20_000).tolist()

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, index: int) -> Any:
        return self.tokens[index], self.labels[index]


def ragged() -> RaggedArray:
    noise = np.random.default_rng(0)
    lengths = noise.integers(8, 257, 20_000)
    return RaggedArray(noise.integers(0, 50_000, lengths.sum()), np.concatenate([[0], np.cumsum(lengths)]))


@case("a class of one's own: a list of 8 to 256 tokens each, Pad", batch_size=64, collate_fn=Pad(True), target=4)
def sentences(scratch: Path) -> Dataset[Any]:
    return Sentences()


@case(
    "RaggedArray: the same, Pad to multiples of 8 with lengths",
    batch_size=64,
    collate_fn=Pad(True, 0, 8, True),
    target=4,
)
def padded_rows(scratch: Path) -> Dataset[Any]:
    return ArrayDataset(tokens=ragged())


@case("RaggedArray: the same, Jagged", batch_size=64, collate_fn=Jagged(), target=1)
def jagged_rows(scratch: Path) -> Dataset[Any]:
    return ArrayDataset(tokens=ragged())


@case("short epochs: TensorDataset of 512", batch_size=64, target=1)
def short_epochs(scratch: Path) -> Dataset[Any]:
    return TensorDataset(torch.rand(512, 32), torch.randint(10, (512,)))


class Sample(NamedTuple):
    image: torch.Tensor
    box: tuple[float, float]


class Made(Dataset[Any]):
    """A class of the user's that does next to nothing: `length` times what `make` gives."""

    def __init__(self, length: int, make: Callable[[int], Any]) -> None:
        self.length, self.make = length, make

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        return self.make(index)


# The same in every process that imports this.
IMAGE = torch.linspace(0, 1, 3 * 224 * 224).reshape(3, 224, 224)
SMALL = torch.linspace(0, 1, 3 * 32 * 32).reshape(3, 32, 32)
IDS = np.arange(1000)


def image(index: int) -> Any:
    return IMAGE


def numbers(index: int) -> Any:
    return index / 3, index


def nested(index: int) -> Any:
    return {"sample": Sample(SMALL, (0.5, index)), "more": [SMALL, {"name": str(index), "ids": IDS}]}


def padded(samples: list[Any]) -> Any:
    """As collate functions for text do it: the longest sample decides."""
    longest = max(number % 50 for _, number in samples) + 1
    ids = torch.zeros(len(samples), longest, dtype=torch.int64)
    for row, (_, number) in zip(ids, samples, strict=True):
        row[: number % 50] = number
    return {"ids": ids, "mask": ids != 0, "plain": default_collate(samples)}


@case("own class: float32 [3, 224, 224]", batch_size=64, target=3, way_home=True)
def worker_images(scratch: Path) -> Dataset[Any]:
    return Made(64 * 24, image)


@case("own class: a float and an int", batch_size=64, target=1, way_home=True)
def worker_numbers(scratch: Path) -> Dataset[Any]:
    return Made(64 * 400, numbers)


@case("own class: dicts, namedtuples, lists, strings, arrays", batch_size=64, target=1, way_home=True)
def worker_nested(scratch: Path) -> Dataset[Any]:
    return Made(64 * 100, nested)


@case("own collate_fn: padded text", batch_size=64, collate_fn=padded, target=1, way_home=True)
def worker_collate(scratch: Path) -> Dataset[Any]:
    return Made(64 * 200, numbers)


@case("own class: single samples, unbatched", batch_size=None, target=1, way_home=True)
def worker_unbatched(scratch: Path) -> Dataset[Any]:
    return Made(4000, nested)


@case("workers started for each epoch (fork)", batch_size=64, persistent_workers=False, target=1, way_home=True)
def worker_fork(scratch: Path) -> Dataset[Any]:
    return Made(64 * 4, nested)


@case(
    "workers started for each epoch (forkserver)", batch_size=64, persistent_workers=False,
    multiprocessing_context="forkserver", target=1, way_home=True,
)  # fmt: skip
def worker_forkserver(scratch: Path) -> Dataset[Any]:
    return Made(64 * 4, nested)


@case(
    "workers started for each epoch (spawn)", batch_size=64, persistent_workers=False,
    multiprocessing_context="spawn", target=1, way_home=True,
)  # fmt: skip
def worker_spawn(scratch: Path) -> Dataset[Any]:
    return Made(64 * 4, nested)
