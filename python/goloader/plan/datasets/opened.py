"""A user's own class whose `__getitem__` opens an image file and transforms it, as

    image = Image.open(self.paths[index]).convert("RGB")
    return self.transform(image), self.labels[index]

That it does nothing else is read from its bytecode (plan/bytecode.py). Its paths and labels are worked out ahead
(columns.py), its transform is lowered as that of torchvision's datasets; from there on it is an image folder. Whoever
changes the dataset, its lists or its transforms is seen to do so, as by torch.
"""

from __future__ import annotations

import itertools
import operator
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import torch

from ..bytecode import Attribute, Call, Constant, Display, Expression, Mapping, UnreadableError, parts_of
from ..collate import collates_plainly
from ..lowered import Lowered
from ..paths import Files
from ..refusal import RefusalError
from ..structure import Structure, renumbered
from ..transforms import is_original
from .columns import FLOATS, INTS, PATHS, VALUES, Columns, TensorItem
from .files import lower_of_mode, open_rgb
from .own import OwnCode
from .samples import Beside, Part
from .tree import Column, Indices, Node

__all__ = ["OpenedFiles", "opens_files"]


# What torch puts together to an int64 tensor.
_LABELS = {int, np.int64, TensorItem}


@dataclass(frozen=True)
class _Opened:
    """The image of a file.

    path        of the file
    mode        that it is converted to; "file" if it stays as it is
    transforms  what is called with it, one after the other
    """

    path: Expression
    mode: str
    transforms: tuple[Expression, ...] = ()


def opens_files(own: OwnCode) -> bool:
    """True if a `__getitem__` opens an image file, whatever it does with it."""
    return _opens_any(own, own.reading.result)


def _opens_any(own: OwnCode, given: Expression) -> bool:
    return any(isinstance(part, Call) and _opens(_function(own, part.function)) for part in parts_of(given))


def _function(own: OwnCode, expression: Expression) -> Any:
    """What is called, if that can be said."""
    try:
        return own.value(expression)
    except UnreadableError:
        return None


def _opens(called: Any) -> bool:
    """True for what opens a file's image: Pillow's function, and torchvision's that call it."""
    return called is not None and (called is _image_open() or called in _loaders())


def _image_open() -> Any:
    """Pillow's Image.open, behind a hook of door 2's perhaps; None where it is another, or nobody imported it."""
    known = getattr(sys.modules.get("PIL.Image"), "open", None)
    return known if is_original(known, "PIL", "goloader") else None


def _loaders() -> list[Any]:
    """torchvision's functions that open a file's image in mode RGB by Pillow."""
    folder = sys.modules.get("torchvision.datasets.folder")
    if folder is None or _image_open() is None:
        return []
    by_pillow = sys.modules["torchvision"].get_image_backend() == "PIL"
    names = ("pil_loader", "default_loader") if by_pillow else ("pil_loader",)
    return [known for known in (getattr(folder, name) for name in names) if is_original(known, "torchvision")]


@dataclass(frozen=True)
class _Given:
    """Another value of a sample.

    value  what it is made of
    batch  what it is in a batch that torch puts together: in the list of a dict's item, or the tuple of a tuple's
    dtype  it is torch.tensor(value, dtype=dtype); None for the value itself, True for a dtype of torch's choice
    """

    value: Expression
    batch: type
    dtype: torch.dtype | Literal[True] | None = None

    @property
    def make(self) -> Callable[[Any], torch.Tensor] | None:
        """What makes it."""
        if self.dtype is None:
            return None
        return partial(torch.tensor, dtype=None if self.dtype is True else self.dtype)

    def check(self, values: Sequence[Any]) -> None:
        """Raises UnreadableError unless torch makes a tensor of each of these without an error."""
        if self.dtype is None:
            return
        whole = self.dtype is torch.int64
        kinds = {*INTS, bool, *(() if whole else FLOATS)}  # of tensors torch.tensor warns
        if not (
            (self.dtype is True or whole or self.dtype.is_floating_point)
            and set(map(type, values)) <= kinds
            and all(-(2**63) <= each < 2**63 for each in values if type(each) in (int, np.uint64))
        ):
            raise UnreadableError(f"makes tensors of {self.value}")

    def is_label(self, values: Sequence[Any]) -> bool:
        """True if torch puts these together to an int64 tensor, as it does with labels of type int."""
        return self.dtype in (None, True, torch.int64) and set(map(type, values)) <= _LABELS


class OpenedFiles(Node):
    """A dataset of a class of the user's.

    Its length is that of the attributes, whatever `__len__` says: that is what `__getitem__` goes by.
    """

    note = "its __getitem__ only opens files and transforms images: read from its bytecode"

    def __init__(self, own: OwnCode) -> None:
        self.dataset = own.dataset
        self._own = own
        self._images: list[_Opened] = []
        self._given: list[_Given] = []
        try:
            structure = self._structure(own.reading.result, list)
            if len(self._images) != 1:
                raise UnreadableError(f"gives {len(self._images)} images, not one")
            self._columns = Columns(own, [self._images[0].path, *(each.value for each in self._given)])
            self.length = self._columns.length
            # What is not understood shows in the first sample, mostly. Nobody wants to wait for all at each epoch then.
            self._values(range(min(self.length, 1)))
            lowered = self._lowered()
            paths, values = self._values(range(self.length))
            # The first that may be is the label, which Go puts together.
            self._label = next((n for n, each in enumerate(self._given) if each.is_label(values[n])), None)
            self._order = [n for n in range(len(values)) if n != self._label]
            files = self._files(paths, values)
        except UnreadableError as error:
            raise own.refusal(f"__getitem__ {error}") from None
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise own.refusal(f"{type(error).__name__} where it takes paths and labels: {error}") from None
        beside = tuple(Beside(values[n], self._given[n].batch, self._given[n].make) for n in self._order)
        numbers = {0: 0} | {1 + n: 2 + place for place, n in enumerate(self._order)}
        if self._label is not None:
            numbers[1 + self._label] = 1
        self.structure = renumbered(structure, numbers)
        if beside:
            self.note = f"{self.note}; Python puts {len(beside)} of its values together"
        pairs = self.structure == (0, 1) and set(map(type, values[0])) == {int} and self._given[0].dtype is None
        self.part = Part(own.dataset, files, files, lowered, open_rgb, beside, pairs)
        self.columns = (Column((self.part,), Part),)

    def _structure(self, given: Expression, batch: type) -> Structure:
        """The structure of a sample: its image is field 0, all others are numbered as they come."""
        if isinstance(given, Display):
            return tuple(self._structure(each, tuple) for each in given.items)
        if isinstance(given, Mapping):
            return {name: self._structure(each, list) for name, each in zip(given.names, given.items, strict=True)}
        opened = self._opened(given)
        if opened is not None:
            self._images.append(opened)
            return 0
        self._given.append(_given(self._own, given, batch))
        return len(self._given)

    def _opened(self, given: Expression) -> _Opened | None:
        """The image that is given; None if it is something else. Raises UnreadableError for one that is not known."""
        match given:
            case Call(function=Attribute(owner=inner, name="convert"), arguments=(Constant(value=mode),), options=()):
                opened = self._opened(inner)
                if opened is not None and opened.mode == "file" and not opened.transforms and mode in ("RGB", "L"):
                    return replace(opened, mode=mode)
            case Call(function=function, arguments=(inner,), options=()):
                called = _function(self._own, function)
                if _opens(called):
                    self._own.means(function)
                    return _Opened(inner, "file" if called is _image_open() else "RGB")
                opened = self._opened(inner)
                if opened is not None and called is not None:
                    return replace(opened, transforms=(*opened.transforms, function))
        if _opens_any(self._own, given):
            raise UnreadableError(f"does more than open a file and transform its image ({_last(given)})")
        return None

    def _values(self, at: Sequence[int]) -> tuple[Sequence[Any], list[Sequence[Any]]]:
        """Paths and all other values of these indices.

        Raises UnreadableError, and what the user's own code would raise.
        """
        paths, *values = self._columns.work_out(at)
        for each, column in zip(self._given, values, strict=True):
            each.check(column)
        for kind in set(map(type, paths)) - {*PATHS, bytes}:
            raise UnreadableError(f"opens a {kind.__qualname__}")
        for column in values:
            _check_alike(column)
        return paths, values

    def _files(self, paths: Sequence[Any], values: Sequence[Sequence[Any]]) -> Files:
        """Paths and labels as the core takes them."""
        labels = itertools.repeat(0, len(paths)) if self._label is None else values[self._label]
        try:
            return Files.of(zip(paths, labels, strict=True))
        except RefusalError as refused:
            raise UnreadableError(f"gives paths of which {refused.refusal.why}") from None

    def _lowered(self) -> Lowered:
        """What becomes of an image in mode RGB."""
        (opened,) = self._images
        transforms = [self._own.value(each) for each in opened.transforms]
        whole = transforms[0] if len(transforms) == 1 else None
        if len(transforms) > 1:
            from torchvision.transforms import Compose

            whole = Compose(transforms)
        return lower_of_mode(whole, opened.mode)

    def unchanged(self, dataset: Any, at: Indices | None) -> bool:
        if not self._own.unchanged(dataset):
            return False
        indices = range(self.length) if at is None else at.tolist()
        try:
            paths, values = self._values(indices)
            files = self._files(paths, values)
            lowered = self._lowered()
        except (UnreadableError, RefusalError, ArithmeticError, LookupError, TypeError, ValueError):
            return False
        ours = self.part.files
        if at is None:
            same = files == ours
        else:
            same = np.array_equal(files.labels, ours.labels[at]) and all(
                files.name(place) == ours.name(index) for place, index in enumerate(indices)
            )
        kept = [[each.values[index] for index in indices] for each in self.part.beside]
        return (
            same
            and lowered == self.part.lowered
            and all(_alike(values[n], was) for n, was in zip(self._order, kept, strict=True))
        )


def _alike(values: Sequence[Any], others: Sequence[Any]) -> bool:
    """Equal, and of the same types: 1 is True, too."""
    return all(map(operator.eq, values, others)) and all(map(operator.is_, map(type, values), map(type, others)))


def _check_alike(values: Sequence[Any]) -> None:
    """Raises UnreadableError unless torch puts any of these values together without an error."""
    kinds = set(map(type, values))
    for kind in kinds - {*VALUES}:
        raise UnreadableError(f"gives a {kind.__qualname__}")
    if len(kinds) > 1:
        raise UnreadableError(
            f"gives values of types {', '.join(sorted(kind.__name__ for kind in kinds))} in one place"
        )
    if int in kinds and not -(2**63) <= min(values) <= max(values) < 2**63:
        raise UnreadableError("gives numbers that do not fit an int64")
    if np.int64 in kinds and not collates_plainly(np.int64()):
        raise UnreadableError("gives numbers of numpy, for which default_collate_fn_map was changed")


def _given(own: OwnCode, given: Expression, batch: type) -> _Given:
    """A value that is no image: as it is, or made a tensor."""
    match given:
        case Call(function=function, arguments=(value,), options=options):
            if _function(own, function) in (torch.tensor, torch.as_tensor):
                own.means(function)
                dtypes = [own.means(each) for name, each in options if name == "dtype"]
                if len(dtypes) == len(options) and all(type(dtype) is torch.dtype for dtype in dtypes):
                    return _Given(value, batch, dtypes[0] if dtypes else True)
    return _Given(given, batch)


def _last(given: Expression) -> str:
    text = str(given)
    return text if len(text) < 80 else f"...{text[-77:]}"
