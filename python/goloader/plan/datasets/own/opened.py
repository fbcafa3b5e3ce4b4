"""A user's own class whose `__getitem__` opens an image file and transforms it, as

    image = Image.open(self.paths[index]).convert("RGB")
    return self.transform(image), self.labels[index]

or takes the image out of an array, by Image.fromarray(self.images[index]).

That it does nothing else is read from its bytecode (plan/bytecode). Its paths and labels are worked out ahead
(columns.py), its transform is lowered as that of torchvision's datasets; from there on it is an image folder, or images
in memory (../known/pictures.py). Changes of the dataset, its lists or its transforms are seen, as by torch.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ....transforms import Grayscale, Size
from ...bytecode import (
    Attribute,
    Call,
    Closed,
    Constant,
    Display,
    Entered,
    Expression,
    Index,
    Item,
    Mapping,
    UnreadableError,
    parts_of,
)
from ...bytecode import Part as Unpacked
from ...collates.collation import collates_plainly
from ...paths import Files
from ...refusal import RefusalError, granted
from ...structure import Structure, renumbered
from ...transforms.lowered import Lowered, Read, Target
from ...transforms.targets import lower_apart, lower_together
from ...transforms.torchvision import Form
from ...transforms.torchvision import lower as lower_transform
from ...trust.calls import check_calls
from ...trust.watch import Watch
from ..beside import Beside
from ..computed.made import Made, made_of
from ..known.image_folders import check_open, lower_of_mode, open_rgb
from ..known.masks import check_wrapper, common_mode, lower_wrapped, wrapped
from ..known.pictures import Block, PixelList, PixelPairPart, PixelPart
from ..reads.images import array_of, makes_image, opened_path, opens
from ..samples import PairPart, Part
from ..tree import Column, Indices, Node, alike, name_of
from .code import ERRORS, OwnCode
from .columns import VALUES, Columns, TensorItem
from .sources import PATHS

# Where the numbers of a sample's images begin while its other values are counted.
_IMAGE = 1 << 20

# What torch puts together to an int64 tensor.
_LABELS = {int, np.int64, TensorItem}


@dataclass(frozen=True)
class _Opened:
    """The image of a file, or of an array's row.

    path        of the file; or the row
    mode        that it is converted to; "file" if it stays as it is
    begun       the call that opens the file, or makes an image of the row
    done        the last that is done before its transforms
    transforms  what is called with it, one after the other
    calls       these calls
    axes        of the array: "n" for its rows, "y", "x", and "c" for channels; "" of a file
    place       which of two images it is that the last of these takes together; None if it takes no other
    """

    path: Expression
    mode: str
    begun: Expression
    done: Expression
    transforms: tuple[Expression, ...] = ()
    calls: tuple[Expression, ...] = ()
    axes: str = ""
    place: int | None = None


def opens_images(own: OwnCode) -> bool:
    """True if a `__getitem__` opens an image file, or makes an image of an array, whatever it does with it."""
    return _opens_any(own, own.reading.result)


def _opens_any(own: OwnCode, given: Expression) -> bool:
    calls = (own.if_seen(part.function) for part in parts_of(given) if isinstance(part, Call))
    return any(opens(called) or makes_image(called) for called in calls)


@dataclass(frozen=True)
class _Given:
    """Another value of a sample.

    values  what it is made of; nothing for the index itself
    batch   what it is in a batch that torch puts together: in the list of a dict's item, or the tuple of a tuple's
    made    how it is made of these, which are numbers; None if the one is given as it is
    """

    values: tuple[Expression, ...]
    batch: type
    made: Made | None = None

    def is_label(self, columns: Sequence[Sequence[Any]]) -> bool:
        """True if torch puts these together to an int64 tensor, as it does with labels of type int."""
        return bool(columns) and (self.made is None or self.made.label) and set(map(type, columns[0])) <= _LABELS

    def is_tensor(self, columns: Sequence[Sequence[Any]]) -> bool:
        """True if such a label is a tensor."""
        return self.made is not None or TensorItem in set(map(type, columns[0]))

    def beside(self, columns: Sequence[Sequence[Any]], length: int) -> Beside:
        if not columns:
            return Beside(range(length), self.batch, is_index=True)
        if self.made is None:
            return Beside(columns[0], self.batch)
        made = self.made
        return Beside(list(zip(*columns, strict=True)), self.batch, lambda values: made.make(iter(values)))


class OpenedFiles(Node):
    """A dataset of a class of the user's.

    Its length is that of the attributes, whatever `__len__` says: that is what `__getitem__` goes by.
    """

    note = "its __getitem__ only opens files and transforms images: read from its bytecode"

    def __init__(self, own: OwnCode, wrapper: Any = None) -> None:
        """`wrapper` is torchvision's for v2, if it stands before the dataset."""
        self.dataset = own.dataset if wrapper is None else wrapper
        self._own, self._wrapper = own, wrapper
        self._images: list[_Opened] = []
        self._given: list[_Given] = []
        try:
            for condition, _ in own.reading.asserted:
                raise UnreadableError(f"branches on {condition}", condition)
            structure = self._structure(own.reading.result, list)
            self._views = len(self._images)
            if self._views not in (1, 2):
                raise UnreadableError(f"gives {self._views} images, not one or two")
            self._has_masks = self._gives_masks()
            self._read: Read = "opened" if self._has_masks else _read(own, self._images)
            self._watches = [Watch[Lowered]() for _ in self._images]
            given = (value for each in self._given for value in each.values)
            opened = [each.path for each in self._images]
            self._axes = _axes(self._images)
            self._columns = (
                Columns(own, [*given, *own.reading.loose], opened)
                if self._axes
                else Columns(own, [*opened, *given, *own.reading.loose])
            )
            calls = [call for opened in self._images for call in opened.calls]
            if calls and not self._columns.fails_before(calls):
                raise UnreadableError("looks the index up when random numbers may have been drawn", calls[0])
            self.length = self._columns.length
            # What is not understood shows in the first sample, mostly. Nobody wants to wait for all at each epoch then.
            self._values(range(min(self.length, 1)))
            self._images_in_memory = self._of_rows() if self._axes else None
            lowered = None if self._has_masks else self._lowered()
            paths, values = self._values(range(self.length))
            self._columns.keep()
            if lowered is None:
                self._mode = common_mode(name_of(self.dataset), paths[1::2])
                lowered = self._lowered()
            # The first that may be is the label, which Go puts together where there is no second image.
            labels = (n for n, each in enumerate(self._given) if self._views == 1 and each.is_label(values[n]))
            self._label = next(labels, None)
            self._order = [n for n in range(len(values)) if n != self._label]
            files = None if self._images_in_memory else self._files(paths, values)
        except UnreadableError as error:
            raise own.unread(error) from None
        except ERRORS as error:
            raise own.refusal(f"{type(error).__name__} where it takes paths and labels: {error}") from None
        self._kept = [values[n] for n in self._order]
        self.negatives = self._columns.negatives
        self.any_integer = not own.asks_index
        beside = tuple(self._given[n].beside(values[n], self.length) for n in self._order)
        numbers = {self._views + n: 2 + place for place, n in enumerate(self._order)}
        if self._label is not None:
            numbers[self._views + self._label] = 1
        self.structure = renumbered(structure, {0: 0, 1: 1} | numbers)
        if beside:
            self.note = f"{self.note}; Python puts {len(beside)} of its values together"
        pairs = self.structure == (0, 1) and self._label == 0 and self._is_plain(values)
        tensors = self._label is not None and self._given[self._label].is_tensor(values[self._label])
        self.part: Part | PixelPart
        if files is None:
            assert self._images_in_memory is not None
            self.note = self.note.replace("opens files", "takes images of an array")
            in_memory = PixelPart if self._views == 1 else PixelPairPart
            pixels = self._images_in_memory.pixels
            self.part = in_memory(self.dataset, pixels, self._labels(values), lowered, beside, pairs, tensors)
        else:
            kind = Part if self._views == 1 else PairPart
            samples = files if self._views == 1 else list(zip(paths[::2], paths[1::2], strict=True))
            own_words = not self._has_masks
            self.part = kind(self.dataset, samples, files, lowered, open_rgb, beside, pairs, tensors, own=own_words)
        self.columns = (Column((self.part,), type(self.part)),)

    def _is_plain(self, values: Sequence[Sequence[Sequence[Any]]]) -> bool:
        """True if the label is given as it is, an int."""
        return self._given[0].made is None and set(map(type, values[0][0])) == {int}

    def _structure(self, given: Expression, batch: type) -> Structure:
        """The structure of a sample: images are fields 0 and 1, as they draw; all others are numbered from there."""
        marked = self._marked(given, batch)
        drawn = sorted(range(len(self._images)), key=lambda n: _order(self._own, self._images[n]))
        self._images = [self._images[n] for n in drawn]
        numbers = {_IMAGE + n: place for place, n in enumerate(drawn)}
        return renumbered(marked, numbers | {n: len(drawn) + n for n in range(len(self._given))})

    def _marked(self, given: Expression, batch: type) -> Structure:
        """The same, with images numbered from _IMAGE on, and all others from 0."""
        if isinstance(given, Display):
            return tuple(self._marked(each, tuple) for each in given.items)
        if isinstance(given, Mapping):
            return {name: self._marked(each, list) for name, each in zip(given.names, given.items, strict=True)}
        opened = self._opened(given)
        if opened is not None:
            if any(opened.calls and known.calls and known.calls[-1] is given for known in self._images):
                raise UnreadableError("gives one image twice", given)
            self._images.append(opened)
            return _IMAGE + len(self._images) - 1
        if isinstance(given, Index):
            self.gives_index = True
            self._given.append(_Given((), batch))
            return len(self._given) - 1
        made = made_of(self._own, given)
        self._given.append(_Given((given,), batch) if made is None else _Given(made.numbers, batch, made))
        return len(self._given) - 1

    def _opened(self, given: Expression) -> _Opened | None:
        """The image that is given; None if it is something else. Raises UnreadableError for one that is not known."""
        match given:
            case Closed(value=value) if self._opened(value) is not None:
                raise UnreadableError(f"uses {given}", value)
            case Unpacked(owner=Call(function=function, arguments=(_, _), options=()) as call, number=place, count=2):
                pair = [each for each in map(self._opened, call.arguments) if each is not None and not each.transforms]
                if len(pair) == 2:
                    return replace(pair[place], transforms=(function,), calls=(call,), place=place)
            case Entered(manager=inner):
                opened = self._opened(inner)
                if opened is not None and opened.mode == "file" and not opened.transforms:
                    return opened
            case Call(
                function=Attribute(owner=inner, name="convert"),
                arguments=() | (_,) as arguments,
                options=() | (("mode", _),) as options,
            ) if len(arguments) + len(options) == 1:
                opened = self._opened(inner)
                wanted = arguments[0] if arguments else options[0][1]
                mode = self._own.means(wanted)
                if opened is not None and opened.mode == "file" and not opened.transforms and mode in ("RGB", "L"):
                    return replace(opened, mode=mode, done=given)
            case Call(function=function, arguments=(inner,), options=() | (("mode", Constant(value="r")),) as options):
                called = self._own.if_seen(function)
                if opens(called):
                    self._own.means(function)
                    if called is sys.modules["PIL.Image"].open:
                        return _Opened(opened_path(self._own, inner), "file", given, given)
                    if not options:
                        return _Opened(inner, "RGB", given, given)
                if makes_image(called):
                    return self._of_array(given)
                opened = self._opened(inner)
                if opened is not None and called is not None and not options:
                    return replace(opened, transforms=(*opened.transforms, function), calls=(*opened.calls, given))
            case Call(function=function) if makes_image(self._own.if_seen(function)):
                return self._of_array(given)
        if _opens_any(self._own, given):
            raise UnreadableError(f"does more than open a file and transform its image: {_last(given)}", given)
        return None

    def _of_array(self, given: Call) -> _Opened:
        """The image that is made of a row. Raises UnreadableError."""
        match given:
            case Call(arguments=(Call(function=Attribute(owner=row, name="numpy"), arguments=()),), options=()):
                if type(self._own.value(_rows(row))) is list:
                    self._own.means(given.function)
                    return _Opened(row, "file", given, given, axes="nyx")
        taken, axes, _ = array_of(self._own, given)
        place = taken.place
        if not isinstance(place.key, Index) or taken.shape != tuple(self._own.value(place.owner).shape[1:]):
            raise UnreadableError(f"makes images of {given.arguments[0]}", place)
        return _Opened(place, "file", given, given, axes=axes)

    def _in_memory(self) -> Any:
        """The array or list that images are rows of."""
        return self._own.value(_rows(self._images[0].path))

    def _of_rows(self) -> Block | PixelList:
        """The images. Raises RefusalError."""
        row, data = self._images[0].path, self._in_memory()
        name = type(self.dataset).__qualname__
        if type(data) is list:
            return PixelList(name, data, (row.number,) if isinstance(row, Unpacked) else ())
        return Block(name, data, type(data), self._axes)

    def _labels(self, values: Sequence[Sequence[Sequence[Any]]]) -> NDArray[np.int64]:
        if self._label is None:
            return np.zeros(self.length, np.int64)
        return np.fromiter(values[self._label][0], np.int64, self.length)

    def _values(self, at: Sequence[int]) -> tuple[Sequence[Any], list[list[Sequence[Any]]]]:
        """Paths, of both images of a sample one after the other, and all other values of these indices.

        Raises UnreadableError, and what the user's own code would raise.
        """
        columns = self._columns.work_out(at)
        files = 0 if self._axes else self._views
        for opened, paths in zip(self._images, columns[:files], strict=False):
            for kind in set(map(type, paths)) - {*PATHS, bytes}:
                raise UnreadableError(f"opens a {kind.__qualname__}", opened.path)
        paths = [*itertools.chain.from_iterable(zip(*columns[:files], strict=True))]
        left = iter(columns[files:])
        values = [list(itertools.islice(left, len(each.values))) for each in self._given]
        for each, numbers in zip(self._given, values, strict=True):
            if each.made is not None:
                each.made.check(numbers)
            for expression, column in zip(each.values, numbers, strict=True):
                check_alike(expression, column)
        return paths, values

    def _files(self, paths: Sequence[Any], values: Sequence[Sequence[Sequence[Any]]]) -> Files:
        """Paths and labels as the core takes them."""
        try:
            return Files.of(paths, () if self._label is None else values[self._label][0])
        except RefusalError as refused:
            raise UnreadableError(f"gives paths of which {refused.refusal.why}") from None

    def _gives_masks(self) -> bool:
        """Whether the second image is the first one's mask, as a class of torchvision's opens it.

        Of classes of the user's, scripts do without a look at all masks. Raises UnreadableError for two images that are
        transformed together otherwise.
        """
        places = [each.place for each in self._images]
        modes = [each.mode for each in self._images if not each.axes]
        if self._own.is_of_torchvision and modes == ["RGB", "file"] and places in ([None, None], [0, 1]):
            image, mask = self._images
            return not image.calls or self._own.when(mask.begun) < self._own.when(image.calls[0])
        if self._wrapper is not None or places.count(None) < len(places):
            raise UnreadableError("transforms other things together than an image and its mask")
        return False

    def _lowered(self) -> Lowered:
        """What becomes of a sample's images, in mode RGB."""
        if self._has_masks:
            return self._lowered_with_mask(self._mode)
        first, *others = map(self._lowered_image, self._images, self._watches)
        for second in others:
            mode = "L" if self._axes and "c" not in self._axes else "RGB"
            target = Target(second, mode, together=False, read=self._read)
            names = (*first.names, *(f"of the second image: {name}" for name in second.names))
            return replace(first, target=target, names=names)
        return first

    def _lowered_with_mask(self, mode: Literal["P", "L"]) -> Lowered:
        image, mask = ([self._own.value(each) for each in opened.transforms] for opened in self._images)
        wrapped_in = None
        if self._wrapper is not None:
            check_wrapper(self._wrapper, self._own.dataset)
            wrapped_in = vars(self._wrapper)["transforms"]

        def lower() -> Lowered:
            check_open()
            if self._wrapper is not None:
                return lower_wrapped(wrapped_in, mode)
            if self._images[0].place is not None:
                return lower_together(image[0], mode, mode)
            return lower_apart(_composed(image), _composed(mask), mode, mode)

        return self._watches[0].found(lower, [wrapped_in, *image, *mask])

    def _lowered_image(self, opened: _Opened, watch: Watch[Lowered]) -> Lowered:
        transforms = [self._own.value(each) for each in opened.transforms]
        if not opened.axes:
            return watch.found(lambda: lower_of_mode(_composed(transforms), opened.mode), transforms)
        shape = dict(zip(opened.axes, getattr(self._in_memory(), "shape", ()), strict=False))
        size = (shape["y"], shape["x"]) if shape else None
        return watch.found(
            lambda: _lower_of_array(_composed(transforms), opened.axes, opened.mode, size), [*transforms, size]
        )

    def unchanged(self, dataset: Any, at: Indices | None) -> bool:
        inner = dataset if self._wrapper is None else wrapped(dataset)
        if dataset is not self.dataset or not self._own.unchanged(inner):
            return False
        try:
            return (
                (self._images_in_memory is None or self._images_in_memory.unchanged(self._in_memory(), at))
                and (self._columns.stands(at) or self._same_values(at))
                and self._lowered() == self.part.lowered
            )
        except (UnreadableError, RefusalError, *ERRORS):
            return False

    def _same_values(self, at: Indices | None) -> bool:
        """Whether paths, labels and all other values are those of the part."""
        indices = range(self.length) if at is None else at.tolist()
        paths, values = self._values(indices)
        return self._same_images(paths, values, at) and all(
            alike(list(now), [was[index] for index in indices])
            for n, kept in zip(self._order, self._kept, strict=True)
            for now, was in zip(values[n], kept, strict=True)
        )

    def _same_images(self, paths: Sequence[Any], values: Sequence[Sequence[Sequence[Any]]], at: Indices | None) -> bool:
        """Whether paths and labels are those of the part."""
        if isinstance(self.part, PixelPart):
            labels = [] if self._label is None else values[self._label][0]
            known = self.part.labels if at is None else self.part.labels[at]
            return self._label is None or list(labels) == known.tolist()
        files, ours = self._files(paths, values), self.part.files
        if at is None:
            return files == ours
        numbers = (at[:, None] * self._views + np.arange(self._views)).reshape(-1)
        return np.array_equal(files.labels, ours.labels[numbers]) and all(
            files.name(place) == ours.name(file) for place, file in enumerate(numbers.tolist())
        )


def _rows(row: Expression) -> Expression:
    """The array or list that an image is a row of, or part of a row."""
    match row:
        case Item(owner=place, key=Index()) | Unpacked(owner=Item(owner=place, key=Index())):
            return place
    return row


def _axes(images: Sequence[_Opened]) -> str:
    """Of the array that images are rows of; "" of files. Raises UnreadableError for some of each."""
    first, *others = images
    for each in others:
        if each.axes != first.axes or (first.axes and each.path != first.path):
            raise UnreadableError("gives images of several arrays", each.begun)
    return first.axes


def _lower_of_array(transform: Any, axes: str, wanted: str, size: Size | None) -> Lowered:
    """What becomes of an image of an array's axes and of a size, if all have one, that is converted to a mode, or not
    ("file"). Raises RefusalError."""
    pillow = sys.modules["PIL.Image"]
    check_calls("Image.fromarray", ((pillow, "fromarray"),), (pillow.Image,), ("convert",))
    channels = 3 if "c" in axes else 1
    after = {"file": channels, "RGB": 3, "L": 1}[wanted]
    lowered = granted(lower_transform(transform, Form(after, size)))
    return lowered if after == channels else replace(lowered, steps=(Grayscale(after), *lowered.steps))


def _composed(transforms: list[Any]) -> Any:
    if len(transforms) < 2:
        return transforms[0] if transforms else None
    from torchvision.transforms import Compose

    return Compose(transforms)


def _order(own: OwnCode, opened: _Opened) -> tuple[int, int]:
    """When an image has been transformed; of two that are transformed together, the first one comes first."""
    return own.when(opened.calls[-1] if opened.calls else opened.done), opened.place or 0


def _read(own: OwnCode, images: Sequence[_Opened]) -> Read:
    """How much of a second image is read before the first one's transforms draw. Raises UnreadableError."""
    if len(images) == 1:
        return "decoded"
    one, other = images
    if one.calls and other.calls and own.when(one.calls[-1]) < own.when(other.calls[0]):
        if own.when(other.done) < own.when(one.calls[0]):
            return "decoded"
        if own.when(other.begun) > own.when(one.calls[-1]):
            return "unread"
    raise UnreadableError("opens and transforms two images in turn", other.done)


def check_alike(expression: Expression, values: Sequence[Any]) -> None:
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


def _last(given: Expression) -> str:
    text = str(given)
    return text if len(text) < 80 else f"...{text[-77:]}"
