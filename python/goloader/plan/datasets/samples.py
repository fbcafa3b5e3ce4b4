"""A dataset as the core sees it."""

from __future__ import annotations

import bisect
import itertools
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..collates.collation import is_channels_last
from ..paths import Files
from ..refusal import Refusal, granted
from ..rows import Array, Field, Owner, View
from ..structure import fields_of, in_tuples
from ..transforms.lowered import Lowered
from .cuts import Cut
from .own.kept import Alike, Pools
from .tree import NOWHERE, Column, Indices, Node

_greatest = np.maximum.reduce  # ndarray.max() calls it by way of Python


@dataclass(frozen=True, eq=False)
class Part:
    """Files that share a transform: those of one image folder.

    samples  its (path, label) tuples; ours, so that a later change of the dataset's own list is seen
    files    the same as the core takes them
    load     opens a path as the dataset does; the image is RGB
    """

    dataset: Any
    samples: Sequence[tuple[Any, Any]]
    files: Files
    lowered: Lowered
    load: Callable[[Any], Any]

    views: ClassVar[int] = 1  # files a sample

    def __len__(self) -> int:
        return len(self.samples)

    def path(self, file: int) -> Any:
        """Of a file, by its number among the part's."""
        return self.samples[file][0]

    def open(self, file: int) -> Any:
        """The image of a file by Pillow, as the core wants it."""
        return self.load(self.path(file))


@dataclass(frozen=True, eq=False)
class PairPart(Part):
    """Files of images and of targets that are images as well.

    samples  (path, path of the target) tuples
    files    image and target of each sample
    """

    views: ClassVar[int] = 2

    def path(self, file: int) -> Any:
        return self.samples[file // 2][file % 2]

    def open(self, file: int) -> Any:
        path, target = self.path(file), self.lowered.target
        assert target is not None
        if file % 2 == 0 or target.mode == "RGB":
            return self.load(path)
        from PIL import Image

        image = Image.open(path)
        image.load()
        if image.mode != target.mode:
            raise RuntimeError(
                f"goloader: {path} is an image of mode {image.mode}, where all targets were of mode {target.mode} "
                "when the dataset was first used"
            )
        return image


# What datasets of these classes say of an index that they do not have.
_RAISING = {
    ("TensorDataset",): "index {} is out of bounds for dimension 0 with size {}",
    ("ImageFolder",): "list index out of range",
    ("DatasetFolder",): "list index out of range",
}


class Samples:
    """A dataset: what its samples look like, and which of them an index means.

    length     len(dataset)
    structure  of a sample
    kinds      names of the datasets that hold the samples, and
    notes      what else explain() says of them
    any_integer  an index of numpy's or torch's integers means what the int means
    takes      types of indices, where one of another type makes another sample; None where none does
    made_now   `ahead` has just made samples that are kept from now on
    index      [length] int64, index of the dataset -> number of the sample, counted through all parts, NOWHERE for
               none; None if the same
    """

    takes: set[type] | None = None
    index: Indices | None = None
    made_now = False

    def __init__(self, root: Node, leaves: Sequence[Node]) -> None:
        self._root = root
        self.kinds = tuple(sorted({type(leaf.dataset).__qualname__ for leaf in leaves}))
        self.notes = tuple(sorted({leaf.note for leaf in leaves if leaf.note}))
        self.tried = any(leaf.tried for leaf in leaves)
        self.length = root.length
        self.structure = root.structure
        self.any_integer = root.any_integer

    def resolve(self, indices: Indices) -> Indices:
        """What the core calls the samples of these indices of the dataset, negative ones included.

        Raises IndexError if one is out of range: then `dataset[i]` has the error that torch's users would see.
        """
        if not self._has(indices):
            if self._root.negatives:
                indices = np.where(indices < 0, indices + self.length, indices)
            if not self._has(indices):
                raise IndexError(f"index out of range for a dataset of {self.length}")
        if self.index is not None:
            indices = self.index[indices]
            if (indices == NOWHERE).any():
                raise IndexError("a Subset lists an index that its dataset does not have")
        return indices

    def _has(self, indices: Indices) -> bool:
        """Whether all are from 0 on and below the length."""
        return not len(indices) or bool(_greatest(indices.view(np.uint64)) < self.length)  # a negative one is large

    def place(self, index: Any) -> int:
        """The same of one index of any type, which torch's datasets may reckon with. Raises IndexError."""
        return int(self.resolve(np.array([self._root.found(index)[0]], np.int64))[0])

    def given(self, index: Any) -> Any:
        """What the dataset in which an index finds its sample is asked for. Raises IndexError."""
        return self._root.found(index)[1]

    def missing(self, indices: Sequence[Any]) -> IndexError | None:
        """What the dataset, as it was lowered, raises for a batch with an index that it does not have; None where its
        own code says that, or the batch has no such index."""
        outside = next((i for i in indices if type(i) is int and not -self.length <= i < self.length), None)
        if outside is None or self.kinds not in _RAISING:
            return None
        return IndexError(_RAISING[self.kinds].format(outside, self.length))

    def ahead(self, rows: Indices, *, alone: bool) -> dict[int, list[Any]]:
        """What is made of samples before the core makes them. Raises what the user's code raises.

        alone  the user's own objects may have been changed since the epoch began, which is to be seen to
        """
        return {}

    @property
    def makes_ahead(self) -> bool:
        """Whether `ahead` makes anything."""
        return False

    @property
    def waits(self) -> bool:
        """Whether an epoch of torch's workers comes first, whose samples are kept."""
        return False

    @property
    def outdated(self) -> bool:
        """Whether more is known of the dataset by now than when it was lowered."""
        return False

    @property
    def makes_late(self) -> bool:
        """Whether Python makes something of samples that may fail as their batch is handed out."""
        return False

    @property
    def by_python(self) -> bool:
        """Whether Python puts some of a batch's fields together, beside the core's."""
        return False

    def put_together(
        self, columns: list[Any], rows: Indices, indices: Callable[[], Sequence[Any]], ahead: dict[int, list[Any]]
    ) -> list[Any]:
        """A batch's fields, of the core's columns and what Python puts together.

        indices  gives them as the loader's sampler gave them
        ahead    what was made before
        """
        return columns

    def hold(self) -> None:
        """Keeps memory from being moved by resize_() while workers read it, as a dataset shared with processes is."""

    def unchanged(self, dataset: Any, indices: Indices | None = None) -> bool:
        """True if `dataset` is still what was lowered: same objects, same lists, same transforms.

        With `indices` only what these mean is looked at: cheap enough for every batch.
        """
        if indices is not None and not self._has(indices):
            indices = np.where(indices < 0, indices + self.length, indices)
            indices = indices[(indices >= 0) & (indices < self.length)]
        return self._root.unchanged(dataset, indices)

    def versions(self) -> tuple[int, ...]:
        """Numbers that grow when torch writes into the memory that samples are read from."""
        return ()


class Images(Samples):
    """Image files with a target each: a label, or an image of its own.

    parts    those with transforms of their own, each once
    files    of all parts
    foreign  share of the dataset's samples whose files only Pillow reads
    """

    def __init__(self, root: Node, leaves: Sequence[Node]) -> None:
        super().__init__(root, leaves)
        (column,) = root.columns
        self.parts: tuple[Part, ...] = column.pieces
        self.index = column.index
        self.files = Files.joined([part.files for part in column.pieces])
        self.foreign = 1.0 - self.files.native_share(_files(self.index, column.pieces[0].views))
        self._ends = list(itertools.accumulate(len(part) * part.views for part in self.parts))

    def _find(self, row: int) -> tuple[Part, int]:
        number = bisect.bisect_right(self._ends, row)
        part = self.parts[number]
        return part, row - self._ends[number] + len(part) * part.views

    def name(self, row: int) -> Any:
        """The path of a file."""
        part, at = self._find(row)
        return part.path(at)

    def load(self, row: int) -> Any:
        """The image of a file by Pillow, RGB; a target's in its own mode."""
        part, at = self._find(row)
        return part.open(at)

    def alone(self, row: int, image: Any) -> Any:
        """The image of a sample that is in no batch, with the strides that it has there."""
        return image.as_strided(image.shape, self._find(row)[0].lowered.pixel) if image[0].numel() == 1 else image


def _files(index: Indices | None, views: int) -> Indices | None:
    """The files of images, where each has so many."""
    if index is None or views == 1:
        return index
    return (index[index != NOWHERE, None] * views + np.arange(views)).reshape(-1)


# Why samples that are in lists stay with torch where there are no workers.
IN_LISTS = "its samples are in lists, of which torch makes batches as quickly where there are no workers"


class Arrays(Samples):
    """Rows of arrays.

    fields    where each is
    texts     fields beside these, by their numbers among all of a sample's: Python puts them into its batches
    in_lists  a sample is there already, as objects in lists
    channels_last  torch takes some tensors of a sample for such
    """

    def __init__(self, root: Node, leaves: Sequence[Node]) -> None:
        super().__init__(root, leaves)
        self.texts = {number: column for number, column in enumerate(root.columns) if column.spec is str}
        # Where their columns stand among all of a batch's.
        self.places = {number: number for number in self.texts}
        self.fields = tuple(made.field() for made in _joined([each for each in root.columns if each.spec is not str]))
        self._pools = Pools(root.columns)
        self._values = {
            number: column.pieces[0].values if len(column.pieces) == 1 else _Joined(column.pieces)
            for number, column in self.texts.items()
        }
        self._in = in_tuples(self.structure)
        pieces = list(itertools.chain.from_iterable(column.pieces for column in root.columns))
        self.in_lists = all(getattr(piece, "listed", False) for piece in pieces)
        self._memory = [getattr(piece, "memory", None) for piece in pieces] if len(leaves) == 1 else [None]
        self.channels_last = any(
            piece.channels_last if hasattr(piece, "channels_last") else _is_channels_last(piece.array)
            for piece in pieces
        )

    def put_together(
        self, columns: list[Any], rows: Indices, indices: Callable[[], Sequence[Any]], ahead: dict[int, list[Any]]
    ) -> list[Any]:
        """The core's columns, and texts between them, in what torch leaves them in."""
        if not self.texts:
            return columns
        left, made = iter(columns), []
        for place in range(len(columns) + len(self.places)):
            if place not in self.places:
                made.append(next(left))
                continue
            number = self.places[place]
            index, values = self.texts[number].index, self._values[number]
            at = rows if index is None else index[rows]
            made.append((tuple if number in self._in else list)(map(values.__getitem__, at.tolist())))
        return made

    @property
    def makes_ahead(self) -> bool:
        return bool(self._pools)

    @property
    def waits(self) -> bool:
        return self._pools.waits

    @property
    def outdated(self) -> bool:
        return self._pools.outdated

    def in_workers(self) -> Alike:
        """torch's workers are about to make the samples of an epoch, which are kept."""
        return self._pools.in_workers()

    def take(self, rows: Indices, batch: Any, handed: bytes) -> None:
        """Keeps what they made of these: what they handed over, or what their batch shows."""
        leaves = pickle.loads(handed) if handed else fields_of(self.structure, batch)
        self._pools.take(rows, leaves, collated=not handed)

    def ahead(self, rows: Indices, *, alone: bool) -> dict[int, list[Any]]:
        if self._pools:
            self.made_now = self._pools.fill(rows, whole=alone)
        return {}

    def check_apart(self, why: Refusal, *, sent: bool, changes: bool) -> None:
        """Sees to it that samples one by one are what the dataset makes, as in Scripts. Raises RefusalError."""
        made = [each for each in self._memory if each is not None]
        shared = len(frozenset().union(*made)) < sum(map(len, made))
        of_dataset = len(made) < len(self._memory) and (changes or not sent)
        if shared or of_dataset or not any(field.opens_files for field in self.fields):
            granted(why)

    def versions(self) -> tuple[int, ...]:
        return versions_of(self.fields)

    def hold(self) -> None:
        hold_all(self.fields)


class _Joined:
    """The values of several pieces, one after the other."""

    def __init__(self, pieces: Sequence[Any]) -> None:
        self._pieces, self._ends = pieces, [*itertools.accumulate(map(len, pieces))]

    def __getitem__(self, at: int) -> Any:
        number = bisect.bisect_right(self._ends, at)
        return self._pieces[number].values[at - (self._ends[number - 1] if number else 0)]


def _is_channels_last(array: Array) -> bool:
    return array.lengths is None and is_channels_last(array.shape[1:], array.strides[1:])


@dataclass
class _Made:
    """Columns that are made of the same rows."""

    column: Column
    views: list[View]

    def takes(self, column: Column, cut: Cut) -> bool:
        """True if the other column is of the same rows, too, and another view of them."""
        ours = [getattr(piece, "cut", None) for piece in self.column.pieces]
        theirs = [getattr(piece, "cut", None) for piece in column.pieces]
        return (
            [each and id(each.whole) for each in ours] == [each and id(each.whole) for each in theirs]
            and (self.column.index is column.index or _same(self.column.index, column.index))
            and all(cut.value == len(view.columns) or not cut.like(view) for view in self.views)
        )

    def add(self, number: int, cut: Cut) -> None:
        for place, view in enumerate(self.views):
            if cut.like(view):
                self.views[place] = replace(view, columns=(*view.columns, number))
                return
        self.views.append(View((number,), cut.skip, cut.drop, cut.layout))

    def field(self) -> Field:
        dtype, shape, name = self.column.spec[:3]
        program = getattr(self.column.pieces[0], "program", None)
        extents = getattr(self.column.pieces[0], "extents", ()) if self.column.pieces else ()
        if program is not None:
            inputs = tuple(zip(*(piece.inputs for piece in self.column.pieces), strict=True))
            ragged = any(array.lengths is not None for arrays in inputs for array in arrays)
            return Field(dtype, shape, (), self.column.index, name, ragged, tuple(self.views), program, inputs, extents)
        arrays = tuple(piece.array for piece in self.column.pieces)
        ragged = any(array.lengths is not None for array in arrays)
        return Field(dtype, shape, arrays, self.column.index, name, ragged, tuple(self.views), extents=extents)


def _joined(columns: Sequence[Column]) -> list[_Made]:
    """A row of which several columns are made is read once."""
    made: list[_Made] = []
    for number, column in enumerate(columns):
        cut = getattr(column.pieces[0], "cut", None) if column.pieces else None
        if cut is None:
            made.append(_Made(column, [View((number,))]))
            continue
        known = next((each for each in made if each.takes(column, cut)), None)
        if known is None:
            made.append(known := _Made(column, []))
        known.add(number, cut)
    return made


def _same(one: Indices | None, other: Indices | None) -> bool:
    return one is not None and other is not None and np.array_equal(one, other)


def versions_of(fields: Sequence[Field]) -> tuple[int, ...]:
    """Of the memory that fields are read from, as Samples has them."""
    arrays = (array for field in fields for arrays in field.sources for array in arrays)
    return tuple(array.owner.version() for array in arrays if isinstance(array.owner, Owner))


def hold_all(fields: Sequence[Field]) -> None:
    """Keeps the memory that fields are read from where it is."""
    for field in fields:
        for array in itertools.chain.from_iterable(field.sources):
            hold(array)


def hold(array: Array) -> None:
    if isinstance(array.owner, Owner):
        array.owner.hold()
