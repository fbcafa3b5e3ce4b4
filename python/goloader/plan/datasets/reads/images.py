"""Where images come from in a user's `__getitem__`: calls that open a file, and that make an image of an array."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import BuiltinFunctionType
from typing import Any

import numpy as np
import torch

from ....adapters.python import caught_warnings
from ...bytecode import Attribute, Call, Display, Entered, Expression, Item, Part, UnreadableError, parts_of
from ...needs import decoders
from ...paths import Member, Object
from ...trust.originals import behind, is_original
from ..own.code import Code, OwnCode
from . import fetched
from .readers import array_reader, tensor_reader


def opens(called: Any) -> bool:
    """True for what opens a file's image: Pillow's function, and torchvision's that call it and convert to RGB."""
    pillow, folder = sys.modules.get("PIL.Image"), sys.modules.get("torchvision.datasets.folder")
    if called is None or pillow is None:
        return False
    # What a library's file says of its functions takes milliseconds to read, so that is done for those that are called.
    if called is pillow.open:  # behind a hook of door 2's perhaps
        return is_original(called, "PIL", "goloader")
    if folder is None or not any(called is loader for loader in (folder.pil_loader, folder.default_loader)):
        return False
    by_pillow = called is folder.pil_loader or sys.modules["torchvision"].get_image_backend() == "PIL"
    return by_pillow and is_original(called, "torchvision") and is_original(pillow.open, "PIL", "goloader")


def reads_by_opencv(called: Any) -> str | None:
    """ "imread" or "imdecode" of OpenCV's, behind a hook of door 2's perhaps; None for all else."""
    module = sys.modules.get("cv2")
    if module is None or called is None:
        return None
    for name in ("imread", "imdecode"):
        if called is vars(module).get(name):
            original = behind(called)
            return name if type(original) is BuiltinFunctionType and original.__name__ == name else None
    return None


def reads_image(called: Any) -> bool:
    """True for all that makes an image, or an array or a tensor of one, of a file."""
    by_library = reads_by_opencv(called) is not None or array_reader(called) is not None
    return opens(called) or by_library or tensor_reader(called) is not None


def makes_image(called: Any) -> bool:
    """True for Pillow's function that makes an image of an array, and torchvision's that calls it."""
    pillow, utils = sys.modules.get("PIL.Image"), sys.modules.get("torchvision.utils")
    if called is None or pillow is None:
        return False
    if called is pillow.fromarray:
        return is_original(called, "PIL", "goloader")
    by_torchvision = getattr(utils, "_Image_fromarray", None)
    return called is by_torchvision and is_original(called, "torchvision")


def opens_images(own: OwnCode) -> bool:
    """Whether a `__getitem__` opens an image file, or makes an image of an array, whatever it does with it."""
    calls = (own.if_seen(part.function) for part in parts_of(own.reading.result) if isinstance(part, Call))
    return any(opens(called) or makes_image(called) for called in calls)


def converts_arrays(called: Any) -> bool:
    """True for torchvision's functions that make an image or a tensor of an array, and its objects that call them."""
    transforms, v2 = sys.modules.get("torchvision.transforms.transforms"), sys.modules.get("torchvision.transforms.v2")
    if transforms is None or called is None:
        return False
    functional = vars(sys.modules["torchvision.transforms.functional"])
    kinds = [vars(each)[name] for each in (transforms, v2) if each for name in ("ToTensor", "ToPILImage")]
    return type(called) in kinds or any(called is functional[name] for name in ("to_tensor", "to_pil_image"))


def opened_path(own: Code, opened: Expression) -> Expression:
    """The path of what is given to Image.open: itself, or that of a file which is open for reading."""
    match opened:
        case (
            Entered(manager=Call(function=function, arguments=(path, mode), options=()))
            | Call(function=function, arguments=(path, mode), options=())
        ):
            if own.if_seen(function) is open and own.value(mode) == "rb":
                own.means(function)
                return path
    return opened


def content_path(own: OwnCode, opened: Expression) -> Expression:
    """The same as opened_path, also of io.BytesIO of all that is in a file."""
    match opened:
        case Call(function=function, arguments=(content,), options=()) if own.if_seen(function) is io.BytesIO:
            path = read_path(own, content)
            if path is not None:
                own.means(function)
                return path
    return fetched.file_path(own, opened) or opened_path(own, opened)


def read_path(own: OwnCode, content: Expression) -> Expression | None:
    """The path of a file of which a value is all that is in it, or of an object; None for other values."""
    match content:
        case Call(function=Attribute(owner=Entered() as entered, name="read"), arguments=(), options=()):
            path = opened_path(own, entered)
            if path is not entered:
                return path
    return fetched.content_path(own, content)


def encoded_path(own: OwnCode, buffer: Expression) -> Expression | None:
    """The same of an array of all bytes in a file."""
    match buffer:
        case Call(function=function, arguments=(first, *others), options=options):
            types = [*others, *(value for name, value in options if name == "dtype")]
            if len(types) != 1 or len(options) + len(others) != 1:
                return None
            kind, called = own.means(types[0]), own.if_seen(function)
            path = None
            if kind is not np.uint8 and not (type(kind) is str and kind == "uint8"):
                return None
            if called is np.frombuffer:
                path = read_path(own, first)
            elif called is np.fromfile:
                path = first
            elif called is np.asarray or called is np.array:
                match first:
                    case Call(function=inner, arguments=(content,), options=()) if own.means(inner) is bytearray:
                        path = read_path(own, content)
            if path is not None:
                own.means(function)
            return path
    return None


@dataclass(frozen=True)
class Row:
    """An item of an array, a tensor or a list of tensors, as code has it.

    place   the item
    kind    np.ndarray or torch.Tensor
    shape   of the array's rows, or that which code gives them
    order   which dimensions of these its own are
    within  which part of the item it is
    """

    place: Item
    kind: type
    shape: tuple[int, ...]
    order: tuple[int, ...]
    within: tuple[int, ...] = ()

    @property
    def extents(self) -> tuple[int, ...]:
        return tuple(self.shape[axis] for axis in self.order)

    def axes(self, names: str) -> str:
        """Of the array, with "n" for its rows, by the names of the row's own dimensions."""
        return "n" + "".join(names[self.order.index(axis)] for axis in range(len(self.shape)))


def array_of(own: OwnCode, call: Call) -> tuple[Row, str, str]:
    """The row that Pillow makes an image of, the array's axes (of "n", "y", "x" and "c"), and the image's mode.

    Raises UnreadableError for a call that is not known.
    """
    own.means(call.function)
    modes = (*call.arguments[1:], *(value for name, value in call.options if name == "mode"))
    if (
        len(call.arguments) + len(call.options) > 2
        or not call.arguments
        or len(modes) + 1 != len(call.arguments) + len(call.options)
    ):
        raise UnreadableError(f"makes images by {call}", call)
    row = row_of(own, call.arguments[0])
    if row.kind is not np.ndarray or len(row.order) not in (2, 3):
        raise UnreadableError(f"makes images of {call.arguments[0]}", call)
    axes = "yxc"[: len(row.order)]
    plain = "RGB" if "c" in axes else "L"
    mode = own.means(modes[0]) if modes else None
    if mode not in (None, plain) or (mode is not None and warns_of(own.value(call.function), mode)):
        raise UnreadableError(f"makes images of mode {mode}", call)
    return row, row.axes(axes), plain


def is_row(own: OwnCode, of: Expression) -> bool:
    """Whether it is a row of an array or a tensor of bytes."""
    try:
        return own.value(row_of(own, of).place.owner).dtype in (np.uint8, torch.uint8)
    except UnreadableError:
        return False


def row_of(own: OwnCode, of: Expression) -> Row:
    """The row of an array or a tensor that a value is. Raises UnreadableError."""
    match of:
        case Item(owner=place):
            array = own.value(place)
            if type(array) in (np.ndarray, torch.Tensor) and array.ndim > 1:
                return Row(of, type(array), tuple(array.shape[1:]), tuple(range(array.ndim - 1)))
            if type(array) is list and array and type(array[0]) is torch.Tensor:
                return Row(of, torch.Tensor, tuple(array[0].shape), tuple(range(array[0].ndim)))
        case Part(owner=Item(owner=place) as item, number=number):
            listed = own.value(place)
            first: Any = listed[0] if type(listed) is list and listed else None
            if type(first) in (list, tuple) and 0 <= number < len(first) and type(first[number]) is torch.Tensor:
                shape = tuple(first[number].shape)
                return Row(item, torch.Tensor, shape, tuple(range(len(shape))), (number,))
        case Call(function=function, arguments=(inner, order), options=()) if own.if_seen(function) is np.transpose:
            own.means(function)
            return _row_by(own, inner, "transpose", (order,), of)
        case Call(function=Attribute(owner=inner, name=name), arguments=arguments, options=()):
            return _row_by(own, inner, name, arguments, of)
    raise UnreadableError(f"makes images of {of}", of)


def _row_by(own: OwnCode, inner: Expression, name: str, arguments: tuple[Expression, ...], of: Expression) -> Row:
    """What a method gives of a row."""
    row = row_of(own, inner)
    method = _METHODS[row.kind].get(name)
    made = None if method is None else method(row, *map(own.means, _spread(arguments)))
    if made is None:
        raise UnreadableError(f"makes images of {of}", of)
    return made


def _spread(arguments: tuple[Expression, ...]) -> tuple[Expression, ...]:
    """Numbers that are given one by one, or together."""
    match arguments:
        case (Display(kind=kind, items=items),) if kind in (list, tuple):
            return items
    return arguments


def _as_array(row: Row, *others: Any) -> Row | None:
    return None if others else replace(row, kind=np.ndarray)


def _as_bytes(row: Row, *dtypes: Any) -> Row | None:
    return row if dtypes in ((np.uint8,), ("uint8",)) else None


def _exchanged(row: Row, *axes: Any) -> Row | None:
    """A row whose dimensions are in another order."""
    if not {*map(type, axes)} <= {int} or sorted(axes) != list(range(len(row.order))):
        return None
    return replace(row, order=tuple(row.order[axis] for axis in axes))


def _reshaped(row: Row, *shape: Any) -> Row | None:
    if not {*map(type, shape)} <= {int} or list(row.order) != sorted(row.order):
        return None
    try:
        made = np.empty(row.shape, np.bool_).reshape(shape)
    except ValueError:
        return None
    return replace(row, shape=made.shape, order=tuple(range(made.ndim)))


# By the kind of a row: methods that leave its bytes as they are. They give None for arguments that are not known.
_METHODS: dict[type, dict[str, Callable[..., Row | None]]] = {
    np.ndarray: {"astype": _as_bytes, "reshape": _reshaped, "transpose": _exchanged},
    torch.Tensor: {"numpy": _as_array, "permute": _exchanged, "reshape": _reshaped, "view": _reshaped},
}


def warns_of(function: Any, mode: str) -> bool:
    """Whether a mode makes Pillow warn."""
    with caught_warnings() as caught:
        function(np.zeros((1, 1) if mode == "L" else (1, 1, 3), np.uint8), mode=mode)
    return bool(caught)


# The modes of PNG files with one 8-bit plane, by colour type and bits.
_MODES = {(0, 2): "L", (0, 4): "L", (0, 8): "L", (3, 1): "P", (3, 2): "P", (3, 4): "P", (3, 8): "P"}
_PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR"

# Of what no mode can be told.
UNREADABLE = ("", False)


def mode_of(path: Any) -> tuple[str, bool]:
    """Pillow's mode of a file, and whether the core reads it; ("", False) for one that cannot be read."""
    from PIL import Image

    try:
        if type(path) in (Object, Member):
            with Image.open(io.BytesIO(path.read())) as image:
                return str(image.mode), str(image.format).lower() in decoders()
        number = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            head = os.pread(number, len(_PNG) + 13, 0)
        finally:
            os.close(number)
        if head.startswith(_PNG) and (head[25], head[24]) in _MODES:
            return _MODES[head[25], head[24]], True
        with Image.open(path) as image:
            return str(image.mode), str(image.format).lower() in decoders()
    except Exception:  # whatever it is, the dataset raises it
        return UNREADABLE
