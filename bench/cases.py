"""The cases of bench/against_torch.py: rows that are read, short epochs, own classes, ways home from workers.

A case is a function that makes a dataset in a folder that it may fill, and what a DataLoader takes besides it. What it
writes is made again at each start: it is small, or cheap.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import datasets as hf
import numpy as np
import torch
import torchvision.transforms as T
from torch.utils.data import ConcatDataset, Dataset, TensorDataset, default_collate, random_split
from torchvision import datasets

from goloader import ArrayDataset, FileArray, RaggedArray, TokenDataset
from goloader.collate import Jagged, Pad

Make: TypeAlias = Callable[[Path], Any]


@dataclasses.dataclass(frozen=True)
class Targets:
    """How many times the samples a second of torch's best number of workers, and of torch with as many workers as
    ours; and what share of the bytes a second that one core copies, where batches are copies and little else."""

    best: float
    same: float | None = None
    memcpy: float | None = None


@dataclasses.dataclass(frozen=True)
class Case:
    """One comparison.

    group       what the tables show it among
    options     for both DataLoaders
    targets     what goloader is to reach
    headline    shown in the README's table too
    same_bits   False if torch's own batches differ from run to run
    way_home    the dataset costs nothing, and what is timed is how batches come from worker processes: torch's loader
                has as many workers as ours
    lowered     makes a dataset of the same samples that Go knows by itself: what recording the user's code costs
    theirs      makes the dataset of torch's loader where that is another: the same samples, as people write it
    """

    name: str
    title: str
    group: str
    make: Make
    options: dict[str, Any]
    targets: Targets
    headline: bool = False
    same_bits: bool = True
    way_home: bool = False
    lowered: Make | None = None
    theirs: Make | None = None


CASES: dict[str, Case] = {}


def case(
    title: str,
    *,
    group: str,
    target: float,
    target_same: float | None = None,
    target_memcpy: float | None = None,
    headline: bool = False,
    same_bits: bool = True,
    way_home: bool = False,
    lowered: Make | None = None,
    theirs: Make | None = None,
    **options: Any,
) -> Callable[[Make], Make]:
    """Adds the decorated function as a case of its name."""
    targets = Targets(target, target_same, target_memcpy)

    def add(make: Make) -> Make:
        all_options = {"shuffle": True, **options}
        CASES[make.__name__] = Case(
            make.__name__, title, group, make, all_options, targets, headline, same_bits, way_home, lowered, theirs
        )
        return make

    return add


row_case = functools.partial(case, group="Tensors, arrays, tokens")
way_home_case = functools.partial(
    case, group="Transport of batches from worker processes", way_home=True, batch_size=64
)


@row_case("TensorDataset, float32 [60000, 1, 28, 28] and labels", batch_size=256, target=8, headline=True)
def tensors(scratch: Path) -> Dataset[Any]:
    return TensorDataset(torch.rand(60_000, 1, 28, 28), torch.randint(10, (60_000,)))


@row_case("random_split of two TensorDatasets in a ConcatDataset, the same rows", batch_size=256, target=8)
def joined(scratch: Path) -> Dataset[Any]:
    parts = [TensorDataset(torch.rand(40_000, 1, 28, 28), torch.randint(10, (40_000,))) for _ in range(2)]
    return random_split(ConcatDataset(parts), [60_000, 20_000], torch.Generator().manual_seed(0))[0]


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


@row_case("own Dataset: numpy float32 [60000, 28, 28] and a list of labels", batch_size=256, target=8, headline=True)
def own_class(scratch: Path) -> Dataset[Any]:
    return Own()


class PointCloud(Dataset[Any]):
    """ModelNet40 as DGCNN has it."""

    def __init__(self) -> None:
        noise = np.random.default_rng(0)
        self.data = noise.random((4000, 2048, 3), np.float32)
        self.label = noise.integers(0, 40, (4000, 1))

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, item: int) -> Any:
        pointcloud = self.data[item][:1024]
        scale = np.random.uniform(low=2.0 / 3.0, high=3.0 / 2.0, size=[3])
        shift = np.random.uniform(low=-0.2, high=0.2, size=[3])
        pointcloud = np.add(np.multiply(pointcloud, scale), shift).astype("float32")
        np.random.shuffle(pointcloud)
        return pointcloud, self.label[item]


@row_case("own Dataset: clouds of 1,024 points, scaled, moved and shuffled", batch_size=32, target=4, headline=True)
def points(scratch: Path) -> Dataset[Any]:
    return PointCloud()


class Signals(Dataset[Any]):
    """Electrocardiograms, each lead of them by its own mean and deviation."""

    def __init__(self) -> None:
        noise = np.random.default_rng(0)
        self.signals = noise.normal(size=(8000, 12, 500)).astype(np.float32)
        self.targets = noise.integers(0, 2, (8000, 5)).astype(np.float32)

    def __len__(self) -> int:
        return len(self.signals)

    def __getitem__(self, index: int) -> Any:
        x = self.signals[index]
        x = (x - x.mean(axis=1, keepdims=True)) / (x.std(axis=1, keepdims=True) + 1e-6)
        return torch.from_numpy(x), torch.from_numpy(self.targets[index])


@row_case("own Dataset: signals of 12 x 500, by their own mean and deviation", batch_size=64, target=4)
def signals(scratch: Path) -> Dataset[Any]:
    return Signals()


def cifar_with(scratch: Path, *last: Callable[..., Any]) -> Dataset[Any]:
    """CIFAR10 with the usual transform, and other steps behind it."""
    dataset: Any = datasets.CIFAR10.__new__(datasets.CIFAR10)  # its files are not downloaded: any pixels take as long
    steps = [T.RandomCrop(32, 4), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize((0.5,) * 3, (0.25,) * 3)]
    datasets.VisionDataset.__init__(dataset, str(scratch), transform=T.Compose([*steps, *last]))
    random = np.random.default_rng(0)
    dataset.data = random.integers(0, 256, (20_000, 3, 32, 32), np.uint8).transpose(0, 2, 3, 1)
    dataset.targets = random.integers(0, 10, 20_000).tolist()
    made: Dataset[Any] = dataset
    return made


@row_case("CIFAR10: RandomCrop(32, 4), flip, ToTensor, Normalize", batch_size=256, target=15, headline=True)
def cifar(scratch: Path) -> Dataset[Any]:
    return cifar_with(scratch)


@row_case("the same, RandomErasing", batch_size=256, target=15)
def cifar_erased(scratch: Path) -> Dataset[Any]:
    return cifar_with(scratch, T.RandomErasing())


class TwoCrops:
    """As contrastive learning wants it."""

    def __init__(self, transform: Callable[..., Any]) -> None:
        self.transform = transform

    def __call__(self, image: Any) -> Any:
        return [self.transform(image), self.transform(image)]


@row_case("the same, two crops with colours, as in SimCLR", batch_size=256, target=10)
def cifar_views(scratch: Path) -> Dataset[Any]:
    dataset: Any = cifar_with(scratch)
    dataset.data, dataset.targets = dataset.data[:4_000], dataset.targets[:4_000]
    colours = [T.RandomApply([T.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8), T.RandomGrayscale(p=0.2)]
    steps = [T.RandomResizedCrop(32, (0.2, 1.0)), T.RandomHorizontalFlip(), *colours, T.ToTensor()]
    dataset.transform = TwoCrops(T.Compose(steps))
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


@row_case(
    "ArrayDataset, mapped float32 [256, 224, 224, 13] and int64 [256, 77]",
    batch_size=32,
    target=4,
    target_memcpy=0.7,
)
def textures(scratch: Path) -> Dataset[Any]:
    x, tokens = mapped_textures(scratch)
    return ArrayDataset(x=x, tokens=tokens)


@row_case("own Dataset: torch.from_numpy(self.textures[i].copy()), of the same", batch_size=32, target=4)
def own_textures(scratch: Path) -> Dataset[Any]:
    return Textures(*mapped_textures(scratch))


@row_case("ArrayDataset, uint16 [20000, 1024] of a .bin file as int64", batch_size=64, target=4)
def rows_as_int64(scratch: Path) -> Dataset[Any]:
    np.random.default_rng(0).integers(0, 50_000, (20_000, 1024), np.uint16).tofile(scratch / "rows.bin")
    return ArrayDataset(FileArray(scratch / "rows.bin", dtype="uint16", shape=(-1, 1024)), dtypes=torch.int64)


@row_case("TokenDataset: windows of 1024 from 40 MB of uint16", batch_size=64, target=4)
def tokens(scratch: Path) -> Dataset[Any]:
    path = scratch / "tokens.bin"
    np.random.default_rng(0).integers(0, 50_000, 20_000_000, np.uint16).tofile(path)
    return TokenDataset(path, block_size=1024)


@row_case("TokenDataset: documents packed in windows of 1024", batch_size=64, target=4)
def documents(scratch: Path) -> Dataset[Any]:
    path = scratch / "documents.bin"
    np.random.default_rng(0).integers(0, 500, 5_000_000, np.uint16).tofile(path)
    return TokenDataset(path, block_size=1024, eos=0)


@row_case("Hugging Face's datasets, with_format('torch'): tokens, their mask and a label", batch_size=64, target=5)
def hugging_face(scratch: Path) -> Dataset[Any]:
    noise = np.random.default_rng(0)
    tokens = noise.integers(0, 30_000, (20_000, 128))
    columns = {"input_ids": list(tokens), "attention_mask": list((tokens > 99).astype(np.int8))}
    hf.Dataset.from_dict(columns | {"labels": noise.integers(0, 2, 20_000)}).save_to_disk(scratch / "tokens")
    mapped: Any = hf.load_from_disk(scratch / "tokens")
    made: Dataset[Any] = mapped.with_format("torch")
    return made


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


@row_case(
    "own Dataset: a list of 8 to 256 tokens each, Pad",
    batch_size=64,
    collate_fn=Pad(True),
    target=4,
    headline=True,
)
def sentences(scratch: Path) -> Dataset[Any]:
    return Sentences()


@row_case(
    "RaggedArray: the same, Pad to multiples of 8 with lengths",
    batch_size=64,
    collate_fn=Pad(True, 0, 8, True),
    target=4,
)
def padded_rows(scratch: Path) -> Dataset[Any]:
    return ArrayDataset(tokens=ragged())


@row_case("RaggedArray: the same, Jagged", batch_size=64, collate_fn=Jagged(), target=1)
def jagged_rows(scratch: Path) -> Dataset[Any]:
    return ArrayDataset(tokens=ragged())


def few_rows() -> Dataset[Any]:
    return TensorDataset(torch.rand(512, 32), torch.randint(10, (512,)))


@row_case(
    "short epochs: TensorDataset of 512, workers started for each epoch",
    batch_size=64,
    persistent_workers=False,
    target=1,
    target_same=50,
    headline=True,
)
def short_epochs(scratch: Path) -> Dataset[Any]:
    return few_rows()


@row_case("short epochs: TensorDataset of 512, persistent workers", batch_size=64, target=1)
def short_epochs_persistent(scratch: Path) -> Dataset[Any]:
    return few_rows()


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


@way_home_case("own Dataset in worker processes: float32 [3, 224, 224]", target=3, headline=True)
def worker_images(scratch: Path) -> Dataset[Any]:
    return Made(64 * 24, image)


@way_home_case("own Dataset: a float and an int", target=1)
def worker_numbers(scratch: Path) -> Dataset[Any]:
    return Made(64 * 400, numbers)


@way_home_case("own Dataset: dicts, namedtuples, lists, strings, arrays", target=1)
def worker_nested(scratch: Path) -> Dataset[Any]:
    return Made(64 * 100, nested)


@way_home_case("own collate_fn: padded text", collate_fn=padded, target=1)
def worker_collate(scratch: Path) -> Dataset[Any]:
    return Made(64 * 200, numbers)


@way_home_case("own Dataset: single samples, unbatched", batch_size=None, target=1)
def worker_unbatched(scratch: Path) -> Dataset[Any]:
    return Made(4000, nested)


@way_home_case("workers started for each epoch (fork)", persistent_workers=False, target=1)
def worker_fork(scratch: Path) -> Dataset[Any]:
    return Made(64 * 4, nested)


@way_home_case(
    "workers started for each epoch (forkserver)", persistent_workers=False,
    multiprocessing_context="forkserver", target=1,
)  # fmt: skip
def worker_forkserver(scratch: Path) -> Dataset[Any]:
    return Made(64 * 4, nested)


@way_home_case(
    "workers started for each epoch (spawn)", persistent_workers=False,
    multiprocessing_context="spawn", target=1,
)  # fmt: skip
def worker_spawn(scratch: Path) -> Dataset[Any]:
    return Made(64 * 4, nested)
