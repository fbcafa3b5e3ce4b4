"""Blurs and kernels of core/op against Pillow and torchvision: every byte, with every set of kernels."""

from __future__ import annotations

import ctypes
import importlib
import mmap
import os
import struct
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from op_library import BOX_BLUR, CONVOLVE, RANK, STENCIL, Bytes, Pass, Worker, identity, noise, planar, side
from PIL import Image, ImageFilter

from goloader import selfcheck
from goloader._pillow_steps import filter_of


def blurring(chosen: ImageFilter.Filter) -> list[Pass]:
    """The pass for a filter, with the numbers of its step."""
    found = filter_of(chosen)
    assert found is not None
    return [
        Pass(kind=BOX_BLUR, radius=(across, down), times=times)
        for across, down, times in (struct.unpack("<2fI", step[32:]) for step in found[1])
    ]


def check(worker: Worker, pixels: Bytes, chosen: ImageFilter.Filter) -> None:
    passes = blurring(chosen) or [Pass(kind=BOX_BLUR, times=1)]
    channels = 1 if pixels.ndim == 2 else 3
    got = worker.run(pixels, passes, pixels.shape[1::-1], identity(channels))
    assert np.array_equal(got, planar(Image.fromarray(pixels).filter(chosen))), (pixels.shape, chosen.radius)


def picture(rng: np.random.Generator) -> Bytes:
    pixels = noise(rng, side(rng), side(rng))
    return np.ascontiguousarray(pixels[..., 0]) if rng.random() < 0.3 else pixels


@pytest.mark.parametrize("kind", [ImageFilter.GaussianBlur, ImageFilter.BoxBlur])
def test_blurs_equal_pillow(worker: Worker, kind: type[ImageFilter.Filter]) -> None:
    rng = np.random.default_rng(0)
    for _ in range(150):
        pair = tuple(0.0 if rng.random() < 0.1 else float(np.exp(rng.uniform(-7, 6))) for _ in range(2))
        check(worker, picture(rng), kind(pair if rng.random() < 0.5 else pair[0]))


@pytest.mark.parametrize("radius", [0, 1, 2, 63, 64, 65, 127, 128, 1e-30, 1e-4, 0.5, 1.9999999, (0, 3), (7, 0), 1e5])
@pytest.mark.slow
def test_blurs_of_any_radius_equal_pillow(worker: Worker, radius: float) -> None:
    rng = np.random.default_rng(1)
    for width, height in ((1, 1), (1, 90), (70, 1), (2, 3), (64, 65), (300, 17)):
        for kind in (ImageFilter.GaussianBlur, ImageFilter.BoxBlur):
            check(worker, noise(rng, width, height), kind(radius))


class Box(ctypes.Structure):
    _fields_ = [("radius", ctypes.c_int32), ("inner", ctypes.c_uint32), ("outer", ctypes.c_uint32)]


@pytest.fixture
def one_mebibyte_many_times() -> Iterator[Callable[[int], int]]:
    """Gives addresses where so many mebibytes are all the same one, with nothing for as far before and behind them."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype, libc.mmap.argtypes = (
        ctypes.c_void_p,
        [ctypes.c_size_t] * 2 + [ctypes.c_int] * 3 + [ctypes.c_long],
    )
    libc.munmap.argtypes = [ctypes.c_size_t] * 2
    private, shared, fixed, no_reserve = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.MAP_SHARED, 0x10, 0x4000
    mapped = []

    def give(times: int) -> int:
        start = libc.mmap(0, 3 * times << 20, 0, private | no_reserve, -1, 0)
        assert start, os.strerror(ctypes.get_errno())
        mapped.append((start, 3 * times << 20))
        memory = os.memfd_create("mebibyte")
        os.ftruncate(memory, 1 << 20)
        for at in range(start + (times << 20), start + (2 * times << 20), 1 << 20):
            assert libc.mmap(at, 1 << 20, mmap.PROT_READ | mmap.PROT_WRITE, shared | fixed, memory, 0) == at
        os.close(memory)
        return start + (times << 20)

    yield give
    for room in mapped:
        libc.munmap(*room)


@pytest.mark.slow
def test_lines_side_by_side_may_have_more_than_2_31_bytes(
    worker: Worker, one_mebibyte_many_times: Callable[[int], int]
) -> None:
    times = (1 << 11) + 2
    src, dst = one_mebibyte_many_times(times), one_mebibyte_many_times(times)
    ctypes.memset(src, 7, 1 << 20)
    blur = ctypes.CFUNCTYPE(None, ctypes.POINTER(Box), ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p)(
        worker.kernel("blur")
    )
    blur(Box(radius=1, inner=(1 << 24) // 3, outer=0), src, (times << 20) // 64, dst)
    assert ctypes.string_at(dst, 1 << 20) == b"\x07" * (1 << 20)


KERNELS = (
    ImageFilter.BLUR,
    ImageFilter.CONTOUR,
    ImageFilter.DETAIL,
    ImageFilter.EDGE_ENHANCE,
    ImageFilter.EDGE_ENHANCE_MORE,
    ImageFilter.EMBOSS,
    ImageFilter.FIND_EDGES,
    ImageFilter.SHARPEN,
    ImageFilter.SMOOTH,
    ImageFilter.SMOOTH_MORE,
)


def kernel(rng: np.random.Generator) -> ImageFilter.Kernel:
    side = int(rng.choice([3, 5]))
    weights = rng.uniform(-1, 2, side * side) if rng.random() < 0.5 else rng.integers(-2, 4, side * side)
    return ImageFilter.Kernel((side, side), weights.tolist(), rng.choice([None, 1.7, -4]), float(rng.uniform(-50, 99)))


def test_kernels_equal_pillow(worker: Worker) -> None:
    rng = np.random.default_rng(3)
    for i in range(150):
        chosen = KERNELS[i]() if i < len(KERNELS) else kernel(rng)
        pixels = picture(rng) if i % 5 else noise(rng, *rng.integers(1, 9, 2).tolist())
        found = filter_of(chosen)
        if found is None:
            pytest.skip("Pillow's compiler may round otherwise here")
        offset, *weights = struct.unpack("<26f", found[1][0][32:])
        one = Pass(kind=STENCIL, width=3 if len(chosen.filterargs[3]) == 9 else 5, factor=offset)
        one.weight[0][:25] = weights
        got = worker.run(pixels, [one], pixels.shape[1::-1], identity(1 if pixels.ndim == 2 else 3))
        assert np.array_equal(got, planar(Image.fromarray(pixels).filter(chosen))), (pixels.shape, chosen.filterargs)


def test_ranks_equal_pillow(worker: Worker) -> None:
    """Of images of all widths around a vector's, and of one row or column."""
    rng = np.random.default_rng()
    chosen = [ImageFilter.RankFilter(3, number) for number in range(9)]
    chosen += [ImageFilter.MedianFilter, ImageFilter.MinFilter(), ImageFilter.MaxFilter(3)]
    for i in range(400):
        shape = rng.integers(1, [9, 200][i % 2], 2).tolist() + [3] * (i % 3 > 0)
        pixels = rng.integers(0, [256, 3][i % 5 == 0], shape, np.uint8)
        one = chosen[i % len(chosen)]
        found = filter_of(one)
        assert found is not None
        got = worker.run(
            pixels, [Pass(kind=RANK, shift=found[1][0][7])], pixels.shape[1::-1], identity(1 if pixels.ndim == 2 else 3)
        )
        assert np.array_equal(got, planar(Image.fromarray(pixels).filter(one))), (pixels.shape, one)


def test_what_pillow_refuses_is_left_to_it() -> None:
    for radius in (float("nan"), float("inf"), "2", None, (1,), (1, 2, 3), [1, 2], (1, "2"), 1e7):
        assert filter_of(ImageFilter.GaussianBlur(radius)) is None
    for other in (ImageFilter.ModeFilter(3), ImageFilter.RankFilter, ImageFilter.Kernel, ImageFilter.BoxBlur, None):
        assert filter_of(other) is None
    for size in (1, 5, True, 3.0, "3"):
        changed = ImageFilter.MedianFilter()
        changed.size = size
        assert filter_of(changed) is None, size
    changed = ImageFilter.MinFilter()
    changed.rank = 9
    assert filter_of(changed) is None
    for scale, offset in ((0, 0), (1, float("nan")), (1e-9, 0), (1, 1e9)):
        assert filter_of(ImageFilter.Kernel((3, 3), [1] * 9, scale, offset)) is None
    changed = ImageFilter.BoxBlur(2)
    changed.radius = -1
    assert filter_of(changed) is None


@pytest.mark.parametrize("api", ["torchvision.transforms", "torchvision.transforms.v2"])
def test_the_convolution_equals_torchvision(worker: Worker, api: str) -> None:
    """Where selfcheck says that torch adds as core/op does."""
    functional = pytest.importorskip(f"{api}.functional")
    if not selfcheck.holds("torch.convolve"):
        pytest.skip("torch adds in another order here")
    blur_step = importlib.import_module("goloader.doors.recipe.hooks.blur").blur_step
    module = "_misc" if api.endswith("v2") else "_functional_tensor"
    package = f"{api}.functional" if api.endswith("v2") else api
    weights = importlib.import_module(f"{package}.{module}")
    rng = np.random.default_rng(2)
    longest = 60 if worker.name == "plain" else 300
    for _ in range(80):
        pixels = picture(rng)[:longest, :longest]
        kind = rng.random()
        if kind < 0.1:
            pixels = np.full_like(pixels, 255)
        elif kind < 0.3:  # sums that are no normal numbers
            pixels = np.where(rng.random(pixels.shape) < 0.01, pixels, 0).astype(np.uint8)
        elif kind < 0.5:  # sums next to the middle of two integers
            half = np.indices(pixels.shape[:2]).sum(0) % 2
            half[:, int(rng.integers(pixels.shape[1] + 1)) :] = 0
            pixels = (half.reshape(*half.shape, *(1,) * (pixels.ndim - 2)) + pixels * 0).astype(np.uint8)
        pixels = np.ascontiguousarray(pixels)
        size, mode = pixels.shape[1::-1], "L" if pixels.ndim == 2 else "RGB"
        counts, sigma = (2 * rng.integers(0, 16, 2) + 1).tolist(), rng.uniform(0.1, 4.0, 2).tolist()
        step = blur_step(weights, counts, sigma, size, mode)
        if step is None:
            assert counts[0] // 2 >= size[0] or counts[1] // 2 >= size[1] or (mode == "L" and min(counts) <= 3)
            continue
        one = Pass(kind=CONVOLVE, width=counts[0], height=counts[1])
        ctypes.memmove(one.weight, step[32:], len(step) - 32)
        got = worker.run(pixels, [one], size, identity(3 if mode == "RGB" else 1))
        want = functional.gaussian_blur(Image.fromarray(pixels), counts, sigma)
        assert np.array_equal(got, planar(want)), (size, counts, sigma)


def test_torch_with_fewer_bits_or_without_onednn_is_left_to_itself() -> None:
    functional = pytest.importorskip("torchvision.transforms._functional_tensor")
    torch = pytest.importorskip("torch")
    blur_step = importlib.import_module("goloader.doors.recipe.hooks.blur").blur_step
    arguments = functional, 5, 1.5, (20, 30), "RGB"
    assert (blur_step(*arguments) is not None) == selfcheck.holds("torch.convolve")
    with torch.autocast("cpu"):
        assert blur_step(*arguments) is None
    with torch.backends.mkldnn.flags(enabled=False):
        assert blur_step(*arguments) is None
