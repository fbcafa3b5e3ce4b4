"""torchvision's transforms, v1 and v2, lowered: `lower(transform)` says what they are, or why they stay with torch.

A transform is known by its exact class, and only while it is what its class says: a subclass, a hook, an attribute of
the object that hides a method, a patched method are all refused. Everything here is about what the object does to a
PIL image: RGB, which is what ImageFolder's loader gives, or grey (mode L), as MNIST's are; or, where a sample's target
is an image as well (targets.py), to one of a mask's kinds. A Form says which.

The rest, from the step that makes a tensor on, becomes a table: the user's own objects are run, once, on an image that
holds all 256 bytes.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import hashlib
import json
import sys
from collections import OrderedDict
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Flag, auto
from functools import partial
from typing import Any, NamedTuple, TypeGuard

import numpy as np
import torch

from ... import transforms as T
from ...adapters.torch import default_device
from ...selfcheck import libraries, value
from ..needs import of_steps, require, require_class, rules
from ..refusal import Refusal, RefusalError, TransformRefusal
from ..trust.calls import calls_of
from ..trust.look import hiding, name_of
from ..trust.originals import module_of
from ..trust.watch import has_global_hooks, has_hooks
from . import augments, erasing, numbers, sizes, warps
from .augments import Pixels
from .lowered import VERSION, Lowered, walk
from .tables import Table, run_tail


class Form:
    """What images are that a transform is given: PIL images of 1 (mode L) or 3 (RGB) channels.

    channels   None if images come in the mode of their file, which a transform then has to begin by settling
    size       (height, width), if it is the same for all
    joint      the transform takes an image and its target together
    is_tensor  they are tensors of bytes, not PIL images
    """

    joint = False
    is_tensor = False

    def __init__(self, channels: int | None, size: T.Size | None = None) -> None:
        self.channels, self.size = channels, size

    def key(self) -> Hashable:
        """Equal for forms of which a tail makes the same."""
        return self.channels

    def check(self, each: Any, geometry: bool) -> None:
        """Raises RefusalError if one of the known classes is not known to do to such images what it does to PIL's."""

    def step(self, operation: Operation, each: Any, channels: int) -> T.Geometry | None:
        """What a transform of geometry does to such an image. Raises RefusalError."""
        return read(operation, each, Pixels(channels))

    def step_of_tensor(self, operation: Operation, each: Any, tail: list[Any], pixels: Pixels) -> T.Geometry | None:
        """The same behind `tail`, which has made a tensor of it."""
        before = partial(_table, tuple(tail), pixels.channels, self)
        return _tensor_step(operation, each, pixels, of_bytes=_is_of_bytes(tail), before=before)

    def table(self, tail: Sequence[Any], channels: int, names: str, key: str) -> Table:
        """What functions make of every byte of an image. Raises RefusalError."""
        return run_tail(tail, channels, names, key=key)


def lower(transform: Any, form: Form | int | None = 3) -> Lowered | Refusal:
    """What `transform` does to images of a form, or of so many channels; or the reason why it is not lowered."""
    try:
        return _lower(transform, form if isinstance(form, Form) else Form(form))
    except RefusalError as refused:
        return refused.refusal


def _lower(transform: Any, form: Form) -> Lowered:
    if transform is None:
        raise TransformRefusal(
            "transform=None", "samples would be PIL images, which no collate function takes", "NO_TENSOR"
        )
    check_defaults()
    _check_calls(transform)
    known = _operations()
    steps: list[T.Geometry] = []
    erased: list[T.Geometry] = []
    names: list[str] = []
    notes: list[str] = []
    tail: list[Any] = []
    in_order = True  # nothing moved the tensor's own items
    resized: int | None = None  # what of the tail comes before a resize of its numbers
    over = False  # steps are over numbers
    settled = form.channels is not None
    channels = 3 if form.channels is None else form.channels
    begin = channels, form.size
    flat = _flat(transform)
    for each in flat:
        kind, name = type(each), _name(each)
        names.append(name)
        operation = known.get(kind, _UNKNOWN)
        does = operation.does
        form.check(each, Does.MOVES in does)
        if Does.NOTHING in does:
            continue
        if operation.read is not None:
            require_class(each)
        if not settled and Does.SETTLES not in does:
            why = "images have the mode of their file; put Grayscale or v2.RGB first"
            raise TransformRefusal(name, why, "TRANSFORM_ORDER")
        settled = True
        if tail:
            moved: T.Geometry | None
            pixels = Pixels(*walk(steps, *begin), is_tensor=True)
            eraser: T.Geometry | None = None
            if Does.ERASES in does and type(form) is Form and resized is None and not over:
                eraser = read(operation, each, pixels, len(erased) + 1)
                assert isinstance(eraser, erasing.RandomErasing)
                if not eraser.noise:
                    erased.append(eraser)
                    tail.append(each)
                    continue
            if not over and (eraser is not None or (Does.MOVES in does and erased)):
                steps += _to_numbers(name, tail, pixels, form)
                over = True
                erased.clear()
            if over:
                _add_over_numbers(steps, tail, operation, each, pixels)
                in_order &= Does.MOVES not in does
                continue
            if Does.MOVES in does:
                if resized is not None and _is_within(each, steps[-1]):
                    moved = read(operation, each, Pixels(channels))
                elif resized is not None:
                    moved = _tensor_step(operation, each, pixels, of_bytes=False)
                else:
                    moved = form.step_of_tensor(operation, each, tail, pixels)
                if isinstance(moved, numbers.OverNumbers):
                    if resized is not None or type(form) is not Form:
                        raise TransformRefusal(
                            name, "it changes a target's numbers, or resized ones", "TENSOR_GEOMETRY"
                        )
                    steps += _to_numbers(name, tail, pixels, form)
                    over = True
                if resizes_numbers(moved):
                    if type(form) is not Form:
                        raise TransformRefusal(name, "it resizes a target's numbers", "TENSOR_GEOMETRY")
                    resized = len(tail)
                else:
                    in_order = False
                if moved is not None:
                    steps.append(moved)
                    channels = moved.channels_after(channels)
                continue
            if Does.AUGMENTS in does and type(form) is Form and not erased:
                steps += filter(None, [_augmented(operation, each, pixels, of_bytes=_is_of_bytes(tail))])
                in_order = False
                continue
            if Does.CONVERTS not in does:
                raise TransformRefusal(name, _unknown(kind, flat, known), "TRANSFORM_UNKNOWN")
            tail.append(each)
        elif Does.MOVES in does:
            step = form.step(operation, each, channels)
            if step is not None:
                steps.append(step)
                channels = step.channels_after(channels)
            if getattr(each, "antialias", True) is False:
                notes.append("antialias=False has no effect on PIL images")
        elif Does.AUGMENTS in does:
            if type(form) is not Form:
                raise TransformRefusal(name, f"{_path(kind)} is known for photos only", "TRANSFORM_UNKNOWN")
            steps += filter(None, [read(operation, each, Pixels(*walk(steps, *begin)))])
        elif Does.MAKES in does or ((form.joint or form.is_tensor) and does & (Does.CONVERTS | Does.LEAVES)):
            tail.append(each)
        elif Does.CONVERTS in does and Does.LEAVES not in does:
            raise TransformRefusal(name, "it comes before the step that makes a tensor", "TRANSFORM_ORDER")
        elif Does.LEAVES not in does:
            raise TransformRefusal(name, _unknown(kind, flat, known), "TRANSFORM_UNKNOWN")
    if not tail and not form.is_tensor:
        raise TransformRefusal(_name(transform), "nothing makes a tensor of the image", "NO_TENSOR")

    tables = [_table(each, channels, form) for each in _tails(tail)]
    table, data = tables[0], b"".join(each.data for each in tables)
    if resized is not None:
        data += numbers_of(table, _table(tuple(tail[:resized]), channels, form), tail[resized:])
    if table.channels != channels and not over:  # Normalize spreads a grey image over its three means
        steps.append(T.Grayscale(3))
    if len(erased) > erasing.PATCHES_MAX:
        raise TransformRefusal(
            f"{len(erased)} times RandomErasing", f"at most {erasing.PATCHES_MAX} are possible", "TRANSFORM_LIMIT"
        )
    steps += erased
    _, size = walk(steps, *begin)
    return Lowered(
        steps=tuple(steps),
        dtype=table.dtype,
        channels=table.channels,
        table=data,
        size=size,
        names=tuple(names),
        notes=tuple(notes),
        tensor=table.tensor,
        contiguous=table.contiguous and in_order,
        pixel=table.pixel,
    )


def _to_numbers(name: str, tail: list[Any], pixels: Pixels, form: Form) -> list[T.Geometry]:
    """The first steps over numbers: of a tail they take over what was erased, and what follows that.

    Leaves the tail without that. Raises RefusalError.
    """
    first = next((at for at, each in enumerate(tail) if _erases(each)), len(tail))
    rest = tail[first:]
    del tail[first:]
    steps: list[T.Geometry] = [numbers.begin(name, _table(tuple(tail), pixels.channels, form), pixels.channels)]
    for each in rest:
        _add_over_numbers(steps, tail, _operations()[type(each)], each, pixels)
    return steps


def _add_over_numbers(
    steps: list[T.Geometry], tail: list[Any], operation: Operation, each: Any, pixels: Pixels
) -> None:
    """Adds what a transform does behind steps over numbers to these; one that does nothing to the tail.

    Raises RefusalError.
    """
    step = _step_over_numbers(operation, each, pixels)
    if step is not None:
        steps.append(step)
    else:
        tail.append(each)


def _step_over_numbers(operation: Operation, each: Any, pixels: Pixels) -> T.Geometry | None:
    """What a transform does to a tensor of float32 behind steps over numbers; None for nothing. Raises RefusalError."""
    if Does.CONVERTS in operation.does:
        try:
            return numbers.converted(each, pixels.channels)
        except ValueError as error:
            raise TransformRefusal(_name(each), str(error), "TENSOR_STEPS") from None
    if Does.ERASES in operation.does:
        eraser = read(operation, each, pixels, 0)
        assert eraser is not None
        return _over_numbers(operation, each, eraser, pixels, None)
    if Does.MOVES in operation.does:
        return _tensor_step(operation, each, pixels, of_bytes=False)
    raise TransformRefusal(_name(each), "it is applied to a tensor that is not uint8", "TENSOR_GEOMETRY")


def _unknown(kind: type, rest: Iterator[Any], known: Container[type]) -> str:
    """Why a transform is not lowered, with all behind it that are not either."""
    kinds = [kind]
    with contextlib.suppress(RefusalError):
        kinds += [type(each) for each in rest if type(each) not in known]
    paths = list(dict.fromkeys(map(_path, kinds)))
    return f"{', '.join(paths)} {'is' if len(paths) == 1 else 'are'} not known"


def check_defaults() -> None:
    """Raises RefusalError where transforms draw other numbers, by a setting of torch's."""
    if torch.get_default_dtype() != torch.float32:
        raise TransformRefusal(
            "torch.set_default_dtype", f"random numbers are drawn as {torch.get_default_dtype()}", "TORCH_DEFAULTS"
        )
    if default_device().type != "cpu":
        raise TransformRefusal(
            "torch.set_default_device", "random numbers are drawn on another device", "TORCH_DEFAULTS"
        )


# Containers


def _flat(transform: Any) -> Iterator[Any]:
    """The transforms inside nested containers, in order, each checked to be what its class says."""
    _check_intact(transform)
    kind = type(transform)
    v1, v2 = _modules()
    children: Any
    if kind is torch.nn.Sequential:
        children = list(transform._modules.values())
    elif (v1 is not None and kind is v1.Compose) or (v2 is not None and kind is v2.Compose):
        children = transform.transforms
        if type(children) not in (list, tuple):
            # Named by its class: its repr would use up an iterator.
            raise TransformRefusal(
                kind.__name__, f"its transforms are a {_path(type(children))}, not a list", "TRANSFORM_LIST"
            )
    elif kind is getattr(sys.modules.get("torchvision.transforms._presets"), "ImageClassification", None):
        require_class(transform)
        children = _preset(transform)
    else:
        yield transform
        return
    if not children and v2 is not None and kind is v2.Compose:
        raise TransformRefusal("Compose", "it is empty", "TRANSFORM_LIST")
    for child in children:
        yield from _flat(child)


def _preset(each: Any) -> list[Any]:
    """What the transforms of a model's weights call, as transforms."""
    v1 = _modules()[0]
    try:
        return [
            v1.Resize(each.resize_size, each.interpolation, antialias=each.antialias),
            v1.CenterCrop(each.crop_size),
            v1.PILToTensor(),
            v1.ConvertImageDtype(torch.float),
            v1.Normalize(each.mean, each.std),
        ]
    except (TypeError, ValueError, AttributeError) as error:
        raise TransformRefusal(_name(each), str(error), "TRANSFORM_ARGUMENT") from None


def _check_intact(transform: Any) -> None:
    """Raise RefusalError unless calling `transform` does just what its class, if we know it, was written to do."""
    kind = type(transform)
    if module_of(kind).partition(".")[0] not in ("torch", "torchvision"):
        return
    hidden = hiding(transform)
    if hidden:
        raise TransformRefusal(
            _name(transform), f"its attribute {hidden[0]!r} hides that of {kind.__name__}", "FUNCTION_REPLACED"
        )
    if isinstance(transform, torch.nn.Module):
        if has_hooks(transform):
            raise TransformRefusal(_name(transform), "it has hooks", "HOOKS")
        if has_global_hooks():
            raise TransformRefusal(_name(transform), "hooks for all modules are registered with torch.nn", "HOOKS")


def _is_of_library(transform: Any) -> bool:
    """True for an object of a class of torch's, torchvision's or ours."""
    return module_of(type(transform)).partition(".")[0] in ("torch", "torchvision", "goloader")


def _check_calls(transform: Any) -> None:
    """Raise RefusalError if anybody replaced a function that transforms would call on their way."""
    replaced = calls_of((), tuple(_kinds(transform)), ("forward",)).look()
    if replaced:
        raise TransformRefusal(_name(transform), f"{replaced} was replaced", "FUNCTION_REPLACED")


def _kinds(transform: Any) -> dict[type, None]:
    """The classes of transforms, and of those in them, as far as they are torchvision's."""
    kind = type(transform)
    if module_of(kind).partition(".")[0] not in ("torch", "torchvision"):
        return {}
    kinds = {kind: None}
    inner = vars(transform).get("_modules" if kind is torch.nn.Sequential else "transforms", ())
    for child in inner.values() if type(inner) is dict else inner if type(inner) in (list, tuple) else ():
        kinds |= _kinds(child)
    return kinds


# Classes


def _modules() -> tuple[Any, Any]:
    """torchvision's v1 and v2 transforms, each None while nobody imported it: then no object of it can be about."""
    return sys.modules.get("torchvision.transforms.transforms"), sys.modules.get("torchvision.transforms.v2")


class Does(Flag):
    MOVES = auto()  # pixels of an image, and of a tensor of bytes
    AUGMENTS = auto()  # images, at random, and leaves their size
    ERASES = auto()  # a rectangle of a tensor
    MAKES = auto()  # a tensor of an image
    CONVERTS = auto()  # a tensor
    LEAVES = auto()  # images alone
    NOTHING = auto()
    SETTLES = auto()  # makes of an image in any mode what it makes of it in RGB
    BYTES = auto()  # makes a uint8 tensor of an image, or leaves it one


# (api, object, the images that it gets; of what erases also the number of its table) -> the step; None for an identity.
Reader = Callable[..., T.Geometry | None]


class Operation(NamedTuple):
    """One of torchvision's classes."""

    does: Does
    read: Reader | None = None
    api: T.Api = "v1"


_UNKNOWN = Operation(Does(0))


def _operations() -> Mapping[type, Operation]:
    """All classes that are known, of the libraries in use."""
    # v1's policies are in the package alone.
    v1, v2 = _modules()
    return _operations_of(v1 and sys.modules.get("torchvision.transforms"), v2)


@functools.cache
def _operations_of(v1: Any, v2: Any) -> Mapping[type, Operation]:
    table: dict[type, Operation] = {torch.nn.Identity: Operation(Does.NOTHING)}
    apis: tuple[tuple[Any, T.Api], ...] = ((v1, "v1"), (v2, "v2"))
    for module, api in apis:
        for name, (does, read) in {**_BOTH, **_ONE[api]}.items() if module is not None else ():
            kind = getattr(module, name)
            if module_of(kind).startswith("torchvision."):  # else somebody put another in its place
                table[kind] = Operation(does, read, api)
    return table


# Geometry: one function for each class. `each` is the object, `pixels` the images that it gets.


def read(operation: Operation, each: Any, pixels: Pixels, *more: int) -> T.Geometry | None:
    """What a transform does to images, read off its attributes.

    Arguments that goloader.transforms does not take are those with which torchvision raises, sooner or later."""
    assert operation.read is not None
    try:
        return operation.read(operation.api, each, pixels, *more)
    except (TypeError, ValueError, OverflowError, AttributeError, LookupError) as error:
        raise TransformRefusal(_name(each), str(error), "TRANSFORM_ARGUMENT") from None


def _tensor_step(
    operation: Operation, each: Any, pixels: Pixels, *, of_bytes: bool, before: numbers.Before | None = None
) -> T.Geometry | None:
    """Geometry of a tensor: as of a PIL image where pixels only move; a resize has torch's weights.

    before  makes the table of what comes before it; None behind steps over numbers, or of bytes
    """
    name = _name(each)
    step = read(operation, each, replace(pixels, is_tensor=of_bytes))
    if of_bytes and (step is None or isinstance(step, augments.TensorGrayscale)):
        return step
    assert step is not None
    if isinstance(step, T.RandomHorizontalFlip | T.RandomVerticalFlip):
        return step
    if isinstance(step, T.RandomCrop) and step.padding is None and not step.pad_if_needed:
        return step
    if not of_bytes:
        if before is not None and _is_of_sums(step, each):
            return replace(step, interpolation=_of_floats(name, T.TORCH_FLOAT))
        return _over_numbers(operation, each, step, pixels, before)
    if isinstance(step, T.CenterCrop):
        return step
    if isinstance(step, T.RandomRotation | T.RandomAffine):
        try:
            return warps.of_tensor(step, operation.api, each, of_bytes=True)
        except ValueError as error:
            raise TransformRefusal(name, str(error), "TENSOR_GEOMETRY") from None
    if isinstance(step, T.RandomCrop | T.Pad) and operation.api == "v2" and _borders_alike(each):
        return step
    if _is_of_sums(step, each) and operation.api == "v1":
        return replace(step, interpolation=_of_floats(name, T.TORCH_CAST))
    if isinstance(step, T.Resized) and operation.api == "v2":
        # torch fails where one pixel comes out.
        alike = each.antialias is True and 1 not in T.edges(each.size or 2, "size", counts=(1, 2))
        number = f"torch_{step.interpolation}"
        if alike and number in T.TENSOR_FILTERS:
            return replace(step, interpolation=number)
    alike = _has_number(each) if isinstance(step, sizes.RandomZoomOut) else getattr(each, "antialias", None) is True
    if alike and (made := sizes.of_tensor(step)) is not None:
        return made
    raise TransformRefusal(name, "its arithmetic on tensors differs from that on PIL images", "TENSOR_GEOMETRY")


def _over_numbers(
    operation: Operation, each: Any, step: T.Geometry, pixels: Pixels, before: numbers.Before | None
) -> T.Geometry:
    """What a transform does to a tensor of float32. Raises RefusalError."""
    try:
        made = numbers.step(operation.api, each, step, pixels, before)
    except ValueError as error:
        raise TransformRefusal(_name(each), str(error), "TENSOR_GEOMETRY") from None
    if made is None:
        raise TransformRefusal(_name(each), "it is applied to a tensor that is not uint8", "TENSOR_GEOMETRY")
    return made


def _is_of_sums(step: T.Geometry, each: Any) -> TypeGuard[T.Resized]:
    """Whether torch resizes by sums of float32 that are known: it adds otherwise where one pixel comes out."""
    return (
        isinstance(step, T.Resized)
        and step.interpolation == "bilinear"
        and each.antialias is True
        and getattr(step, "max_size", None) is None
        and min(_edges(step.size or 1)) > 1
    )


def _of_floats(name: str, filter_name: str) -> str:
    """The filter with how many products torch rounds at a time here."""
    group = value("torch.resize.float")
    if group is None:
        raise TransformRefusal(name, "torch resizes numbers by sums of another order", "TENSOR_GEOMETRY")
    return f"{filter_name}{group}"


def resizes_numbers(step: T.Geometry | None) -> TypeGuard[T.Resized]:
    """Whether a step is a resize of what bytes have become."""
    return isinstance(step, T.Resized) and str(step.interpolation).startswith(T.TORCH_FLOAT)


def _is_within(each: Any, before: T.Geometry) -> bool:
    """Whether it is a CenterCrop that adds no border to what a resize of numbers has made."""
    if type(each).__name__ != "CenterCrop" or not resizes_numbers(before):
        return False
    return before.size is not None and max(_crop_size(each)) <= min(_edges(before.size))


def _edges(size: int | Sequence[int]) -> tuple[int, ...]:
    return T.edges(size, "size", counts=(1, 2))


def numbers_of(whole: Table, before: Table, behind: Sequence[Any]) -> bytes:
    """The tables of a resize of numbers (GL_TORCH_FLOAT in core/op/passes.h), behind that of the `whole` tail.

    before  what comes before it, and
    behind  what comes behind it: one Normalize, or nothing
    """
    names = ", ".join(map(_name, behind)) or "Resize"
    if before.dtype != "float32" or whole.dtype != "float32" or before.channels != whole.channels:
        why = "its numbers are resized, but are not float32 of as many channels"
        raise TransformRefusal(names, why, "TENSOR_GEOMETRY")
    if len(behind) > 1 or not all(type(each).__name__ == "Normalize" and _is_of_library(each) for each in behind):
        raise TransformRefusal(names, "it comes behind a resize of numbers", "TENSOR_GEOMETRY")
    known = np.zeros((whole.channels, 256), "<f4")
    known[:, 1] = 1
    for each in behind:
        known[:, 0], known[:, 1] = (np.asarray(numbers, np.float32) for numbers in (each.mean, each.std))
    return before.data + known.tobytes()


def _augmented(operation: Operation, each: Any, pixels: Pixels, *, of_bytes: bool) -> T.Geometry | None:
    """What augments a tensor."""
    if not of_bytes:
        raise TransformRefusal(_name(each), "it is applied to a tensor that is not uint8", "TENSOR_GEOMETRY")
    return read(operation, each, pixels)


def _is_of_bytes(tail: Sequence[Any]) -> bool:
    return all(Does.BYTES in _operations().get(type(each), _UNKNOWN).does for each in tail)


def step_of(
    each: Any,
    channels: int,
    size: T.Size | None,
    of_bytes: bool | None,
    before: T.Geometry | None = None,
    *,
    table: numbers.Before | None = None,
    over: bool = False,
) -> tuple[T.Geometry | None, bool]:
    """What one of torchvision's transforms does to an image of such channels and size, and whether it belongs to its
    tail (run_tail): it makes a tensor of it, or changes the tensor's numbers. Raises RefusalError.

    of_bytes  None for a PIL image; of a tensor whether its numbers are the image's bytes
    before    the resize that its numbers come from
    table     makes the table of a tensor's tail
    over      steps over numbers made the tensor
    """
    is_tensor = of_bytes is not None
    check_called(each)
    operation = _operations().get(type(each), _UNKNOWN)
    does = operation.does
    if operation.read is not None:
        require_class(each)
    if Does.NOTHING in does or (Does.LEAVES in does and not is_tensor):
        return None, False
    pixels = Pixels(channels, size, is_tensor)
    if over or (Does.ERASES in does and of_bytes is False and before is None):
        step = _step_over_numbers(operation, each, pixels)
        return step, step is None
    if is_tensor and Does.AUGMENTS in does:
        return _augmented(operation, each, pixels, of_bytes=bool(of_bytes)), False
    if before is not None and _is_within(each, before):
        return read(operation, each, Pixels(channels)), False
    if is_tensor and Does.MOVES in does:
        return _tensor_step(operation, each, pixels, of_bytes=bool(of_bytes), before=table), False
    if does & (Does.CONVERTS if is_tensor else Does.MAKES):
        return None, True
    if is_tensor or not does & (Does.MOVES | Does.AUGMENTS):
        raise TransformRefusal(_name(each), f"{_path(type(each))} is not known", "TRANSFORM_UNKNOWN")
    return read(operation, each, pixels), False


def check_called(each: Any) -> None:
    """Raises RefusalError unless calling one of torchvision's transforms does what its class was written to do."""
    check_defaults()
    _check_intact(each)
    _check_calls(each)


def _borders_alike(each: Any) -> bool:
    """Whether a border of a tensor of bytes is that of a PIL image."""
    return each.padding_mode == "edge" or (each.padding_mode == "constant" and _has_number(each))


def _has_number(each: Any) -> bool:
    """Whether it fills borders with one number."""
    fill = each._fill["others"] if set(each._fill) == {"others"} else ""
    return fill in (None, *range(256))


def _resize(api: T.Api, each: Any, pixels: Pixels) -> T.Geometry:
    kinds = (int, list, tuple) if api == "v1" else (list, type(None))
    if type(each.size) not in kinds:
        raise TypeError(f"size is {each.size!r}")
    return T.Resize(each.size, _filter(api, each), _max_size(each))


def _max_size(each: Any) -> int | None:
    if each.max_size is not None and type(each.max_size) is not int:
        raise TypeError(f"max_size is {each.max_size!r}")
    return each.max_size


def _random_crop(api: T.Api, each: Any, pixels: Pixels) -> T.Geometry:
    padding: tuple[int, ...] | None = None
    fill: float | list[float] = 0
    mode = "constant"
    if each.padding is not None:
        padding = T.borders(_integers(each.padding, "padding"))
        if api == "v2":
            left, right, top, bottom = each.padding  # in the order in which v2 keeps them
            padding = (left, top, right, bottom)
    if padding is not None or each.pad_if_needed:
        fill, mode = _fill(api, each, pixels.channels, each.padding_mode), each.padding_mode
    return T.RandomCrop(_crop_size(each), padding, _flag(each, "pad_if_needed"), fill, mode, api=api)


def _random_resized_crop(api: T.Api, each: Any, pixels: Pixels) -> T.Geometry:
    size = _pair(each)
    if not all(type(number) in (int, float) for number in (*each.scale, *each.ratio)):
        raise TypeError(f"scale={each.scale!r}, ratio={each.ratio!r} are not all plain numbers")
    # v1 takes the logarithm at each draw, v2 once when it is made.
    log_ratio = torch.log(torch.tensor(each.ratio)) if api == "v1" else each._log_ratio
    if log_ratio.dtype != torch.float32:
        raise TypeError(f"the logarithm of ratio is {log_ratio.dtype}")
    return T.RandomResizedCrop(
        size,
        each.scale,
        each.ratio,
        _filter(api, each),
        api=api,
        log_ratio=log_ratio.tolist(),
    )


def _random_resize(name: str, api: T.Api, each: Any, pixels: Pixels) -> T.Geometry:
    return sizes.resize(each, name, _filter(api, each))


def _flip(kind: Callable[[float], T.Geometry], api: T.Api, each: Any, pixels: Pixels) -> T.Geometry:
    if type(each.p) not in (int, float) or each.p != each.p:
        raise TypeError(f"p is {each.p!r}")
    return kind(min(max(each.p, 0.0), 1.0))  # v1 takes any number: a draw is at least 0 and below 1


def _pad(api: T.Api, each: Any, pixels: Pixels) -> T.Geometry:
    padding = _integers(each.padding, "padding")
    return T.Pad(padding, _fill(api, each, pixels.channels, each.padding_mode), each.padding_mode)


def _grayscale(api: T.Api, each: Any, pixels: Pixels) -> T.Geometry | None:
    return augments.grayscale(api, pixels, T.Grayscale(each.num_output_channels).num_output_channels)


def _random_rotation(api: T.Api, each: Any, pixels: Pixels) -> T.Geometry:
    place = (_numbers(each, "center"), _fill(api, each, pixels.channels, "constant"))
    return T.RandomRotation(_numbers(each, "degrees") or (), _filter(api, each), _flag(each, "expand"), *place)


def _random_affine(api: T.Api, each: Any, pixels: Pixels) -> T.Geometry:
    scale, shear = _numbers(each, "scale"), _numbers(each, "shear")
    return T.RandomAffine(
        _numbers(each, "degrees") or (),
        _numbers(each, "translate"),
        scale,
        shear,
        _filter(api, each),
        _fill(api, each, pixels.channels, "constant"),
        _numbers(each, "center"),
        api=api,
    )


# Colour and policies


def _random_apply(api: T.Api, each: Any, pixels: Pixels) -> T.Geometry:
    if type(each.transforms) not in (list, tuple, torch.nn.ModuleList):
        raise TypeError(f"its transforms are a {_path(type(each.transforms))}, not a list")
    steps, left = _known((leaf for transform in each.transforms for leaf in _flat(transform)), pixels)
    if left.channels != pixels.channels:
        raise ValueError("it changes the number of channels")
    chance = augments.up_to if api == "v1" else augments.below
    return augments.RandomApply(chance(each.p), tuple(steps))


def _known(transforms: Iterable[Any], pixels: Pixels) -> tuple[list[T.Geometry], Pixels]:
    """What transforms do to images, and what these are then.

    Raises ValueError for one that is none of those that are known to do something to images alone.
    """
    steps: list[T.Geometry] = []
    for each in transforms:
        operation = _operations().get(type(each), _UNKNOWN)
        if Does.NOTHING in operation.does:
            continue
        if not operation.does & (Does.MOVES | Does.AUGMENTS):
            raise ValueError(f"{_path(type(each))} is not known")
        require_class(each)
        if pixels.is_tensor and Does.MOVES in operation.does:
            step = _tensor_step(operation, each, pixels, of_bytes=True)
        else:
            step = read(operation, each, pixels)
        if step is not None:
            steps.append(step)
            pixels = pixels.after(step)
    return steps, pixels


# Runs of transforms


class Run(NamedTuple):
    """Transforms in a row of which all is known that they do to PIL images.

    given     in their order
    steps     what they do
    channels  of images before them, and after
    """

    given: tuple[Any, ...]
    steps: tuple[T.Geometry, ...]
    channels: tuple[int, int]

    def to_json(self) -> bytes:
        """What gl_augmentation_open takes. Raises RefusalError if a library in use behaves otherwise than known."""
        names = of_steps(self.steps)
        require("transform", *names)
        found = rules(names)
        made = {
            "version": VERSION,
            "channels": self.channels[0],
            "rng": {"fma": found.fma, "correctly_rounded_exp": found.correctly_rounded_exp},
            "transforms": [step.to_plan() for step in self.steps],
        }
        return json.dumps(made, allow_nan=False).encode()


class Tail(NamedTuple):
    """Transforms that make a tensor of a PIL image, each number of a byte by itself, and the next ones change it.

    key  equal where they do the same
    """

    given: tuple[Any, ...]
    key: Hashable


def runs(transforms: Sequence[Any], channels: int) -> list[Run | Tail | list[Any]]:
    """What a container calls one after the other, for PIL images of so many channels; in lists what is not known."""
    at = len(transforms)
    while at and _is_tail(transforms[at - 1]):
        at -= 1
    parts: list[Run | Tail | list[Any]] = []
    pixels = Pixels(channels)
    for each in transforms[:at]:
        last = parts[-1] if parts else None
        try:
            leaves = list(_flat(each))
            steps, after = _known(leaves, pixels)
            found = Run((each,), tuple(steps), (pixels.channels, after.channels))
        except (RefusalError, ValueError):
            pixels = Pixels(pixels.channels)
            if type(last) is list:
                last.append(each)
            else:
                parts.append([each])
            continue
        pixels = after
        if type(last) is Run:
            parts[-1] = Run((*last.given, each), last.steps + found.steps, (last.channels[0], after.channels))
        else:
            parts.append(found)
    tail = tuple(transforms[at:])
    if tail and Does.MAKES in _operations()[type(tail[0])].does:
        parts.append(Tail(tail, tuple((type(each), _key(augments.arguments_of(each), _name(each))) for each in tail)))
    elif tail:
        parts.append([*tail])
    return parts


def _is_tail(each: Any) -> bool:
    """Whether it is one of v1's that make a tensor of an image, or change each number of it."""
    operation = _operations().get(type(each), _UNKNOWN)
    if operation.api != "v1" or not operation.does & (Does.MAKES | Does.CONVERTS):
        return False
    with contextlib.suppress(RefusalError):
        _check_intact(each)
        _key(augments.arguments_of(each), "")
        return True
    return False


def known_classes(api: T.Api) -> tuple[type, ...]:
    """All that runs() knows."""
    return tuple(kind for kind, operation in _operations().items() if operation.api == api)


# Erasing


def _erases(each: Any) -> bool:
    return Does.ERASES in _operations()[type(each)].does


def _tails(tail: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """The tail where nothing is erased, and for each that erases among it the tail of what that one erases."""
    yield tuple(each for each in tail if not _erases(each))
    for at, eraser in enumerate(tail):
        if _erases(eraser):
            before, after = ([each for each in part if not _erases(each)] for part in (tail[:at], tail[at + 1 :]))
            yield (*before, erasing.Filled(eraser), *after)


# The table. Classes of both apis, and of one.

_Row = tuple[Does, Reader | None]
_BOTH: dict[str, _Row] = {
    "Resize": (Does.MOVES, _resize),
    "CenterCrop": (Does.MOVES, lambda api, each, *_: T.CenterCrop(_crop_size(each))),
    "RandomCrop": (Does.MOVES, _random_crop),
    "RandomResizedCrop": (Does.MOVES, _random_resized_crop),
    "RandomHorizontalFlip": (Does.MOVES, partial(_flip, T.RandomHorizontalFlip)),
    "RandomVerticalFlip": (Does.MOVES, partial(_flip, T.RandomVerticalFlip)),
    "RandomRotation": (Does.MOVES, _random_rotation),
    "RandomAffine": (Does.MOVES, _random_affine),
    "Pad": (Does.MOVES, _pad),
    "Grayscale": (Does.MOVES | Does.SETTLES, _grayscale),
    **{name: (Does.AUGMENTS, read) for name, read in augments.READERS.items()},
    "RandomApply": (Does.AUGMENTS, _random_apply),
    "RandomErasing": (Does.ERASES, erasing.read),
    "ToTensor": (Does.MAKES, None),
    "ConvertImageDtype": (Does.CONVERTS, None),
    "Normalize": (Does.CONVERTS, None),
}
_ONE: dict[T.Api, dict[str, _Row]] = {
    "v1": {"PILToTensor": (Does.MAKES | Does.BYTES, None)},
    "v2": {
        "RGB": (Does.MOVES | Does.SETTLES, lambda api, each, pixels: None if pixels.channels == 3 else T.Grayscale(3)),
        "PILToTensor": (Does.MAKES | Does.CONVERTS | Does.BYTES, None),
        "ToImage": (Does.MAKES | Does.CONVERTS | Does.BYTES, None),
        "ToDtype": (Does.CONVERTS | Does.LEAVES, None),
        **{
            name: (Does.MOVES, partial(_random_resize, name))
            for name in ("RandomResize", "RandomShortestSize", "ScaleJitter")
        },
        "RandomZoomOut": (
            Does.MOVES,
            lambda api, each, pixels: sizes.zoom_out(
                each, augments.below(each.p), _fill(api, each, pixels.channels, "constant")
            ),
        ),
        **{name: (Does.AUGMENTS, read) for name, read in augments.READERS_OF_V2.items()},
        "ToPureTensor": (Does.CONVERTS | Does.LEAVES | Does.BYTES, None),
        "Identity": (Does.NOTHING, None),
    },
}


# Arguments


def _pair(each: Any) -> T.Size:
    """(height, width) of an object whose size was made a pair when it was built."""
    if type(each.size) not in (list, tuple) or len(each.size) != 2:
        raise TypeError(f"size is {each.size!r}")
    return T.edge_pair(each.size)


def _crop_size(each: Any) -> T.Size:
    """As _pair; Pillow warns of crops beyond its limit, so that they stay with it."""
    from PIL import Image

    height, width = _pair(each)
    if Image.MAX_IMAGE_PIXELS is not None and height * width > Image.MAX_IMAGE_PIXELS:
        raise ValueError(f"a crop of {height}x{width} exceeds PIL.Image.MAX_IMAGE_PIXELS")
    return height, width


def _integers(value: Any, name: str) -> int | list[int]:
    if type(value) is int:
        return value
    if type(value) in (list, tuple) and all(type(number) is int for number in value):
        return list(value)
    raise TypeError(f"{name} is {value!r}")


def _numbers(each: Any, name: str) -> tuple[float, ...] | None:
    value = getattr(each, name)
    if value is None:
        return None
    if type(value) not in (list, tuple) or not all(type(number) in (int, float) for number in value):
        raise TypeError(f"{name} is {value!r}")
    return tuple(value)


def _flag(each: Any, name: str) -> bool:
    value = getattr(each, name)
    if type(value) is not bool:
        raise TypeError(f"{name} is {value!r}")
    return value


def fill_of(each: Any, kind: type) -> Any:
    """What one of v2's transforms fills a border of an object of that type with."""
    return each._fill.get(kind, each._fill.get("others"))


def _fill(api: T.Api, each: Any, channels: int, mode: Any) -> float | list[float]:
    """torchvision.transforms._functional_pil._parse_fill; with other modes than constant the fill is unused."""
    from PIL import Image

    if api == "v2" and Image.Image in each._fill:
        # torchvision looks a PIL image's own class up, which is another as long as it is a file's.
        raise TypeError("its fill depends on the type of an image")
    value = each.fill if api == "v1" else each._fill.get("others")
    if mode != "constant" or value is None:
        return 0
    values = list(value) if type(value) in (list, tuple) else [value]
    if not all(type(number) in (int, float, bool) for number in values):
        raise TypeError(f"fill is {value!r}")
    if len(values) not in (1, channels):
        raise ValueError(f"fill has {len(values)} values for {channels} channels")
    return values


def _filter(api: T.Api, each: Any) -> str:
    mode = each.interpolation
    if type(mode).__name__ == "InterpolationMode":
        mode = mode.value
    elif api == "v1" or not isinstance(mode, str | int):
        raise TypeError(f"interpolation is {mode!r}")
    return T.filter_name(mode)


# The look-up table


# A table is a function of its key, and a plan is checked again at each epoch.
_tables: OrderedDict[tuple[Any, ...], Table] = OrderedDict()
_TABLES_MAX = 64


def _table(tail: tuple[Any, ...], channels: int, form: Form) -> Table:
    names = ", ".join(map(_name, tail))
    key = (form.key(), channels, *((type(each), _key(augments.arguments_of(each), _name(each))) for each in tail))
    table = _tables.get(key)
    if table is None:
        try:
            about = repr((key, libraries.stamp("torchvision"), np.__version__, torch.get_default_dtype()))
            table = form.table(tail, channels, names, hashlib.blake2b(about.encode(), digest_size=16).hexdigest())
        except RefusalError:
            raise
        except Exception as error:  # whatever it is, torch's own path is to raise it
            raise TransformRefusal(names, f"it raises {type(error).__name__}: {error}", "TENSOR_STEPS") from None
        _tables[key] = table
        if len(_tables) > _TABLES_MAX:
            _tables.popitem(last=False)
    # Not the table's matter: torchvision.tv_tensors.set_return_type changes it.
    if type(torch.stack([table.sample])) is not torch.Tensor:
        raise TransformRefusal(names, f"a batch of {_path(type(table.sample))} is not a plain tensor", "TENSOR_STEPS")
    return table


def known_table(tail: Sequence[Any], channels: int) -> Table | None:
    """What torchvision's own transforms make of every byte of a PIL image; None where others are among them, or it is
    none."""
    try:
        if tail and all(type(each) in _operations() for each in tail):
            return copy.copy(_table(tuple(tail), channels, Form(channels)))
    except RefusalError:
        pass
    return None


def _key(value: Any, name: str) -> Any:
    """A hashable stand-in that is equal only where the values are the same bits."""
    if value is None or isinstance(value, bool | int | str | type | torch.dtype):
        return type(value), value
    if isinstance(value, float):
        return type(value), value.hex()
    if type(value) in (list, tuple):
        return type(value), tuple(_key(item, name) for item in value)
    if type(value) is dict:
        return dict, tuple((_key(k, name), _key(v, name)) for k, v in value.items())
    if type(value) is torch.Tensor and value.device.type == "cpu":
        plain = value.detach()
        return torch.Tensor, value.dtype, tuple(value.shape), value.requires_grad, repr(plain.tolist())
    if isinstance(value, np.ndarray | np.generic):
        return type(value), value.dtype.str, value.shape, value.tobytes()
    raise TransformRefusal(name, f"it has an argument of type {_path(type(value))}", "TRANSFORM_ARGUMENT")


# Names


def _path(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _name(transform: Any) -> str:
    """One line for a person: the repr, cut to fit; of a class of the user's its name."""
    if not _is_of_library(transform):
        return name_of(transform)
    try:
        text = " ".join(repr(transform).split())
    except Exception:  # a broken repr is no reason to fail
        text = type(transform).__name__
    return text if len(text) <= 100 else f"{text[:97]}..."
