"""Random numbers as many as an image has, and arithmetic of them with a tensor: what Go does to a finished image.

A tensor of form "finished" is an image's tensor, its tail's, after terms (Picture.terms): these are done to each number
by itself, on a stack, as core/recipe/finish.go has them. Noise by itself is one of an image that its terms do not look
at.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from .....selfcheck import value
from ....bytecode import Attribute, Binary, Call, Expression, Spread, UnreadableError, parts_of
from ....needs import require_class
from ....transforms.torchvision import check_called
from ..numbers.arithmetic import Number
from .arrays import is_shipped
from .changing import change
from .patches import FLIPS
from .picture import PROBE, TENSORS, Picture, Terms
from .pil import bind, is_in_place

if TYPE_CHECKING:
    from ..compiler import Compiler

_SAMPLE: Terms = (("sample",),)
# As far from what float32 has as core/draw's floatMax.
_MOST = 1e30


# What is drawn


def drawn(c: Compiler, call: Call, kind: str) -> Picture | None:
    """The noise that one of torch's functions draws, as large as an image; None for a call that draws a number."""
    if kind not in ("rand", "randn", "rand_like", "randn_like") or call.options:
        return None
    found = _of_shape(c, call) if kind in ("rand", "randn") else _like(c, call)
    if found is None:
        return None
    image, example = found
    if example.dtype != torch.float32 or image.axes() not in ("cyx", "1yx", "yx"):
        raise UnreadableError(f"draws by {call}", call)
    c.names.append(kind)
    return _noise(c, image, example, f"torch.{kind.removesuffix('_like')}", call)


def _of_shape(c: Compiler, call: Call) -> tuple[Picture, torch.Tensor] | None:
    match call.arguments:
        case (Spread(owner=size),):
            shape = c.several(size)
        case (size,):
            try:
                shape = c.several(size)
            except UnreadableError:
                return None
        case extents:
            shape = extents
    numbers = list(map(c.number, shape))
    if len(numbers) < 2 or all(each.json == 1 for each in numbers):
        return None
    image = _as_large(c, call, numbers)
    return image, torch.zeros(image.made().shape)


def _as_large(c: Compiler, call: Call, shape: Sequence[Number]) -> Picture:
    """A tensor of that shape: one that the call names, or the last one before it."""
    near = [id(part) for part in parts_of(call) if id(part) in c.known]
    keys = [key for key in (*near, *reversed(c.known)) if key in c.born and c.is_in(c.born[key])]
    images = [each for each in (c.known[key][1] for key in keys) if each is not None and each.form in TENSORS]
    for equal in (True, False):  # as code says it, or as it turns out
        for image in images:
            width, height = image.extents()
            known = {PROBE[0]: height, PROBE[1]: width}
            extents = [known.get(extent, Number(int(extent), "int")) for extent in image.made().shape]
            if len(extents) != len(shape):
                continue
            pairs = list(zip(extents, shape, strict=True))
            if equal and all(one.json == other.json for one, other in pairs):
                return image
            if not equal and all(
                one.json == other.json or not (one.is_constant and other.is_constant) for one, other in pairs
            ):
                for one, other in pairs:
                    c.equal(one, other)
                return image
    raise UnreadableError(f"draws by {call}, which is as large as no tensor", call)


def _like(c: Compiler, call: Call) -> tuple[Picture, torch.Tensor]:
    image = c.picture(call.arguments[0]) if len(call.arguments) == 1 else None
    if image is None or image.form not in TENSORS:
        raise UnreadableError(f"draws by {call}", call)
    return image, _alike(image)


def _alike(p: Picture) -> torch.Tensor:
    """torch.zeros_like of a tensor."""
    if p.moved:
        raise UnreadableError("draws noise like a tensor whose order in memory is not known")
    return torch.zeros_like(p.made())


def _noise(c: Compiler, image: Picture, example: torch.Tensor, by: str, call: Expression | None = None) -> Picture:
    """Noise with the strides of `example`, in which order torch draws it."""
    pixels = not example.is_contiguous()
    if pixels and not example.movedim(0, -1).is_contiguous():
        raise UnreadableError("draws noise of which numbers lie in another order", call)
    c.needs[{"torch.rand": "torch.random", "torch.randn": "torch.randn"}[by]] = None
    if pixels:
        c.needs["torch.strided"] = None
    if by == "torch.randn":
        by = "torch.randn.pairs" if pixels else {"avx2": "torch.randn.avx2"}.get(str(value(by)), by)
    number, c.noises = c.noises, c.noises + 1
    width, height = image.extents()
    c.into.append(
        {
            "do": "noise",
            "noise": number,
            "draw": [by],
            "channels": image.channels,
            "width": width.json,
            "height": height.json,
            "pixels": pixels,
        }
    )
    return replace(_finished(c, image, (("noise", number),), example), moved=False)


def moves(form: str, step: dict[str, Any]) -> bool:
    """Whether what a step stands for may leave an array or a tensor in another order in memory: torch flips, and
    torchvision erases, into a tensor of the same one."""
    if step["op"] == "over_numbers":
        step, form = step["transform"], "tensor"
    ops = ("random_horizontal_flip", "random_vertical_flip", "random_erasing")
    same = form == "tensor" and (step in FLIPS or step["op"] in ops)
    return step["op"] not in ("arithmetic_to", "patch_to", "to_numbers") and not same


# Arithmetic


def _finished(c: Compiler, image: Picture, terms: Terms, example: torch.Tensor) -> Picture:
    shape = image.made().shape
    if example.dtype != torch.float32 or example.shape != shape:
        raise UnreadableError(f"makes a {example.dtype} of shape {tuple(example.shape)} of noise")
    c.needs["torch.elementwise"] = None
    return replace(c.use(image), form="finished", terms=terms, example=example, last=None)


def _terms(p: Picture) -> Terms:
    return p.terms or _SAMPLE


def _looks(p: Picture) -> bool:
    """Whether its terms look at the image."""
    return any(each[0] == "sample" for each in _terms(p))


def _check_float(p: Picture) -> None:
    if p.made().dtype != torch.float32:
        raise UnreadableError("adds noise to what is not float32")


def _of_two(c: Compiler, function: Callable[[Any, Any], Any], sign: str, left: Picture, right: Picture) -> Picture:
    of_image = [each for each in (left, right) if _looks(each)] or [left]
    if len({(each.register, each.mode, each.tail, each.patched) for each in of_image}) > 1:
        raise UnreadableError("reckons with the noise of several images")
    for each in (left, right):
        _check_float(each)
    image = of_image[0]
    made = _finished(c, image, (*_terms(left), *_terms(right), (sign,)), function(left.made(), right.made()))
    return replace(made, moved=left.moved or right.moved)


def _with(c: Compiler, function: Callable[[Any], Any], p: Picture, does: str, numbers: Sequence[Any]) -> Picture:
    """A function of each number and one for its channel, in JSON."""
    return _finished(c, p, (*_terms(p), (does, *numbers)), function(p.made()))


def _numbers(c: Compiler, of: Expression, p: Picture) -> list[Any]:
    """A number by which all of a tensor is changed, or one for each channel."""
    try:
        number = c.sure(c.number(of))
    except UnreadableError:
        constant = c.constant(of)
        if type(constant) is not torch.Tensor or constant.dtype != torch.float32 or constant.requires_grad:
            raise
        if tuple(constant.shape) not in ((), (1,), (p.channels, 1, 1)) or p.made().ndim != 3:
            raise
        return [_constant(each, of) for each in constant.flatten().tolist()]
    if number.kind not in ("int", "float", "float32"):
        raise UnreadableError(f"reckons with {of}", of)
    return [_constant(number.value, of) if number.is_constant else number.json]


def _constant(number: float, of: Expression | None = None) -> float:
    if not abs(number) < _MOST:
        raise UnreadableError(f"reckons with {number}", of)
    return float(number)


_SIGNS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


def arithmetic(c: Compiler, of: Binary) -> Picture | None:
    """Two tensors, or one and a number, of which one is finished, or the number differs from sample to sample; None for
    all else."""
    sign = of.operator.removesuffix("=")
    in_place = sign != of.operator
    if sign not in _SIGNS or not ("finished" in (c.form(of.left), c.form(of.right)) or _varies(c, of)):
        return None
    made = _reckoned(c, sign, of.left, of.right)
    if in_place:
        change(c, of.left, made, of)
    return made


def _varies(c: Compiler, of: Binary) -> bool:
    """Whether it is of a float32 tensor and of a number that is not the same for all samples."""
    for image, other in ((of.left, of.right), (of.right, of.left)):
        if c.form(image) == "tensor" and c.form(other) is None and c.sure_picture(image).made().dtype == torch.float32:
            try:
                return not c.number(other).is_constant
            except UnreadableError:
                return False
    return False


def _reckoned(c: Compiler, sign: str, left: Expression, right: Expression) -> Picture:
    function = _SIGNS[sign]
    one, other = c.picture(left), c.picture(right)
    if one is not None and other is not None:
        return _of_two(c, function, sign, one, other)
    if one is not None:
        return _with(c, lambda made: function(made, 1.0), one, f"{sign} number", _numbers(c, right, one))
    assert other is not None
    if sign == "/":  # torch multiplies by a reciprocal
        raise UnreadableError(f"divides {left} by noise", left)
    does = "number -" if sign == "-" else f"{sign} number"
    return _with(c, lambda made: function(1.0, made), other, does, _numbers(c, left, other))


# Calls

_SIGN_OF = {"add": "+", "sub": "-", "mul": "*", "div": "/", "add_": "+", "sub_": "-", "mul_": "*", "div_": "/"}
_COPIES = ("clone", "contiguous", "float")
_CLAMPS = ("clamp", "clamp_", "clip", "clip_")
METHODS = (*_SIGN_OF, *_COPIES, *_CLAMPS)
_FUNCTIONS = ("add", "sub", "mul", "div", "clamp", "clip")


def method(c: Compiler, owner: Picture, call: Call) -> Picture | None:
    """A method of a tensor with noise, or of one that takes noise; None for all else."""
    assert isinstance(call.function, Attribute)
    of, name = call.function.owner, call.function.name
    if "finished" not in (owner.form, *(c.form(each) for each in call.arguments)):
        return None
    if name in _CLAMPS:
        made = _clamped(c, owner, call)
    elif name in _SIGN_OF and len(call.arguments) == 1 and not call.options:
        made = _reckoned(c, _SIGN_OF[name], of, call.arguments[0])
    elif name in _COPIES and not call.arguments and not call.options:
        made = replace(owner, example=getattr(owner.made(), name)())
    else:
        raise UnreadableError(f"calls {call.function} of a tensor with noise", call)
    if name.endswith("_"):
        change(c, of, made, call)
    return made


def called(c: Compiler, function: Any, call: Call) -> Picture | None:
    """A function of a tensor with noise; None for all else."""
    if not any(c.form(each) == "finished" for each in call.arguments):
        return None
    image, rest = c.picture(call.arguments[0]), replace(call, arguments=call.arguments[1:])
    functional = sys.modules.get("torchvision.transforms.functional")
    name = next((each for each in _FUNCTIONS if function is getattr(torch, each) and is_shipped(function, each)), None)
    made = None
    if name in _CLAMPS:
        made = image and _clamped(c, image, rest)
    elif name is not None and len(call.arguments) == 2 and not call.options:
        made = _reckoned(c, _SIGN_OF[name], *call.arguments)
    elif functional is not None and function is functional.normalize and image is not None:
        given = bind(rest, ("mean", "std", "inplace"))
        if "inplace" not in given or c.constant(given["inplace"]) is False:
            c.calls[functional, "normalize"] = None
            made = _normalized(c, image, c.constant(given["mean"]), c.constant(given["std"]))
    if made is None:
        raise UnreadableError(f"calls {call.function} of a tensor with noise", call)
    c.own.means(call.function)
    return made


def _clamped(c: Compiler, p: Picture, call: Call) -> Picture:
    given = bind(call, ("min", "max"))
    for name, does in (("min", "at least"), ("max", "at most")):
        if name in given and not _is_none(c, given[name]):
            p = _with(c, torch.clone, p, does, _numbers(c, given[name], p))
    if p.form != "finished":
        raise UnreadableError(f"calls {call.function} with other arguments", call)
    return p


def _is_none(c: Compiler, of: Expression) -> bool:
    try:
        return c.constant(of) is None
    except UnreadableError:
        return False


def _normalized(c: Compiler, p: Picture, mean: Any, std: Any) -> Picture:
    numbers = [np.asarray(each, np.float32).reshape(-1).tolist() for each in (mean, std)]
    fits = all(len(each) in (1, p.channels) for each in numbers) and p.made().ndim == 3
    if not fits or not all(map(math.isfinite, numbers[0] + numbers[1])) or 0 in numbers[1]:
        raise UnreadableError(f"normalizes by {mean} and {std}")
    for does, each in zip(("- number", "/ number"), numbers, strict=True):
        p = _with(c, torch.clone, p, does, list(map(_constant, each)))
    return p


# Transforms


def _is_noise(transform: Any) -> bool:
    """Whether it is torchvision's GaussianNoise."""
    v2 = sys.modules.get("torchvision.transforms.v2")
    return v2 is not None and type(transform) is getattr(v2, "GaussianNoise", None)


def takes(image: Picture, transform: Any) -> bool:
    """Whether a transform adds noise to an image, or is called with one that has some."""
    return image.form == "finished" or (image.form == "tensor" and _is_noise(transform))


def transformed(c: Compiler, p: Picture, transform: Any) -> Picture:
    """What GaussianNoise makes of a tensor, or another of torchvision's of one with noise. Raises UnreadableError."""
    name = type(transform).__name__
    is_known = _is_noise(transform) or (name == "Normalize" and not is_in_place(transform))
    if not is_known or not type(transform).__module__.startswith("torchvision.transforms."):
        raise UnreadableError(f"changes a tensor with noise by {name}")

    def look(c: Compiler) -> str:
        check_called(transform)
        if _is_noise(transform):
            require_class(transform)
        return repr([getattr(transform, each, None) for each in ("mean", "sigma", "clip", "std")])

    look(c)
    c.looked.append(look)
    if name == "Normalize":
        return _normalized(c, p, transform.mean, transform.std)
    numbers = transform.mean, transform.sigma
    if not {*map(type, numbers)} <= {int, float} or not transform.sigma >= 0 or type(transform.clip) is not bool:
        raise UnreadableError(f"adds noise by {transform!r}")
    _check_float(p)
    noise = _noise(c, p, _alike(p), "torch.randn")
    for does, number in (("* number", transform.sigma), ("+ number", transform.mean)):
        noise = _with(c, torch.clone, noise, does, [_constant(number)])
    made = _of_two(c, operator.add, "+", p, noise)
    for does, end in (("at least", 0.0), ("at most", 1.0)) if transform.clip else ():
        made = _with(c, torch.clone, made, does, [end])
    return made


# What is given


def step(p: Picture) -> list[dict[str, Any]]:
    """What Go does to the image for its terms."""
    return [{"op": "arithmetic_to", "terms": [*map(list, p.terms), ["set"]]}] if p.terms else []


def alike(one: Picture, other: Picture) -> tuple[Picture, Picture]:
    """Two images of which one is to be taken, by a branch: as tensors with noise, if one is that. Raises
    UnreadableError."""
    both = one, other
    if all(each.form != "finished" for each in both):
        return both
    if any(each.form not in ("tensor", "finished") or not _looks(each) for each in both):
        raise UnreadableError("takes noise, or an image")
    example = one.made()
    if (example.stride(), example.dtype) != (other.made().stride(), other.made().dtype):
        raise UnreadableError("takes one of two tensors whose numbers lie in different orders")
    one, other = (replace(each, form="finished", example=example) for each in both)
    return one, other


def done(c: Compiler, p: Picture) -> Picture:
    """The image with its terms done."""
    if not p.terms:
        return p
    return replace(c.apply(p, step(p), (), size=p.size, passes=0), known=p.known, terms=())
