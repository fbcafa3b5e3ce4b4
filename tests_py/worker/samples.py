"""Datasets and collate functions for loaders whose batches are made in worker processes, importable by these."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.utils import data

LARGE = (40, 50)  # of float32: a batch of these is larger than what travels inside the pickle


class Pair(NamedTuple):
    image: Any
    label: Any


class Bag(collections.UserDict):  # type: ignore[type-arg]
    """A mapping of one's own."""


class Line(list):  # type: ignore[type-arg]
    """A sequence of one's own."""


@dataclasses.dataclass
class Record:
    """Not a container to default_collate."""

    image: torch.Tensor
    name: str


class Named(torch.Tensor):
    """A tensor subclass."""


def image(index: int, dtype: torch.dtype = torch.float32, shape: tuple[int, ...] = LARGE) -> torch.Tensor:
    made = torch.arange(index, index + int(np.prod(shape))).reshape(shape)
    return made.to(dtype)


# What dataset[i] gives. All of it is what default_collate takes.
SAMPLES: dict[str, Callable[[int], Any]] = {
    "float": lambda i: i / 3,
    "int": lambda i: i,
    "bool": lambda i: i % 2 == 0,
    "str": lambda i: f"sample {i}",
    "bytes": lambda i: b"x" * i,
    "tensor": image,
    "small tensor": lambda i: torch.tensor([i, i + 1]),
    "0-d": lambda i: torch.tensor(i),
    "empty": lambda i: torch.empty(0, 3),
    "complex": lambda i: image(i, torch.complex64),
    "boolean tensor": lambda i: image(i) % 2 == 0,
    "bfloat16": lambda i: image(i, torch.bfloat16),
    "float16": lambda i: image(i, torch.float16),
    "uint8": lambda i: image(i, torch.uint8),
    "uint16": lambda i: image(i, torch.uint16),
    "int64": lambda i: image(i, torch.int64),
    "float8": lambda i: image(i).to(torch.float8_e4m3fn),
    "channels last": lambda i: image(i, shape=(3, 20, 30)).contiguous().unsqueeze(0).to(
        memory_format=torch.channels_last).squeeze(0),
    "not contiguous": lambda i: image(i).t(),
    "expanded": lambda i: torch.tensor([float(i)]).expand(5000),
    "subclass": lambda i: image(i).as_subclass(Named),
    "parameter": lambda i: torch.nn.Parameter(image(i), requires_grad=False),
    "mixed dtypes": lambda i: image(i, torch.float32 if i % 2 else torch.float64),
    "ndarray": lambda i: image(i).numpy(),
    "0-d ndarray": lambda i: np.array(i),
    "numpy float": lambda i: np.float32(i),
    "numpy int": lambda i: np.int16(i),
    "numpy bool": lambda i: np.bool_(i % 2),
    "tuple": lambda i: (image(i), i),
    "list": lambda i: [image(i), i, f"{i}"],
    "dict": lambda i: {"image": image(i), "label": i, "more": {"name": f"{i}", "boxes": torch.ones(3, 4) * i}},
    "ordered dict": lambda i: collections.OrderedDict(b=image(i), a=i),
    "default dict": lambda i: collections.defaultdict(list, image=image(i), label=float(i)),
    "user dict": lambda i: Bag(image=image(i), label=i),
    "namedtuple": lambda i: Pair(image(i), i),
    "user list": lambda i: Line([image(i), i]),
    "nested": lambda i: ({"a": [image(i), (i, Pair(f"{i}", image(i, torch.int32)))]}, np.ones((30, 40)) * i),
    "range": lambda i: range(i, i + 3),
}  # fmt: skip

# What dataset[i] gives, and default_collate refuses.
REFUSED: dict[str, Callable[[int], Any]] = {
    "None": lambda i: None,
    "complex number": lambda i: complex(i),
    "set": lambda i: {i},
    "dataclass": lambda i: Record(image(i), f"{i}"),
    "sparse": lambda i: image(i).to_sparse(),
    "nested tensor": lambda i: torch.nested.nested_tensor([torch.ones(2), torch.ones(i + 1)]),
    "shapes": lambda i: torch.ones(50 + i, 50),
    "lengths": lambda i: [1] * i,
    "missing key": lambda i: {"a": 1} if i % 3 == 0 else {"b": 1},
    "text array": lambda i: np.array(["a", "b"]),
    "negative strides": lambda i: image(i).numpy()[::-1],
    "conjugate": lambda i: image(i, torch.complex64).conj(),
    "negative": lambda i: (image(i, torch.complex64).conj()).imag,
    "gradient": lambda i: image(i).requires_grad_(),
    "object array": lambda i: np.array([None, i]),
}


def shared_parts(samples: list[Any]) -> Any:
    whole = torch.stack([image(int(i)) for i in samples])
    return {"whole": whole, "first": whole[0], "again": whole, "flat": whole.view(-1), "half": whole[:2]}


def arrays(samples: list[Any]) -> Any:
    whole = np.stack([image(int(i)).numpy() for i in samples])
    locked = whole.copy()
    locked.setflags(write=False)
    return [whole, whole.T, whole[::2, ::3], locked, np.asfortranarray(whole), whole.astype(">f4"),
            np.array(["a", None, 3], dtype=object), np.zeros(0), np.rec.fromrecords([(1, 2.0)] * 2000, names="a,b"),
            whole.astype("M8[s]")]  # fmt: skip


def unusual(samples: list[Any]) -> Any:
    whole = torch.stack([image(int(i)) for i in samples])
    return [
        whole.to_sparse(),
        whole[0].to_sparse_csr(),
        torch.nested.nested_tensor([whole[0], whole[1, :3]]),
        torch.quantize_per_tensor(whole, 0.1, 0, torch.qint8),
        whole.clone().requires_grad_(),
        torch.nn.Parameter(whole.clone()),
        whole.as_subclass(Named),
        torch.empty(4, 5, device="meta"),
        whole.clone().share_memory_(),
        torch.empty(3, 0, 2),
        Record(whole, "record"),
        collections.Counter(a=1),
        {1, 2},
        None,
        b"b" * 100_000,
        "s" * 100_000,
        torch.Size([1, 2]),
        torch.float16,
        bytearray(b"c" * 20_000),
        whole.untyped_storage(),
    ]


def small_views(samples: list[Any]) -> Any:
    whole = torch.arange(1_000_000)
    part = whole[5000:9000]
    return [part, part.view(40, 100)[:, ::2], whole[70_000:90_000:7], part, whole[:0], whole.expand(2, -1)[:, :10]]


def small_tensors(samples: list[Any]) -> Any:
    """As targets of detection are: some alone in their memory, some not."""
    boxes = torch.tensor([[float(i), 1.0, 2.0, 3.0] for i in samples])
    alone = [torch.tensor(7), torch.tensor([1, 2]), torch.tensor([[True], [False]]), torch.ones(2, 1, 3).bfloat16()]
    odd = [torch.zeros(0, 4), torch.ones(3, 2).t(), torch.ones(3, 2)[:, 0].clone(), torch.ones(4)[1:], torch.ones(1, 1)]
    odd += [torch.empty_strided((1, 3), (1, 1)).fill_(2), torch.ones(1, 4)]
    complexes = [torch.tensor([1 + 2j]).conj(), torch.tensor([1j])]
    kept = torch.arange(6.0)
    shared = [kept, kept.view(2, 3), torch.from_numpy(np.arange(3)), torch.zeros(2).share_memory_()]
    return {"boxes": boxes, "rows": list(boxes), "same": boxes, "alone": alone, "odd": odd + complexes, "kept": shared}


COLLATES: dict[str, Callable[[list[Any]], Any]] = {
    "identity": list,
    "shared parts": shared_parts,
    "arrays": arrays,
    "unusual": unusual,
    "small views": small_views,
    "small tensors": small_tensors,
    "default inside": lambda samples: (data.default_collate([image(int(i)) for i in samples]), "text"),
    "default twice": lambda samples: [
        data.default_collate([image(int(i)) for i in samples]) for _ in range(2)
    ][1:],
}  # fmt: skip


class Mapped(data.Dataset[Any]):
    """`length` samples of a kind in SAMPLES or REFUSED."""

    def __init__(self, kind: str, length: int = 13) -> None:
        self.kind, self.length = kind, length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        return (SAMPLES | REFUSED)[self.kind](index)


class Bulk(Mapped):
    """Loads a batch at once."""

    def __getitems__(self, indices: list[int]) -> list[Any]:
        assert type(indices) is list
        return [self[index] for index in indices]


class Stream(data.IterableDataset[Any]):
    """Each worker gives its share."""

    def __init__(self, kind: str, length: int = 13) -> None:
        self.kind, self.length = kind, length

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[Any]:
        info = data.get_worker_info()
        assert info is not None
        for index in range(info.id, self.length, info.num_workers):
            yield SAMPLES[self.kind](index)


class Drawn(data.Dataset[Any]):
    """Random numbers of every generator, and where they were drawn."""

    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> Any:
        import random

        info = data.get_worker_info()
        assert info is not None
        assert info.dataset is self
        return torch.rand(30, 40), np.random.random(), random.random(), info.id, info.seed, index


class Failing(data.Dataset[Any]):
    """Raises for some samples."""

    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> Any:
        if index == 5:
            raise KeyError("five")
        if index == 7:
            raise ValueError(f"sample {index} is bad")
        return image(index)


def see(value: Any) -> Any:
    """A batch as data that == compares: types of everything, and of tensors and arrays all that a user can see."""
    if isinstance(value, torch.Tensor):
        if value.is_nested:
            return "nested", [see(part) for part in value.unbind()]
        if value.layout in (torch.sparse_coo, torch.sparse_csr):
            return "sparse", str(value.layout), tuple(value.shape), see(value.to_dense())
        head = type(value).__name__, str(value.dtype), tuple(value.shape), value.requires_grad, str(value.device)
        if value.device.type == "meta":
            return head
        if value.is_quantized:
            return *head, value.q_scale(), value.q_zero_point(), see(value.int_repr())
        plain = value.detach().as_subclass(torch.Tensor)
        raw = plain.resolve_conj().resolve_neg().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
        return *head, value.stride(), value.storage_offset(), value.untyped_storage().nbytes(), raw
    if isinstance(value, torch.UntypedStorage):
        return "storage", value.tolist()
    if isinstance(value, np.ndarray):
        content = value.tolist() if value.dtype.hasobject else value.tobytes()
        flags = value.flags.writeable, value.flags.c_contiguous, value.flags.f_contiguous
        return type(value).__name__, value.dtype.str, value.shape, value.strides, flags, content
    if isinstance(value, collections.abc.Mapping):
        extra = getattr(value, "default_factory", None)
        return type(value).__name__, extra, [(key, see(item)) for key, item in value.items()]
    if isinstance(value, list | tuple):
        return type(value).__name__, [see(item) for item in value]
    if isinstance(value, Record):
        return "Record", see(value.image), value.name
    return type(value).__name__, value
