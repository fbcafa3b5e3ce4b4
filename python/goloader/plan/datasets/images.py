"""Where images come from in a user's `__getitem__`: calls that open a file, and that make an image of an array."""

from __future__ import annotations

import io
import sys
from types import BuiltinFunctionType
from typing import Any

import numpy as np
import torch

from ...adapters.python import caught_warnings
from ..bytecode import Attribute, Call, Display, Entered, Expression, Item, UnreadableError
from ..originals import behind, is_original
from . import fetched
from .own import Code, OwnCode
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


def array_of(own: OwnCode, call: Call) -> tuple[Item, str, str]:
    """The row of an array that an image is made of, the array's axes ("nyxc", "ncyx", "nyx"), and the image's mode.

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
    place, axes = row_of(own, call.arguments[0])
    plain = "RGB" if "c" in axes else "L"
    mode = own.means(modes[0]) if modes else None
    if mode not in (None, plain) or (mode is not None and warns_of(own.value(call.function), mode)):
        raise UnreadableError(f"makes images of mode {mode}", call)
    return place, axes, plain


def row_of(own: OwnCode, row: Expression) -> tuple[Item, str]:
    """An item of an array, and the array's axes, if a value is that. Raises UnreadableError."""
    match row:
        case Item(owner=place):
            array = own.value(place)
            if type(array) in (np.ndarray, torch.Tensor) and array.ndim in (3, 4):
                return row, "nyxc"[: array.ndim]
        case Call(function=Attribute(owner=inner, name="numpy"), arguments=(), options=()):
            item, axes = row_of(own, inner)
            if type(own.value(item.owner)) is torch.Tensor:
                return item, axes
        case Call(function=Attribute(owner=inner, name="astype"), arguments=(dtype,), options=()):
            item, axes = row_of(own, inner)
            if type(own.value(item.owner)) is np.ndarray and own.means(dtype) in (np.uint8, "uint8"):
                return item, axes
        case Call(function=function, arguments=(inner, Display(items=order)), options=()):
            item, axes = row_of(own, inner)
            array, turn = own.value(item.owner), [own.value(each) for each in order]
            turned = own.means(function) is np.transpose and turn == [1, 2, 0]
            if turned and axes == "nyxc" and type(array) is np.ndarray:
                return item, "ncyx"
    raise UnreadableError(f"makes images of {row}", row)


def warns_of(function: Any, mode: str) -> bool:
    """Whether a mode makes Pillow warn."""
    with caught_warnings() as caught:
        function(np.zeros((1, 1) if mode == "L" else (1, 1, 3), np.uint8), mode=mode)
    return bool(caught)
