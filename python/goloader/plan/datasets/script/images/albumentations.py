"""albumentations: what its Compose does to the image of a sample, and to its mask, and what it draws for them.

Its transforms draw from generators of their own, each a random.Random, which a worker has as they were when it was
forked: the script draws from copies of these (plan.Script.Generators). Which transforms are known is said by their
code: one that reads otherwise is another one.
"""

from __future__ import annotations

import inspect
import math
import random
import sys
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ....bytecode import Call, UnreadableError
from ....trust.look import hiding, in_class, name_of
from ....trust.originals import is_original, module_of
from ..numbers import arithmetic
from ..numbers.arithmetic import Number, binary, of_math, unary
from . import arrays
from .picture import Applied, Picture

if TYPE_CHECKING:
    from ..compiler import Compiler

# An image, and its mask if it has one.
Pictures = list[Picture]
Row = Callable[["Compiler", Any, Pictures], Pictures]

_LIBRARY = "albumentations"
# As many generators as a script may have beside a worker's own (plan.GeneratorsMax).
_GENERATORS_MAX = 29
_RESIZED_CROP_TRIES = 10

# OpenCV's flags, and what the core calls them.
_FILTERS = {0: "nearest", 1: "linear", 3: "area"}
_AREA, _LINEAR = 3, 1
_BORDERS = {0: "constant", 1: "edge", 2: "symmetric", 4: "reflect"}

# What a Compose has and what a transform has where they do nothing but what is known here.
_PLAIN_COMPOSE = {
    "replay_mode": False, "save_applied_params": False, "_strict": False, "processors": {}, "_additional_targets": {},
    "check_each_transform": (),
}  # fmt: skip
_PLAIN_TRANSFORM = {"replay_mode": False, "deterministic": False, "processors": {}, "_additional_targets": {}}


def is_compose(called: Any) -> bool:
    """Whether it is an albumentations.Compose."""
    module = sys.modules.get("albumentations.core.composition")
    return module is not None and type(called) is vars(module).get("Compose")


def composed(c: Compiler, call: Call, compose: Any) -> dict[str, Picture]:
    """What compose(image=image) gives, or compose(image=image, mask=mask). Raises UnreadableError for what is not
    known."""
    given = dict(call.options)
    if call.arguments or "image" not in given or not given.keys() <= {"image", "mask"}:
        raise UnreadableError(f"calls {call.function} with other arguments", call)
    made = [c.picture(given[name]) for name in ("image", "mask") if name in given]
    pictures = [c.use(each) for each in made if each is not None and each.form == "array"]
    if len(pictures) < len(given):
        raise UnreadableError(f"gives albumentations what is no array: {call}", call)
    _check(compose, _PLAIN_COMPOSE, "Compose", *(["masks"] if "mask" in given else []))
    if type(compose.p) not in (int, float) or compose.p < 1 or type(compose.transforms) is not list:
        raise UnreadableError("calls a Compose that is not always carried out, or of no list")
    for mask in pictures[1:]:
        if mask.axes() != "yx" or str(mask.made().dtype) not in ("uint8", "float32"):
            raise UnreadableError("gives albumentations a mask that is no array [height, width] of uint8 or float32")
        for one, other in zip(pictures[0].extents(), mask.extents(), strict=True):
            c.equal(one, other)
    c.calls[type(compose), "__call__"] = None
    _random(c, compose)  # whether it is carried out
    transforms = tuple(compose.transforms)
    for each in transforms:
        pictures = _through(c, each, pictures)
    c.transforms.append(compose)
    c.looked.append(lambda c: _described(compose, tuple(compose.transforms)))
    return dict(zip(("image", "mask"), pictures, strict=False))


def _described(compose: Any, transforms: Sequence[Any]) -> str:
    """All that decides on what they do, beside their code."""
    return repr(
        [(type(each).__name__, id(each), id(each.py_random), _settings(each)) for each in (compose, *transforms)]
    )


# What changes with each call, or is of no matter.
_CHANGING = {
    "params", "py_random", "random_generator", "transforms", "_key2func", "_images_was_list", "_masks_was_list",
}  # fmt: skip


def _settings(each: Any) -> list[tuple[str, Any]]:
    return [
        (name, (value.dtype, value.tolist()) if type(value) is np.ndarray else value)
        for name, value in vars(each).items()
        if name not in _CHANGING
    ]


def _through(c: Compiler, transform: Any, pictures: Pictures) -> Pictures:
    """What a transform of a Compose makes of an image, and of its mask."""
    name: str = type(transform).__name__
    row = _ROWS.get(name)
    if row is None or module_of(type(transform)).partition(".")[0] != _LIBRARY:
        raise UnreadableError(f"calls albumentations' {name_of(transform)}")
    _check(transform, _PLAIN_TRANSFORM, "BasicTransform", name)
    if not (_applies_itself(transform, "image", "apply") and _applies_itself(transform, "mask", "apply_to_mask")):
        raise UnreadableError(f"calls a {name} that was given another function")
    c.calls[type(transform), "__call__"] = None
    c.names.append(name)
    chance = transform.p
    if type(chance) not in (int, float):
        raise UnreadableError(f"calls a {name} whose p is {chance!r}")
    if chance <= 0:
        return pictures
    if chance >= 1:
        return row(c, transform, pictures)
    applied = binary("<", _random(c, transform), _number(chance))
    return _either(c, applied, lambda: row(c, transform, pictures), lambda: pictures)


def _applies_itself(transform: Any, target: str, method: str) -> bool:
    """Whether it does to images, or masks, what its class does: some do nothing to masks."""
    function, apply = in_class(type(transform), method), vars(transform)["_key2func"].get(target)
    if function is None or apply is None:
        return function is apply
    return type(apply) is MethodType and apply.__self__ is transform and apply.__func__ is function


def _check(each: Any, plain: dict[str, Any], *codes: str) -> None:
    """Raises UnreadableError for an object that does more, or whose code is not known."""
    name = type(each).__name__
    if hidden := set(hiding(each)) - {*plain, "p", "main_compose", "call_backup", "save_key", "applied_in_replay"}:
        raise UnreadableError(f"calls a {name} whose {min(hidden)} was replaced")
    for what, value in plain.items():
        if getattr(each, what, value) != value:
            raise UnreadableError(f"calls a {name} with {what}")
    if any(digest_of(code) != _KNOWN.get(code) for code in codes):
        raise UnreadableError(f"calls albumentations' {name}, whose code is not known")


# Code


def _function(owner: str, name: str) -> Any:
    """A function of a module's, or of one of its classes'."""
    module, _, kind = owner.partition(":")
    scope = vars(sys.modules[module]) if module in sys.modules else {}
    found = in_class(scope[kind], name) if kind and kind in scope else scope.get(name)
    return found.__func__ if type(found) is staticmethod else found


def digest_of(code: str) -> int | None:
    """What tells the sources of one of CODES from others; None where there are none."""
    found = [_function(owner, name) for owner, name in CODES[code]]
    if not all(type(each) is FunctionType for each in found):
        return None
    return _digest(tuple(map(inspect.unwrap, found)))


@cache
def _digest(functions: tuple[FunctionType, ...]) -> int | None:
    digest = 0
    for each in functions:
        try:
            digest = zlib.crc32(inspect.getsource(each).encode(), digest)
        except (OSError, TypeError):
            return None
    return digest


_CORE = "albumentations.core.transforms_interface:BasicTransform"
_COMPOSE = "albumentations.core.composition:Compose"
_CROPS = "albumentations.augmentations.crops"
_GEOMETRIC = "albumentations.augmentations.geometric"
_PIXEL = "albumentations.augmentations.pixel.transforms"
_WARP = (
    (f"{_GEOMETRIC}.functional", "create_affine_transformation_matrix"),
    (f"{_GEOMETRIC}.functional", "center"),
    (f"{_GEOMETRIC}.functional", "warp_affine"),
    (f"{_GEOMETRIC}.functional", "warp_affine_with_value_extension"),
    (f"{_GEOMETRIC}.functional", "is_identity_matrix"),
)
_AFFINE = tuple(
    (f"{_GEOMETRIC}.transforms:Affine", name)
    for name in ("apply", "get_params_dependent_on_data", "_get_scale", "_get_translate_params", "_get_shear_params")
)
_RESIZE = ((f"{_GEOMETRIC}.functional", "resize"),)
_CROP = (
    (f"{_CROPS}.functional", "crop"),
    (f"{_CROPS}.transforms:BaseCrop", "apply"),
    (f"{_CROPS}.transforms:BaseCropAndPad", "apply"),
    (f"{_CROPS}.transforms:BaseCropAndPad", "_get_pad_params"),
)
# Functions that each goes by, beside what only calls others.
CODES: dict[str, tuple[tuple[str, str], ...]] = {
    "Compose": tuple((_COMPOSE, name) for name in ("__call__", "preprocess", "postprocess", "_preprocess_arrays")),
    "BasicTransform": tuple((_CORE, name) for name in ("__call__", "should_apply", "apply_with_params", "get_params")),
    "RandomResizedCrop": (
        (f"{_CROPS}.transforms:RandomResizedCrop", "get_params_dependent_on_data"),
        (f"{_CROPS}.transforms:_BaseRandomSizedCrop", "apply"),
        (f"{_CROPS}.transforms:_BaseRandomSizedCrop", "_get_interpolation_for_resize"),
        (f"{_CROPS}.functional", "get_crop_coords"),
        (f"{_CROPS}.functional", "get_center_crop_coords"),
        (f"{_CROPS}.functional", "crop"),
        *_RESIZE,
    ),
    "RandomCrop": (
        (f"{_CROPS}.transforms:RandomCrop", "get_params_dependent_on_data"),
        (f"{_CROPS}.functional", "get_crop_coords"),
        *_CROP,
    ),
    "CenterCrop": (
        (f"{_CROPS}.transforms:CenterCrop", "get_params_dependent_on_data"),
        (f"{_CROPS}.functional", "get_center_crop_coords"),
        *_CROP,
    ),
    "Resize": ((f"{_GEOMETRIC}.resize:Resize", "apply"), *_RESIZE),
    "HorizontalFlip": ((f"{_GEOMETRIC}.flip:HorizontalFlip", "apply"),),
    "VerticalFlip": ((f"{_GEOMETRIC}.flip:VerticalFlip", "apply"),),
    "Transpose": ((f"{_GEOMETRIC}.flip:Transpose", "apply"), (f"{_GEOMETRIC}.functional", "transpose")),
    "RandomRotate90": (
        (f"{_GEOMETRIC}.rotate:RandomRotate90", "apply"),
        (f"{_GEOMETRIC}.rotate:RandomRotate90", "get_params"),
        (f"{_GEOMETRIC}.functional", "rot90"),
    ),
    "Rotate": (
        (f"{_GEOMETRIC}.rotate:Rotate", "apply"),
        (f"{_GEOMETRIC}.rotate:Rotate", "get_params_dependent_on_data"),
        *_WARP,
    ),
    "Affine": (*_AFFINE, *_WARP),
    "ShiftScaleRotate": (*_AFFINE, *_WARP),
    "RandomBrightnessContrast": (
        (f"{_PIXEL}:RandomBrightnessContrast", "apply"),
        (f"{_PIXEL}:RandomBrightnessContrast", "get_params_dependent_on_data"),
        ("albucore.functions", "multiply_add"),
        ("albucore.functions", "multiply_add_lut"),
    ),
    "HueSaturationValue": (
        (f"{_PIXEL}:HueSaturationValue", "apply"),
        (f"{_PIXEL}:HueSaturationValue", "get_params"),
        ("albumentations.augmentations.pixel.functional", "shift_hsv"),
        ("albucore.functions", "add_constant"),
        ("albucore.functions", "add_opencv"),
        ("albucore.functions", "_prepare_scalar_value"),
    ),
    "Normalize": ((f"{_PIXEL}:Normalize", "apply"),),
    "ToTensorV2": tuple(("albumentations.pytorch.transforms:ToTensorV2", name) for name in ("apply", "apply_to_mask")),
    "masks": (
        ("albumentations.core.transforms_interface:DualTransform", "apply_to_mask"),
        (f"{_CROPS}.transforms:BaseCropAndPad", "apply_to_mask"),
        (f"{_CROPS}.transforms:_BaseRandomSizedCrop", "apply_to_mask"),
        (f"{_GEOMETRIC}.resize:Resize", "apply_to_mask"),
    ),
}

# Of albumentations 2.0.8.
_KNOWN: dict[str, int] = {
    "Compose": 574935951,
    "BasicTransform": 2433244387,
    "RandomResizedCrop": 1423415491,
    "RandomCrop": 828991293,
    "CenterCrop": 3037139596,
    "Resize": 2641950389,
    "HorizontalFlip": 2287214396,
    "VerticalFlip": 3581582245,
    "Transpose": 338688368,
    "RandomRotate90": 514456843,
    "Rotate": 4014424735,
    "Affine": 4153111380,
    "ShiftScaleRotate": 4153111380,
    "RandomBrightnessContrast": 4014121069,
    "HueSaturationValue": 1544528163,
    "Normalize": 3485875699,
    "ToTensorV2": 2474779907,
    "masks": 3059671876,
}


# Draws


def _generator(c: Compiler, each: Any) -> int:
    """The number of a transform's generator."""
    generator = each.py_random
    methods = (random.Random.randrange, random.Random._randbelow, random.Random.uniform, random.Random.randint)  # type: ignore[attr-defined]
    plain = type(generator) is random.Random and not vars(generator).keys() - {"gauss_next"}
    if not plain or generator is getattr(random, "_inst", None) or not all(is_original(m, "random") for m in methods):
        raise UnreadableError(f"calls a {type(each).__name__} whose generator is another one")
    for number, known in enumerate(c.objects):
        if known is generator:
            return number
    if len(c.objects) == _GENERATORS_MAX:
        raise UnreadableError(f"draws from more than {_GENERATORS_MAX} generators")
    c.objects.append(generator)
    return len(c.objects) - 1


def _random(c: Compiler, each: Any) -> Number:
    """generator.random()"""
    return c.let(["own.random", _generator(c, each)], "float")


def _uniform(c: Compiler, each: Any, ends: Any) -> Number:
    """generator.uniform(*ends), of numbers or of constants."""
    low, high = (end if isinstance(end, Number) else _number(end) for end in ends)
    width = binary("-", high, low)
    return c.sure(binary("+", low, binary("*", width, _random(c, each))))


def _between(c: Compiler, each: Any, low: int, high: int) -> Number:
    """generator.randint(low, high)"""
    if low > high:
        raise UnreadableError(f"draws from {low} to {high}")
    drawn = c.let(["own.randbelow", _generator(c, each), high - low + 1], "int")
    return c.sure(binary("+", Number(low, "int"), drawn))


def _number(value: Any) -> Number:
    found = arithmetic.constant(value) if type(value) in (int, float) else None
    if found is None:
        raise UnreadableError(f"has albumentations reckon with {value!r}")
    return found


# What happens in one case only


def _within(c: Compiler, condition: Number, do: Callable[[], object]) -> None:
    """Has `do` add instructions that are carried out where a condition holds."""
    with c.inside(c.sides(condition)[0]):
        do()


def _either(c: Compiler, condition: Number, do: Callable[[], Pictures], otherwise: Callable[[], Pictures]) -> Pictures:
    """What one of two makes of images, by how a condition comes out."""
    sides = c.sides(condition)
    made: list[Pictures] = []
    for side, each in zip(sides, (do, otherwise), strict=True):
        with c.inside(side):
            made.append(each())
    return [
        one if one is other else c.one_of("what albumentations makes", sides, one, other)
        for one, other in zip(*made, strict=True)
    ]


def _set(c: Compiler, register: int, number: Number) -> None:
    c.into.append({"do": "let", "number": register, "value": number.json})


def _whole(register: int) -> Number:
    return Number(["number", register], "int")


# Images


def _bytes(p: Picture) -> str:
    """How an array has an image's bytes: "rgb" or "bgr". Raises UnreadableError for others."""
    if (order := arrays.order_of(p)) == "grey":
        raise UnreadableError("gives albumentations a grey image")
    return order


def _resized(c: Compiler, p: Picture, size: Any, interpolation: Any, area: Any) -> Picture:
    """fgeometric.resize, by area where that is asked for and an image becomes smaller."""
    height, width = size
    if not all(type(each) is int and each > 0 for each in (height, width)) or interpolation not in _FILTERS:
        raise UnreadableError(f"has albumentations resize to {size!r} by {interpolation!r}")

    def by(flag: int) -> Picture:
        name = _FILTERS[flag]
        step = {"op": "resize_to", "width": width, "height": height, "filter": f"opencv_{name}"}
        return c.apply(p, [step], (f"opencv.resize.{name}",), size=(height, width))

    if area is None or interpolation == _AREA:
        return by(interpolation)
    if area not in ("image", "image_mask"):
        raise UnreadableError(f"has albumentations resize by {area!r}")
    across, down = p.extents()
    wider, taller = binary(">", across, Number(width, "int")), binary(">", down, Number(height, "int"))
    if wider.is_constant and taller.is_constant:
        return by(_AREA if wider.value or taller.value else interpolation)
    shrinks = Number(["not", ["*", ["not", wider.json], ["not", taller.json]]], "bool")
    (made,) = _either(c, shrinks, lambda: [by(_AREA)], lambda: [by(interpolation)])
    return made


def _all_resized(c: Compiler, each: Any, pictures: Pictures, size: Any) -> Pictures:
    image, *masks = pictures
    if masks and each.area_for_downscale == "image_mask":
        raise UnreadableError("has albumentations resize masks by area")
    made = _resized(c, image, size, each.interpolation, each.area_for_downscale)
    return [made, *(_resized(c, mask, size, each.mask_interpolation, None) for mask in masks)]


def _all_cropped(c: Compiler, pictures: Pictures, *place: Number) -> Pictures:
    return [arrays.cropped(c, each, *place) for each in pictures]


def _random_resized_crop(c: Compiler, each: Any, pictures: Pictures) -> Pictures:
    _bytes(pictures[0])
    width, height = pictures[0].extents()
    area = c.sure(binary("*", height, width))
    scale = [c.sure(binary("*", _number(end), area)) for end in _pair(each.scale)]
    ratio = [_number(end) for end in _pair(each.ratio)]
    if not all(0 < end.json < math.inf for end in ratio):
        raise UnreadableError(f"crops by a ratio of {each.ratio!r}")
    logarithms = [of_math("log", [end]) for end in ratio]
    found, left, top, across, down = (c.register("int") for _ in range(5))

    def attempt() -> None:
        target = _uniform(c, each, scale)
        aspect = c.sure(of_math("exp", [_uniform(c, each, logarithms)]))
        wide = c.sure(unary("round", of_math("sqrt", [binary("*", target, aspect)])))
        tall = c.sure(unary("round", of_math("sqrt", [binary("/", target, aspect)])))
        fits = Number(
            ["*", ["*", ["<", 0, wide.json], ["<=", wide.json, width.json]],
             ["*", ["<", 0, tall.json], ["<=", tall.json, height.json]]], "bool",
        )  # fmt: skip
        _within(c, fits, lambda: place(wide, tall))

    def place(wide: Number, tall: Number) -> None:
        starts = [_random(c, each) for _ in range(2)]
        ends = ((height, tall, top, starts[0]), (width, wide, left, starts[1]))
        for whole, part, register, start in ends:
            _set(c, register, _start(whole, part, start))
        for register, number in ((across, wide), (down, tall), (found, Number(1, "int"))):
            _set(c, register, number)

    def fall_back() -> None:
        of_image = c.sure(binary("/", width, height))
        whole = (across, width), (down, height)
        for register, number in whole:
            _set(c, register, number)
        low, high = ratio
        _within(c, binary("<", of_image, low), lambda: _set(c, down, unary("round", binary("/", width, low))))
        _within(c, binary(">", of_image, high), lambda: _set(c, across, unary("round", binary("*", height, high))))
        for register, (part, extent) in zip((left, top), whole, strict=True):
            _set(c, register, binary("//", binary("-", extent, _whole(part)), Number(2, "int")))

    _set(c, found, Number(0, "int"))
    missing = binary("==", _whole(found), Number(0, "int"))
    for _ in range(_RESIZED_CROP_TRIES):
        _within(c, missing, attempt)
    _within(c, missing, fall_back)
    cropped = _all_cropped(c, pictures, *map(_whole, (left, across, top, down)))
    return _all_resized(c, each, cropped, _pair(each.size))


def _start(whole: Number, part: Number, start: Number) -> Number:
    """Where get_crop_coords begins a crop."""
    room = binary("+", binary("-", whole, part), Number(1, "int"))
    return unary("int", binary("*", room, start))


def _pair(value: Any) -> tuple[Any, Any]:
    if type(value) not in (tuple, list) or len(value) != 2:
        raise UnreadableError(f"has albumentations take {value!r} for two numbers")
    return value[0], value[1]


def _crop_size(each: Any) -> tuple[Number, Number]:
    """Width and height."""
    if each.pad_if_needed:
        raise UnreadableError(f"calls a {type(each).__name__} that pads")
    if type(each.width) is not int or type(each.height) is not int:
        raise UnreadableError(f"crops to {each.width!r} x {each.height!r}")
    return Number(each.width, "int"), Number(each.height, "int")


def _random_crop(c: Compiler, each: Any, pictures: Pictures) -> Pictures:
    _bytes(pictures[0])
    (width, height), (wide, tall) = pictures[0].extents(), _crop_size(each)
    down, across = _random(c, each), _random(c, each)
    left, top = c.sure(_start(width, wide, across)), c.sure(_start(height, tall, down))
    return _all_cropped(c, pictures, left, wide, top, tall)


def _center_crop(c: Compiler, each: Any, pictures: Pictures) -> Pictures:
    _bytes(pictures[0])
    (width, height), (wide, tall) = pictures[0].extents(), _crop_size(each)
    left, top = (
        c.sure(binary("//", binary("-", whole, part), Number(2, "int")))
        for whole, part in ((width, wide), (height, tall))
    )
    return _all_cropped(c, pictures, left, wide, top, tall)


def _resize(c: Compiler, each: Any, pictures: Pictures) -> Pictures:
    _bytes(pictures[0])
    return _all_resized(c, each, pictures, (each.height, each.width))


def _flip(axis: int) -> Row:
    def row(c: Compiler, each: Any, pictures: Pictures) -> Pictures:
        _bytes(pictures[0])
        return [arrays.flipped(c, p, (axis,)) for p in pictures]

    return row


def _transpose(c: Compiler, each: Any, pictures: Pictures) -> Pictures:
    _bytes(pictures[0])
    return [arrays.turned(c, p) for p in pictures]


def _rotate_90(c: Compiler, each: Any, pictures: Pictures) -> Pictures:
    _bytes(pictures[0])
    factor = _between(c, each, 0, 3)
    odd = binary("==", binary("%", factor, Number(2, "int")), Number(1, "int"))
    # A quarter turn counter-clockwise, and then perhaps a half turn.
    quarter = _either(
        c, odd, lambda: [arrays.flipped(c, arrays.turned(c, p), (0,)) for p in pictures], lambda: pictures
    )
    half = binary("<=", Number(2, "int"), factor)
    return _either(c, half, lambda: [arrays.flipped(c, p, (0, 1)) for p in quarter], lambda: quarter)


def _of_image(row: Callable[[Compiler, Any, Picture], Picture], *, moves: bool = False) -> Row:
    """What changes the image alone; or the mask as well, if it moves pixels, by what is not known."""

    def of_all(c: Compiler, each: Any, pictures: Pictures) -> Pictures:
        image, *masks = pictures
        if moves and masks:
            raise UnreadableError("has albumentations warp masks")
        return [row(c, each, image), *masks]

    return of_all


def _affine(c: Compiler, each: Any, p: Picture) -> Picture:
    if each.fit_output or each.balanced_scale:
        raise UnreadableError("warps images by an Affine that fits its output, or balances its scale")
    width, height = p.extents()
    if each.translate_px is not None:
        translate = [_between(c, each, *map(int, _pair(each.translate_px[axis]))) for axis in "xy"]
    elif each.translate_percent is not None:
        shares = _by_axis(each.translate_percent, lambda ends: _uniform(c, each, _pair(ends)))
        extents = zip(shares, (width, height), strict=True)
        translate = [c.sure(unary("int", binary("*", share, extent))) for share, extent in extents]
    else:
        translate = [Number(0, "int")] * 2
    shear = [c.sure(unary("neg", _uniform(c, each, _pair(each.shear[axis])))) for axis in "xy"]
    scale = _by_axis(
        each.scale, lambda ends: _number(float(ends)) if type(ends) in (int, float) else _uniform(c, each, _pair(ends))
    )
    if each.keep_ratio:
        scale = [scale[0]] * 2
    rotate = _uniform(c, each, _pair(each.rotate))
    return _warped(c, each, p, translate, shear, scale, rotate)


def _by_axis(given: Any, make: Callable[[Any], Number]) -> list[Number]:
    """Numbers along x and y, made in the order in which a dict has these."""
    if type(given) is not dict or {*given} != {"x", "y"}:
        raise UnreadableError(f"warps images by {given!r}")
    made = {axis: make(ends) for axis, ends in given.items()}
    return [made["x"], made["y"]]


def _rotate(c: Compiler, each: Any, p: Picture) -> Picture:
    if each.crop_border:
        raise UnreadableError("rotates images and crops their borders")
    degrees = _uniform(c, each, _pair(each.limit))
    none, one = Number(0, "int"), Number(1, "int")
    return _warped(c, each, p, [none, none], [none, none], [one, one], degrees)


def _warped(
    c: Compiler,
    each: Any,
    p: Picture,
    translate: list[Number],
    shear: list[Number],
    scale: list[Number],
    rotate: Number,
) -> Picture:
    """warp_affine by the matrix of these."""
    order = _bytes(p)
    mode, fill = _BORDERS.get(each.border_mode), each.fill
    values = list(fill) if type(fill) in (list, tuple) else [fill] * 3
    whole = len(values) == 3 and all(type(v) in (int, float) and v in range(256) for v in values)
    if each.interpolation != _LINEAR or mode is None or not whole:
        raise UnreadableError(f"warps images by flag {each.interpolation}, with border {each.border_mode} of {fill!r}")
    _is_optimized(c)
    step = {
        "op": "affine_to",
        "translate": [number.json for number in translate],
        "shear": [number.json for number in shear],
        "scale": [number.json for number in scale],
        "rotate": rotate.json,
        "fill": [int(value) for value in (values if order == "rgb" else values[::-1])],
        "padding_mode": mode,
    }
    return replace(c.apply(p, [step], ("opencv.warp.linear",), size=p.size), known=p.known)


def _brightness_contrast(c: Compiler, each: Any, p: Picture) -> Picture:
    _bytes(p)
    if not each.brightness_by_max or each.ensure_safe_range:
        raise UnreadableError("changes colours by the image's mean, or within a safe range")
    alpha = c.sure(binary("+", Number(1.0, "float"), _uniform(c, each, _pair(each.contrast_limit))))
    beta = c.sure(binary("*", _uniform(c, each, _pair(each.brightness_limit)), Number(255.0, "float")))
    step = {"op": "multiply_add_to", "factor": alpha.json, "offset": beta.json}
    return replace(c.apply(p, [step], (), size=p.size), known=p.known)


def _hue_saturation_value(c: Compiler, each: Any, p: Picture) -> Picture:
    if _bytes(p) != "rgb":
        raise UnreadableError("changes the hue of BGR images")
    _is_optimized(c)
    limits = each.hue_shift_limit, each.sat_shift_limit, each.val_shift_limit
    hue, saturation, value = (_uniform(c, each, _pair(limit)).json for limit in limits)
    step = {"op": "shift_hsv_to", "hue": hue, "saturation": saturation, "value": value}
    made = c.apply(p, [step], ("opencv.to_hsv", "opencv.from_hsv"), size=p.size, passes=3)
    return replace(made, known=p.known)


def _is_optimized(c: Compiler) -> None:
    """Raises UnreadableError if OpenCV was told not to use the processor as it did when its behaviours were tried."""
    optimized = sys.modules["cv2"].useOptimized
    if not optimized():
        raise UnreadableError("has albumentations call OpenCV after setUseOptimized(False)")
    if optimized not in c.settings:
        c.settings.append(optimized)


@dataclass(frozen=True)
class _Normalized:
    """albumentations' normalize by constants, which are its transform's arrays."""

    function: Any
    arrays: tuple[tuple[str, tuple[int, ...], bytes], ...]

    def __call__(self, made: Any) -> Any:
        return self.function(made, *(np.frombuffer(data, dtype).reshape(shape) for dtype, shape, data in self.arrays))


def _normalize(c: Compiler, each: Any, p: Picture) -> Picture:
    _bytes(p)
    function = vars(sys.modules[_PIXEL])["normalize"]
    if each.normalization != "standard" or not is_original(function, "albucore"):
        raise UnreadableError(f"normalizes by {each.normalization}")
    kept = tuple((a.dtype.str, a.shape, a.tobytes()) for a in map(np.asarray, (each.mean_np, each.denominator)))
    return p.then(_Normalized(function, kept))


def _to_tensor(c: Compiler, each: Any, pictures: Pictures) -> Pictures:
    if len(pictures[0].axes()) != 3:
        raise UnreadableError("makes a tensor of an array of other dimensions")
    image, *masks = (p.then(Applied(np.ascontiguousarray)) for p in pictures)
    turned = image.then(Applied("transpose", (2, 0, 1)))
    return [p.then(Applied(torch.from_numpy), "tensor") for p in (turned, *masks)]


_ROWS: dict[str, Row] = {
    "Affine": _of_image(_affine, moves=True),
    "CenterCrop": _center_crop,
    "HorizontalFlip": _flip(1),
    "Normalize": _of_image(_normalize),
    "HueSaturationValue": _of_image(_hue_saturation_value),
    "RandomBrightnessContrast": _of_image(_brightness_contrast),
    "RandomCrop": _random_crop,
    "RandomResizedCrop": _random_resized_crop,
    "RandomRotate90": _rotate_90,
    "Resize": _resize,
    "Rotate": _of_image(_rotate, moves=True),
    "ShiftScaleRotate": _of_image(_affine, moves=True),
    "ToTensorV2": _to_tensor,
    "Transpose": _transpose,
    "VerticalFlip": _flip(0),
}
