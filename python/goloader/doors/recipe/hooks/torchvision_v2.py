"""torchvision's tensors: files decoded to tensors, tv_tensors.Image and Mask, v2's resize and colours of uint8 tensors.

Crops, flips, conversions and Normalize need no hooks: they call the tensor's own methods.
"""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Callable, Container, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from PIL import Image
from torchvision import tv_tensors
from torchvision.io import image as io
from torchvision.transforms.v2 import Compose, _misc, _utils
from torchvision.transforms.v2.functional import _color, _geometry
from torchvision.transforms.v2.functional import _misc as functional_misc
from torchvision.tv_tensors import _torch_function_helpers as returned

from .... import _steps
from ....plan.transforms.torchvision import known_classes
from .. import chains, recipe, switch
from ..files import header
from ..files.other_headers import Header
from ..recipe import STEPS_MAX, Recipe, Source
from ..session import TroubleError
from ..stand_ins.array import StandInArray
from ..stand_ins.image import StandInImage, derive, is_plain
from ..stand_ins.layout import Layout
from ..stand_ins.tensor import CLASSES, StandInTensor, become_real, bytes_of, over
from . import blur
from .swap import Hook, recorder
from .tensors import by_grid, tensor_of

_FILTERS = {"bilinear": 16, "bicubic": 17, "nearest": 18}  # core/recipe.Filter


def hooks() -> tuple[Hook, ...]:
    return (
        Hook(io, "read_image", _read_image),
        Hook(io, "decode_image", _decode_image),
        Hook(_geometry, "resize_image", _resize_image),
        Hook(_geometry, "pad_image", _pad_image),
        Hook(functional_misc, "_gaussian_blur_image_pil", blur.hook(functional_misc)),
        Hook(functional_misc, "gaussian_blur_image", _gaussian_blur_image),
        Hook(_geometry, "affine_image", _affine_image),
        Hook(_geometry, "rotate_image", _rotate_image),
        Hook(_geometry, "perspective_image", _perspective_image),
        Hook(_color, "_rgb_to_grayscale_image", _grey),
        *(Hook(_color, f"adjust_{name}_image", recorder(partial(_by_factor, name))) for name in _FACTORS),
        *(Hook(_color, f"{name}_image", recorder(partial(_by_levels, name))) for name in ("autocontrast", "equalize")),
        Hook(_color, "permute_channels_image", _permute_channels_image),
        Hook(_color, "_permute_channels_image_pil", _permute_channels_image_pil),
        Hook(Compose, "forward", partial(chains.call, Compose), known_classes("v2"), ("forward",)),
        *_TV_TENSORS,
    )


# ---- tv_tensors


class _StandInTVTensor(StandInTensor):
    """A tensor of a class of tv_tensors that nobody has made yet."""

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, arguments: tuple[Any, ...] = (), options: dict[str, Any] | None = None
    ) -> Any:
        if returned._must_return_subclass():
            for each in arguments:
                if isinstance(each, _StandInTVTensor):
                    become_real(each, "set_return_type")
        made = super().__torch_function__(function, types, arguments, options)
        if type(made) is StandInTensor and function in _KEEPS_CLASS and isinstance(arguments[0], cls):
            return over(made.memory, made.layout_, cls)
        return made


class StandInTVImage(_StandInTVTensor, tv_tensors.Image):  # type: ignore[misc]
    """A tv_tensors.Image that nobody has made yet."""

    real_class = tv_tensors.Image


class StandInTVMask(_StandInTVTensor, tv_tensors.Mask):  # type: ignore[misc]
    """A tv_tensors.Mask that nobody has made yet."""

    real_class = tv_tensors.Mask


def settle(standing: Container[str]) -> None:
    """There are stand-ins for tv_tensors only with all hooks for what would take them for something else."""
    for kind in (StandInTVImage, StandInTVMask):
        if all(hook.text in standing for hook in _TV_TENSORS):
            CLASSES[kind.real_class] = kind
        else:
            CLASSES.pop(kind.real_class, None)


_KEEPS_CLASS = returned._FORCE_TORCHFUNCTION_SUBCLASS


def _wrap(original: Any, *wrappee: Any, **options: Any) -> Any:
    like = options.get("like")  # its own parameters are behind a decorator in some versions
    if isinstance(like, _StandInTVTensor) and len(wrappee) == 1:
        return wrappee[0].as_subclass(like.real_class)
    return original(*wrappee, **options)


def _to_tensor(original: Any, data: Any, dtype: Any, device: Any, requires_grad: Any) -> Any:
    if type(data) is StandInArray:
        data, dtype, device = torch.as_tensor(data, dtype=dtype, device=device), None, None
    if isinstance(data, StandInTensor) and dtype is None and device is None and not requires_grad:
        return data
    return original(data, dtype, device, requires_grad)


# What v2 finds by an object's exact type.


def _to_dtype(original: Any, self: Any, inpt: Any, params: Any) -> Any:
    if isinstance(inpt, StandInTensor) and isinstance(self.dtype, dict) and inpt.real_class in self.dtype:
        other = copy.copy(self)
        other.dtype = {**self.dtype, type(inpt): self.dtype[inpt.real_class]}
        return original(other, inpt, params)
    return original(self, inpt, params)


def _get_fill(original: Any, fill_dict: Any, inpt_type: Any) -> Any:
    if isinstance(inpt_type, type) and issubclass(inpt_type, StandInTensor):
        inpt_type = inpt_type.real_class
    if inpt_type is StandInImage:
        inpt_type = Image.Image if Image.Image in fill_dict and _is_made() else type(None)
    return original(fill_dict, inpt_type)


def _is_made() -> bool:
    """Whether the image that a transform asks for a fill for would be an Image.Image, not of a file's own class.

    Raises TroubleError where it is no transform of torchvision's that asks: only those are known to have the image.
    """
    frame: Any = sys._getframe(1)
    while frame is not None and _is_of(frame.f_globals, "goloader", "torchvision"):
        if _is_of(frame.f_globals, "torchvision"):
            for name in ("inpt", "image"):  # what its transforms call it
                if type(image := frame.f_locals.get(name)) is StandInImage:
                    return image.format is None
        frame = frame.f_back
    raise TroubleError("a fill for the class of a file's image, asked for by code that is not torchvision's")


def _is_of(variables: dict[str, Any], *packages: str) -> bool:
    return str(variables.get("__name__")).partition(".")[0] in packages


_TV_TENSORS = (
    Hook(tv_tensors, "wrap", _wrap),
    Hook(tv_tensors.TVTensor, "_to_tensor", _to_tensor),
    Hook(_misc.ToDtype, "transform", _to_dtype),
    Hook(_utils, "_get_fill", _get_fill),
)


# ---- files


class _TorchvisionSource(Source):
    """A JPEG or PNG file that torchvision decodes to a tensor [channels, height, width].

    decode   what decodes a tensor of its bytes
    decoder  the behaviour that it stands for
    """

    __slots__ = ("decode", "decoder")
    decode: Callable[[torch.Tensor], torch.Tensor]
    decoder: str
    reader = recipe.TORCHVISION

    def load(self) -> Any:
        self.verify()
        with switch.off():
            content = self.data if not self.path else _content(self.data)
            return self.decode(torch.from_numpy(np.frombuffer(content, np.uint8).copy()))


def _content(path: bytes) -> bytes:
    with open(path, "rb") as file:
        return file.read()


@recorder
def _read_image(original: Any, path: Any, mode: Any, apply_exif_orientation: Any) -> StandInTensor | None:
    if not isinstance(path, (str, os.PathLike)) or apply_exif_orientation:
        return None
    return _decoded(_file(os.fsencode(path)), mode)


@recorder
def _decode_image(original: Any, input: Any, mode: Any, apply_exif_orientation: Any) -> StandInTensor | None:
    source = None
    if apply_exif_orientation:
        pass
    elif isinstance(input, (str, os.PathLike)):
        source = _file(os.fsencode(input))
    elif type(input) is torch.Tensor and input.dtype == torch.uint8 and input.ndim == 1 and input.is_contiguous():
        content = input.numpy().tobytes()
        source = _source(content, content, header.probe(content))
    made, session = _decoded(source, mode), switch.current()
    if made is None and session is not None:
        session.became_real("decode_image of a file that the core leaves to torchvision")
    return made


def _file(path: bytes) -> _TorchvisionSource | None:
    probed = header.probe_path(path)
    return None if probed is None else _source(probed.head, os.path.abspath(path), probed.header, probed.stamp)


# Of a PNG file: bits a sample, and whether it is interlaced.
_PNG_BITS, _PNG_INTERLACE = 24, 28


def _source(
    head: bytes, data: bytes, found: Header | None, stamp: tuple[int, int] | None = None
) -> _TorchvisionSource | None:
    """A file that begins so; None for one that the core leaves to torchvision, as core/decode/stored.go has it."""
    if found is None or found[1] not in ("L", "RGB"):
        return None
    decoder = "torchvision.decode.jpeg"
    if not head.startswith(header.JPEG):
        decoder, pixels = "torchvision.decode.png", head.find(b"IDAT")
        in_order = head[_PNG_BITS] == 8 and head[_PNG_INTERLACE] == 0
        if not head.startswith(header.PNG) or not in_order or pixels < 0 or b"acTL" in head[:pixels]:
            return None
    size, mode = found
    made = _TorchvisionSource(data, None, size, mode, stamp)
    made.decoder = decoder
    return made


def _decoded(source: _TorchvisionSource | None, mode: Any) -> StandInTensor | None:
    try:
        wanted = io.ImageReadMode[mode.upper()] if isinstance(mode, str) else mode
    except KeyError:
        return None
    session = switch.current()
    if session is not None and session.streams and source is not None and not source.sound:
        return None
    if source is None or not switch.holds(source.decoder):
        return None
    if wanted is io.ImageReadMode.RGB:
        source.mode = "RGB"
    elif wanted is not io.ImageReadMode.UNCHANGED or not switch.holds("torchvision.decode.unchanged"):
        return None
    source.decode = lambda content: io.decode_image(content, wanted)
    return tensor_of(Recipe.of(source), "hwc")


# ---- resize, pad and blur


@recorder
def _resize_image(
    original: Any, image: Any, size: Any, interpolation: Any, max_size: Any, antialias: Any
) -> StandInTensor | None:
    shown = bytes_of(image)
    mode = getattr(interpolation, "value", interpolation)
    if shown is None or mode not in _FILTERS:
        return None
    if mode == "nearest":
        known = switch.holds("torch.resize.nearest")
    else:
        known = antialias is True and switch.holds(f"torchvision.resize.{mode}")
    if not known:
        return None
    height, width = _geometry._compute_resized_output_size((shown.size[1], shown.size[0]), size=size, max_size=max_size)
    # Which way a tensor with extents of 1 lies is anybody's choice, and torch fails where one pixel comes out.
    if min(height, width, *shown.size) < 2 or len(shown.steps) >= STEPS_MAX or (width, height) == shown.size:
        return None
    steps = (_steps.resize(width, height, _FILTERS[mode]),)
    given = ([height, width], interpolation, None, True)
    made = shown.then(original, given, steps, (width, height), shown.mode)
    last = image.layout_.strides == (1, 3 * shown.size[0], 3)
    return tensor_of(made, "hwc" if last and shown.mode == "RGB" else "chw")


@recorder
def _pad_image(original: Any, image: Any, padding: Any, fill: Any, mode: Any) -> StandInTensor | None:
    shown = bytes_of(image)
    value = 0 if fill is None or mode == "edge" else fill
    if shown is None or len(shown.steps) >= STEPS_MAX or mode not in ("constant", "edge"):
        return None
    if type(value) not in (int, float) or value not in range(256) or not isinstance(padding, (int, list, tuple)):
        return None
    left, right, top, bottom = _geometry._parse_pad_padding(padding)
    size = shown.size[0] + left + right, shown.size[1] + top + bottom
    if min(left, right, top, bottom) < 0 or max(size) >= 1 << 20 or min(*size, *shown.size) < 2:
        return None
    steps = (_steps.pad(left, top, right, bottom, mode, (int(value),)),)
    made = shown.then(original, (padding, fill, mode), steps, size, shown.mode)
    return tensor_of(made, "chw")  # torch takes no tensor of one image for channels_last here


@recorder
def _gaussian_blur_image(original: Any, image: Any, counts: Any, sigma: Any) -> StandInTensor | None:
    shown = bytes_of(image)
    if shown is None or len(shown.steps) >= STEPS_MAX or min(shown.size) < 2:
        return None
    step = blur.blur_step(functional_misc, counts, sigma, shown.size, shown.mode)
    if step is None:
        return None
    made = shown.then(original, (blur.kept(counts), blur.kept(sigma)), (step,), shown.size, shown.mode)
    return tensor_of(made, "chw")


# ---- transforms by a grid


@recorder
def _affine_image(
    original: Any,
    image: Any,
    angle: Any,
    translate: Any,
    scale: Any,
    shear: Any,
    interpolation: Any,
    fill: Any,
    center: Any,
) -> StandInTensor | None:
    kept = (*map(blur.kept, (angle, translate, scale, shear, interpolation, fill, center)),)
    if not (_are_numbers(angle, scale) and _are_two(translate) and _are_two(shear) and scale > 0):
        return None
    if center is not None and not _are_two(center):
        return None

    def matrix(size: tuple[int, int]) -> Sequence[float]:
        moved: list[float] = [*map(float, translate)]
        found: list[float] = _geometry._get_inverse_affine_matrix(
            _from_middle(center, size), float(angle), moved, scale, list(shear)
        )
        return found

    return by_grid("v2", original, image, kept, interpolation, fill, matrix)


@recorder
def _rotate_image(
    original: Any, image: Any, angle: Any, interpolation: Any, expand: Any, center: Any, fill: Any
) -> StandInTensor | None:
    if not _are_numbers(angle) or expand is not False or not (center is None or _are_two(center)):
        return None
    if center is None and angle % 90 == 0:  # some of these are quarter turns
        return None
    kept = angle, interpolation, expand, blur.kept(center), blur.kept(fill)

    def matrix(size: tuple[int, int]) -> Sequence[float]:
        middle, still = _from_middle(center, size), [0.0, 0.0]
        found: list[float] = _geometry._get_inverse_affine_matrix(middle, -(angle % 360), still, 1.0, still)
        return found

    return by_grid("v2", original, image, kept, interpolation, fill, matrix)


@recorder
def _perspective_image(
    original: Any, image: Any, startpoints: Any, endpoints: Any, interpolation: Any, fill: Any, coefficients: Any
) -> StandInTensor | None:
    if startpoints is not None or endpoints is not None or type(coefficients) not in (list, tuple):
        return None
    if len(coefficients) != 8 or not _are_numbers(*coefficients):
        return None
    kept = None, None, interpolation, blur.kept(fill), list(coefficients)
    return by_grid("v2", original, image, kept, interpolation, fill, lambda _: kept[-1])


def _are_numbers(*values: Any) -> bool:
    return all(type(value) in (int, float) for value in values)


def _are_two(values: Any) -> bool:
    return isinstance(values, (list, tuple)) and len(values) == 2 and _are_numbers(*values)


def _from_middle(center: Any, size: tuple[int, int]) -> list[float]:
    """A place in pixels as v2 counts it in tensors."""
    if center is None:
        return [0.0, 0.0]
    return [float(at) - length * 0.5 for at, length in zip(center, size, strict=True)]


# ---- colours. Posterize, solarize and invert need no hooks: they change each byte by itself, by numbers that few draw.

# Bounds of the one number that a colour is changed by.
_FACTORS = dict.fromkeys(("brightness", "contrast", "saturation", "sharpness"), (0, 1e6)) | {"hue": (-0.5, 0.5)}


def _by_factor(name: str, original: Any, image: Any, factor: Any) -> StandInTensor | None:
    low, high = _FACTORS[name]
    if type(factor) not in (int, float) or not low <= factor <= high:
        return None
    return _coloured(name, original, image, (factor,), float(factor))


def _by_levels(name: str, original: Any, image: Any) -> StandInTensor | None:
    return _coloured(name, original, image, ())


@recorder
def _grey(original: Any, image: Any, num_output_channels: Any, preserve_dtype: Any) -> StandInTensor | None:
    if num_output_channels != 1 or preserve_dtype is not True:
        return None
    return _coloured("grey", original, image, (num_output_channels, preserve_dtype))


def _coloured(
    name: str, original: Any, image: Any, arguments: tuple[Any, ...], factor: float = 0.0
) -> StandInTensor | None:
    """Records a colour by its name in _steps.torch_colour; None if it cannot be."""
    shown = bytes_of(image)
    if shown is None or len(shown.steps) >= STEPS_MAX or min(shown.size) < 2:
        return None
    fused = switch.value("torch.add")
    if fused is None or torch.get_default_dtype() != torch.float32 or not switch.holds(f"torchvision.tensor.{name}"):
        return None
    if shown.mode != "RGB" and name in ("grey", "saturation", "hue"):
        return None
    if name == "contrast" and shown.size[0] * shown.size[1] > _steps.TORCH_MEAN_MAX:
        return None
    left = _order_after(name, original, arguments, image.layout_, 3 if shown.mode == "RGB" else 1)
    if left is None:
        return None
    step = _steps.torch_colour(name, fused, factor)
    mode = "L" if name == "grey" else shown.mode
    return tensor_of(shown.then(original, arguments, (step,), shown.size, mode), left)


@recorder
def _permute_channels_image(original: Any, image: Any, permutation: Any) -> StandInTensor | None:
    shown = bytes_of(image)
    if shown is None or len(shown.steps) >= STEPS_MAX or min(shown.size) < 2:
        return None
    order = _permutation(permutation, 3 if shown.mode == "RGB" else 1)
    if order is None:
        return None
    left = _order_after("permute_channels", original, (list(order),), image.layout_, len(order))
    if left is None:
        return None
    return tensor_of(shown.then(original, (order,), (_steps.select(order),), shown.size, shown.mode), left)


@recorder
def _permute_channels_image_pil(original: Any, image: Any, permutation: Any) -> StandInImage | None:
    order = _permutation(permutation, 3) if is_plain(image) and image.mode == "RGB" else None
    return None if order is None else derive(image, original, (order,), (_steps.select(order),), image.size, "RGB")


def _permutation(order: Any, channels: int) -> tuple[int, ...] | None:
    order = order.tolist() if type(order) is torch.Tensor else order
    if not isinstance(order, (list, tuple)) or any(type(each) is not int for each in order):
        return None
    return tuple(order) if sorted(order) == list(range(channels)) else None


_orders: dict[tuple[str, int, bool, bool], str | None] = {}


def _order_after(name: str, original: Any, arguments: tuple[Any, ...], layout: Layout, channels: int) -> str | None:
    """How what a function makes of a tensor [channels, height, width] lies in memory, if it fills a block."""
    _, height, width = layout.shape
    last = channels == 3 and layout.strides[0] == 1
    whole = layout.strides[1] == (3 * width if last else width) and (last or layout.strides[0] == height * width)
    key = (name, channels, last, whole)
    if key not in _orders:
        small = torch.arange(42 * channels, dtype=torch.uint8).view(channels, 6, 7)
        if last:
            small = small.permute(1, 2, 0).contiguous().permute(2, 0, 1)
        with switch.off():
            made = original(small if whole else small[:, 1:5, 1:6], *arguments)
        inner = len(made) * made.shape[2]
        _orders[key] = "chw" if made.is_contiguous() else "hwc" if made.stride() == (1, inner, len(made)) else None
    return _orders[key]
