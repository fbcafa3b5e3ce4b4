"""torchvision's behaviours: what its transforms draw, in which order, and what they do with it.

Each is run whole, by torchvision's own code, on small images; it draws from a generator of its own.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Container, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from .. import _native, _steps
from .._core import Augmentation
from .._errors import CoreError
from ..adapters.python import caught_warnings
from .behaviour import Behaviour, Late, golden, picture
from .pillow import CMYK, JPEG, OF_ALPHA_OR_PALETTES, PNG, files_of

torch: Any = Late("torch")
Image: Any = Late("PIL.Image")
_MODULES = {"v1": "torchvision.transforms", "v2": "torchvision.transforms.v2"}
_TIMES = 4
_SEED = 13


def _drawing_apart() -> Any:
    """A context in which this thread draws from a generator of its own, float32 on the CPU."""
    from torch.overrides import TorchFunctionMode

    generator = torch.Generator().manual_seed(_SEED)
    drawing = {torch.rand, torch.randint, torch.randperm, torch.Tensor.uniform_, torch.Tensor.random_}
    # Of its numbers processors have several kinds.
    noise = torch.Tensor.normal_
    floats = {torch.rand, torch.empty, torch.tensor}

    class Apart(TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
        ) -> Any:
            options = dict(kwargs or {})
            func = torch.Tensor.uniform_ if func is noise else func
            if func in drawing:
                options["generator"] = generator
            if func in (torch.rand, torch.empty):
                options.setdefault("dtype", torch.float32)
            if func in floats | {torch.randint, torch.randperm}:
                options.setdefault("device", "cpu")
            return func(*args, **options)

    return Apart()


def _run(api: str, make: Callable[[Any], list[Any]], channels: tuple[int, ...], tensor: bool) -> Iterator[Any]:
    """What transforms make of images of two sizes, again and again."""
    transforms = make(sys.modules[_MODULES[api]])
    with _drawing_apart():
        for transform in transforms:
            for count in channels:
                for size in ((29, 17), (14, 31)):
                    pixels = picture(*size, count) // 2 + 40  # as contrast is to be gained
                    image: Any = Image.frombytes("RGB" if count == 3 else "L", size, pixels.tobytes())
                    if tensor:
                        image = torch.from_numpy(pixels.reshape(*pixels.shape[:2], -1)).permute(2, 0, 1).contiguous()
                    yield from (transform(image) for _ in range(_TIMES))


def _nearest() -> Any:
    from torchvision.transforms import InterpolationMode

    return InterpolationMode.NEAREST


def _params(transform: Any) -> Any:
    """What one of v2's draws; before 0.21 the method was private."""
    return (transform.make_params if hasattr(transform, "make_params") else transform._get_params)([])


def _jittered(api: str) -> Iterator[Any]:
    """What is drawn, and in which order it is done; the factors to four digits, as torch may round once or twice."""
    module = sys.modules[_MODULES[api]]
    image = Image.frombytes("RGB", (29, 17), picture(29, 17).tobytes())
    drawn = module.ColorJitter(0.4, 0.3, 0.2, 0.1)
    fixed = module.ColorJitter((0.5, 0.5), (1.25, 1.25), (1.75, 1.75), (0.125, 0.125))
    with _drawing_apart():
        for _ in range(_TIMES):
            made = (
                drawn.get_params(drawn.brightness, drawn.contrast, drawn.saturation, drawn.hue)
                if api == "v1"
                else _params(drawn).values()
            )
            order, *factors = made
            yield order.tolist(), [round(factor * 1e4) for factor in factors]
            yield fixed(image)


def _blurred(api: str) -> Iterator[Any]:
    """What is drawn: weights are tried apart."""
    transform = sys.modules[_MODULES[api]].GaussianBlur(3, (0.25, 4))
    with _drawing_apart():
        for _ in range(_TIMES):
            drawn = [transform.get_params(0.25, 4)] * 2 if api == "v1" else _params(transform)["sigma"]
            yield [round(sigma * 1e4) for sigma in drawn]


# Each class that goloader knows: digests of v1 and of v2, if it is in it, and what is tried of it; or a function that
# tries it.
_CLASSES: dict[
    str, tuple[tuple[int | None, int | None], Callable[[Any], list[Any]] | Callable[[str], Iterator[Any]]]
] = {
    "Resize": ((787385193, 787385193), lambda m: [
        m.Resize(7, _nearest()),
        m.Resize((9, 5), _nearest()),
        m.Resize(11, _nearest(), max_size=17),
    ]),
    "CenterCrop": ((2954940778, 2954940778), lambda m: [m.CenterCrop(12), m.CenterCrop((15, 20))]),
    "RandomCrop": ((3904449091, 3959435257), lambda m: [
        m.RandomCrop(12),
        m.RandomCrop((17, 14)),
        m.RandomCrop(16, padding=(1, 2, 3, 4), fill=7),
        m.RandomCrop((20, 26), pad_if_needed=True, padding_mode="reflect"),
    ]),
    "RandomResizedCrop": ((126272633, 126272633), lambda m: [
        m.RandomResizedCrop((8, 6), interpolation=_nearest()),
        m.RandomResizedCrop(9, scale=(0.9, 2.0), ratio=(0.2, 5.0), interpolation=_nearest()),
    ]),
    "RandomHorizontalFlip": ((1898257100, 1898257100), lambda m: [
        m.RandomHorizontalFlip(), m.RandomHorizontalFlip(0.3),
    ]),
    "RandomVerticalFlip": ((3648046276, 3648046276), lambda m: [
        m.RandomVerticalFlip(), m.RandomVerticalFlip(0.3),
    ]),
    "RandomRotation": ((433842592, 433842592), lambda m: [
        m.RandomRotation(40, fill=9),
        m.RandomRotation((20, 300), center=(3, 11)),
        m.RandomRotation(170, expand=True),
        *(m.RandomRotation((angle, angle)) for angle in (90, 180, 360)),
        m.RandomRotation((-90, -90), expand=True),
    ]),
    "RandomAffine": ((2674872124, 2674872124), lambda m: [
        m.RandomAffine(30, (0.3, 0.2), (0.5, 1.5), 20, fill=9),
        m.RandomAffine((50, 70), shear=(-5, 10, 3, 17), center=(2, 9)),
    ]),
    "Pad": ((3916419735, 3916419735), lambda m: [
        m.Pad((1, 2, 3, 4), fill=7),
        *(m.Pad((4, 3), padding_mode=mode) for mode in ("edge", "reflect", "symmetric")),
    ]),
    "Grayscale": ((786921476, 786921476), lambda m: [m.Grayscale(1), m.Grayscale(3)]),
    "RGB": ((None, 1558891956), lambda m: [m.RGB()]),
    "ColorJitter": ((610424239, 610424239), _jittered),
    "GaussianBlur": ((160057190, 160057190), _blurred),
    "RandomGrayscale": ((1513241609, 1513241609), lambda m: [m.RandomGrayscale(0.4)]),
    "RandomInvert": ((3168908058, 3168908058), lambda m: [m.RandomInvert()]),
    "RandomPosterize": ((3566594127, 3566594127), lambda m: [m.RandomPosterize(3)]),
    "RandomSolarize": ((921371574, 921371574), lambda m: [m.RandomSolarize(100)]),
    "RandomAutocontrast": ((4168439292, 4168439292), lambda m: [m.RandomAutocontrast()]),
    "RandomEqualize": ((141195135, 141195135), lambda m: [m.RandomEqualize()]),
    "RandomAdjustSharpness": ((3874909012, 3874909012), lambda m: [m.RandomAdjustSharpness(1.7)]),
    "RandomApply": ((2250948398, 2250948398), lambda m: [
        m.RandomApply([m.RandomHorizontalFlip(), m.CenterCrop(9)], 0.6),
    ]),
    "RandomPhotometricDistort": ((None, 412081419), lambda m: [m.RandomPhotometricDistort()] * 4),
    "RandomChannelPermutation": ((None, 3411567766), lambda m: [m.RandomChannelPermutation()]),
    "RandomResize": ((None, 539645046), lambda m: [m.RandomResize(9, 30, _nearest())]),
    "RandomShortestSize": ((None, 798206234), lambda m: [
        m.RandomShortestSize([9, 20, 31], interpolation=_nearest()),
        m.RandomShortestSize(12, 17, _nearest()),
    ]),
    "ScaleJitter": ((None, 1719412072), lambda m: [m.ScaleJitter((20, 30), interpolation=_nearest())]),
    "RandomZoomOut": ((None, 3045632918), lambda m: [m.RandomZoomOut((9, 8, 7), (1.5, 3.1), 0.7)]),
    "RandAugment": ((2238636524, 2006562035), lambda m: [m.RandAugment(), m.RandAugment(5, 4)]),
    "TrivialAugmentWide": ((3701426068, 502224525), lambda m: [m.TrivialAugmentWide()] * 4),
    "AutoAugment": ((3208413807, 852625364), lambda m: [m.AutoAugment()] * 4),
    "ImageClassification": ((1689277056, None), lambda m: [
        m._presets.ImageClassification(crop_size=12, resize_size=14, interpolation=_nearest())
    ]),
    "RandomErasing": ((2379020420, 2379020420), lambda m: [
        m.RandomErasing(0.7, value=200),
        m.RandomErasing(1, (0.3, 0.9), (0.2, 6), value=3),
        m.RandomErasing(1, value="random"),
    ]),
}  # fmt: skip


def _class(api: str, name: str, known: int) -> Behaviour:
    transforms: Any = _CLASSES[name][1]
    channels = (3, 1) if name in ("Pad", "Grayscale", "RandomRotation") else (3,)
    if transforms in (_jittered, _blurred):
        make = partial(transforms, api)
    else:
        make = partial(_run, api, transforms, channels, name == "RandomErasing")
    return golden(_MODULES[api], f"{api} {name}", make, known)


# ---- tensors


def _noisy() -> bool:
    """Whether GaussianNoise of float32 draws once, and what it does with that."""
    from torch.overrides import TorchFunctionMode

    module = sys.modules[_MODULES["v2"]]
    image = torch.linspace(0, 1, 3 * 8 * 6, dtype=torch.float32, device="cpu").view(3, 8, 6)
    noise = image.flip(0, 2) * 3 - 1
    drawn = []

    class Given(TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
        ) -> Any:
            if func is torch.randn_like and args[0] is image and not kwargs:
                drawn.append(func)
                return noise
            return func(*args, **kwargs or {})

    tried = ((0.0, 0.1, True), (0.25, 0.5, True), (-1, 2, False))
    for mean, sigma, clip in tried:
        with Given():
            made = module.GaussianNoise(mean, sigma, clip)(image)
        want = image + (mean + noise * sigma)
        if not torch.equal(made, want.clamp(0, 1) if clip else want):
            return False
    return len(drawn) == len(tried)


# (width, height) before and after.
_RESIZES = (((31, 23), (17, 19)), ((9, 7), (30, 22)), ((40, 11), (12, 40)))


def _resized(mode: str) -> Iterator[Any]:
    """Of uint8 tensors; another arithmetic where torch has no kernels of bytes."""
    from torchvision.transforms import InterpolationMode
    from torchvision.transforms.v2.functional import resize_image

    for size, out in _RESIZES:
        image = torch.from_numpy(picture(*size).reshape(3, size[1], size[0]))
        yield resize_image(image, [out[1], out[0]], InterpolationMode(mode))


def _turned_v1() -> Iterator[Any]:
    """Small images: of large ones a sum may be rounded otherwise, which is torch.grid's to find."""
    from torchvision.transforms import _functional_tensor, functional

    for image, fill in _filled():
        for mode in (functional.InterpolationMode.NEAREST, functional.InterpolationMode.BILINEAR):
            yield functional.rotate(image, 90.0, mode, fill=fill)
            yield functional.rotate(image, -31.5, mode, fill=fill, center=[2, 5.5])
            yield functional.affine(image, 12.0, [1, -2], 0.8, [9.0, -4.0], mode, fill)
            yield functional.affine(image, -7.0, [0, 1], 1.3, [0.0, 3.0], mode, fill, [3, 4])
            yield _functional_tensor.perspective(image, [*_PERSPECTIVE], mode.value, fill)


def _turned_v2() -> Iterator[Any]:
    """The same, and quarter turns."""
    from torchvision.transforms.v2 import functional

    for image, fill in _filled():
        for angle in (0.0, 90.0, 180.0, 270.0, 360.0):
            yield functional.rotate_image(image[..., :6, :6], angle, fill=fill).contiguous()
        for mode in (functional.InterpolationMode.NEAREST, functional.InterpolationMode.BILINEAR):
            yield functional.rotate_image(image, 90.0, mode, fill=fill)
            yield functional.rotate_image(image, -31.5, mode, fill=fill, center=[2, 5.5])
            yield functional.affine_image(image, 12.0, [1, -2], 0.8, [9.0, -4.0], mode, fill)
            yield functional.affine_image(image, -7.0, [0, 1], 1.3, [0.0, 3.0], mode, fill, [3, 4])
            yield functional.perspective_image(image, None, None, mode, fill, [*_PERSPECTIVE])


_PERSPECTIVE = (0.9, 0.1, 0.4, -0.05, 1.1, -0.3, 0.01, -0.02)


def _filled() -> Iterator[tuple[Any, Any]]:
    for count, fill in ((3, None), (3, [7.0]), (3, [200.0, 0.0, 90.0]), (1, [120.0])):
        for size in ((9, 7), (7, 8)):
            pixels = picture(*size, count).reshape(*size[::-1], count)
            yield torch.from_numpy(pixels).permute(2, 0, 1), fill


def _coloured(name: str, *arguments: Any) -> Iterator[Any]:
    from torchvision.transforms.v2 import functional

    for count in (3, 1) if name not in ("rgb_to_grayscale", "adjust_saturation", "adjust_hue") else (3,):
        image = torch.from_numpy((picture(29, 17, count) // 2 + 40).reshape(17, 29, count)).permute(2, 0, 1)
        for each in (image, image.contiguous()):
            yield getattr(functional, f"{name}_image")(each, *arguments).contiguous()


def _in_crops(module: str, of: Callable[[Any], list[Any]]) -> Iterator[Any]:
    """What functions make of an image and of a tensor: several."""
    for size in ((29, 17), (14, 31)):
        pixels = picture(*size)
        images = Image.frombytes("RGB", size, pixels.tobytes()), torch.from_numpy(pixels).permute(2, 0, 1).contiguous()
        for image in images:
            for crop in of(sys.modules[module]):
                for each in crop(image):
                    yield each if image is images[0] else each.contiguous()


def _weights(api: str) -> tuple[str, int] | None:
    """By which exponentials, and which sums, the core has gaussian_blur's weights."""
    if api == "v1":
        from torchvision.transforms import _functional_tensor as module
    else:
        from torchvision.transforms.v2.functional import _misc as module
    wanted = [
        (count, sigma, module._get_gaussian_kernel1d(count, sigma, torch.float32, torch.device("cpu")).numpy())
        for count in range(1, _steps.TAPS_MAX + 1, 2)
        for sigma in map(float, np.array([0.1, 0.37, 0.9, 2, 3.14159, 7.3, 40], np.float32))
    ]
    for way in _WAYS:
        with suppress(CoreError):  # without MKL
            if all(np.array_equal(made, _made(api, way, count, sigma)) for count, sigma, made in wanted):
                return way
    return None


def _made(api: Any, way: tuple[str, int], count: int, sigma: float) -> Any:
    """The core's weights in one of these ways."""
    from ..plan.transforms.augments import blur
    from ..plan.transforms.lowered import VERSION

    plan = {
        "version": VERSION,
        "channels": 3,
        "rng": {"fma": False, "correctly_rounded_exp": False},
        "transforms": [blur(api, way, (count, count), (sigma, sigma)).to_plan()],
    }
    state = torch.Generator().get_state()
    blurring = Augmentation(json.dumps(plan).encode(), _native.own_library())
    drawn = blurring.draw(2 * count, 2 * count, state.data_ptr())
    assert drawn is not None
    return np.frombuffer(drawn.steps[0][-4 * _steps.TAPS_MAX :], "<f4", count)


def _mixed() -> bool:
    from ..adapters.torchvision import mixes_alike

    return mixes_alike()


def _decoded(files: str, left: Container[int], mode: str) -> Iterator[Any]:
    from torchvision.io import ImageReadMode, decode_image

    with caught_warnings():  # that decode_image is going to move
        for number, file in enumerate(files_of(files)):
            if number not in left:
                yield decode_image(torch.from_numpy(np.frombuffer(file, np.uint8).copy()), ImageReadMode[mode])


def _unchanged() -> Iterator[Any]:
    """Files of RGB and grey: others are left to torchvision."""
    yield from _decoded(JPEG, (CMYK,), "UNCHANGED")
    yield from _decoded(PNG, OF_ALPHA_OR_PALETTES, "UNCHANGED")


# Name, function, its other arguments, and digests: of saturation that where torch adds a multiple with one rounding,
# and that where it does with two.
_COLOURS: tuple[tuple[str, str, tuple[float, ...], tuple[int, ...]], ...] = (
    ("grey", "rgb_to_grayscale", (), (2538162406,)),
    ("brightness", "adjust_brightness", (1.3,), (3024754097,)),
    ("contrast", "adjust_contrast", (0.7,), (1208630442,)),
    ("saturation", "adjust_saturation", (1.6,), (87415478, 1293675585)),
    ("sharpness", "adjust_sharpness", (1.7,), (78515719,)),
    ("hue", "adjust_hue", (0.21,), (3194704050,)),
    ("autocontrast", "autocontrast", (), (3849903402,)),
    ("equalize", "equalize", (), (459471178,)),
)

# Whose exponentials, and how many numbers a vector of torch's has.
_WAYS = (("mkl", 8), ("sleef", 8), ("mkl", 16), ("sleef", 16))
_V2 = _MODULES["v2"]
_FUNCTIONAL = "torchvision.transforms.functional"
_CROPS: tuple[tuple[str, str, Callable[[Any], list[Any]], int], ...] = (
    ("five_crop", _FUNCTIONAL, lambda m: [lambda image: m.five_crop(image, (9, 14))], 4214881551),
    ("ten_crop", _FUNCTIONAL, lambda m: [
        lambda image: m.ten_crop(image, (12, 13)), lambda image: m.ten_crop(image, (17, 14), vertical_flip=True),
    ], 318112613),
    ("v2.FiveCrop", _V2, lambda m: [m.FiveCrop(12), m.FiveCrop((9, 14))], 2891131341),
    ("v2.TenCrop", _V2, lambda m: [m.TenCrop(12), m.TenCrop((17, 14), vertical_flip=True)], 4025117695),
)  # fmt: skip
BEHAVIOURS = {
    **{
        f"torchvision.{api}.{name}": _class(api, name, known)
        for name, (digests, _) in _CLASSES.items()
        for api, known in zip(_MODULES, digests, strict=True)
        if known is not None
    },
    "torchvision.v2.GaussianNoise": Behaviour(_V2, "v2 GaussianNoise", _noisy),
    "torchvision.resize.bilinear": golden(
        _V2, "bilinear resize of uint8 tensors", partial(_resized, "bilinear"), 2608211929
    ),
    "torchvision.resize.bicubic": golden(
        _V2, "bicubic resize of uint8 tensors", partial(_resized, "bicubic"), 1141833800
    ),
    **{
        f"torchvision.{name}": golden(module, name, partial(_in_crops, module, of), known)
        for name, module, of, known in _CROPS
    },
    **{
        f"torchvision.weights.{api}": Behaviour(
            module, f"{api} weights of gaussian_blur", partial(_weights, api), _WAYS
        )
        for api, module in _MODULES.items()
    },
    # Both ways in which grid_sample adds.
    "torchvision.tensor.affine.v1": golden(
        _MODULES["v1"], "v1 affine of uint8 tensors", _turned_v1, 902010613, 3420023291
    ),
    "torchvision.tensor.affine.v2": golden(_V2, "v2 affine of uint8 tensors", _turned_v2, 432953996, 150202126),
    "torchvision.mixing": Behaviour(_V2, "MixUp or CutMix", _mixed),
    # torchvision has colours of its own for CMYK.
    "torchvision.decode.jpeg": golden(
        "torchvision.io", "JPEG decoder", partial(_decoded, JPEG, (CMYK,), "RGB"), 3057533651
    ),
    "torchvision.decode.png": golden("torchvision.io", "PNG decoder", partial(_decoded, PNG, (), "RGB"), 4065897870),
    "torchvision.decode.unchanged": golden("torchvision.io", "decoder of unchanged images", _unchanged, 3401891334),
    **{
        f"torchvision.tensor.{name}": golden(
            _V2, f"{function} of uint8 tensors", partial(_coloured, function, *arguments), *known
        )
        for name, function, arguments, known in _COLOURS
    },
}
