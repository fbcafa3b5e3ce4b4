"""A class of the user's own, or a transform of theirs in one of torchvision's datasets, that makes samples of several
images, draws for itself, or branches by what it drew: compiled to a script of the core.

Whoever changes the dataset, its lists or its transforms is seen to do so, as by torch.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import default_convert

from ...bytecode import Call, Display, Expression, Index, Item, Mapping, UnreadableError
from ...collates.collation import as_in_worker, collates_plainly
from ...paths import Files, Member, Object
from ...refusal import Refusal, RefusalError, SourceRefusal, granted
from ...rows import Field, Pixels
from ...structure import filled, leaves, renumbered
from ...trust.calls import check_calls
from ...trust.watch import Watch
from ..beside import Beside
from ..computed.made import Made
from ..known.image_folders import open_member, open_rgb
from ..known.pictures import Block, PixelList
from ..own import vectors
from ..own.code import ERRORS, length_of
from ..own.columns import VALUES, Columns, TensorItem
from ..own.pure import looks_up_index
from ..own.sources import PATHS, Sources
from ..samples import Samples, hold, hold_all, versions_of
from ..tree import Column, Indices, Node, alike, name_of
from .apart import MadeApart, check_seconds, kept, like
from .code import ScriptCode
from .compiler import Compiler
from .giving import IMAGES, STACKS, Given
from .images.stack import Stack
from .instructions import generators_of, seeds
from .opening import Opened


@dataclass(frozen=True, eq=False)
class ScriptPart:
    """What the core makes samples of.

    script  as the core's plan has it
    paths   of all files, list after list; None for images of an array
    pixels  that array
    objects  generators of the user's own that are drawn from, beside those of the process
    beside  what samples have beside their images and numbers, by the sample's or by a drawn row; None for the index
    sample  as code returns it: lists, tuples and dicts of fields' numbers
    examples  of images, of another size
    stacks  fields behind all others, of several images each
    fields  rows of arrays and of sounds, in place of images
    seeds   it puts generators into states
    alone   none of these shares memory with another, or with the dataset; nor is a list or a dict in a sample twice;
            and images lie in memory as the examples do
    memory  tells the memory of each image
    arrays  some images are arrays, of which default_collate makes tensors
    """

    dataset: Any
    length: int
    script: dict[str, Any]
    paths: list[Any] | None
    files: Files | None
    pixels: Pixels | None
    given: tuple[tuple[Given, Beside | None], ...]
    needs: tuple[str, ...]
    names: tuple[str, ...]
    generators: frozenset[str]
    objects: tuple[random.Random, ...]
    images: tuple[tuple[str, int, tuple[int, int] | None, bool], ...]
    numbers: tuple[str, ...]
    sample: Any
    examples: tuple[Any, ...]
    stacks: tuple[Stack, ...]
    fields: tuple[Field, ...]
    seeds: bool
    alone: bool
    memory: tuple[frozenset[Any], ...]
    arrays: bool

    def __len__(self) -> int:
        return self.length

    @property
    def apart(self) -> bool:
        """Whether images of a batch may differ in size: behind all else the core gives heights and widths then."""
        return bool(self.script["apart"])

    @property
    def followed(self) -> bool:
        """Whether a collate_fn draws from workers' generators between batches."""
        return bool(self.script["followed"])

    def told(self, **more: bool) -> ScriptPart:
        """The same, of which the core is told more."""
        return replace(self, script=self.script | more)


class Scripted(Node):
    """A dataset whose code is a script."""

    def __init__(self, own: ScriptCode) -> None:
        self.dataset = own.dataset
        self.own, compiler = own, _compiled(own)
        self._in_memory: Block | PixelList | None = None
        try:
            self._make(compiler)
        except UnreadableError as error:
            raise self.own.unread(error) from None
        except ERRORS as error:
            raise self.own.refusal(f"{type(error).__name__} where it takes paths and labels: {error}") from None
        self._goes_by = compiler.goes_by()
        self._transforms = list(compiler.transforms)
        self._watch = Watch[str]()
        self._kept, self.pictures = compiler, compiler.pictures
        self._were = self._sizes()
        self.reckons = compiler.reckons
        self.gives_index = any(each.is_index for each in compiler.given)
        self.any_integer = looks_up_index(self.dataset) or not self.reckons
        taken: list[Any] = [*compiler.opened, *compiler.given]
        columns = [*(each.columns for each in taken if each.columns is not None), *own.asked]
        self.negatives = compiler.crops is None and not self.reckons and all(each.negatives for each in columns)
        own.settle()
        drawn = " with what it draws" if self.part.generators else ""
        self.note = f"its code is read from its bytecode, and runs in Go{drawn}"
        apart = sum(isinstance(each.made, MadeApart) for each in compiler.given)
        if self.part.files is not None and self.part.files.remote:
            self.note += "; Go fetches its objects as its own client would"
        if apart:
            self.note += f"; Python makes {apart} of its values"
        self.columns = (Column((self.part,), ScriptPart),)

    def _make(self, compiler: Compiler) -> None:
        own = self.own
        taken: list[Any] = [*compiler.opened, *compiler.given]
        by_index = [each for each in taken if each.row is None or each.row.json == ["index"]]
        measured = [each.columns for each in by_index if each.columns is not None]
        measured += [each for each, by_index in compiler.asides if by_index]
        lengths = [each.length for each in measured if each.takes_items]
        lengths += [] if compiler.crops is None else compiler.crops.lengths
        # What is not understood shows in the first sample, mostly. Nobody wants to wait for all at each epoch then.
        for each in compiler.given:
            if each.columns is not None:
                _checked(each, range(min(each.columns.length, 1)))
        for aside, _ in compiler.asides:
            aside.work_out(range(aside.length))
        self._asides = [(aside, Sources(aside.sources)) for aside, _ in compiler.asides]
        lists: dict[Any, int] = {}
        counts: list[int] = []
        paths: list[Any] = []
        of_files: list[int] = []
        pixels = None
        for opened in compiler.opened:
            if opened.columns is None:
                self._in_memory = self._images(opened)
                pixels = self._in_memory.pixels
            key = opened.path
            if key not in lists:
                lists[key] = len(counts)
                found = _paths(opened)
                counts.append(len(found) if pixels is None else len(pixels.array))
                paths += found
            of_files.append(lists[key])
            if opened.columns is None and opened.row.json == ["index"]:
                lengths.append(counts[lists[key]])
        ways = {(each.axes, each.shape, each.within) for each in compiler.opened}
        if pixels is not None and (paths or len(lists) > 1 or len(ways) > 1):
            raise UnreadableError("takes images of several places")
        if len(set(lengths)) > 1:
            raise UnreadableError("takes items of attributes that differ in length")
        self._measured = bool(lengths)
        self.length = lengths[0] if lengths else length_of(own.dataset)
        readable = any(type(path) in (Object, Member) for path in paths)
        listed = Files.of_readable if readable else Files.of
        files = None if pixels is not None or compiler.fields else listed(paths)
        numbers = [compiler.number_column(each.row) if each.row is not None else None for each in compiler.given]
        given = tuple(
            (each, _beside(each, row, self.length)) for each, row in zip(compiler.given, numbers, strict=True)
        )
        self.rows = numbers
        # Of all rows of these some sample may have a path or a value.
        self._drawn: dict[Any, Sources] = {}
        for each in taken:
            if each not in by_index and each.columns is not None:
                self._drawn[each.path if type(each) is Opened else each.values] = Sources(each.columns.sources)
        columns = [each.columns for each in by_index if each.columns is not None] + own.asked
        # What all others are made of.
        self._made_of = Sources(lambda: [part for each in columns for part in each.sources()])
        script = compiler.to_plan(counts, of_files)
        images = tuple(
            (table.dtype, table.channels, picture.size, picture.made().ndim != 3)
            for picture, table in zip(compiler.pictures, compiler.tables, strict=True)
        )
        examples = tuple(picture.made() for picture in compiler.pictures)
        if compiler.crops is not None and compiler.fields:
            images, examples = (
                tuple((each.torch, 0, None, False) for each in compiler.fields),
                tuple(compiler.crops.examples),
            )
        _check_calls(compiler)
        count = len(images)
        numbered = {IMAGES + n: n for n in range(count)} | {n: count + n for n in range(len(given))}
        numbered |= {STACKS + n: count + len(given) + n for n in range(len(compiler.stacks))}
        self.structure = renumbered(compiler.structure, numbered)
        sample = _sample(own.reading.result, leaves(self.structure))
        alone = (
            len({*compiler.built}) == len(compiler.built)
            and (compiler.crops is None or compiler.crops.alone)
            and not any(picture.moved for picture in compiler.pictures)
        )
        self.part = ScriptPart(
            own.dataset, self.length, script, paths if pixels is None else None, files, pixels, given,
            tuple(compiler.needs), tuple(dict.fromkeys(compiler.names)), frozenset(compiler.generators),
            tuple(compiler.objects), images,
            tuple(compiler.column_kinds), sample, examples, tuple(compiler.stacks), tuple(compiler.fields),
            seeds([script["first"], script["body"]]), alone, tuple(compiler.image_memory), compiler.gives_arrays,
        )  # fmt: skip
        apart = [beside for each, beside in given if beside is not None and isinstance(each.made, MadeApart)]
        if apart:
            calls = any(isinstance(each.made, MadeApart) and each.made.calls for each, _ in given)
            check_seconds([each.__getitem__ for each in apart], min(len(each.values) for each in apart), calls=calls)

    def unchanged(self, dataset: Any, at: Indices | None) -> bool:
        if dataset is not self.dataset or not self.own.unchanged(dataset):
            return False
        compiler = self._kept
        try:
            if self._watch.found(compiler.goes_by, self._transforms) != self._goes_by or self._sizes() != self._were:
                return False
            _check_calls(compiler)
            stands = at is None and self._made_of.stands()
            return (
                (stands or self.own.goes_the_same_way(at))
                and (compiler.crops is None or compiler.crops.stands(at, None))
                and self._same_images(at)
                and all(alike(self.own.value(of), was) for of, was in compiler.copies)
                and all(len(self.own.value(of)) == length for of, length in compiler.lengths)
                and all(made_of.stands() or each.work_out(range(each.length)) for each, made_of in self._asides)
                and all(each.stands() for each in compiler.number_tables)
                and self._same(at, stands)
            )
        except (UnreadableError, RefusalError, *ERRORS):
            return False

    def _sizes(self) -> list[Any]:
        """Of what paths and values do not say: the dataset where nothing else does, and settings."""
        lengths = [] if self._measured else [length_of(self.dataset)]
        return lengths + [each() for each in self._kept.settings]

    def _images(self, opened: Opened) -> Block | PixelList:
        """The images of an array, or of a list. Raises RefusalError."""
        name, data = name_of(self.dataset), self.own.value(opened.path)
        if type(data) is not list:
            return Block(name, data, type(data), opened.axes, opened.shape)
        images = PixelList(name, data, opened.within)
        if opened.axes != "nyx" or opened.shape != images.pixels.size:
            raise UnreadableError(f"makes images of {opened.path} otherwise", opened.path)
        return images

    def _same_images(self, at: Indices | None) -> bool:
        """Whether images in memory are those that they were."""
        if self._in_memory is None:
            return True
        opened = self._kept.opened[0]  # all are of one place
        rows = at if opened.row.json == ["index"] else None
        return self._in_memory.unchanged(self.own.value(opened.path), rows)

    def _same(self, at: Indices | None, stands: bool) -> bool:
        """Whether paths and values are those that they were; `stands`: what those of the index are made of is."""
        part, compiler = self.part, self._kept
        # Of the rows of a batch, which all that goes by the index is worked out for.
        shared: dict[Any, Any] | None = None if at is None else {}
        begin, seen = 0, set()
        for opened in compiler.opened:
            if opened.columns is None or opened.path in seen:
                continue
            seen.add(opened.path)
            here, begin = begin, begin + opened.columns.length
            rows = self._rows_of(opened.path, opened.columns, at, stands)
            known = None if opened.path in self._drawn else shared
            assert part.paths is not None
            if len(rows) and list(opened.columns.work_out(rows, known)[0]) != [part.paths[here + row] for row in rows]:
                return False
        for given, beside in part.given:
            if given.columns is None or beside is None:
                continue
            key = given.values if given.row is not None else None
            rows = self._rows_of(key, given.columns, at, stands)
            if not len(rows):
                continue
            now, were = _values(given, rows, None if key in self._drawn else shared), beside.values
            was = were[list(rows)] if vectors.are_rows(were) else [were[row] for row in rows]  # type: ignore[call-overload]
            if not alike(now if vectors.are_rows(were) else list(now), was):
                return False
        return True

    def _rows_of(self, key: Any, columns: Columns, at: Indices | None, stands: bool) -> Sequence[int]:
        """Rows that samples may have, and of which it is not known that they are what they were."""
        made_of = self._drawn.get(key)
        if made_of is not None:
            return () if made_of.stands() else range(columns.length)
        if stands:
            return ()
        return range(columns.length) if at is None else at.tolist()


def joined(first: Scripted, others: Sequence[Scripted]) -> ScriptPart:
    """What the core makes samples of several datasets of, as one part. Raises RefusalError."""
    parts = [first.part, *(each.part for each in others)]
    draws_first, draws_then = (
        set().union(*(generators_of(part.script[block]) for part in parts)) for block in ("first", "body")
    )
    if (
        any(part.fields or part.objects or part.seeds for part in parts)
        or any(isinstance(given.made, MadeApart) for part in parts for given, _ in part.given)
        or any(_fields_of(each) != _fields_of(first) for each in others)
        or draws_first & draws_then
    ):
        why = "the code of its datasets makes samples in other ways, or draws in another order"
        raise SourceRefusal("ConcatDataset", why, "PARTS_DIFFER")
    files = [part.files for part in parts if part.files is not None]
    sizes = [{part.images[n][2] for part in parts} for n in range(len(first.part.images))]
    images = tuple(
        (dtype, channels, size if len(several) == 1 else None, flat)
        for (dtype, channels, size, flat), several in zip(first.part.images, sizes, strict=True)
    )
    return replace(
        first.part,
        length=sum(map(len, parts)),
        paths=[path for part in parts for path in part.paths or ()] if files else None,
        files=Files.joined(files) if files else None,
        needs=tuple(dict.fromkeys(need for part in parts for need in part.needs)),
        names=tuple(dict.fromkeys(name for part in parts for name in part.names)),
        generators=frozenset().union(*(part.generators for part in parts)),
        images=images,
        arrays=any(part.arrays for part in parts),
    )


def _fields_of(of: Scripted) -> Any:
    """What samples of several datasets have in common."""
    part = of.part
    given = [(each.batch, each.number, each.kind, each.is_index, beside and beside.kind) for each, beside in part.given]
    images = [(dtype, channels, flat) for dtype, channels, _, flat in part.images]
    return given, images, of.rows, part.numbers, part.stacks, part.files is None


def _check_calls(compiler: Compiler) -> None:
    """Raises RefusalError if somebody replaced what the code calls."""
    if not compiler.calls:
        return
    from PIL import Image  # Pillow is imported by those who have images

    check_calls("images", tuple(compiler.calls), (Image.Image,), ("convert", "size", "mode"))


def _paths(opened: Opened) -> list[Any]:
    """Of all rows. Raises UnreadableError."""
    if opened.columns is None:
        return []
    paths = list(opened.columns.work_out(range(opened.columns.length))[0])
    for kind in set(map(type, paths)) - {*PATHS, bytes, Object, Member}:
        raise UnreadableError(f"opens a {kind.__qualname__}", opened.path)
    return paths


def _compiled(own: ScriptCode) -> Compiler:
    """Raises RefusalError."""
    try:
        return Compiler(own)
    except UnreadableError as error:
        raise own.unread(error) from None
    except ERRORS as error:
        raise own.refusal(f"{type(error).__name__} where it is read: {error}") from None


def _values(given: Given, rows: Any, known: dict[Any, Any] | None = None) -> Sequence[Any]:
    assert given.columns is not None
    columns = given.columns.work_out(rows, known)
    if given.made is not None:
        given.made.check(columns)
        return list(zip(*columns, strict=True))
    return columns[0]


def _checked(given: Given, rows: Any) -> Sequence[Any]:
    """Values of rows. Raises UnreadableError for those that torch might not put together."""
    values = _values(given, rows)
    if vectors.are_rows(values):
        vectors.check_collated(values)
    elif given.made is None and not vectors.are_ragged(values):
        _check_alike(given.values[0], values)
    return values


def _check_alike(expression: Expression, values: Sequence[Any]) -> None:
    """Raises UnreadableError unless torch puts any of these values together without an error."""
    kinds = set(map(type, values))
    for kind in kinds - {*VALUES}:
        raise UnreadableError(f"gives a {kind.__qualname__}", expression)
    if len(kinds) > 1:
        raise UnreadableError(
            f"gives values of types {', '.join(sorted(kind.__name__ for kind in kinds))} in one place", expression
        )
    if int in kinds and not -(2**63) <= min(values) <= max(values) < 2**63:
        raise UnreadableError("gives numbers that do not fit an int64", expression)
    if np.int64 in kinds and not collates_plainly(np.int64()):
        raise UnreadableError("gives numbers of numpy, for which default_collate_fn_map was changed", expression)


def _beside(given: Given, row: int | None, length: int) -> Beside | None:
    """What is put together in Python, of so many samples; None for the core's numbers."""
    if given.number is not None:
        return None
    if given.is_index:
        return Beside((), given.batch, is_index=True)
    values: Sequence[Any] = ((),) * length
    if given.columns is not None:
        values = _checked(given, range(given.columns.length))
    made = given.made
    labels = _labels(given, values)
    if made is None:
        return Beside(values, given.batch, labels=labels)
    if isinstance(made, MadeApart):
        values = [tuple(map(kept, each)) for each in values]
    return Beside(values, given.batch, lambda numbers: made.make(iter(numbers)), labels=labels)


# What torch puts together to an int64 tensor.
_LABELS = {int, np.int64, TensorItem}


def _labels(given: Given, values: Sequence[Any]) -> NDArray[np.int64] | None:
    """Values that torch puts together as it does labels of type int; None for others."""
    if isinstance(given.made, Made) and given.made.label:
        values = [value for (value,) in values]
    elif given.made is not None or vectors.are_rows(values):
        return None
    return np.array(values, np.int64) if set(map(type, values)) <= _LABELS else None


def _sample(given: Expression, numbers: Iterator[int]) -> Any:
    """What code returns, with the number of each field."""
    if isinstance(given, Display) and given.kind in (list, tuple):
        return given.kind(_sample(each, numbers) for each in given.items)
    if isinstance(given, Mapping):
        return {name: _sample(each, numbers) for name, each in zip(given.names, given.items, strict=True)}
    return next(numbers)


def _built(sample: Any, values: Sequence[Any]) -> Any:
    """A sample of these values of its fields."""
    if type(sample) is int:
        return values[sample]
    if type(sample) is dict:
        return {name: _built(each, values) for name, each in sample.items()}
    return type(sample)(_built(each, values) for each in sample)


# Of numbers that the core makes, by their kinds.
_NUMBERS: dict[str, Any] = {"int": 0, "bool": False, "float": 0.0, "numpy": np.int64(0)}


def _is_part(values: Sequence[Any]) -> bool:
    """Whether values of samples may be parts of the dataset's memory."""
    return vectors.are_rows(values) or any(
        isinstance(each, TensorItem | np.ndarray | torch.Tensor) for each in values[:1]
    )


def _alone(value: Any) -> Any:
    """A value that a collate_fn may change."""
    if isinstance(value, TensorItem):
        return torch.tensor(int(value))
    if isinstance(value, np.ndarray):
        return value.copy()
    return value.clone() if isinstance(value, torch.Tensor) else value


def _cut(items: torch.Tensor, sizes: Sequence[Sequence[int]], channels: int) -> list[torch.Tensor]:
    """Images of these heights and widths, which lie one after the other."""
    pieces = items.split([channels * height * width for height, width in sizes])
    return [piece.view(channels, *size) for piece, size in zip(pieces, sizes, strict=True)]


def _flat(images: Any) -> Any:
    """Images without the dimension of their only channel."""
    return images.squeeze(1) if isinstance(images, torch.Tensor) else [each.squeeze(0) for each in images]


def _order(tensor: torch.Tensor) -> list[int]:
    """Its dimensions as they follow each other in memory."""
    return sorted(range(tensor.ndim), key=lambda axis: -tensor.stride()[axis])


def _is_dense(tensor: torch.Tensor) -> bool:
    return tensor.permute(_order(tensor)).is_contiguous()


def _laid_as(example: torch.Tensor, images: Any) -> Any:
    """Images with the strides that one like them has."""
    if example.is_contiguous():
        return images
    order = _order(example)
    back = [order.index(axis) for axis in range(example.ndim)]
    return [each.permute(order).contiguous().permute(back) for each in images]


# What a function may give that is part of something else; of what is sent it is no part.
_CHANGEABLE = (list, dict, set)


class Scripts(Samples):
    """Samples that the core makes by a script.

    part   what it makes them of
    foreign  share of the files that only Pillow reads
    apart  a collate_fn gets samples: of what Python puts together there are the values of each
    """

    apart = False
    # Of what Python makes of each sample apart there are the values of each, for a collate_fn that was compiled.
    listed = False
    # Of each image the strides that it has if it is one pixel, where samples are handed out one by one.
    strides_alone: tuple[tuple[int, ...], ...] = ()
    # Workers of torch's would send batches, which default_collate puts together in memory of its own for these.
    sent = False

    def __init__(self, root: Node, leaves: Sequence[Node]) -> None:
        super().__init__(root, leaves)
        (column,) = root.columns
        self.parts: tuple[ScriptPart, ...] = column.pieces
        of = {id(leaf.part): leaf for leaf in leaves if isinstance(leaf, Scripted)}
        own, *others = (of[id(part)] for part in self.parts)
        self.part = joined(own, others) if others else own.part
        self.foreign = 0.0 if self.part.files is None else self.part.files.foreign_share
        self._begins = np.cumsum([0, *map(len, self.parts)])[:-1]
        self._number_columns, self._own, self._pictures = own.rows, own.own, own.pictures
        # By the number of what is given, what gives it, by the row, where a collate_fn may change the dataset by it.
        self._parts: dict[int, Callable[[int], Any]] = {}
        if any(each.reckons for each in (own, *others)):
            self.takes = {int, np.int64}
        # Labels of all samples, by the number of what is given.
        self._labels: dict[int, NDArray[np.int64]] = {}
        for number, row in enumerate(own.rows):
            besides = [part.given[number][1] for part in self.parts]
            labels = [each.labels for each in besides if each is not None and each.labels is not None]
            if len(labels) == len(besides) and (row is None or not others):
                self._labels[number] = np.concatenate(labels)
        self.index = column.index
        self.tried = True
        # Of which samples it was tried what is made of them as they are handed out.
        self._rehearsed = np.zeros(len(self.part) if self.makes_late else 0, np.bool_)

    def versions(self) -> tuple[int, ...]:
        return versions_of(self.part.fields)

    def hold(self) -> None:
        hold_all(self.part.fields)
        for each in self.pixels:
            hold(each.array)

    @property
    def made_apart(self) -> dict[int, MadeApart]:
        """What Python makes of each sample apart, by the number of what is given."""
        given = enumerate(given for given, _ in self.part.given)
        return {n: each.made for n, each in given if isinstance(each.made, MadeApart)}

    @property
    def makes_late(self) -> bool:
        return any(each.late for each in self.made_apart.values())

    @property
    def makes_ahead(self) -> bool:
        return bool(self.made_apart)

    @property
    def ragged(self) -> set[int]:
        """The numbers of what is given that differs in length, which default_collate does not put together."""
        pairs = (pair for part in self.parts for pair in enumerate(part.given))
        return {n for n, (_, beside) in pairs if beside is not None and vectors.are_ragged(beside.values)}

    @property
    def scripts(self) -> tuple[dict[str, Any], ...]:
        """Of each part."""
        return tuple(each.script for each in self.parts) if len(self.parts) > 1 else (self.part.script,)

    @property
    def pixels(self) -> tuple[Pixels, ...]:
        """Of each part, of images in memory."""
        return tuple(each.pixels for each in self.parts if each.pixels is not None)

    @property
    def codes(self) -> list[bytes]:
        """Of the user's functions that Python calls as they are."""
        return [function.__code__.co_code for function in self._own.called] if self.made_apart else []

    @property
    def listed_fields(self) -> set[int]:
        """The numbers of these among a sample's fields."""
        return {len(self.part.images) + n for n in (*self.made_apart, *self.ragged)}

    def ahead(self, rows: Indices, *, alone: bool) -> dict[int, list[Any]]:
        """What Python makes of samples, by the number of what is given. Raises what the user's functions raise.

        alone  the user may have changed since what these functions use: raises RuntimeError then
        """
        makers = self.made_apart
        if makers and alone and not self._own.calls_the_same():
            raise RuntimeError("what functions use was changed")
        made = {}
        late = rows[~self._rehearsed[rows]].tolist() if self.makes_late else []
        for n, maker in makers.items():
            _, beside = self.part.given[n]
            assert beside is not None
            if maker.late:
                for row in late:
                    maker.rehearse(beside.values[row])
                continue
            if maker.like is None:
                maker.like = like(beside[0])
            made[n] = [maker.check_like(beside[row]) for row in rows.tolist()]
        self._rehearsed[late] = True
        return made

    @property
    def by_python(self) -> bool:
        return any(beside is not None and n not in self._labels for n, (_, beside) in enumerate(self.part.given))

    def put_together(
        self, columns: list[Any], rows: Indices, indices: Callable[[], Sequence[Any]], ahead: dict[int, list[Any]]
    ) -> list[Any]:
        """A batch's fields, of what the core gave: images, then numbers."""
        from torch.utils.data import default_collate

        part = self.part
        count = len(part.images)
        images = columns[:count]
        if part.apart:
            sizes = [each.tolist() for each in columns[-count:]]
            images = [_cut(*each) for each in zip(images, sizes, (each[1] for each in part.images), strict=True)]
        made = [_flat(field) if flat else field for field, (*_, flat) in zip(images, part.images, strict=True)]
        if self.apart and not part.fields:
            made = [_laid_as(each, field) for each, field in zip(part.examples, made, strict=True)]
        for n, strides in enumerate(self.strides_alone):
            if made[n][0][0].numel() == 1:
                made[n] = [made[n][0].as_strided(made[n][0].shape, strides)]
        numbers = columns[count:]
        for n, ((given, beside), column) in enumerate(zip(part.given, self._number_columns, strict=True)):
            if isinstance(given.made, MadeApart):
                assert beside is not None
                made_of_each = ahead.get(n)
                if made_of_each is None:
                    made_of_each = given.made.make_all([beside.values[row] for row in rows.tolist()], numbers)
                if self.apart or self.listed:
                    part_of = _CHANGEABLE if self.sent else ()
                    made.append([copy.deepcopy(each) if type(each) in part_of else each for each in made_of_each])
                else:
                    whole = default_collate(given.batch(made_of_each))
                    made.append(as_in_worker(whole) if self.sent else whole)
            elif beside is None:
                assert given.number is not None
                made.append(numbers[given.number].bool() if given.kind == "bool" else numbers[given.number])
            elif beside.is_index:
                values: Iterator[Any] = map(self.given, indices())
                made.append(list(values) if self.apart else default_collate(beside.batch(values)))
            elif n in self._labels and not self.apart:
                chosen = rows if column is None else numbers[column].numpy()
                made.append(torch.from_numpy(self._labels[n].take(chosen)))
            else:
                at = rows.tolist() if column is None else numbers[column].tolist()
                if n in self._parts:
                    made.append(list(map(self._parts[n], at)))
                    continue
                values = map(beside.__getitem__, at) if len(self.parts) == 1 else self._values(n, rows, at)
                listed = self.apart or vectors.are_ragged(beside.values)
                made.append(list(map(_alone, values)) if listed else default_collate(beside.batch(values)))
        return [*made, *(stack.of_batch(made) for stack in part.stacks)]

    def _values(self, n: int, rows: Indices, at: Sequence[int]) -> Iterator[Any]:
        """What is given by number n in samples of several parts, whose values are those of rows `at` of theirs."""
        parts = np.searchsorted(self._begins, rows, side="right") - 1
        begins = self._begins[parts] if self._number_columns[n] is None else np.zeros_like(parts)
        for part, begin, place in zip(parts.tolist(), begins.tolist(), at, strict=True):
            _, beside = self.parts[part].given[n]
            assert beside is not None
            yield beside[place - begin]

    def check_apart(self, why: Refusal, *, sent: bool, changes: bool) -> None:
        """Sees to it that a collate_fn gets samples one by one. Raises RefusalError, for that `why`.

        sent     workers send what it makes of them
        changes  it may change them in place, and so the dataset: each worker's own, or the one that there is
        """
        part = self.part
        for example in part.examples:
            laid = type(example) is torch.Tensor and (example.is_contiguous() if part.fields else _is_dense(example))
            if not laid:
                granted(why)
        if any(stack.moved for stack in self.part.stacks) or not self.part.alone:
            granted(why)
        if changes and self.made_apart:  # which may be something that stays, or be in a sample twice
            granted(why)
        self._check_memory(why, [*leaves(self.structure)], sent=sent, changes=changes)
        self.apart = True
        if not part.fields and any(size is None for _, _, size, _ in part.images):
            self.part = part.told(apart=True)

    def follow(self) -> None:
        """A collate_fn goes on with batches in a worker's place."""
        self.part, self.parts = self.part.told(followed=True), tuple(each.told(followed=True) for each in self.parts)

    def check_listed(self, why: Refusal, fields: Sequence[int], *, sent: bool) -> None:
        """The same of fields of which a collate_fn that was compiled makes lists. Raises RefusalError."""
        self._check_memory(why, fields, sent=sent, changes=False)

    def _check_memory(self, why: Refusal, fields: Sequence[int], *, sent: bool, changes: bool) -> None:
        """Raises RefusalError where some fields of a sample may share memory, which each has for itself here, or may be
        the dataset's memory, and nothing is known that gives it."""
        part, count = self.part, len(self.part.images)
        images = [part.memory[n] for n in fields if n < len(part.memory)]
        given = {n - count: part.given[n - count] for n in fields if count <= n < count + len(part.given)}
        made = [*images, *(each.memory for each, _ in given.values() if each.memory is not None)]
        if len(frozenset().union(*made)) < sum(map(len, made)):
            granted(why)
        of_dataset = {
            n: each
            for n, (each, beside) in given.items()
            if each.memory is None and (each.made is not None or (beside is not None and _is_part(beside.values)))
        }
        if sent and of_dataset:
            several = len({each.values for each in of_dataset.values()})
            made_of_it = any(each.made is not None for each in of_dataset.values())
            if changes or several < len(of_dataset) or (several > 1 and made_of_it):
                granted(why)
        for n, each in () if sent else of_dataset.items():
            self._parts[n] = (self._part(each.values[0]) if each.made is None else None) or granted(why)

    def check_single(self, why: Refusal, *, sent: bool) -> None:
        """Sees to it that samples are handed out one by one, as code returns them.

        Raises RefusalError, for that `why`.
        """
        part = self.part
        # A single channel's stride is anybody's choice.
        if part.fields or part.arrays or any(channels == 1 for _, channels, *_ in part.images):
            granted(why)
        self.check_apart(why, sent=sent, changes=not sent)
        try:
            self.strides_alone = tuple(picture.of_one_pixel().stride() for picture in self._pictures)
        except Exception:  # of a function that takes no such image
            granted(why)

    def _part(self, of: Expression) -> Callable[[int], Any] | None:
        """What gives the part of the dataset's memory that a value is, by the row; None for others."""
        own = self._own
        match of:
            case Item(owner=owner, key=Index()) if type(own.value(owner)) in (np.ndarray, torch.Tensor):
                return lambda row: own.value(owner)[row]
            case Call(function=function, arguments=(array,), options=()) if (part := self._part(array)) is not None:
                with suppress(UnreadableError):
                    called: Any = own.value(function)
                    if called is torch.from_numpy or called is torch.as_tensor:
                        return lambda row: called(part(row))
        return None

    def samples(self, fields: Sequence[Any]) -> list[Any]:
        """The samples of a batch's fields, as code returns them."""
        columns = []
        given = [given.kind for given, _ in self.part.given]
        kinds = [None] * len(self.part.images) + given + [None] * len(self.part.stacks)
        for kind, field in zip(kinds, fields, strict=True):
            columns.append(list(map(type(_NUMBERS[kind]), field.tolist())) if kind else field)
        return [_built(self.part.sample, [column[n] for column in columns]) for n in range(len(fields[0]))]

    def single(self, fields: Sequence[Any]) -> Any:
        """A sample that is in no batch."""
        return default_convert(self.samples(fields)[0])

    def first(self) -> Any:
        """What a sample looks like: of an image one pixel. Raises RefusalError where that is not known."""
        if self.makes_late:
            why = "Python makes values of samples as a batch is handed out"
            raise RefusalError("collate", "collate_fn", why, "COLLATE_OWN")
        part = self.part
        made: list[Any] = [
            torch.empty((channels, 1, 1) if not flat else (1, 1), dtype=getattr(torch, dtype))
            for dtype, channels, _, flat in ([] if part.fields else part.images)
        ]
        made += part.examples if part.fields else ()
        for given, beside in part.given:
            if given.kind:
                made.append(_NUMBERS[given.kind])
            elif beside is None or beside.is_index or not len(beside.values):
                raise RefusalError("collate", "collate_fn", "samples have more than images and values", "COLLATE_OWN")
            else:
                made.append(beside[0])
        stacks = (stack.of_batch([each.unsqueeze(0) for each in made[: len(part.images)]]) for stack in part.stacks)
        return filled(self.structure, [*made, *(stack.squeeze(0) for stack in stacks)])

    def name(self, row: int) -> Any:
        """The path of a file, the place of an image in memory."""
        return f"image {row}" if self.part.paths is None else self.part.paths[row]

    def load(self, row: int) -> Any:
        """The image of a file by Pillow, RGB."""
        path = self.name(row)
        return open_member(path) if type(path) in (Object, Member) else open_rgb(path)
