"""What code does to PIL images, and what makes arrays and tensors of them: by which calls, and what the core does in
their place.

A row takes the compiler, the image and the arguments as they were bound, and gives what the image is then. From the
step on that makes an array or a tensor of it, what is done to its numbers is kept as functions (Picture.tail) that are
run once on all bytes (plan.tables); what moves pixels is done to the image before them, since they go number by number.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..... import _steps
from ..... import transforms as T
from ....bytecode import Call, Expression, Inner, UnreadableError
from ....refusal import RefusalError
from ....transforms import numbers
from ....transforms.augments import Steps
from ....transforms.tables import Table, run_tail
from ....transforms.torchvision import check_called, resizes_numbers, step_of
from ...own.pure import Pure
from ...reads.images import converts_arrays
from ..numbers.arithmetic import Number, binary, extreme, unary
from . import arrays, convolutions
from .arrays import Row, tail
from .picture import Applied, Picture, run

if TYPE_CHECKING:
    from ..compiler import Compiler


def _int(c: Compiler, of: Expression | Number) -> Number:
    number = c.number(of)
    if number.kind != "int":
        raise UnreadableError("takes places or sizes of images that are no ints")
    return number


def _sum(*numbers: Number) -> Number:
    total = numbers[0]
    for each in numbers[1:]:
        total = binary("+", total, each)
    return total


def _less(one: Number, other: Number) -> Number:
    return binary("-", one, other)


def _cropped(c: Compiler, p: Picture, left: Number, top: Number, width: Number, height: Number) -> Picture:
    step = {"op": "crop_to", **{name: n.json for name, n in
            zip(("left", "top", "width", "height"), (left, top, width, height), strict=True)}}  # fmt: skip
    known = width.is_constant and height.is_constant
    return c.apply(p, [step], ("pillow.crop",), size=(height.json, width.json) if known else None)


def _rounded(c: Compiler, of: Expression | Number) -> Number:
    """A place of a box, which Pillow rounds."""
    number = c.number(of)
    return c.sure(unary("round", number)) if number.kind == "float" else _int(c, number)


def _crop(c: Compiler, p: Picture, given: dict[str, Expression]) -> Picture:
    left, top, right, bottom = (_rounded(c, each) for each in c.several(given["box"], 4))
    return _cropped(c, p, left, top, _less(right, left), _less(bottom, top))


def _crop_of(c: Compiler, p: Picture, given: dict[str, Expression]) -> Picture:
    top, left, height, width = (_int(c, given[name]) for name in ("top", "left", "height", "width"))
    return _cropped(c, p, left, top, width, height)


def _resized(c: Compiler, p: Picture, width: Number, height: Number, filter_name: str) -> Picture:
    step = {"op": "resize_to", "width": width.json, "height": height.json, "filter": filter_name}
    known = width.is_constant and height.is_constant
    size = (height.json, width.json) if known else None
    made = c.apply(p, [step], (f"pillow.resize.{filter_name}",), size=size)
    return made if known else replace(made, known=(width, height))


def _resize(c: Compiler, p: Picture, given: dict[str, Expression]) -> Picture:
    resample = c.constant(given["resample"]) if "resample" in given else None
    name = "bicubic" if resample is None else T.filter_name(int(resample))
    width, height = (_int(c, each) for each in c.several(given["size"], 2))
    return _resized(c, p, width, height, "nearest" if p.mode == "P" else name)


def _resize_of(c: Compiler, p: Picture, given: dict[str, Expression]) -> Picture:
    """torchvision.transforms.functional.resize of a PIL image, or of a tensor as Resize has it."""
    if p.form == "tensor":
        module: Any = sys.modules["torchvision.transforms.transforms"]
        return known_transform(c, p, module.Resize(**{name: c.constant(each) for name, each in given.items()}))
    if "max_size" in given and c.constant(given["max_size"]) is not None:
        raise UnreadableError("resizes with a max_size")
    if "antialias" in given and c.constant(given["antialias"]) not in (True, None):
        raise UnreadableError("resizes with an antialias that makes torchvision warn")
    mode = c.constant(given["interpolation"]) if "interpolation" in given else "bilinear"
    name = "nearest" if p.mode == "P" else T.filter_name(getattr(mode, "value", mode))
    sizes = c.one_or_several(given["size"])
    if len(sizes) not in (1, 2):
        raise UnreadableError(f"resizes to {len(sizes)} numbers")
    if len(sizes) == 2:
        return _resized(c, p, _int(c, sizes[1]), _int(c, sizes[0]), name)
    (short,) = (_int(c, each) for each in sizes)
    width, height = p.extents()
    ratio = binary("/", binary("*", short, extreme("max", [width, height])), extreme("min", [width, height]))
    long = unary("int", ratio)
    upright = binary("<=", width, height)
    return _resized(c, p, c.either(upright, short, long), c.either(upright, long, short), name)


def _pad_of(c: Compiler, p: Picture, given: dict[str, Expression]) -> Picture:
    """torchvision.transforms.functional.pad."""
    if "padding_mode" in given and c.constant(given["padding_mode"]) != "constant":
        raise UnreadableError("pads otherwise than by a constant")
    sides = [_int(c, each) for each in c.one_or_several(given["padding"])]
    if len(sides) not in (1, 2, 4):
        raise UnreadableError(f"pads by {len(sides)} numbers")
    left, top, right, bottom = (sides * 4)[:4] if len(sides) < 4 else sides
    fill: Any = c.constant(given["fill"]) if "fill" in given else 0
    values = _filled(p, fill if type(fill) in (list, tuple) else fill or 0)
    step = {"op": "pad_to", "left": left.json, "top": top.json, "right": right.json, "bottom": bottom.json,
            "fill": values, "padding_mode": "constant"}  # fmt: skip
    return c.apply(p, [step], ("pillow.expand",))


def _fixed(c: Compiler, p: Picture, *steps: bytes) -> Picture:
    made = Steps(b"".join(steps))
    return replace(c.apply(p, [made.to_plan()], made.needs(), size=p.size), known=p.known)


def _filled(p: Picture, fill: Any) -> list[int]:
    values = [0] if fill is None else list(fill) if type(fill) in (list, tuple) else [fill]
    if not all(type(each) is int and 0 <= each <= 255 for each in values) or len(values) not in (1, p.channels):
        raise UnreadableError(f"fills a border with {fill!r}")
    return values if len(values) == p.channels else values * p.channels


def _resampled(c: Compiler, p: Picture, given: dict[str, Expression]) -> str:
    """The filter of a warp, by which name goloader has it."""
    if p.mode == "P":
        raise UnreadableError("turns palette indices")
    name = T.filter_name(int(c.constant(given["resample"]))) if "resample" in given else "nearest"
    if name not in ("nearest", "bilinear", "bicubic"):
        raise UnreadableError(f"turns an image by {name}")
    return name


def _warp(c: Compiler, p: Picture, given: dict[str, Expression]) -> Picture:
    """Image.transform by an affine matrix, to the image's own size."""
    image = sys.modules["PIL.Image"]
    if c.constant(given["method"]) != image.Transform.AFFINE:
        raise UnreadableError("transforms an image otherwise than by an affine matrix")
    if [each.json for each in map(c.number, c.several(given["size"], 2))] != [each.json for each in p.extents()]:
        raise UnreadableError("transforms an image to another size")
    matrix = list(map(c.number, c.several(given["data"], 6)))
    if not all(each.is_python for each in matrix):
        raise UnreadableError("transforms an image by numbers that are not Python's")
    name = _resampled(c, p, given)
    fill = _filled(p, c.constant(given["fillcolor"]) if "fillcolor" in given else None)
    step = {"op": "warp_to", "matrix": [each.json for each in matrix], "filter": name, "fill": fill}
    return c.apply(p, [step], (f"pillow.affine.{name}",), size=p.size)


def _rotate(c: Compiler, p: Picture, given: dict[str, Expression]) -> Picture:
    """Image.rotate."""
    return _rotated(c, p, given, _resampled(c, p, given))


def _rotated(c: Compiler, p: Picture, given: dict[str, Expression], name: str) -> Picture:
    """An image about its centre."""
    for option in ("expand", "center", "translate"):
        if option in given and c.constant(given[option]):
            raise UnreadableError(f"rotates an image with {option}")
    degrees = c.number(given["angle"])
    if not degrees.is_python:
        raise UnreadableError("rotates an image by a number that is not Python's")
    fill = _filled(p, c.constant(given["fillcolor"]) if "fillcolor" in given else None)
    step = {"op": "rotate_to", "degrees": degrees.json, "filter": name, "fill": fill}
    return c.apply(p, [step], (f"pillow.affine.{name}", "pillow.transpose"), size=p.size)


def _rotate_of(c: Compiler, p: Picture, given: dict[str, Expression]) -> Picture:
    """torchvision.transforms.functional.rotate of a PIL image."""
    mode = c.constant(given["interpolation"]) if "interpolation" in given else "nearest"
    name = T.filter_name(getattr(mode, "value", mode))
    if p.mode == "P" or name not in ("nearest", "bilinear", "bicubic"):
        raise UnreadableError(f"turns an image of mode {p.mode} by {name}")
    return _rotated(c, p, {"fillcolor" if each == "fill" else each: given[each] for each in given}, name)


# Pillow's classes of ImageEnhance, and what each changes.
ENHANCEMENTS = {"Brightness": "brightness", "Color": "saturation", "Contrast": "contrast", "Sharpness": "sharpness"}


def enhanced(c: Compiler, p: Picture, what: str, factor: Expression) -> Picture:
    """ImageEnhance of an image, or its hue."""
    number = c.number(factor)
    if not number.is_python or p.mode == "P":
        raise UnreadableError(f"changes the {what} of an image by {factor}", factor)
    step = {"op": "enhance_to", "what": what, "factor": number.json}
    return c.apply(p, [step], ("pillow.luma", f"pillow.{what}"), size=p.size)


def _adjusted(what: str) -> Row:
    """One of torchvision.transforms.functional's of a PIL image."""

    def row(c: Compiler, p: Picture, given: dict[str, Expression]) -> Picture:
        if what == "hue" and p.mode != "RGB":
            raise UnreadableError(f"changes the hue of an image of mode {p.mode}")
        return enhanced(c, p, what, given[f"{what}_factor"])

    return row


def _point(c: Compiler, p: Picture, given: dict[str, Expression]) -> Picture:
    """Image.point by a list of numbers, or by a function that gives them."""
    if isinstance(given["lut"], Inner):
        return _point_by(c, p, given["lut"])
    table = [_int(c, each) for each in c.several(given["lut"])]
    if len(table) not in (256, 256 * p.channels) or (len(table) == 256 and p.channels > 1) or p.mode == "P":
        raise UnreadableError(f"looks up {len(table)} numbers")
    return c.apply(p, [{"op": "lookup_to", "table": [each.json for each in table]}], (), size=p.size)


def _point_by(c: Compiler, p: Picture, of: Inner) -> Picture:
    """Image.point by a function that the code makes and that uses nothing around it: Pillow calls it for all bytes."""
    if of.around or of.defaults or p.mode not in ("L", "RGB"):
        raise UnreadableError(f"looks up what {of} gives", of)

    def look(c: Compiler) -> bytes:
        Pure(of.function)
        try:
            ramp = sys.modules["PIL.Image"].frombytes("L", (256, 1), bytes(range(256)))
            return bytes(ramp.point(of.function).tobytes())
        except Exception as error:
            raise UnreadableError(f"looks up what {of} gives, which raises {type(error).__name__}", of) from None

    table = look(c)
    c.looked.append(look)
    return c.apply(p, [{"op": "lookup_to", "table": [*table] * p.channels}], (), size=p.size)


def _by_table(function: Any, name: str, op: str, tried: Sequence[int]) -> Row:
    """A function of ImageOps' that changes each byte as a number says, which the core knows."""

    def row(c: Compiler, p: Picture, given: dict[str, Expression]) -> Picture:
        from ..... import _pillow_steps  # Pillow is imported by those who have images

        if name not in given or (number := c.number(given[name])).is_constant:
            with suppress(ValueError):  # as of 0 bits: it is raised where an image comes there
                return _looked_up(function, name)(c, p, given)
        if p.mode not in _pillow_steps.RAMPS or not number.is_python or (op == "posterize_to" and number.kind != "int"):
            raise UnreadableError(f"changes colours by {given[name]}", given[name])
        ramp = np.arange(256)
        for each in tried:
            is_bits = op == "posterize_to"
            want = ramp & (0xFF << (8 - each) & 0xFF) if is_bits else np.where(ramp < each, ramp, 255 - ramp)
            made = function(_pillow_steps.RAMPS["L"], each).tobytes()
            if made != want.astype(np.uint8).tobytes():
                raise UnreadableError(f"calls a {op} that is another one")
        return c.apply(p, [{"op": op, name: number.json}], (), size=p.size)

    return row


def _automatic(step: bytes) -> Row:
    """One of ImageOps' functions that look at the image's own histogram."""

    def row(c: Compiler, p: Picture, given: dict[str, Expression]) -> Picture:
        if given or p.mode == "P":
            raise UnreadableError("calls one of ImageOps' functions with arguments")
        return _fixed(c, p, step)

    return row


def _resized_crop(c: Compiler, p: Picture, given: dict[str, Expression]) -> Picture:
    """torchvision.transforms.functional.resized_crop of a PIL image."""
    return _resize_of(c, _crop_of(c, p, given), given)


def _flip(step: bytes) -> Row:
    return lambda c, p, given: _fixed(c, p, step)


def _transpose(c: Compiler, p: Picture, given: dict[str, Expression]) -> Picture:
    method = c.constant(given["method"])
    flips = {
        0: (_steps.FLIP_HORIZONTAL,),
        1: (_steps.FLIP_VERTICAL,),
        3: (_steps.FLIP_HORIZONTAL, _steps.FLIP_VERTICAL),
    }
    if int(method) in _QUARTERS:
        turned = arrays.turned(c, p)
        made = _QUARTERS[int(method)]
        return replace(_fixed(c, turned, *made), known=turned.known) if made else turned
    if int(method) not in flips:
        raise UnreadableError(f"turns images by {method!r}")
    return _fixed(c, p, *flips[int(method)])


# What comes behind the exchange of rows and columns in Image.transpose, by its method: ROTATE_90, ROTATE_270, TRANSPOSE
# and TRANSVERSE.
_QUARTERS: dict[int, tuple[bytes, ...]] = {
    2: (_steps.FLIP_VERTICAL,),
    4: (_steps.FLIP_HORIZONTAL,),
    5: (),
    6: (_steps.FLIP_HORIZONTAL, _steps.FLIP_VERTICAL),
}


def _convert(c: Compiler, p: Picture, given: dict[str, Expression]) -> Picture:
    mode = c.constant(given["mode"]) if "mode" in given else p.mode
    converted = c.convert_file(p, mode)
    if converted is not None:
        return converted
    if mode == p.mode:
        return c.use(p)
    if (p.mode, mode) not in (("RGB", "L"), ("L", "RGB")):
        raise UnreadableError(f"converts images of mode {p.mode} to {mode!r}")
    return c.transform(p, T.Grayscale(1 if mode == "L" else 3))


def _filter(c: Compiler, p: Picture, given: dict[str, Expression]) -> Picture:
    chosen = given["filter"]
    module = sys.modules.get("PIL.ImageFilter")
    if isinstance(chosen, Call) and module is not None and c.function(chosen.function) is module.GaussianBlur:
        bound = bind(chosen, ("radius",))
        radius = c.number(bound["radius"]) if "radius" in bound else Number(2, "int")
        if not radius.is_python or p.mode == "P":
            raise UnreadableError(f"blurs by {chosen}", chosen)
        c.account(chosen)
        return c.apply(p, [{"op": "gaussian_blur", "radius": radius.json}], ("pillow.blur",), size=p.size)
    raise UnreadableError(f"filters by {chosen}", chosen)


def _looked_up(function: Any, *names: str) -> Row:
    """A function of ImageOps' that changes each byte by itself."""

    def row(c: Compiler, p: Picture, given: dict[str, Expression]) -> Picture:
        from ..... import _pillow_steps  # Pillow is imported by those who have images

        if p.mode not in _pillow_steps.RAMPS:
            raise UnreadableError(f"changes colours of an image of mode {p.mode}")
        options = {name: c.constant(given[name]) for name in names if name in given}
        return _fixed(c, p, _steps.lookup(_pillow_steps.by_channel(function(_pillow_steps.RAMPS[p.mode], **options))))

    return row


def _table_of(c: Compiler, p: Picture) -> Table:
    """What its tail makes of bytes. Raises RefusalError."""
    return run_tail(p.tail, p.channels, ", ".join(c.names[-1:]), p.begin, proved=c.proved)


def _in_order(c: Compiler, p: Picture) -> Picture:
    """A tensor whose numbers are changed next, with its channels in order: none can change places behind that."""
    try:
        _table_of(c, p)
    except RefusalError:
        if p.mode != "RGB" or p.register in c.marks:
            raise
        return replace(c.apply(p, [{"op": "reverse_channels"}], (), size=p.size), reverse=not p.reverse)
    return p


def _numbers_resized(c: Compiler, p: Picture, step: T.Resized) -> Picture:
    """A tensor whose numbers are resized."""
    p = _in_order(c, p)
    return replace(c.transform(p, step), form="resized", resized=len(p.tail), resize=step)


def _to_numbers(c: Compiler, p: Picture, name: str) -> Picture:
    """A tensor that steps over numbers follow."""
    p = _in_order(c, p)
    return replace(c.transform(p, numbers.begin(name, _table_of(c, p), p.channels)), form="numbers")


def _to_pil(c: Compiler, p: Picture, function: Any) -> Picture:
    """Back to the PIL image, where the tensor's or array's numbers are its bytes."""
    if p.form == "summed":
        return convolutions.finished(c, p)
    ramp = p.ramp()
    if p.form == "array":
        bare = p.then(Applied(np.squeeze, (2,))) if p.made().shape[2:] == (1,) else p
        made = arrays.to_pil(c, bare)
        mode = run((*p.tail, function), p.begin(ramp)).mode
        if mode != made.mode:
            raise UnreadableError(f"makes an image of mode {mode}")
        return made
    image = p.whole().begin(ramp)
    made = run((*p.tail, function), image)
    if p.form != "tensor" or made.mode != image.mode or made.tobytes() != image.tobytes():
        raise UnreadableError("makes an image of a tensor that was changed")
    return replace(p, form="pil", tail=())


def _to_pil_by(function: Any) -> Row:
    """torchvision.transforms.functional.to_pil_image."""

    def row(c: Compiler, p: Picture, given: dict[str, Expression]) -> Picture:
        mode = c.constant(given["mode"]) if "mode" in given else None
        if p.form == "summed" and mode is not None:
            raise UnreadableError(f"makes an image of mode {mode} of a tensor")
        return _to_pil(c, p, Applied(function, (mode,)))

    return row


def bind(call: Call, names: Sequence[str]) -> dict[str, Expression]:
    """Arguments of a call by the names of parameters. Raises UnreadableError."""
    given = dict(zip(names, call.arguments, strict=False))
    options = dict(call.options)
    if len(call.arguments) > len(names) or given.keys() & options.keys() or not options.keys() <= {*names}:
        raise UnreadableError(f"calls {call.function} with other arguments", call)
    return given | options


# Methods of PIL images, with the names of their parameters.
METHODS: dict[str, tuple[tuple[str, ...], Row]] = {
    "convert": (("mode",), _convert),
    "copy": ((), lambda c, p, given: p),
    "crop": (("box",), _crop),
    "filter": (("filter",), _filter),
    "point": (("lut",), _point),
    "resize": (("size", "resample"), _resize),
    "rotate": (("angle", "resample", "expand", "center", "translate", "fillcolor"), _rotate),
    "transform": (("size", "method", "data", "resample", "fill", "fillcolor"), _warp),
    "transpose": (("method",), _transpose),
}

# Functions: where they are, the parameters behind the image, and what they do.
_Rows = tuple[tuple[str, tuple[str, ...], Row], ...]
_FUNCTIONAL: _Rows = (
    *(
        (f"adjust_{what}", (f"{what}_factor",), _adjusted(what))
        for what in ("brightness", "contrast", "saturation", "sharpness", "hue")
    ),
    ("hflip", (), _flip(_steps.FLIP_HORIZONTAL)),
    ("vflip", (), _flip(_steps.FLIP_VERTICAL)),
    ("crop", ("top", "left", "height", "width"), _crop_of),
    ("resize", ("size", "interpolation", "max_size", "antialias"), _resize_of),
    ("pad", ("padding", "fill", "padding_mode"), _pad_of),
    ("rotate", ("angle", "interpolation", "expand", "center", "fill"), _rotate_of),
    ("resized_crop", ("top", "left", "height", "width", "size", "interpolation", "antialias"), _resized_crop),
)
_TAILS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("to_tensor", ()),
    ("pil_to_tensor", ()),
    ("convert_image_dtype", ("dtype",)),
    ("normalize", ("mean", "std", "inplace")),
)
# Of which forms a function takes images.
_MOVES_TENSORS = {"hflip", "vflip", "crop", "resize"}


def _is_upright(p: Picture) -> bool:
    """Whether a tensor's last dimensions are height and width."""
    return p.axes()[-2:] == "yx"


def function_row(called: Any, image: Picture) -> tuple[tuple[str, ...], Row, tuple[Any, str] | None] | None:
    """What a function of a library does to an image: names of its parameters behind that, its row, and (module, name)
    of what is to be as the library has it, if somebody might have replaced it."""
    form = image.form
    functional = sys.modules.get("torchvision.transforms.functional")
    if functional is not None:
        for name, names, row in _FUNCTIONAL:
            if called is vars(functional).get(name) and (
                form == "pil" or (form == "tensor" and name in _MOVES_TENSORS and _is_upright(image))
            ):
                return names, row, (functional, name)
        for name, names in _TAILS:
            forms = {"to_tensor": ("pil", "array"), "pil_to_tensor": ("pil",)}.get(name, ("tensor",))
            if called is vars(functional).get(name) and form in forms:
                return names, tail(called, "tensor", *names), (functional, name)
        if called is functional.to_pil_image and form != "pil":
            return ("mode",), _to_pil_by(called), (functional, "to_pil_image")
    operations = sys.modules.get("PIL.ImageOps")
    if operations is not None and form == "pil":
        rows: dict[Any, tuple[tuple[str, ...], Row]] = {
            operations.solarize: (
                ("threshold",),
                _by_table(operations.solarize, "threshold", "solarize_to", (0, 1, 100, 128, 255, 256)),
            ),
            operations.invert: ((), _looked_up(operations.invert)),
            operations.posterize: (("bits",), _by_table(operations.posterize, "bits", "posterize_to", range(1, 9))),
            operations.autocontrast: ((), _automatic(_steps.AUTOCONTRAST)),
            operations.equalize: ((), _automatic(_steps.EQUALIZE)),
            operations.mirror: ((), _flip(_steps.FLIP_HORIZONTAL)),
            operations.flip: ((), _flip(_steps.FLIP_VERTICAL)),
        }
        for each, (names, row) in rows.items():
            if called is each:
                return names, row, (operations, each.__name__)
    for each in (np.array, np.asarray):
        if called is each and form in ("pil", "array"):
            return ("dtype",), tail(each, "array", "dtype"), None
    of_numbers = None if form == "pil" else arrays.function_row(called, form)
    return None if of_numbers is None else (*of_numbers, None)


def _is_of_bytes(p: Picture) -> bool:
    """Whether a tensor's numbers are the image's bytes."""
    ramp = p.ramp()
    made: torch.Tensor = run(p.tail, p.begin(ramp))
    return made.dtype == torch.uint8 and np.array_equal(made.numpy(), ramp.transpose(2, 0, 1))


def is_in_place(transform: Any) -> bool:
    """Whether one of torchvision's objects changes the tensor that it is called with, and gives that."""
    return bool(vars(transform).get("inplace"))


def known_transform(c: Compiler, p: Picture, transform: Any) -> Picture:
    """What one of torchvision's objects makes of an image. Raises RefusalError or UnreadableError."""
    if p.form == "array" and not converts_arrays(transform):
        raise UnreadableError(f"transforms an array by {type(transform).__name__}")
    if p.form == "tensor" and not _is_upright(p):
        raise UnreadableError("transforms a tensor whose channels are not first")
    if type(transform).__name__ == "ToPILImage":
        if p.form == "summed" and transform.mode is not None:
            raise UnreadableError(f"makes an image of mode {transform.mode} of a tensor")

        def look_at(c: Compiler) -> Any:
            check_called(transform)
            return repr(transform.mode)

        c.looked.append(look_at)
        look_at(c)
        return _to_pil(c, p, transform)
    if p.form == "summed":
        raise UnreadableError(f"transforms a tensor by {type(transform).__name__} that was convolved")

    def look(c: Compiler) -> tuple[T.Geometry | None, bool, bool]:
        of_bytes = p.form != "numbers" and _is_of_bytes(p) if p.form in ("tensor", "resized", "numbers") else None
        table = partial(_table_of, c, p) if p.form == "tensor" else None
        step, makes = step_of(transform, p.channels, p.size, of_bytes, p.resize, table=table, over=p.form == "numbers")
        return step, makes, is_in_place(transform)

    step, makes, in_place = look(c)
    c.looked.append(look)
    over = isinstance(step, numbers.OverNumbers)
    if p.form == "resized" and (in_place or over or resizes_numbers(step)):
        raise UnreadableError(f"changes a resized tensor by {type(transform).__name__}")
    if in_place and (over or p.form == "numbers"):
        raise UnreadableError(f"changes a tensor in place by {type(transform).__name__}")
    if makes:
        return c.use(p).then(transform, p.form if p.form in ("resized", "numbers") else "tensor")
    if over and p.form == "tensor":
        p = _to_numbers(c, p.whole(), type(transform).__name__)
    if resizes_numbers(step):
        return _numbers_resized(c, p.whole(), step)
    if step is None and p.mode == "P" and step_of(transform, 3, p.size, None)[0] is not None:
        raise UnreadableError(f"changes colours of a palette by {type(transform).__name__}")
    return c.use(p) if step is None else c.transform(p, step)
