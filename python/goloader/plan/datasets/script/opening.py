"""Files that a sample opens, and images that it takes out of an array."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PosixPath
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from .... import transforms as T
from ...bytecode import Call, Entered, Expression, UnreadableError, parts_of
from ..own.columns import Columns
from ..reads.databases import Transaction
from ..reads.images import Row, array_of, content_path, encoded_path, mode_of
from ..reads.images import row_of as row_in_array
from ..reads.readers import ArrayReader, TensorReader, as_tensor, calls_of, takes, way_of
from .images import arrays
from .images.memory import UNWRITABLE
from .images.picture import Applied, Picture
from .images.pil import bind
from .numbers import arithmetic
from .numbers.arithmetic import Number
from .numbers.rows import row_of

if TYPE_CHECKING:
    from .compiler import Compiler


@dataclass(frozen=True)
class Opened:
    """A file that a sample opens, or an image of an array that it takes.

    columns  says the path of each row, or None for an array
    path     the expression of the path, with the row as its index; of an array, or a list of tensors, the one of that
    row      which row it is
    within   which part of a list's item
    mode     of the image as code gets it
    axes     of the array, "" for files; and
    shape    of one row as an image
    plain    the file itself has to be of that mode; else it is converted
    reader   what reads it: a name in the core's plan, "" for Image.open
    """

    columns: Columns | None
    path: Expression
    row: Number
    mode: str
    axes: str = ""
    shape: tuple[int, ...] = ()
    plain: bool = False
    reader: str = ""
    within: tuple[int, ...] = ()

    @property
    def size(self) -> T.Size | None:
        """(height, width) of an array's images; files may differ."""
        extents = dict(zip(self.axes[1:], self.shape, strict=True))
        return (extents["y"], extents["x"]) if extents else None


def open_file(c: Compiler, path: Expression, called: Any) -> Picture:
    column, found, row = _files(c, path, content_path(c.own, path))
    if called is not sys.modules["PIL.Image"].open:
        return _add(c, Opened(column, found, row, "RGB"))
    mode = _first_mode(column)
    return _add(c, Opened(column, found, row, mode if mode in ("L", "P") else "RGB", plain=True))


def _first_mode(column: Columns) -> str | None:
    """The mode of the first file's image."""
    return mode_of(next(iter(column.work_out(range(min(column.length, 1)))[0]), ""))[0]


def _files(c: Compiler, opened: Expression, path: Expression) -> tuple[Columns, Expression, Number]:
    """Which files there are, by the path of one, and which of them it is."""
    found, row = row_of(c, path)
    try:
        column = c.values(found)
    except UnreadableError as error:
        raise UnreadableError(error.args[0], error.of or path) from None
    for each in parts_of(opened):
        if isinstance(each, Entered) and not isinstance(c.own.if_seen(each), Transaction):
            if id(each) in c.entered:
                raise UnreadableError(f"reads {each} twice", each)
            c.entered.add(id(each))
    c.account(opened)
    return column, found, row


def read_by_opencv(c: Compiler, call: Call, name: str) -> Picture:
    """An image that cv2.imread or cv2.imdecode makes of a file."""
    module: Any = sys.modules["cv2"]
    bound = bind(call, ("filename" if name == "imread" else "buf", "flags"))
    flags = c.constant(bound["flags"]) if "flags" in bound else module.IMREAD_COLOR
    known = next((row for flag, row in _FLAGS.items() if getattr(module, flag, None) == flags), None)
    if type(flags) is not int or known is None or (name == "imdecode" and "flags" not in bound):
        raise UnreadableError(f"reads images by {call}", call)
    if any(each.startswith("OPENCV_IO_MAX") for each in os.environ):
        raise UnreadableError("reads images by OpenCV, whose limits are set in the environment")
    source = bound.get("filename", bound.get("buf"))
    path = source if name == "imread" or source is None else encoded_path(c.own, source)
    if source is None or path is None:
        raise UnreadableError(f"reads images by {call}", call)
    column, found, row = _files(c, source, path)
    if name == "imread" and not {*map(type, column.work_out(range(column.length))[0])} <= {str}:
        raise UnreadableError("opens by OpenCV what are no texts", call)
    mode, plain, made = known
    c.needs.update(dict.fromkeys(("opencv.decode.jpeg", "opencv.decode.png")))
    if mode is None:
        c.needs["opencv.decode.unchanged"] = None
        mode = _first_of_two(column)
    picture = _add(c, Opened(column, found, row, mode, plain=plain, reader="opencv"))
    return c.use(picture).then(made, "array")


# By the flag: the mode that images get, or None for the file's own; whether it has to be of that; what is made of it.
_FLAGS: dict[str, tuple[str | None, bool, Callable[[Any], Any]]] = {
    "IMREAD_COLOR": ("RGB", False, arrays.opened),
    "IMREAD_COLOR_RGB": ("RGB", False, arrays.opened_rgb),
    "IMREAD_GRAYSCALE": ("L", True, arrays.opened),
    "IMREAD_UNCHANGED": (None, True, arrays.opened),
}


def read_as_array(c: Compiler, call: Call, reader: ArrayReader) -> Picture:
    """An image that another library's imread makes of a file, by Pillow."""
    bound = bind(call, (reader.parameter,))
    if reader.parameter not in bound:
        raise UnreadableError(f"reads images by {call}", call)
    source = bound[reader.parameter]
    column, found, row = _files(c, source, source)
    way = way_of(reader, column.work_out(range(column.length))[0])
    c.needs[reader.need] = None
    c.calls |= dict.fromkeys(calls_of(reader))
    c.settings.append(way.stands)
    picture = _add(c, Opened(column, found, row, _first_of_two(column), plain=True, reader=way.reader))
    return c.use(picture).then(way.made, "array")


def read_as_tensor(c: Compiler, call: Call, reader: TensorReader) -> Picture:
    """An image that torchvision decodes."""
    module: Any = sys.modules["torchvision.io.image"]
    bound = bind(call, reader.parameters)
    mode = c.constant(bound["mode"]) if "mode" in bound else module.ImageReadMode.UNCHANGED
    if type(mode) is str and takes("decode_image", "upper") and reader.reader == "torchvision":
        mode = module.ImageReadMode.__members__.get(mode.upper())
    turns = "apply_exif_orientation" in bound and c.constant(bound["apply_exif_orientation"])
    source = bound.get(reader.parameters[0])
    if source is None or type(mode) is not module.ImageReadMode or mode.name not in _MODES or turns:
        raise UnreadableError(f"reads images by {call}", call)
    path = source
    match source:
        case Call(function=function, arguments=(inner,), options=()) if c.function(function) is module.read_file:
            c.own.means(function)
            c.calls[module, "read_file"] = None
            path = inner
        case _ if reader.name != "read_image" and not (reader.name == "decode_image" and takes("decode_image", "str")):
            raise UnreadableError(f"reads images by {call}", call)
    column, found, row = _files(c, source, path)
    kinds = {str, PosixPath} if takes("read_file", "str") else {str}
    if not {*map(type, column.work_out(range(column.length))[0])} <= kinds:
        raise UnreadableError("opens by torchvision what are no paths", call)
    c.needs.update((f"torchvision.decode.{name}", None) for name in (*reader.formats, "unchanged"))
    c.calls[module, reader.name] = None
    plain = mode.name != "RGB"
    wanted = _first_of_two(column) if plain else "RGB"
    if mode.name == "GRAY" and wanted != "L":
        raise UnreadableError(f"reads colours as grey by {call}", call)
    picture = _add(c, Opened(column, found, row, wanted, plain=plain, reader=reader.reader))
    return c.use(picture).then(as_tensor, "tensor")


# ImageReadMode's names. Files of other modes than the first one's are left to the code, but for those that become RGB.
_MODES = ("UNCHANGED", "GRAY", "RGB")


def _first_of_two(column: Columns) -> str:
    return "L" if _first_mode(column) == "L" else "RGB"


def _add(c: Compiler, opened: Opened) -> Picture:
    if c.into is not c.body:
        raise UnreadableError("opens images in a branch")
    c.opened.append(opened)
    return Picture(len(c.opened) - 1, len(c.opened) - 1, opened.mode, size=opened.size, plain=opened.plain)


def of_array(c: Compiler, call: Call) -> Picture:
    """The image that Image.fromarray makes of a row."""
    row, axes, mode = array_of(c.own, call)
    return _of_row(c, call.arguments[0], row, axes, mode)


def as_array(c: Compiler, of: Expression) -> Picture:
    """A row of an array as an image that is an array or a tensor already."""
    row = row_in_array(c.own, of)
    is_array, extents = row.kind is np.ndarray, row.extents
    names = {2: "yx", 3: "yxc" if is_array else "cyx"}.get(len(extents))
    if names is None:
        raise UnreadableError(f"makes images of {of}", of)
    channels = extents[names.index("c")] if "c" in names else 1
    if channels == 1:
        names = names.replace("c", "1")
    picture = _of_row(c, of, row, row.axes(names), "L" if channels == 1 else "RGB")
    made = picture.then(np.array, "array") if is_array else picture.then(as_tensor, "tensor")
    if names == "yx1":
        made = made.then(Applied(np.expand_dims, (2,)))
    if names == "yx" and not is_array:
        made = made.then(Applied("squeeze", (0,)))
    c.known[id(of)] = of, made
    array = c.own.value(row.place.owner)
    if type(array) is list:
        raise UnreadableError(f"makes images of {of}", of)
    forward = type(array) is torch.Tensor or min(array.strides[1:]) >= 0
    c.memory.put(of, UNWRITABLE._replace(forward=forward))
    return made


def _of_row(c: Compiler, of: Expression, row: Row, axes: str, mode: str) -> Picture:
    number = c.number(row.place.key)
    if number.kind not in arithmetic.PLACES:
        raise UnreadableError(f"takes rows by {row.place.key}", row.place)
    c.own.means(row.place.owner)
    c.account(of)
    return _add(c, Opened(None, row.place.owner, number, mode, axes, row.shape, within=row.within))
