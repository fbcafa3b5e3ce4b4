"""The tree of a dataset: leaves that know where samples are, and Subset, ConcatDataset and StackDataset above them.

A node says what a sample looks like (its structure), and for each field in it a Column: pieces of storage, and which
row of them each index means. Indices are worked out once, as arrays. Each node knows how to tell whether its object is
still the one that was lowered.
"""

from __future__ import annotations

import bisect
import itertools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import PosixPath
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import ConcatDataset, Subset
from torch.utils.data.dataset import StackDataset

from ...arrays.mapped import is_shared
from ..refusal import SourceRefusal
from ..structure import Structure, count, shifted
from ..trust import look
from ..trust.calls import check_calls
from ..trust.look import has, in_class, is_a
from ..trust.originals import as_shipped, is_original
from .own.standing import Classes

Indices = NDArray[np.int64]

# An index of a composed dataset whose own lookup would fail, as when a Subset lists samples that are not there.
NOWHERE = -1


@dataclass(frozen=True, eq=False)
class Column:
    """Where one field of the samples is.

    pieces  storage: objects with a length, their rows counted one after the other; each is in the list once
    spec    what rows have in common; columns of different datasets can be joined only if it is equal
    index   [samples] int64, index of the dataset -> row, NOWHERE for none; None if they are the same
    """

    pieces: tuple[Any, ...]
    spec: Any
    index: Indices | None = None


class Node:
    """A dataset of the tree.

    note       what explain() says of it, if anything
    negatives  an index below 0 means a sample, counted from the end; else it is an error of the dataset's
    gives_index  a sample tells which index it was asked for by
    open_ended   an index beyond its length may be a sample, which only the dataset makes
    any_integer  an index that is an integer of numpy's, or an int64 tensor, means what the int means
    tried        a trial is to show that: code of a library that is not read makes the samples
    batched      samples are others where they are asked for one at a time, and not by __getitems__
    """

    note = ""
    negatives = True
    gives_index = False
    open_ended = False
    any_integer = True
    tried = False
    batched = False

    dataset: Any
    length: int
    structure: Structure
    columns: tuple[Column, ...]

    def unchanged(self, dataset: Any, at: Indices | None) -> bool:
        """True if `dataset` is still what was lowered, so that these indices (None: all) mean what they meant."""
        raise NotImplementedError

    def found(self, index: Any) -> tuple[int, Any]:
        """Which sample an index means, and what the leaf that has it is asked for: as it is reckoned on the way there,
        in the index's own type. Raises IndexError where that may be an error, and TypeError for no integer."""
        return operator.index(index), index


@dataclass
class Leaves:
    """How a dataset that is none of torch's containers becomes a node; each is made once."""

    make: Callable[[Any], Node]
    known: dict[int, Node] = field(default_factory=dict)

    def node(self, dataset: Any) -> Node:
        if id(dataset) not in self.known:
            self.known[id(dataset)] = self.make(dataset)
        return self.known[id(dataset)]


def node(dataset: Any, leaves: Leaves) -> Node:
    """The tree of `dataset`. Raises RefusalError."""
    if type(dataset) is Subset:
        return _Subset(dataset, leaves)
    if type(dataset) is ConcatDataset:
        return _Concat(dataset, leaves)
    if type(dataset) is StackDataset:
        return _Stack(dataset, leaves)
    return leaves.node(dataset)


class _Subset(Node):
    def __init__(self, dataset: Subset[Any], leaves: Leaves) -> None:
        _check_plain(dataset, ("dataset", "indices"))
        self.dataset = dataset
        self.inner = node(dataset.dataset, leaves)
        self.batched = self.inner.batched
        self.given = copied(dataset.indices)
        at = _integers(dataset, dataset.indices)
        if is_a(dataset.indices, np.ndarray, torch.Tensor) and is_shared(dataset.indices):
            raise SourceRefusal("Subset", "its indices are in memory that processes share", "INDICES")
        self.length = len(at)
        if self.inner.gives_index and (at < 0).any():
            raise SourceRefusal("Subset", "its dataset gives the indices, and some are negative", "INDICES")
        if not self.inner.any_integer and not _gives_ints(dataset.indices):
            raise SourceRefusal("Subset", "its indices are not ints, and its dataset may notice", "INDICES")
        self.structure = self.inner.structure
        inside = (at >= (-self.inner.length if self.inner.negatives else 0)) & (at < self.inner.length)
        self.at = np.where(inside, np.where(at < 0, at + self.inner.length, at), NOWHERE)
        self.columns = _indexed(self.inner.columns, self.at)

    def unchanged(self, dataset: Any, at: Indices | None) -> bool:
        if dataset is not self.dataset or not _is_plain(dataset, ("dataset", "indices")):
            return False
        if not equal_at(dataset.indices, self.given, at):
            return False
        inner = None if at is None else self.at[at]
        return self.inner.unchanged(dataset.dataset, None if inner is None else inner[inner != NOWHERE])

    def found(self, index: Any) -> tuple[int, Any]:
        place = operator.index(index)
        return place, self.inner.found(self.dataset.indices[place])[1]


def _indexed(columns: Sequence[Column], at: Indices) -> tuple[Column, ...]:
    """Columns as seen through a list of indices; fields that share an index go on sharing one."""
    made: dict[int, Indices] = {}
    for column in columns:
        if id(column.index) not in made:
            index = at if column.index is None else np.full(len(at), NOWHERE, np.int64)
            if column.index is not None:
                inside = at != NOWHERE
                index[inside] = column.index[at[inside]]
            made[id(column.index)] = index
    return tuple(Column(column.pieces, column.spec, made[id(column.index)]) for column in columns)


class _Concat(Node):
    def __init__(self, dataset: ConcatDataset[Any], leaves: Leaves) -> None:
        _check_plain(dataset, ("datasets", "cumulative_sizes"))
        self.dataset = dataset
        self.inner = [node(each, leaves) for each in dataset.datasets]
        if any(each.batched for each in self.inner):
            raise SourceRefusal(
                "ConcatDataset", "a dataset in it gives other samples for single indices", "PARTS_DIFFER"
            )
        wanted = np.diff([0, *dataset.cumulative_sizes]).tolist()
        self.lengths = [
            size if each.open_ended and 0 <= size <= each.length else each.length
            for each, size in zip(self.inner, [*wanted, *(-1 for _ in self.inner)], strict=False)
        ]
        self.sizes = list(itertools.accumulate(self.lengths))
        self.length = self.sizes[-1] if self.sizes else 0
        if not self._fits(dataset):
            raise SourceRefusal("ConcatDataset", "the length of a dataset in it has changed", "LENGTH_CHANGED")
        first = self.inner[0]
        for each in self.inner[1:]:
            # By their texts: dicts are equal whatever order their names are in, which is that of a batch's.
            if repr(each.structure) != repr(first.structure) or any(
                one.spec != other.spec for one, other in zip(each.columns, first.columns, strict=True)
            ):
                raise parts_differ()
        self.structure = first.structure
        self.any_integer = all(each.any_integer for each in self.inner)
        self.columns = tuple(
            _joined([(each.columns[number], length) for each, length in zip(self.inner, self.lengths, strict=True)])
            for number in range(len(first.columns))
        )

    def _fits(self, dataset: ConcatDataset[Any]) -> bool:
        """ConcatDataset looks its lengths up when it is built, and never again."""
        return dataset.cumulative_sizes == self.sizes

    def found(self, index: Any) -> tuple[int, Any]:
        operator.index(index)
        if index < 0:
            if -index > self.length:
                raise IndexError(index)
            index = self.length + index
        number = bisect.bisect_right(self.sizes, index)
        if number == len(self.inner):
            raise IndexError(index)
        begin = self.sizes[number - 1] if number else 0
        inner = self.inner[number]
        place, given = inner.found(index - begin if number else index)
        if place < 0 and inner.negatives:
            place += inner.length
        if not 0 <= place < self.lengths[number]:
            raise IndexError(index)
        return begin + place, given

    def unchanged(self, dataset: Any, at: Indices | None) -> bool:
        if not (
            dataset is self.dataset
            and _is_plain(dataset, ("datasets", "cumulative_sizes"))
            and len(dataset.datasets) == len(self.inner)
            and self._fits(dataset)
        ):
            return False
        starts = [0, *self.sizes]
        return all(
            inner.unchanged(each, None if at is None else at[(at >= start) & (at < end)] - start)
            for inner, each, start, end in zip(self.inner, dataset.datasets, starts, self.sizes, strict=False)
        )


def parts_differ() -> SourceRefusal:
    """Why datasets are not joined of which torch puts samples together in several ways, or not at all."""
    return SourceRefusal("ConcatDataset", "samples of its datasets differ in fields, types or shapes", "PARTS_DIFFER")


def _joined(columns: Sequence[tuple[Column, int]]) -> Column:
    """One field of several datasets, one after the other. Storage that several of them share is in there once."""
    every = tuple(piece for column, _ in columns for piece in column.pieces)
    whole = all(column.index is None and sum(map(len, column.pieces)) == length for column, length in columns)
    if whole and len({*map(id, every)}) == len(every):
        return Column(every, columns[0][0].spec)
    starts: dict[int, int] = {}
    pieces: list[Any] = []
    end = 0
    indices: list[Indices] = []
    for column, length in columns:
        own, moved, begin = [0], [], 0
        for piece in column.pieces:
            if id(piece) not in starts:
                starts[id(piece)] = end
                pieces.append(piece)
                end += len(piece)
            moved.append(starts[id(piece)] - begin)
            begin += len(piece)
            own.append(begin)
        rows = np.arange(length, dtype=np.int64) if column.index is None else column.index[:length]
        if any(moved):
            piece_of = np.searchsorted(np.array(own[1:], np.int64), rows, side="right")
            inside = rows != NOWHERE
            rows = rows.copy()
            rows[inside] += np.array(moved, np.int64)[piece_of[inside]]
        indices.append(rows)
    index = np.concatenate(indices)
    same = end == len(index) and np.array_equal(index, np.arange(len(index)))
    return Column(tuple(pieces), columns[0][0].spec, None if same else index)


class _Stack(Node):
    def __init__(self, dataset: StackDataset[Any], leaves: Leaves) -> None:
        _check_plain(dataset, ("datasets", "_length"))
        datasets = dataset.datasets
        if type(datasets) not in (tuple, dict):
            raise SourceRefusal("StackDataset", f"its datasets are a {type(datasets).__name__}", "PARTS_DIFFER")
        self.dataset = dataset
        self.given = datasets
        self.names = tuple(datasets) if isinstance(datasets, dict) else None
        self.inner = [node(each, leaves) for each in self._datasets(dataset)]
        self.length = dataset._length
        if any(each.length != self.length for each in self.inner):
            raise SourceRefusal("StackDataset", "the length of a dataset in it has changed", "LENGTH_CHANGED")
        self.negatives = all(each.negatives for each in self.inner)
        self.any_integer = all(each.any_integer for each in self.inner)
        structures: list[Structure] = []
        for each in self.inner:
            structures.append(shifted(each.structure, sum(map(count, structures))))
        self.structure = tuple(structures) if self.names is None else dict(zip(self.names, structures, strict=True))
        self.columns = tuple(column for each in self.inner for column in each.columns)

    def found(self, index: Any) -> tuple[int, Any]:
        return self.inner[0].found(index)

    def _datasets(self, dataset: Any) -> list[Any]:
        return list(dataset.datasets if self.names is None else dataset.datasets.values())

    def unchanged(self, dataset: Any, at: Indices | None) -> bool:
        return (
            dataset is self.dataset
            and _is_plain(dataset, ("datasets", "_length"))
            and dataset.datasets is self.given
            and dataset._length == self.length
            and (self.names is None or tuple(dataset.datasets) == self.names)
            and all(
                inner.unchanged(each, at) and inner.length == self.length
                for inner, each in zip(self.inner, self._datasets(dataset), strict=True)
            )
        )


# Checks


def check_class(dataset: Any, base: type, package: str, attributes: Sequence[str]) -> None:
    """Raise RefusalError unless indexing `dataset` does what `base`, a class of `package`, was written to do.

    A subclass is taken only if it changes nothing of what is done for an index. attributes are what base's code reads
    of the object: each must be a plain attribute of it.
    """
    kind: Any = type(dataset)
    name = name_of(dataset)
    for method in ("__getitem__", "__len__"):
        if getattr(kind, method) is not getattr(base, method) or not is_original(getattr(kind, method), package):
            raise SourceRefusal(name, f"its class overrides {method}", "CLASS_OVERRIDES")
        if method in vars(dataset):
            raise SourceRefusal(name, f"it has a {method} of its own", "CLASS_OVERRIDES")
    check_calls(name, (), (base,), ("__getitem__", "__len__"))
    if kind.__getattribute__ is not object.__getattribute__ or (
        getattr(kind, "__getattr__", None) is not getattr(torch.utils.data.Dataset, "__getattr__", None)
    ):
        raise SourceRefusal(name, "its class overrides attribute access", "CLASS_OVERRIDES")
    if has(dataset, "__getitems__"):
        raise SourceRefusal(name, "it has __getitems__", "CLASS_OVERRIDES")
    for attribute in attributes:
        if attribute not in vars(dataset) or in_class(type(in_class(kind, attribute)), "__set__"):
            raise SourceRefusal(name, f"its {attribute} is computed", "CLASS_OVERRIDES")


class Checked:
    """What check_class has found of a dataset, as far as it can be asked for before each batch."""

    def __init__(self, dataset: Any) -> None:
        self._dataset, self._classes = dataset, Classes(type(dataset))
        self._getitem = type(dataset).__getitem__

    def stands(self, dataset: Any) -> bool:
        try:
            same_class = self._classes.hold(type(dataset))
        except RuntimeError:  # another thread changes it
            return False
        return (
            dataset is self._dataset
            and same_class
            and as_shipped(self._getitem)
            and "__getitems__" not in vars(dataset)
        )


def _check_plain(dataset: Any, attributes: tuple[str, ...]) -> None:
    if not _is_plain(dataset, attributes):
        raise SourceRefusal(name_of(dataset), "its methods or attributes were replaced", "FUNCTION_REPLACED")


def _is_plain(dataset: Any, attributes: tuple[str, ...]) -> bool:
    """True for an unpatched container of torch's with nothing hung onto it that torch would call instead."""
    methods = ("__getitem__", "__getitems__", "__len__")
    found = [in_class(type(dataset), method) for method in methods]  # a ConcatDataset has no __getitems__
    return (
        all(method is None or is_original(method, "torch") for method in found)
        and not {*methods} & vars(dataset).keys()
        and all(attribute in vars(dataset) for attribute in attributes)
    )


def _integers(dataset: Any, indices: Any) -> Indices:
    """A Subset's indices as int64; refused where indexing with them may mean something else than with ints."""
    name = name_of(dataset)
    kinds: set[Any]
    if is_a(indices, torch.Tensor) and indices.ndim == 1 and indices.device.type == "cpu":
        kinds = {indices.dtype}
        values: Any = indices.numpy() if kinds <= {torch.int32, torch.int64} else None
    elif type(indices) is np.ndarray and indices.ndim == 1:
        kinds = {indices.dtype}
        values = indices if kinds <= {np.dtype(np.int32), np.dtype(np.int64)} else None
    elif type(indices) is range:
        kinds = {range}
        values = np.arange(indices.start, indices.stop, indices.step, dtype=np.int64)
    elif type(indices) in (list, tuple):
        kinds = set(map(type, indices))
        values = indices if kinds <= {int, np.int32, np.int64} else None
    else:
        kinds = {type(indices).__name__}
        values = None
    if values is None:
        names = sorted(kind.__name__ if isinstance(kind, type) else str(kind) for kind in kinds)
        raise SourceRefusal(name, f"its indices are of type {', '.join(names)}", "INDICES")
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError:
        raise SourceRefusal(name, "it has indices that do not fit an int64", "INDICES") from None


def _gives_ints(indices: Any) -> bool:
    return type(indices) is range or (type(indices) in (list, tuple) and set(map(type, indices)) <= {int})


def copied(indices: Any) -> Any:
    """What `equal` compares with later; a range and Files cannot change."""
    if is_a(indices, torch.Tensor):
        return indices.clone()
    return indices.copy() if is_a(indices, list, np.ndarray) else indices


def equal(indices: Any, given: Any) -> bool:
    if indices is given or type(indices) is not type(given):
        return indices is given
    if isinstance(given, torch.Tensor):
        return indices.dtype == given.dtype and torch.equal(indices, given)
    if isinstance(given, np.ndarray):
        return indices.dtype == given.dtype and np.array_equal(indices, given)
    return bool(indices == given)


# Values of these types are equal only where nothing tells them apart.
_EXACT = {bool, bytes, int, str, type(None)}
# Of these an array has all bits.
_NUMBERS = {float, *(np.dtype(code).type for code in "?bBhHiIlLqQefd")}


def alike(value: Any, other: Any) -> bool:
    """Whether two values are of the same types, and the same to the bit: 1 equals True, 0.0 equals -0.0, and a NaN does
    not equal itself."""
    if type(value) is not type(other):
        return False
    if isinstance(value, list | tuple):
        if len(value) != len(other):
            return False
        if all(map(operator.is_, value, other)):
            return True
        kinds = {*map(type, value)}
        if kinds <= _EXACT:
            return bool(value == other) and list(map(type, value)) == list(map(type, other))
        if len(kinds) == 1 and kinds <= _NUMBERS:  # in one go: there may be millions
            of = kinds.pop()
            return {*map(type, other)} == {of} and np.array(value, of).tobytes() == np.array(other, of).tobytes()
        return all(map(alike, value, other))
    if isinstance(value, np.generic):
        return bool(value.dtype == other.dtype and value.tobytes() == other.tobytes())
    if isinstance(value, float | complex):
        return repr(value) == repr(other)
    if is_a(value, torch.Tensor, np.ndarray):
        if value.dtype != other.dtype or value.shape != other.shape:
            return False
        if value.dtype == object:  # its bytes tell where the objects are
            return alike(value.ravel().tolist(), other.ravel().tolist())
        return _bytes(value) == _bytes(other)
    return bool(value == other)


def _bytes(array: Any) -> bytes:
    if isinstance(array, torch.Tensor):
        array = array.detach().contiguous().reshape(-1).view(torch.uint8).numpy()
    found: bytes = array.tobytes()
    return found


def equal_at(indices: Any, given: Any, at: Indices | None) -> bool:
    """equal for some places of two lists; for all with None: identities come first, 10 ms for a million items."""
    if at is None:
        return equal(indices, given)
    if type(indices) is not type(given) or len(indices) != len(given):
        return False
    if isinstance(given, torch.Tensor | np.ndarray):
        return equal(indices[at], given[at])
    return all(indices[i] == given[i] for i in at.tolist())


def name_of(dataset: Any) -> str:
    root, kind = look.attribute(dataset, "root"), look.name_of(dataset)
    return f"{kind}({root!r})" if type(root) in (str, PosixPath) else kind
