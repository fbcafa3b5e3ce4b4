"""A user's own class whose samples its own code makes, each once: the core makes batches of what is kept.

    def __getitem__(self, index):
        ids = [self.vocab.get(word, UNK) for word in self.texts[index].split()][:MAX]
        return torch.tensor(ids + [PAD] * (MAX - len(ids))), self.labels[index]

Of the class nothing has to be understood but that a sample is the same each time: its code uses what is listed here and
in pure.py, none of which draws, changes anything, or looks at files. What it goes by is looked at before each
batch, as of any dataset that Go reads: once anything of it has changed, all is made anew.

A sample is made as the first batch that has it is begun, so that no epoch takes longer than with torch. Samples that
take long are made by torch's workers, side by side: what is kept is taken from their batches (doors/worker/keeping.py).
"""

from __future__ import annotations

import itertools
import operator
import pickle
import sys
import time
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property, partial
from pathlib import PosixPath
from statistics import median_low
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ...._beside import Notes
from ....arrays.file_array import NUMPY_DTYPES, contiguous
from ....state import generators
from ...bytecode import UnreadableError
from ...collates.collation import Lists, is_channels_last
from ...refusal import Refusal, RefusalError, SourceRefusal
from ...rows import DIMENSIONS_MAX, Array
from ...structure import Structure
from ...trust import ending
from ...trust.look import has, is_a, name_of, own
from ..tree import Column, Indices, Node
from . import tokenizers
from .bases import PYTHON, why_not_collated
from .code import getitem_of, length_of
from .pure import Pure, looks_up_index
from .sources import FIXED, is_table, is_texts

# Further names of what looks at arrays, tensors, tables and paths, and gives others; no sums over many threads.
_NAMES = {
    "T", "abs", "absolute", "all", "amax", "amin", "any", "arange", "argmax", "argmin", "argwhere", "at", "atleast_1d",
    "atleast_2d", "basename", "bincount", "clamp", "clip", "columns", "cos", "cumprod", "cumsum", "deg2rad", "diag",
    "diff", "dirname", "dstack", "exp", "expm1", "eye", "flip", "fliplr", "flipud", "floor", "hstack", "iat",
    "identity", "iloc", "inf", "is_tensor", "isfinite", "isin", "isnan", "linspace", "loc", "log", "log10", "log1p",
    "log2", "logical_and", "logical_not", "logical_or", "maximum", "mean", "median", "meshgrid", "minimum", "moveaxis",
    "mT", "name", "nan", "nan_to_num", "newaxis", "nonzero", "normalize", "one_hot", "outer", "parent", "path", "pi",
    "prod", "rad2deg", "ravel", "relu", "repeat_interleave", "roll", "rot90", "round", "searchsorted", "sigmoid",
    "sign", "sin", "softmax", "splitext", "sqrt", "std", "stem", "suffix", "sum", "swapaxes", "take", "tan", "tanh",
    "tile", "to_list", "to_numpy", "tril", "triu", "unfold", "unique", "var", "vstack", "where",
}  # fmt: skip
_WHOLES = (list, tuple, dict, set, frozenset)
_WITH_LENGTHS = (str, bytes, list, tuple, np.ndarray, torch.Tensor)

# Items of data that its code goes by, without workers and with them, and bytes of arrays in it: all are compared with
# what they were, before each batch or before each epoch.
_ITEMS_MAX, _ITEMS_MAX_OF_EPOCHS, _BYTES_MAX = 200_000, 4_000_000, 32 << 20
# Of samples.
_KEPT_BYTES_MAX = 256 << 20
# In which time they are to be made, or the first two where there are no workers: others wait for a batch.
LIMIT_S = 1.0
# The first sample may take so many times as long as others do.
_LONGER_MAX = 10
# Samples that are made to see what they are like; of those that default_collate stacks, one tells it mostly.
_LOOKED_AT, _STACKED_LOOKED_AT = 8, 2
# The first look at what code goes by takes several times as long as those before later batches.
_LOOKS = 3
# Without workers: to look at what code goes by, before each batch, may take this share of the time of its samples; and
# to keep one takes 5 us, which has to be little beside the time that it takes.
LOOK_MAX, SAMPLE_S_MIN = 0.05, 60e-6
# What it takes to hand a byte over, in seconds: it is pickled, written, read, and kept.
_HANDED_S = 3e-9
# CPU time that samples may take that are still to be made, where torch's workers make them side by side.
ALL_S_MAX = 0.1


class _Code(Pure):
    """What the code of a dataset goes by."""

    names, libraries = Pure.names | _NAMES | tokenizers.NAMES, Pure.libraries | {"os", "posixpath"}

    def __init__(self, dataset: Any, items_max: int) -> None:
        self._items_max = items_max
        pandas = sys.modules.get("pandas")
        tables = () if pandas is None else (pandas.DataFrame, pandas.Series, pandas.api.extensions.ExtensionArray)
        self.known = (*Pure.known, PosixPath, *tables)
        self._bytes, self._dataset, self._kind = 0, dataset, type(dataset)
        self._tokenizers: list[tuple[Any, tuple[Any, ...]]] = []
        self._function = getitem_of(dataset)
        named = [*own(dataset).items(), *self._function.__globals__.items()]
        makers = {name for name, value in named if tokenizers.is_tokenizer(value)}
        # Methods of tokenizers, unless code has something of its own by their names.
        if makers:
            makers |= {name for name in tokenizers.MAKERS.difference(dict(named)) if not has(dataset, name)}
        self.makers = frozenset(makers)
        super().__init__(self._function, dataset)
        if not self._state.known:
            raise UnreadableError("goes by data that may change unseen")

    def unchanged(self) -> bool:
        try:
            same = type(self._dataset) is self._kind and getitem_of(self._dataset) is self._function
            same = same and all(
                tokenizers.is_tokenizer(each) and tokenizers.settings_of(each) == was for each, was in self._tokenizers
            )
        except (RefusalError, UnreadableError):
            return False
        return same and super().unchanged()

    def _is_maker(self, value: Any) -> bool:
        return tokenizers.is_tokenizer(value)

    def extremes(self, length: int) -> set[int]:
        """Where texts, lists and arrays are shortest and longest, of lists with one for each sample."""
        found: set[int] = set()
        for value in self._held.values():
            if type(value) is list and len(value) == length and type(value[0]) in _WITH_LENGTHS and len(found) < 4:
                with suppress(TypeError):
                    lengths = [*map(len, value)]
                    found |= {lengths.index(min(lengths)), lengths.index(max(lengths))}
        return found

    def _look(self, value: Any, name: str) -> None:
        if tokenizers.is_tokenizer(value):
            self._tokenizers.append((value, tokenizers.settings_of(value)))
        else:
            super()._look(value, name)

    def _is_data(self, value: Any) -> bool:
        kind = type(value)
        return kind in (np.ndarray, torch.Tensor, *_WHOLES) or kind in FIXED or is_table(value) or is_texts(value)

    def _check_data(self, value: Any, name: str) -> None:
        if self._count(value) > self._items_max or self._bytes > _BYTES_MAX:
            raise UnreadableError(f"uses {name}, which holds more than goloader looks at, again and again")

    def _count(self, value: Any) -> int:
        """The items of some data. Raises UnreadableError for what is none."""
        kind = type(value)
        if is_texts(value):
            return 1
        if kind is np.ndarray and value.dtype == object:
            return self._count(value.ravel().tolist())
        if kind in (np.ndarray, torch.Tensor):
            if kind is torch.Tensor and (value.requires_grad or value.device.type != "cpu" or value.is_quantized):
                raise UnreadableError("uses a tensor that is not plain")
            self._bytes += value.nbytes
            return 1
        if is_table(value):
            self._bytes += int(np.sum(value.memory_usage(index=True)))
            return int(value.size)
        if kind not in _WHOLES:
            if kind not in FIXED:
                raise UnreadableError(f"uses data with a {kind.__qualname__}")
            return 1
        inside = [*value, *value.values()] if kind is dict else value
        kinds = set(map(type, inside))
        return len(inside) if kinds <= FIXED else len(inside) + sum(map(self._count, inside))


# How what workers made comes by: in their batches, which default_collate makes; as samples beside them; not at all.
Shared = Literal["", "batches", "samples"]
# What a worker hands over of a batch: nothing where the batch shows it, or the values of each field, pickled; None if
# not all samples are like others.
Handed = bytes | None


class _Left(Exception):
    """A sample is not like the others: the dataset's own code makes each batch that has it."""


class _Uneven(_Left):
    """The same, of one that is of another length."""

    def __init__(self, row: int) -> None:
        super().__init__("an array that differs in its length")
        self.row = row


# Of datasets, samples that differ in length from all that were looked at, as was seen later: they are looked at, too,
# when the dataset is looked at again.
_odd: Notes[Any, frozenset[int]] = Notes()


class Kept(Node):
    """A dataset of such a class.

    Raises RefusalError where this is no way either.
    """

    negatives, open_ended, gives_index, tried = False, True, True, True

    def __init__(
        self, dataset: Any, why: Refusal, *, rows: Lists, workers: int, size: int | None, shared: Shared
    ) -> None:
        """
        why      a compiler does not understand it
        rows     which lists of numbers that samples have are rows
        workers  processes of torch's that would make samples side by side
        size     samples of a batch, where that is known
        shared   how what takes these long may be had from them
        """
        self.dataset, self._shared = dataset, shared
        try:
            self._code = _Code(dataset, _ITEMS_MAX_OF_EPOCHS if workers else _ITEMS_MAX)
            self.length, self.any_integer = length_of(dataset), looks_up_index(dataset)
            self._look(rows, workers, size or 1)
        except UnreadableError as error:
            told = f"{why.why}; nor are its samples kept, as it {error}"
            raise SourceRefusal(why.what, told, "CODE_UNREAD") from None

    def _look(self, rows: Lists, workers: int, size: int) -> None:
        """Makes some samples, to see what all are like."""
        if self.length < 1:
            raise UnreadableError("has no samples")
        count = _STACKED_LOOKED_AT if self._shared == "batches" else _LOOKED_AT
        self._odd = _odd.get(self.dataset) or frozenset()
        looked_at = {n * (self.length - 1) // (count - 1) for n in range(count)} | self._odd
        if self._shared != "batches":
            looked_at |= self._code.extremes(self.length)
        places = sorted(looked_at)
        ended = ending.ended([partial(operator.getitem, self.dataset, place) for place in places], LIMIT_S)
        if ended < (len(places) if workers else min(2, len(places))):
            raise UnreadableError(f"takes more than {LIMIT_S:g} s for a few of them")
        places = places[:ended]
        made, took = [], []
        before = generators.capture(generators.PROCESS)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            for place in places:
                begun = time.thread_time()
                try:
                    made.append(self.dataset[place])
                except Exception as error:  # of the user's code
                    raise UnreadableError(f"raises {type(error).__name__}") from None
                took.append(time.thread_time() - begun)
                if workers and not self._shared and took[0] * self.length > _LONGER_MAX * ALL_S_MAX:
                    break
        if told or generators.left(before):
            raise UnreadableError("warns, or draws random numbers")
        places, sample_s = places[: len(made)], median_low(took)
        if not workers and sample_s < SAMPLE_S_MIN:
            raise UnreadableError(f"takes {sample_s * 1e6:.0f} us for one, and to keep it takes long beside that")
        self._sample_s, self._by_workers = sample_s, bool(workers) and sample_s * self.length > ALL_S_MAX
        if self._by_workers and not self._shared:
            raise UnreadableError(f"takes {sample_s * self.length:.1f} s for all of them, which workers share")
        looks = []
        for _ in range(1 if workers else _LOOKS):
            begun = time.thread_time()
            if not self._code.unchanged():
                raise UnreadableError("goes by data that may change unseen")
            looks.append(time.thread_time() - begun)
        if not workers and min(looks) > LOOK_MAX * size * sample_s:
            raise UnreadableError("goes by more data than is looked at in the time of a batch")
        self._skeleton = _skeleton(made, rows)
        self.structure = _numbered(self._skeleton, itertools.count())
        self._parts = _parts_of(self._skeleton)
        try:
            found = [self._parts(sample) for sample in made]
            self._leaves = [_Kept(self, first) for first in found[0]]
            for leaf, values in zip(self._leaves, zip(*found, strict=True), strict=True):
                leaf.settle(values)
            self._ragged = [leaf for leaf in self._leaves if leaf.is_ragged]
            self._as_long: list[list[int]] = []
            self._keep(places, found)
            # As long as each other in what was looked at: they are to be that in all samples.
            self._as_long = _as_long([leaf.lengths[places].tolist() for leaf in self._ragged])
        except _Left as left:
            raise UnreadableError(f"makes samples that differ: {left}") from None
        if all(leaf.is_text for leaf in self._leaves):
            raise UnreadableError("gives nothing but texts")
        size = sum(leaf.bytes for leaf in self._leaves)
        if size * self.length > _KEPT_BYTES_MAX:
            raise UnreadableError("makes more than is kept in memory")
        if self._by_workers and self._shared == "samples" and size * _HANDED_S > LOOK_MAX * sample_s:
            raise UnreadableError(f"makes {size} bytes in {sample_s * 1e6:.0f} us, which workers would hand over")
        self._made, self._settings = np.zeros(self.length, np.bool_), _settings()
        self._made[places] = not workers  # which have settings of their own
        self.columns = tuple(Column((leaf,), leaf.spec) for leaf in self._leaves)
        self.note = f"its own code makes each sample, once: {sample_s * 1e6:.0f} us each"

    def _found(self, leaf: Any) -> int:
        self._leaves.append(_Kept(self, leaf))
        return len(self._leaves) - 1

    def fill(self, rows: Indices) -> bool:
        """Makes the samples of these rows that were not made; whether there are any. Raises what the user's code
        raises."""
        self._settle(_settings())
        missing = rows[~self._made[rows]].tolist()
        if missing:
            self._keep(missing, [self._parts(self.dataset[row]) for row in missing])
            self._made[missing] = True
        return bool(missing)

    def fill_all(self, rows: Indices) -> None:
        """The same, but for those that fail: their errors come again with the batches that have them."""
        self._settle(_settings())
        for row in rows[~self._made[rows]]:
            with suppress(Exception):
                self.fill(np.array([row]))

    def _settle(self, settings: tuple[Any, ...]) -> None:
        """What was made with other settings counts for nothing."""
        if self._settings != settings:
            self._made[:], self._settings = False, settings

    def waits(self, rows: Indices) -> bool:
        """Whether so many of these are still to be made that torch's workers make them sooner."""
        made = int(self._made[rows].sum()) if self._settings == _settings(threads=1) else 0
        return self._by_workers and (len(rows) - made) * self._sample_s > ALL_S_MAX

    def in_workers(self) -> Alike:
        """Workers are about to make samples."""
        self._settle(_settings(threads=1))
        return Alike(self._skeleton, [leaf.like for leaf in self._leaves], self._shared)

    def made(self, rows: Indices) -> None:
        """These were kept, of a batch of a worker's. Raises _Left."""
        self._check_lengths(rows)
        self._made[rows] = True

    def _keep(self, rows: list[int], samples: list[list[Any]]) -> None:
        try:
            for leaf, values in zip(self._leaves, zip(*samples, strict=True), strict=True):
                leaf.keep(rows, values)
        except _Uneven as uneven:
            self.differs(uneven.row)
            raise
        self._check_lengths(rows)

    def differs(self, row: int) -> None:
        """This sample is to be looked at, too: its length is another one."""
        with suppress(TypeError):  # there are objects that nobody can refer to weakly
            _odd[self.dataset] = self._odd | {row}

    def _check_lengths(self, rows: Any) -> None:
        """Raises _Left where some are not as long as each other, which those were that were looked at."""
        for group in self._as_long:
            first, *others = (self._ragged[number].lengths[rows] for number in group)
            if not all(np.array_equal(first, other) for other in others):
                raise _Left("arrays that are not as long as each other")

    def unchanged(self, dataset: Any, at: Indices | None) -> bool:
        return dataset is self.dataset and self._code.unchanged()

    @property
    def outdated(self) -> bool:
        """Whether other samples are to be looked at, too."""
        return (_odd.get(self.dataset) or self._odd) != self._odd


def _settings(threads: int | None = None) -> tuple[Any, ...]:
    """What numbers are reckoned by: how many threads sum up, and in which dtype."""
    return threads or torch.get_num_threads(), torch.get_default_dtype()


def _skeleton(samples: Sequence[Any], rows: Lists) -> Any:
    """What these samples have in common: their containers, with None in place of each leaf."""
    first = samples[0]
    kind = type(first)
    if not _is_container(kind, rows) or not first or (kind is list and _are_rows(samples, rows)):
        return None
    alike = [each for each in samples if type(each) is kind and len(each) == len(first)]
    if kind in (tuple, list):
        return kind(_skeleton(values, rows) for values in zip(*alike, strict=True))
    alike = [each for each in alike if each.keys() == first.keys()]
    return kind({name: _skeleton([each[name] for each in alike], rows) for name in first})


def _is_container(kind: type, rows: Lists = "all") -> bool:
    """Whether a sample's values are in such: where a collator of transformers' takes them, in what tokenizers give."""
    return kind in (tuple, list, dict) or (rows == "all" and kind is tokenizers.batch_encoding())


def _are_rows(values: Sequence[Any], rows: Lists) -> bool:
    """Whether lists of ints are one leaf each, for what puts samples together."""
    numbers = all(type(each) is list and {*map(type, each)} == {int} for each in values)
    return numbers and (rows == "all" or (rows == "uneven" and len({*map(len, values)}) > 1))


def _numbered(skeleton: Any, numbers: Iterator[int]) -> Structure:
    """The structure of samples."""
    if skeleton is None:
        return next(numbers)
    if type(skeleton) in (tuple, list):
        return tuple(_numbered(each, numbers) for each in skeleton)
    return {name: _numbered(each, numbers) for name, each in skeleton.items()}


def _parts_of(skeleton: Any) -> Callable[[Any], list[Any]]:
    """What gives the leaves of a sample like this one, in order. That raises _Left for another."""
    if skeleton is None:
        return lambda sample: [sample]
    kind, names = type(skeleton), [*skeleton]
    named = kind not in (tuple, list)
    inner = list(map(_parts_of, skeleton.values() if named else skeleton))
    simple = all(each is None for each in (skeleton.values() if named else skeleton))

    def parts(sample: Any) -> list[Any]:
        if type(sample) is not kind or len(sample) != len(names) or (named and [*sample] != names):
            raise _Left("a structure of its own")
        items = sample.values() if named else sample
        return [*items] if simple else [leaf for of, each in zip(inner, items, strict=True) for leaf in of(each)]

    return parts


class Like(NamedTuple):
    """What all values of one field have in common, but for their shape."""

    kind: type
    dtype: Any = None

    def takes(self, values: Sequence[Any]) -> bool:
        return {*map(type, values)} == {self.kind} and (self.dtype is None or {*map(_DTYPE, values)} == {self.dtype})

    def plain(self, values: Sequence[Any]) -> Sequence[Any]:
        """The values as they are kept, tensors and lists as arrays. Raises _Left for some that are not like this."""
        if not self.takes(values):
            raise _Left("values of several types, or of several dtypes")
        if self.kind is list:
            if not all({*map(type, each)} == {int} for each in values):
                raise _Left("a list of other things than ints")
            return [_ints(each) for each in values]
        if self.dtype is None:
            return values
        try:
            arrays = [each.numpy() for each in values] if self.kind is torch.Tensor else values
        except (RuntimeError, TypeError):  # it requires grad, say
            raise _Left("a tensor that is not plain") from None
        for array in arrays:
            if not array.flags.c_contiguous and (
                is_channels_last(array.shape, array.strides) or min(array.strides, default=0) < 0
            ):
                raise _Left("an array that lies otherwise")
        if self.kind is np.ndarray and not all(each.flags.writeable and each.dtype.isnative for each in arrays):
            raise _Left("an array that torch does not take")
        return arrays


def _ints(values: Any) -> NDArray[np.int64]:
    """Raises _Left."""
    try:
        return np.array(values, np.int64)
    except OverflowError:
        raise _Left("a number that does not fit an int64") from None


class Alike:
    """Tells, in a worker process, whether samples are like those that are kept: one that is of another type may leave
    no trace in its batch."""

    def __init__(self, skeleton: Any, likes: Sequence[Like], shared: Shared) -> None:
        self._skeleton, self._likes, self._shared = skeleton, likes, shared

    @cached_property
    def _parts(self) -> Callable[[Any], list[Any]]:  # once in the worker, which it cannot be sent to
        return _parts_of(self._skeleton)

    def handed(self, samples: Sequence[Any]) -> Handed:
        """What is handed over of a batch's samples; None if they are not like the others."""
        try:
            leaves = [*zip(*map(self._parts, samples), strict=True)]
            if self._shared == "batches":
                return b"" if all(map(Like.takes, self._likes, leaves)) else None
            # At once: what puts the samples together may change them.
            return pickle.dumps([*map(Like.plain, self._likes, leaves)], pickle.HIGHEST_PROTOCOL)
        except _Left:
            return None


class _Kept:
    """One field of all samples that were made: as a piece of computed/.

    bytes    of one
    lengths  of rows that differ in length; those of the first one, where a row is not made
    """

    is_row, memory, program, inputs, cut, listed, channels_last = True, None, None, (), None, False, False
    extents: tuple[int, ...] = ()
    array: Array
    spec: Any = str
    lengths: NDArray[np.int64]

    def __init__(self, node: Kept, first: Any) -> None:
        self.node, self._count, self.bytes = weakref.ref(node), node.length, 0
        self._kind = type(first)
        self.is_text, of_ints = self._kind is str, self._kind is list and bool(first)
        self._of_arrays = self._kind in (torch.Tensor, np.ndarray) or of_ints
        if not (self.is_text or self._of_arrays or self._kind in PYTHON or isinstance(first, np.generic)):
            raise UnreadableError(f"gives a {name_of(first)}")
        if not (self.is_text or of_ints) and (why := why_not_collated(first)):
            raise UnreadableError(f"gives what is {why}")
        self.like = Like(self._kind, first.dtype if self._of_arrays and not of_ints else None)
        self.values: list[Any] = [""] * self._count if self.is_text else []
        self.is_ragged = False

    def __len__(self) -> int:
        return self._count

    def settle(self, made: Sequence[Any]) -> None:
        """Makes room for rows that have in common what these have. Raises _Left and UnreadableError."""
        arrays = self.like.plain(made)
        if self.is_text:
            return
        if not self._of_arrays:
            self._rows: Any = np.zeros(self._count, PYTHON.get(self._kind, self._kind))
            self.array = Array.of(self._rows)
            self.spec = self._rows.dtype.name, (), self._rows.dtype.name, self._kind.__name__
            return
        dtype, shapes = arrays[0].dtype, {each.shape for each in arrays}
        ragged, self._shape = len(shapes) > 1, arrays[0].shape
        if dtype.name not in NUMPY_DTYPES or not arrays[0].ndim < DIMENSIONS_MAX:
            raise UnreadableError(f"gives arrays of {arrays[0].ndim} dimensions, of {dtype}")
        if len({shape[1:] for shape in shapes}) > 1 or (ragged and not arrays[0].ndim):
            raise UnreadableError("gives arrays that differ in more than their length")
        self.bytes = sum(each.nbytes for each in arrays) // len(arrays)
        kind, item = _SPELT[self._kind], self._shape[1:] if ragged else self._shape
        if ragged:
            self.values = [None] * self._count
            self._begins, self.lengths = np.zeros(self._count, np.int64), np.full(self._count, self._shape[0])
            strides = (0, *contiguous(item, dtype.itemsize))
            self.array = Array(
                0, (self._count, *item), strides, self, begins=self._begins, lengths=self.lengths,
                bytes=np.iinfo(np.int64).max, late=True,
            )  # fmt: skip
            kind = f"list of {kind or 'tensor'}s"
        else:
            self._rows = np.empty((self._count, *item), dtype)
            self.array = Array.of(self._rows)
        self.is_ragged = ragged
        self.spec = dtype.name, item, dtype.name, kind, str(ragged)

    def keep(self, rows: list[int], values: Sequence[Any]) -> None:
        """Raises _Left for what is not like the others."""
        if self._kind is torch.Tensor and not self.is_ragged and len(self._shape) < 2:
            self._keep_stacked(rows, values)
        else:
            self.keep_plain(rows, self.like.plain(values))

    def keep_plain(self, rows: list[int], values: Sequence[Any]) -> None:
        """The same of what Like.plain gives. Raises _Left."""
        if self.is_text:
            for row, value in zip(rows, values, strict=True):
                self.values[row] = value
        elif self._of_arrays:
            self._keep_arrays(rows, values)
        else:
            try:
                self._rows[rows] = values
            except OverflowError:
                raise _Left("a number that does not fit an int64") from None

    def take(self, rows: Indices, values: Any, within: NDArray[np.bool_]) -> None:
        """Keeps what default_collate made of samples that are like the others: its items within, of these rows.
        Raises _Left for what it does not make of them."""
        if self.is_text:
            self.keep_plain(rows.tolist(), [*itertools.compress(values, within)])
            return
        array = values.numpy() if type(values) is torch.Tensor and not values.requires_grad else None
        if array is None or array.dtype != self._rows.dtype or array.shape != (len(within), *self._rows.shape[1:]):
            raise _Left("something else than a batch of them")
        self._rows[rows] = array[within]

    def _keep_stacked(self, rows: list[int], values: Sequence[Any]) -> None:
        """Tensors whose dimensions can lie in one way alone: as _keep_arrays, at once."""
        if not self.like.takes(values):
            raise _Left("values of several types, or of several dtypes")
        try:
            stacked = torch.stack(tuple(values)).numpy()
        except (RuntimeError, TypeError):  # they differ in shape, or one requires grad
            stacked = self._rows[:0]
        if stacked.shape != (len(rows), *self._shape):
            self.keep_plain(rows, self.like.plain(values))  # which says what differs
        else:
            self._rows[rows] = stacked

    def _keep_arrays(self, rows: list[int], arrays: Sequence[Any]) -> None:
        shapes, like = set(map(_SHAPE, arrays)), self._shape
        if not self.is_ragged:
            for row, array in zip(rows, arrays, strict=True) if shapes != {like} else ():
                if array.shape != like and array.shape[1:] == like[1:] and array.ndim and len(like):
                    raise _Uneven(row)
                if array.shape != like:
                    raise _Left("an array of its own shape")
            self._rows[rows] = arrays
            return
        if not all(shape[:1] + like[1:] == shape and shape[0] for shape in shapes):
            raise _Left("an array that is empty, or of its own shape")
        for row, array in zip(rows, arrays, strict=True):
            self.values[row] = kept = np.array(array, order="C")  # of its own: the dataset may have its memory
            self._begins[row], self.lengths[row] = kept.__array_interface__["data"][0], len(kept)


# How the kinds of a field's values are told apart.
_SPELT = {torch.Tensor: "", np.ndarray: "array", list: "int"}
_DTYPE, _SHAPE = map(operator.attrgetter, ("dtype", "shape"))


def _as_long(lengths: Sequence[Sequence[int]]) -> list[list[int]]:
    """Which of these are the same, by their numbers, where there are several."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for number, each in enumerate(lengths):
        groups.setdefault(tuple(each), []).append(number)
    return [group for group in groups.values() if len(group) > 1]


class Pools:
    """The samples of such datasets that a loader's dataset has."""

    def __init__(self, columns: Sequence[Column]) -> None:
        # Of each column's pieces: its number, what each index means, and where the piece begins. Of each dataset
        # the last two.
        self._pieces: list[tuple[int, Indices | None, int, _Kept]] = []
        pools: dict[tuple[int, int, int], tuple[Indices | None, int, Kept]] = {}
        for number, column in enumerate(columns):
            begin = 0
            for piece in column.pieces:
                if is_a(piece, _Kept):
                    self._pieces.append((number, column.index, begin, piece))
                    pools.setdefault((id(piece.node()), id(column.index), begin), (column.index, begin, piece.node()))
                begin += len(piece)
            self._length = begin if column.index is None else len(column.index)
        self._pools = [*pools.values()]
        self._all = False

    def _asked(self, rows: Indices) -> Iterator[tuple[Kept, Indices]]:
        """The datasets, and which of their samples these are."""
        for index, begin, node in self._pools:
            at = (rows if index is None else index[rows]) - begin
            yield node, at[(at >= 0) & (at < node.length)]

    @cached_property
    def _reached(self) -> list[tuple[Kept, Indices]]:
        """The same of all samples that there are indices of."""
        return [(node, np.unique(at)) for node, at in self._asked(np.arange(self._length))]

    def __bool__(self) -> bool:
        return bool(self._pools)

    @property
    def waits(self) -> bool:
        """Whether torch's workers are to make the samples of an epoch."""
        return any(node.waits(rows) for node, rows in self._reached)

    @property
    def outdated(self) -> bool:
        return any(node.outdated for _, _, node in self._pools)

    def in_workers(self) -> Alike:
        """They are about to."""
        first, *_ = [node.in_workers() for _, _, node in self._pools]
        return first

    def take(self, rows: Indices, leaves: Sequence[Any], *, collated: bool) -> None:
        """Keeps the samples of a batch of theirs; a value for each column: what default_collate made, or what they
        handed over."""
        with suppress(_Left):
            for number, index, begin, piece in self._pieces:
                at = (rows if index is None else index[rows]) - begin
                within = (at >= 0) & (at < len(piece))
                if collated:
                    piece.take(at[within], leaves[number], within)
                    continue
                try:
                    piece.keep_plain(at[within].tolist(), [*itertools.compress(leaves[number], within)])
                except _Uneven as uneven:
                    if (node := piece.node()) is not None:
                        node.differs(uneven.row)
                    raise
            for owner, at in self._asked(rows):
                owner.made(at)

    def fill(self, rows: Indices, *, whole: bool) -> bool:
        """Makes samples of these, or first all; whether there were any to make. Raises what the user's code raises."""
        if whole and not self._all:
            for node, reached in self._reached:
                node.fill_all(reached)
        self._all = self._all or whole
        made = False
        for node, at in self._asked(rows):
            made = node.fill(at) or made
        return made
