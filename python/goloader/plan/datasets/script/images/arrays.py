"""What code does to images that are arrays or tensors: slices, flips, turns, arithmetic, comparisons; numpy's, torch's
and OpenCV's functions.

What moves rows and columns is done to the image before its functions of numbers (Picture.tail), which go number by
number; so the tail's arrays have rows before columns always.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import BuiltinFunctionType, FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..... import _steps
from .... import bytecode
from ....bytecode import COMPARISONS, SIGNS, Attribute, Call, Constant, Display, Expression, Name, UnreadableError
from ....refusal import RefusalError
from ....transforms.augments import Steps
from ....transforms.tables import run_tail
from ....trust.originals import behind, is_original
from ..numbers.arithmetic import PLACES, Number, binary
from . import convolutions
from .picture import Applied, Filled, InPlace, Joined, Picture, Tail, run

if TYPE_CHECKING:
    from ..compiler import Compiler

Row = Callable[["Compiler", Picture, dict[str, Expression]], Picture]

ARITHMETIC = {sign: SIGNS[sign] for sign in ("+", "-", "*", "/", "&", "|", *COMPARISONS)}
IN_PLACE = {sign: bytecode.IN_PLACE[sign] for sign in ("+=", "-=", "*=", "/=")}

IN_PLACE_METHODS = ("add_", "div_", "mul_", "sub_")


def _of_copy(change: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda made, other: InPlace(change, other)(made)


# The same done to a copy.
COPIED = {sign: _of_copy(change) for sign, change in IN_PLACE.items()}

# What tells of an image's pixels: each takes no argument.
ASKING = ("any", "all", "max", "min")

_WHOLE = slice(None)
_TURN, _DOWN = {"op": "turn"}, Steps(_steps.FLIP_VERTICAL).to_plan()


# Rows and columns


def turned(c: Compiler, p: Picture) -> Picture:
    """Rows become columns."""
    size = None if p.size is None else p.size[::-1]
    known = None if p.known is None else p.known[::-1]
    return replace(c.apply(p, [_TURN, _DOWN], (), size=size, passes=2), known=known)


def flipped(c: Compiler, p: Picture, axes: Sequence[int]) -> Picture:
    """np.flip(array, axes)."""
    names = p.moving()
    chosen = [names[axis] for axis in _axes(axes, len(names))]
    for name, step in (("x", _steps.FLIP_HORIZONTAL), ("y", _steps.FLIP_VERTICAL)):
        if name in chosen:
            p = replace(c.apply(p, [Steps(step).to_plan()], (), size=p.size), known=p.known)
    if "c" in chosen:
        p = p.then(Applied(np.flip if p.form == "array" else torch.flip, ((names.index("c"),),)))
    return p


def permuted(c: Compiler, p: Picture, order: Sequence[int]) -> Picture:
    """array.transpose(order), or tensor.permute(order)."""
    names = p.moving()
    order = _axes(order, len(names))
    if len(order) != len(names):
        raise UnreadableError("leaves out a dimension")
    rows, columns = names.index("y"), names.index("x")
    if order.index(columns) < order.index(rows):
        p = turned(c, p)
        exchanged = {rows: columns, columns: rows}
        order = [exchanged.get(axis, axis) for axis in order]
    if order == sorted(order):
        return p
    return p.then(Applied("transpose" if p.form == "array" else "permute", tuple(order)))


def _axes(axes: Sequence[int], count: int) -> list[int]:
    if any(type(axis) is not int or not -count <= axis < count for axis in axes):
        raise UnreadableError(f"moves dimensions {axes!r}")
    found = [axis % count for axis in axes]
    if len({*found}) != len(found):
        raise UnreadableError(f"moves dimensions {axes!r}")
    return found


def _is(of: Expression, value: Any) -> bool:
    return isinstance(of, Constant) and of.value is value


def _known(c: Compiler, of: Expression) -> Expression:
    """np.newaxis as None."""
    if isinstance(of, Attribute | Name) and (value := c.constant(of)) is None:
        return Constant(value, type(value))
    return of


def indexed(c: Compiler, p: Picture, key: Expression) -> Picture:
    """array[key], of slices, new dimensions, and places in dimensions that have one item."""
    names = p.axes()
    keys = [_known(c, each) for each in (key.items if isinstance(key, Display) and key.kind is tuple else (key,))]
    whole: Expression = Display(slice, (Constant(None, type(None)), Constant(None, type(None))))
    taken = sum(not _is(each, None) and not _is(each, ...) for each in keys)
    places = [k for k, each in enumerate(keys) if _is(each, ...)]
    if len(places) > 1 or taken > len(names):
        raise UnreadableError(f"takes {key}", key)
    at = places[0] if places else len(keys)
    keys[at : at + 1] = [whole] * (len(names) - taken)
    width, height = p.extents()
    ends = {"x": (Number(0, "int"), width), "y": (Number(0, "int"), height)}
    flips: list[int] = []
    rest: list[Any] = []
    axis = 0
    for each in keys:
        if _is(each, None):
            rest.append(None)
            continue
        name, axis = names[axis], axis + 1
        if not (isinstance(each, Display) and each.kind is slice):
            place = c.constant(each)
            if name != "1" or type(place) is not int:
                raise UnreadableError(f"takes {key}", key)
            rest.append(place)
        elif name in "xy":
            start, stop, *step = each.items
            step_by = c.constant(step[0]) if step else None
            if step_by == -1 and type(step_by) is int and _is(start, None) and _is(stop, None) and p.form == "array":
                flips.append(axis - 1)
            elif step_by not in (None, 1):
                raise UnreadableError(f"takes {key}", key)
            else:
                first, last = ends[name]
                ends[name] = _end(c, start, last, first), _end(c, stop, last, last)
            rest.append(_WHOLE)
        else:
            rest.append(slice(*map(c.constant, each.items)))
    c.account(key)
    if ends != {"x": (Number(0, "int"), width), "y": (Number(0, "int"), height)}:
        p.moving()
        p = cropped(c, p, *(end for name in "xy" for end in (ends[name][0], binary("-", ends[name][1], ends[name][0]))))
    if flips:
        p = flipped(c, p, flips)
    return p if all(each == _WHOLE for each in rest) else p.then(Applied(operator.getitem, (tuple(rest),)))


def _end(c: Compiler, of: Expression, extent: Number, left_out: Number) -> Number:
    """An end of a slice. One outside of the image, which numpy moves, is left to the user's code."""
    if _is(of, None):
        return left_out
    number = c.number(of)
    if number.kind not in PLACES:
        raise UnreadableError(f"takes items up to {of}", of)
    number = number._replace(kind="int")
    return binary("+", extent, number) if number.is_constant and number.value < 0 else number


def cropped(c: Compiler, p: Picture, left: Number, width: Number, top: Number, height: Number) -> Picture:
    step = {"op": "crop_to", "left": left.json, "top": top.json, "width": width.json, "height": height.json}
    known = width.is_constant and height.is_constant
    made = c.apply(p, [step], (), size=(height.json, width.json) if known else None)
    return made if known else replace(made, known=(width, height))


# Functions


def tail(function: Any, form: str, *names: str) -> Row:
    """A function that makes an array or a tensor of an image, or changes its numbers: it is run once, on all bytes."""

    def row(c: Compiler, p: Picture, given: dict[str, Expression]) -> Picture:
        options = tuple((name, c.constant(given[name])) for name in names if name in given)
        return c.use(p).then(Applied(function, options=options), form)

    return row


def method(name: str, form: str | None = None) -> Callable[[Compiler, Picture, Call], Picture]:
    """A method of arrays or tensors that changes each number by itself, or only the order in which they lie."""

    def row(c: Compiler, p: Picture, call: Call) -> Picture:
        options = tuple((option, c.constant(value)) for option, value in call.options)
        return p.then(Applied(name, tuple(map(c.constant, call.arguments)), options), form)

    return row


def _in_place(name: str) -> Callable[[Compiler, Picture, Call], Picture]:
    """A method of tensors that changes each number of its own: making.py says so of the tensor."""

    def row(c: Compiler, p: Picture, call: Call) -> Picture:
        if len(call.arguments) != 1 or call.options:
            raise UnreadableError(f"calls {call.function} with other arguments", call)
        return p.then(InPlace(getattr(torch.Tensor, name), c.constant(call.arguments[0])))

    return row


def _constants(c: Compiler, call: Call) -> list[Any]:
    """Arguments, which may be one tuple or list of them."""
    if call.options:
        raise UnreadableError(f"calls {call.function} with other arguments", call)
    given = [c.constant(each) for each in call.arguments]
    return list(given[0]) if len(given) == 1 and type(given[0]) in (list, tuple) else given


def _transpose(c: Compiler, p: Picture, call: Call) -> Picture:
    return permuted(c, p, _constants(c, call) or range(len(p.axes()))[::-1])


def _exchanged(c: Compiler, p: Picture, call: Call) -> Picture:
    """tensor.transpose(one, other), or array.swapaxes(one, other)."""
    one, other = _axes(_constants(c, call), len(p.axes()))
    order = list(range(len(p.axes())))
    order[one], order[other] = other, one
    return permuted(c, p, order)


def _reshape(c: Compiler, p: Picture, call: Call) -> Picture:
    """array.reshape(shape), where only dimensions of one item come or go."""
    names, shape = p.axes(), _constants(c, call)
    extents = {"1": 1, "c": p.channels, "y": p.size and p.size[0], "x": p.size and p.size[1]}
    now = [extents[name] for name in names if name != "1"]
    if any(type(each) is not int or each < 2 for each in now) or [each for each in shape if each != 1] != now:
        raise UnreadableError(f"reshapes an image to {shape}")
    ones = tuple(place for place, name in enumerate(names) if name == "1")
    return p.then(Applied(_with_ones, (ones, tuple(place for place, each in enumerate(shape) if each == 1))))


def _with_ones(array: Any, without: tuple[int, ...], places: tuple[int, ...]) -> Any:
    return np.expand_dims(np.squeeze(array, without), places)


def _expanded(c: Compiler, p: Picture, call: Call) -> Picture:
    """tensor.expand_as(image)"""
    other = c.picture(call.arguments[0]) if len(call.arguments) == 1 and not call.options else None
    if other is None:
        raise UnreadableError(f"calls {call.function} with other arguments", call)
    return joined(torch.Tensor.expand_as, (p, other), (p, other))


def _flip(c: Compiler, p: Picture, call: Call) -> Picture:
    return flipped(c, p, _constants(c, call))


# Methods of what is made of images: by its form, and their names.
METHODS: dict[tuple[str, str], Callable[[Compiler, Picture, Call], Picture]] = {
    **{("array", name): method(name) for name in ("astype", "clip", "copy")},
    ("array", "reshape"): _reshape,
    ("array", "swapaxes"): _exchanged,
    ("array", "transpose"): _transpose,
    **{
        ("tensor", name): method(name)
        for name in (
            "add", "clamp", "clone", "contiguous", "div", "double", "expand", "float", "half", "long", "mul", "repeat",
            "squeeze", "sub", "to", "type", "unsqueeze",
        )
    },
    **{("tensor", name): _in_place(name) for name in IN_PLACE_METHODS},
    ("tensor", "expand_as"): _expanded,
    ("tensor", "flip"): _flip,
    ("tensor", "permute"): _transpose,
    ("tensor", "transpose"): _exchanged,
    ("summed", "squeeze"): convolutions.squeezed,
}  # fmt: skip


def _numpy_flip(c: Compiler, p: Picture, given: dict[str, Expression]) -> Picture:
    axis = c.constant(given["axis" if "axis" in given else "dims"])
    return flipped(c, p, axis if type(axis) in (list, tuple) else (axis,))


def _numpy_transpose(c: Compiler, p: Picture, given: dict[str, Expression]) -> Picture:
    return permuted(c, p, c.constant(given["axes"]) if "axes" in given else range(len(p.axes()))[::-1])


def _numpy_rot90(c: Compiler, p: Picture, given: dict[str, Expression]) -> Picture:
    quarters = c.constant(given["k"]) if "k" in given else 1
    if type(quarters) is not int or p.axes()[:2] != "yx":
        raise UnreadableError("turns by other angles than right ones")
    order = [1, 0, *range(2, len(p.axes()))]
    match quarters % 4:
        case 1:
            return flipped(c, permuted(c, p, order), (0,))
        case 2:
            return flipped(c, p, (0, 1))
        case 3:
            return flipped(c, permuted(c, p, order), (1,))
    return p


def _is_opencvs(p: Picture) -> bool:
    """Whether an array is an image of a type that every OpenCV leaves as it is."""
    kinds = ("uint8", "int8", "uint16", "int16", "int32", "float32", "float64")
    return p.axes() in ("yx", "yxc") and str(p.made().dtype) in kinds


def _opencv_flip(c: Compiler, p: Picture, given: dict[str, Expression]) -> Picture:
    code = c.constant(given["flipCode"])
    if type(code) is not int or not _is_opencvs(p):
        raise UnreadableError(f"flips by {code!r}")
    return flipped(c, p, (1,) if code > 0 else (0,) if code == 0 else (0, 1))


def _opencv_transpose(c: Compiler, p: Picture, given: dict[str, Expression]) -> Picture:
    if not _is_opencvs(p):
        raise UnreadableError("transposes what is no image")
    return permuted(c, p, (1, 0, *range(2, len(p.axes()))))


def order_of(p: Picture) -> str:
    """Of an array that has an image's bytes as they are "grey", "rgb" or "bgr". Raises UnreadableError for others."""
    ramp = p.ramp() + np.arange(p.channels, dtype=np.uint8)
    made = run(p.whole().tail, p.begin(ramp)) if p.form == "array" else None
    if isinstance(made, np.ndarray) and made.dtype == np.uint8:
        for order, pixels in (("grey", ramp[:, :, 0]), ("rgb", ramp), ("bgr", ramp[:, :, ::-1])):
            if made.shape == pixels.shape and (p.channels == 3) is (order != "grey") and (made == pixels).all():
                return order
    raise UnreadableError("takes an array that is no image's bytes")


def to_pil(c: Compiler, p: Picture) -> Picture:
    """Image.fromarray."""
    order = order_of(replace(p, patched=()))
    if order == "bgr":
        p = replace(c.apply(p.whole(), [{"op": "reverse_channels"}], (), size=p.size), known=p.known)
    patched = tuple((*each, from_array) for each in p.patched)
    return replace(p, form="pil", tail=(), mode="L" if order == "grey" else "RGB", patched=patched)


def from_array(array: Any) -> Any:
    """Image.fromarray, which is imported by those who have images."""
    return sys.modules["PIL.Image"].fromarray(array)


def _opencv_resize(c: Compiler, p: Picture, given: dict[str, Expression]) -> Picture:
    """cv2.resize, of bytes: to others it does other arithmetic."""
    module = sys.modules["cv2"]
    order_of(p)
    if any(c.constant(given[name]) not in (None, 0) for name in ("dst", "fx", "fy") if name in given):
        raise UnreadableError("resizes by factors")
    flag = c.constant(given["interpolation"]) if "interpolation" in given else module.INTER_LINEAR
    filters = {module.INTER_NEAREST: "nearest", module.INTER_LINEAR: "linear", module.INTER_AREA: "area"}
    if type(flag) is not int or flag not in filters:
        raise UnreadableError(f"resizes by {flag!r}")
    width, height = (c.number(each) for each in c.several(given["dsize"], 2))
    if not {width.kind, height.kind} <= {*PLACES}:
        raise UnreadableError("resizes to what are no ints")
    name = filters[flag]
    step = {"op": "resize_to", "width": width.json, "height": height.json, "filter": f"opencv_{name}"}
    known = width.is_constant and height.is_constant
    made = c.apply(p, [step], (f"opencv.resize.{name}",), size=(height.json, width.json) if known else None)
    return made if known else replace(made, known=(width._replace(kind="int"), height._replace(kind="int")))


def _opencv_convert(c: Compiler, p: Picture, given: dict[str, Expression]) -> Picture:
    module, code = sys.modules["cv2"], c.constant(given["code"])
    if type(code) is int and code in (module.COLOR_BGR2GRAY, module.COLOR_RGB2GRAY):
        # The weights are those of the channels as code takes them for red, green and blue.
        reversed_ = (order_of(p) == "rgb") is (code == module.COLOR_BGR2GRAY)
        if p.channels != 3:
            raise UnreadableError("makes grey of grey")
        steps = [*([{"op": "reverse_channels"}] if reversed_ else []), {"op": "opencv_grey"}]
        made = c.apply(p, steps, ("opencv.grey",), size=p.size, channels=1, passes=len(steps))
        return replace(made, tail=(np.array,), known=p.known)
    known = type(code) is int and code in (module.COLOR_BGR2RGB, module.COLOR_RGB2BGR)
    if not known or p.axes() != "yxc":
        raise UnreadableError(f"converts colours by {code!r}")
    return p.then(Applied(module.cvtColor, (code,)))


def _numpy_pad(c: Compiler, p: Picture, given: dict[str, Expression]) -> Picture:
    """np.pad of an image's bytes, by a constant."""
    order_of(p)
    if "mode" in given and c.constant(given["mode"]) != "constant":
        raise UnreadableError("pads otherwise than by a constant")
    fill = c.constant(given["constant_values"]) if "constant_values" in given else 0
    pairs = [each for each in c.several(given["pad_width"]) if isinstance(each, Expression)]
    sides = [c.number(side) for each in pairs for side in c.several(each, 2)]
    plain = type(fill) is int and 0 <= fill <= 255 and {each.kind for each in sides} == {"int"}
    if not plain or len(pairs) != len(p.axes()) or any(each.json for each in sides[4:]):
        raise UnreadableError("pads an image by other numbers")
    top, bottom, left, right = sides[:4]
    step = {"op": "pad_to", "left": left.json, "top": top.json, "right": right.json, "bottom": bottom.json,
            "fill": [fill] * p.channels, "padding_mode": "constant"}  # fmt: skip
    return c.apply(p, [step], ())


def thresholded(c: Compiler, call: Call) -> Picture | None:
    """The array that cv2.threshold gives, of bytes, by a limit that it does not find itself; None for other calls."""
    module: Any = sys.modules.get("cv2")
    if module is None or len(call.arguments) != 4 or call.options:
        return None
    if c.own.if_seen(call.function) is not module.threshold or c.form(call.arguments[0]) != "array":
        return None
    c.own.means(call.function)
    p = c.sure_picture(call.arguments[0])
    order_of(p)
    limits = tuple(map(c.constant, call.arguments[1:]))
    if not {*map(type, limits)} <= {int, float} or type(limits[2]) is not int or limits[2] not in range(5):
        raise UnreadableError(f"calls {call.function} with other arguments", call)
    c.account(call)

    def look(c: Compiler) -> bytes:
        return bytes(module.threshold(np.arange(256, dtype=np.uint8), *limits)[1])

    c.looked.append(look)
    return replace(c.apply(p, [{"op": "lookup_to", "table": [*look(c)] * p.channels}], (), size=p.size), known=p.known)


# Functions: the form that they take, by their names, with the parameters behind the image.
_Rows = dict[str, tuple[tuple[str, ...], Row]]
_NUMPY: _Rows = {
    "ascontiguousarray": ((), tail(np.ascontiguousarray, "array")),
    "clip": (("a_min", "a_max"), tail(np.clip, "array", "a_min", "a_max")),
    "expand_dims": (("axis",), tail(np.expand_dims, "array", "axis")),
    "flip": (("axis",), _numpy_flip),
    "fliplr": ((), lambda c, p, given: flipped(c, p, (1,))),
    "flipud": ((), lambda c, p, given: flipped(c, p, (0,))),
    "float32": ((), tail(np.float32, "array")),
    "ones_like": ((), tail(np.ones_like, "array")),
    "pad": (("pad_width", "mode", "constant_values"), _numpy_pad),
    "rot90": (("k",), _numpy_rot90),
    "transpose": (("axes",), _numpy_transpose),
    "zeros_like": ((), tail(np.zeros_like, "array")),
}
_TORCH: _Rows = {
    "as_tensor": (("dtype",), tail(torch.as_tensor, "tensor", "dtype")),
    "from_numpy": ((), tail(torch.from_numpy, "tensor")),
    "FloatTensor": ((), tail(torch.FloatTensor, "tensor")),
    "tensor": (("dtype",), tail(torch.tensor, "tensor", "dtype")),
}
_OF_TENSORS: _Rows = {
    "flip": (("dims",), _numpy_flip),
    "ones_like": ((), tail(torch.ones_like, "tensor")),
    "zeros_like": ((), tail(torch.zeros_like, "tensor")),
}
_OPENCV: _Rows = {
    "cvtColor": (("code",), _opencv_convert),
    "flip": (("flipCode",), _opencv_flip),
    "resize": (("dsize", "dst", "fx", "fy", "interpolation"), _opencv_resize),
    "transpose": ((), _opencv_transpose),
}


def function_row(called: Any, form: str) -> tuple[tuple[str, ...], Row] | None:
    """What a function does to an array or a tensor: the parameters behind it, and its row; None for others."""
    tables = ((np, _NUMPY), (torch, _TORCH), (sys.modules.get("cv2"), _OPENCV)) if form == "array" else ()
    for module, rows in tables or ((torch, _OF_TENSORS),):
        for name, row in rows.items() if module is not None else ():
            if called is vars(module).get(name) and is_shipped(called, name):
                return row
    return None


def is_shipped(called: Any, name: str) -> bool:
    """Whether a library has a function by its name; OpenCV's may have one of door 2's before it."""
    if called is torch.FloatTensor:
        return True
    inner = behind(getattr(called, "_implementation", called))  # behind numpy's dispatcher
    if type(inner) is FunctionType:
        return is_original(inner, "numpy")
    return type(inner) in (BuiltinFunctionType, type) and inner.__name__ == name


def opened(image: Any) -> Any:
    """A PIL image as OpenCV reads it from a file: BGR, or grey."""
    array = np.array(image)
    return array if array.ndim == 2 else np.ascontiguousarray(array[:, :, ::-1])


def opened_rgb(image: Any) -> Any:
    """The same by IMREAD_COLOR_RGB."""
    return np.array(image)


# New arrays


def filled(c: Compiler, call: Call, called: Any, image: Picture) -> Filled:
    """What a new array as large as an image is. Raises UnreadableError for one of another size."""
    width, height = image.extents()
    fills, of_torch = called in (np.full, torch.full), called in FILLING[3:]
    names = ("size" if of_torch else "shape", *(["fill_value"] if fills else []), *([] if of_torch else ["dtype"]))
    arguments = call.arguments
    if of_torch and not fills and len(arguments) > 1:
        arguments = (Display(tuple, arguments),)
    given = dict(zip(names, arguments, strict=False)) | dict(call.options)
    if len(arguments) > len(names) or not given.keys() <= {*names, "dtype"} or names[0] not in given:
        raise UnreadableError(f"calls {call.function} with other arguments", call)
    rows, columns, *channels = map(c.number, c.several(given[names[0]]))
    c.equal(rows, height)
    c.equal(columns, width)
    if not all(each.is_constant and each.kind == "int" for each in channels):
        raise UnreadableError(f"makes an array by {call}", call)
    value = c.constant(given["fill_value"]) if fills else int(called in (np.ones, torch.ones))
    if type(value) not in (bool, int, float):
        raise UnreadableError(f"makes an array by {call}", call)
    dtype = c.constant(given["dtype"]) if "dtype" in given else None
    if dtype is None and not fills:
        dtype = torch.get_default_dtype() if of_torch else float
    c.account(call)
    return Filled(value, dtype, tuple(each.value for each in channels), of_torch)


FILLING = (np.zeros, np.ones, np.full, torch.zeros, torch.ones, torch.full)


def new(c: Compiler, call: Expression, called: Any, image: Picture) -> Picture:
    """A new array or tensor as large as an image, which is known from here on. Raises UnreadableError."""
    assert isinstance(call, Call)
    c.own.means(call.function)
    made = filled(c, call, called, image)
    form = "tensor" if made.of_torch else "array"
    picture = replace(c.use(image), tail=(made,), form=form, patched=(), bare=None, last=None)
    c.known[id(call)] = call, picture
    c.memory.put(call, c.memory.new())
    return picture


def joined(function: Any, arguments: Sequence[Any], pictures: Sequence[Picture]) -> Picture:
    """A function of arrays that are made of one image. `arguments` are pictures, or the same for all samples."""
    first = max(pictures, key=lambda each: len(each.patched))
    registers = {first.register, first.bare}
    for each in pictures:
        same = each.register in registers and (not each.patched or each.register == first.register)
        if not same or (each.mode, each.form) != (first.mode, first.form):
            raise UnreadableError("joins several images")

    def tail(which: int) -> Tail:
        given = (each.tails[which if each.patched else 0] if isinstance(each, Picture) else each for each in arguments)
        return (Joined(function, tuple(given)),)

    return replace(first, tail=tail(0), patched=tuple(tail(1 + k) for k in range(len(first.patched))))


def marks(p: Picture) -> bytes:
    """Of an array or a tensor of bools, [channels, 256]: 1 for a byte that makes it true. Raises RefusalError."""
    axes = p.whole().axes().replace("1", "c")

    def planes(made: Any) -> Any:
        array = np.asarray(made)
        if "c" not in axes:
            return array[None]
        return array.transpose([axes.index(name) for name in "cyx"])

    def tensor(step: int) -> Callable[[Any], Any]:
        return lambda made: torch.from_numpy(np.ascontiguousarray(planes(made)[::step]).astype(np.uint8))

    try:
        return run_tail((*p.tail, tensor(1)), p.channels, "a comparison", p.begin).data
    except RefusalError:  # of BGR: it does not matter in which order channels are looked at
        return run_tail((*p.tail, tensor(-1)), p.channels, "a comparison", p.begin).data
