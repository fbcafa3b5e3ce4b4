"""What the installed torch and Pillow compute where their versions and builds differ.

Two rules decide whether goloader's pixels and draws equal theirs: which pass of a resize Pillow does first, and whether
torch's uniform_ fuses its product and sum. Both are read off the libraries themselves, by a few tiny resizes and draws
whose results are known for each rule. Anything that fits none of the rules is a Refusal: torch's own path then runs.
"""

from __future__ import annotations

import math
import platform
import sys
import zlib
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .refusal import Refusal, RefusalError

__all__ = [
    "PassOrder",
    "World",
    "pass_order_of",
    "resized",
    "torch_convolves",
    "torch_fuses",
    "torch_nearest",
    "torch_resizes",
    "vertical_first",
    "world",
]

PassOrder = Literal["horizontal_first", "tall_first", "shrink_first"]

# First versions of Pillow with each order, newest first.
_PASS_ORDERS: tuple[tuple[tuple[int, int], PassOrder], ...] = (
    ((13, 0), "shrink_first"),
    ((12, 3), "tall_first"),
    ((0, 0), "horizontal_first"),
)

# What Pillow has unless somebody sets it: a quarter GiB of RGB.
_MAX_PIXELS = 1024 * 1024 * 1024 // 4 // 3


@dataclass(frozen=True)
class World:
    """The rules that hold here.

    pass_order             of Pillow's resize
    fma                    torch's uniform_ rounds once, not twice
    correctly_rounded_exp  exp of a float32 is the nearest float32: true only where no torch has a say
    """

    pass_order: PassOrder
    fma: bool
    correctly_rounded_exp: bool


@cache
def world(*, torch: bool = True) -> World | Refusal:
    """The rules of the installed libraries, looked up once; without `torch` only Pillow's (the newest, if missing)."""
    try:
        return World(_probe_pillow(), _probe_torch() if torch else True, not torch)
    except RefusalError as refused:
        return refused.refusal


def max_pixels() -> int | None:
    """Pillow's limit as it is now: it warns of images above, which therefore go to it."""
    try:
        from PIL import Image
    except ImportError:
        return _MAX_PIXELS
    return None if Image.MAX_IMAGE_PIXELS is None else int(Image.MAX_IMAGE_PIXELS)


def check_pillow_plugins() -> Refusal | None:
    """Refuse if another package registered itself for the formats that the core decodes."""
    image: Any = sys.modules.get("PIL.Image")
    for name in ("JPEG", "PNG"):
        opener = image.OPEN.get(name) if image is not None else None
        if opener is not None and opener[0].__module__.partition(".")[0] != "PIL":
            return Refusal(
                "source", "Pillow", f"{opener[0].__module__} is registered to open {name} files", "PILLOW_PLUGIN"
            )
    return None


# Pillow


def pass_order_of(version: str) -> PassOrder:
    """The order of a version of Pillow, as "13.0.0"."""
    numbers = [int(part) if part.isdigit() else 0 for part in version.split(".")[:2]]
    number = (numbers[0], numbers[1] if len(numbers) > 1 else 0)
    return next(order for first, order in _PASS_ORDERS if number >= first)


def vertical_first(order: PassOrder, size: tuple[int, int], out: tuple[int, int]) -> bool:
    """Whether the vertical pass comes first; sizes are (width, height)."""
    (width, height), (out_width, out_height) = size, out
    if order == "tall_first":
        return height > 100 * width and out_height < height
    if order == "shrink_first":
        return height > out_height and height - out_height > 2 * (width - out_width)
    return False


# (width, height) before and after: one where the orders differ each way, the edges of their conditions, an enlargement,
# and one for the arithmetic of each filter (Pillow's numbers).
_RESIZES = (
    ((4, 30), (3, 20), 1),
    ((6, 12), (5, 10), 3),
    ((6, 13), (5, 10), 3),
    ((2, 201), (1, 200), 1),
    ((2, 200), (1, 199), 1),
    ((5, 4), (9, 11), 2),
    ((20, 9), (7, 8), 4),
    ((9, 14), (4, 11), 5),
)


def _probe_pillow() -> PassOrder:
    try:
        import PIL
        from PIL import Image
    except ImportError:
        return _PASS_ORDERS[0][1]
    order = pass_order_of(PIL.__version__)
    rng = np.random.default_rng(7)
    for size, out, number in _RESIZES:
        # Black and white: there the two orders differ most.
        pixels = rng.integers(0, 2, (size[1], size[0]), dtype=np.uint8) * np.uint8(255)
        got = np.asarray(Image.fromarray(pixels).resize(out, Image.Resampling(number)))
        if not np.array_equal(got, resized(pixels, out, number, vertical=vertical_first(order, size, out))):
            raise RefusalError(
                "transform",
                f"Pillow {PIL.__version__}",
                f"its resize from {size} to {out} is not the one known",
                "BEHAVIOUR_UNKNOWN",
            )
    return order


def resized(pixels: NDArray[np.uint8], out: tuple[int, int], number: int, *, vertical: bool) -> NDArray[np.uint8]:
    """Pillow's resize of one plane to (width, height) by filter `number`, plainly written.

    Source: Pillow, src/libImaging/Resample.c.
    """
    first, second = (0, 1) if vertical else (1, 0)
    for axis in (first, second):
        length = out[0] if axis == 1 else out[1]
        if pixels.shape[axis] != length:
            weights = _weights(pixels.shape[axis], length, number)
            moved = np.moveaxis(pixels.astype(np.int64), axis, 0)
            summed = (np.tensordot(weights, moved, axes=1) + (1 << 21)) >> 22
            pixels = np.moveaxis(np.clip(summed, 0, 255).astype(np.uint8), 0, axis)
    return pixels


def _weights(length: int, out: int, number: int) -> NDArray[np.int64]:
    """[out, length]: fixed-point weights, 22 bits of fraction."""
    scale = length / out
    stretch = max(scale, 1.0)
    kernel, reach = _KERNELS[number]
    support = reach * stretch
    table = np.zeros((out, length), np.int64)
    for place in range(out):
        centre = (place + 0.5) * scale
        low = max(int(centre - support + 0.5), 0)
        high = min(int(centre + support + 0.5), length)
        taps = [kernel((x - centre + 0.5) * (1.0 / stretch)) for x in range(low, high)]
        total = 0.0
        for tap in taps:
            total += tap
        for x, tap in enumerate(taps, low):
            share = tap / total if total else tap
            table[place, x] = int(share * (1 << 22) + (0.5 if share >= 0 else -0.5))
    return table


def _box(x: float) -> float:
    return 1.0 if -0.5 < x <= 0.5 else 0.0


def _bilinear(x: float) -> float:
    return max(1.0 - abs(x), 0.0)


# Pillow's are float constants of C: 0.54f and 0.46f.
_HAMMING_A, _HAMMING_B = float(np.float32(0.54)), float(np.float32(0.46))


def _hamming(x: float) -> float:
    x = abs(x)
    if x == 0.0:
        return 1.0
    if x >= 1.0:
        return 0.0
    x *= math.pi
    return math.sin(x) / x * (_HAMMING_A + _HAMMING_B * math.cos(x))


def _bicubic(x: float) -> float:
    a, x = -0.5, abs(x)
    if x < 1.0:
        return ((a + 2.0) * x - (a + 3.0)) * x * x + 1
    return (((x - 5) * x + 8) * x - 4) * a if x < 2.0 else 0.0


def _lanczos(x: float) -> float:
    return _sinc(x) * _sinc(x / 3) if -3.0 <= x < 3.0 else 0.0


def _sinc(x: float) -> float:
    return math.sin(x * math.pi) / (x * math.pi) if x else 1.0


_KERNELS = {1: (_lanczos, 3.0), 2: (_bilinear, 1.0), 3: (_bicubic, 2.0), 4: (_box, 0.5), 5: (_hamming, 1.0)}


# torch

# The first words of a Mersenne Twister (MT19937) seeded with 5489, its authors' default seed.
_SEED = 5489
_WORDS = (3499211612, 581869302, 3890346734, 3586334585, 545404204, 4161255391, 3922919429, 949333985)
_STATE_BYTES = 5056


# (width, height) before and after, and the CRC-32 of what torch makes of a picture, bilinear and bicubic.
_TENSOR_RESIZES = (
    ((31, 23), (17, 19), (2571736010, 3680364922)),
    ((9, 7), (30, 22), (2268740892, 832297395)),
    ((40, 11), (12, 40), (1884204886, 1276015680)),
)


@cache
def torch_resizes() -> bool:
    """Whether torchvision resizes uint8 tensors as the core does; it does not where torch has no kernels of bytes."""
    import torch
    from torchvision.transforms.v2 import InterpolationMode
    from torchvision.transforms.v2.functional import resize_image

    def crc(before: tuple[int, int], after: tuple[int, int], mode: InterpolationMode) -> int:
        numbers = np.arange(before[0] * before[1] * 3, dtype=np.uint32)
        values = ((numbers * numbers * np.uint32(2654435761) >> 15) % 256).astype(np.uint8)
        picture = torch.from_numpy(values.reshape(3, before[1], before[0]))
        return zlib.crc32(resize_image(picture, [after[1], after[0]], mode).numpy().tobytes())

    return all(
        (crc(before, after, InterpolationMode.BILINEAR), crc(before, after, InterpolationMode.BICUBIC)) == known
        for before, after, known in _TENSOR_RESIZES
    )


@cache
def torch_nearest() -> bool:
    """Whether torch's nearest neighbour rounds as core/op/resample_axis.c does."""
    import torch

    for length, out in ((7, 3), (100, 61), (61, 100), (641, 480), (33, 32), (5, 5), (1000, 7)):
        row = torch.arange(length, dtype=torch.float32).view(1, 1, 1, length)
        got = torch.nn.functional.interpolate(row, size=[1, out], mode="nearest").view(-1).numpy()
        scale = np.float32(length) / np.float32(out)
        want = np.minimum(np.floor(np.arange(out, dtype=np.float32) * scale), length - 1)
        if not np.array_equal(got, want):
            return False
    return True


# Channels, height, width, weights down and across, and the CRC-32 of torch's sums.
_CONVOLUTIONS = (
    (3, 20, 19, 3, 3, 2414977821),
    (3, 33, 40, 9, 9, 331100597),
    (3, 40, 70, 23, 23, 3648812080),
    (3, 18, 31, 1, 5, 3850021794),
    (1, 33, 40, 9, 9, 128280891),
    (1, 30, 41, 5, 23, 3419069063),
)


@cache
def torch_convolves() -> bool:
    """Whether torch's convolutions of channels by themselves add as core/op/convolve.h says.

    oneDNN's do where the processor has a fused multiply-add: those of RGB, and those of one channel with more than 3
    weights each way. On other processors than x86-64 its ways have not been looked at.
    """
    import torch

    def crc(channels: int, height: int, width: int, down: int, across: int) -> int:
        numbers = np.arange(channels * height * width, dtype=np.uint32)
        values = ((numbers * numbers * np.uint32(2654435761) >> 15) % 256).astype(np.float32)
        weights = np.arange(1, down * across + 1, dtype=np.float32) * np.float32(0.618034) % np.float32(1.0)
        sums = torch.nn.functional.conv2d(
            torch.from_numpy(values.reshape(1, channels, height, width)),
            torch.from_numpy(weights.reshape(1, 1, down, across)).expand(channels, 1, down, across),
            groups=channels,
        )
        return zlib.crc32(sums.numpy().tobytes())

    return platform.machine() in ("x86_64", "AMD64") and all(crc(*case) == known for *case, known in _CONVOLUTIONS)


@cache
def torch_fuses() -> bool | None:
    """Whether torch adds a multiple (Tensor.add_ with alpha) with one rounding; None if some of its loops do and others
    do not."""
    import torch

    numbers = np.random.default_rng(0)
    sums, others = (torch.from_numpy(numbers.integers(0, 256, 1 << 12).astype(np.float32)) for _ in range(2))
    sums.mul_(0.2989)
    twice = sums.numpy() + others.numpy() * np.float32(0.587)
    # Products of 8 and 24 bits fit a float64 exactly, and their sums too: no summand is smaller by more than 2^20.
    once = (sums.numpy().astype(np.float64) + others.numpy().astype(np.float64) * np.float64(np.float32(0.587))).astype(
        np.float32
    )
    found = set()
    for step in (1, 2, 3):
        for length in (1, 5, 8, 31, 1000):
            got = sums[::step][:length].clone().add_(others[::step][:length], alpha=0.587).numpy()
            found |= {
                fused
                for fused, want in ((False, twice), (True, once))
                if not np.array_equal(got, want[::step][:length])
            }
    return None if len(found) != 1 else not found.pop()


def _probe_torch() -> bool:
    import torch

    def check(holds: bool, what: str) -> None:
        if not holds:
            raise RefusalError(
                "loader", f"torch {torch.__version__}", f"{what} is not the one known", "BEHAVIOUR_UNKNOWN"
            )

    def seeded() -> torch.Generator:
        return torch.Generator().manual_seed(_SEED)

    check(seeded().get_state().numel() == _STATE_BYTES, "the size of its generator's state")
    draws = [(word & 0xFFFFFF) * 2.0**-24 for word in _WORDS]
    check(torch.rand(len(draws), dtype=torch.float32, generator=seeded()).tolist() == draws, "what rand draws")
    generator = seeded()
    ints = [int(torch.randint(0, 1000, (1,), generator=generator)) for _ in _WORDS]
    check(ints == [word % 1000 for word in _WORDS], "what randint draws")
    seed = int(torch.empty((), dtype=torch.int64).random_(generator=seeded()))
    check(seed == (_WORDS[0] << 32 | _WORDS[1]) % 2**63, "what random_ draws")

    generator = seeded()
    low, high = np.float32(0.08), np.float32(1.0)
    got = np.array([torch.empty(1).uniform_(0.08, 1.0, generator=generator).item() for _ in draws], np.float32)
    shares = np.array(draws, np.float32)
    twice = shares * (high - low) + low
    # 48 bits of product and the sum fit a float64 closely enough: none of these lies near the middle of two float32.
    once = (shares.astype(np.float64) * np.float64(high - low) + np.float64(low)).astype(np.float32)
    check(np.array_equal(got, once) or np.array_equal(got, twice), "what uniform_ draws")
    return np.array_equal(got, once)
