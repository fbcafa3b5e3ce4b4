"""core/op against Pillow and torchvision themselves: every byte, with every set of kernels this processor has.

This is about geometry, grey and the store; test_op_colour.py and test_op_transform.py are about the rest.
"""

from __future__ import annotations

import ctypes
import functools

import numpy as np
import pytest
from op_library import (
    BAD_JOB,
    DECODED,
    FILTERS,
    GREY,
    HORIZONTAL,
    HUE,
    MODES,
    PAD,
    PERSPECTIVE,
    RESAMPLE,
    SHARPNESS,
    VERTICAL,
    Bytes,
    Job,
    Pass,
    Store,
    Window,
    Worker,
    identity,
    noise,
    planar,
    resample,
    side,
    window,
)
from PIL import Image


def cropped(image: Image.Image, w: Window) -> Image.Image:
    return image.crop((w.x, w.y, w.x + w.width, w.y + w.height))


def flipped(image: Image.Image, flip: int) -> Image.Image:
    if flip & HORIZONTAL:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    if flip & VERTICAL:
        image = image.transpose(Image.Transpose.FLIP_TOP_BOTTOM)
    return image


@pytest.mark.parametrize("resampling", FILTERS)
def test_resize_equals_pillow(worker: Worker, resampling: Image.Resampling) -> None:
    rng = np.random.default_rng(int(resampling))
    for _ in range(150):
        w, h, width, height = (side(rng) for _ in range(4))
        if rng.random() < 0.2:
            width, height = (w, height) if rng.random() < 0.5 else (width, h)
        pixels = noise(rng, w, h)
        want = planar(Image.fromarray(pixels).resize((width, height), resampling))
        got = worker.run(pixels, [resample(Window(0, 0, w, h), width, height, resampling)], (width, height), identity())
        assert np.array_equal(got, want), (w, h, width, height)


@pytest.mark.parametrize(
    ("w", "h", "width", "height"),
    [(1, 1, 300, 300), (1, 900, 5, 7), (900, 1, 7, 5), (3000, 11, 2, 11), (11, 3000, 11, 2), (2, 3, 1500, 40),
     (5000, 2, 1, 1), (2, 5000, 1, 1), (64, 64, 64, 1), (129, 65, 128, 64), (2600, 40, 224, 224)],
)  # fmt: skip
def test_extreme_resizes_equal_pillow(worker: Worker, w: int, h: int, width: int, height: int) -> None:
    pixels = noise(np.random.default_rng(w + h), w, h)
    for resampling in FILTERS:
        want = planar(Image.fromarray(pixels).resize((width, height), resampling))
        got = worker.run(pixels, [resample(Window(0, 0, w, h), width, height, resampling)], (width, height), identity())
        assert np.array_equal(got, want), resampling


def test_crop_resize_crop_flip_in_one_pass_equals_pillow_one_by_one(worker: Worker) -> None:
    rng = np.random.default_rng(1)
    for _ in range(500):
        w, h = side(rng), side(rng)
        pixels = noise(rng, w, h)
        src = window(rng, w, h)
        width, height = (side(rng), side(rng)) if rng.random() < 0.8 else (src.width, src.height)
        out, flip = window(rng, width, height), int(rng.integers(4))
        resampling = FILTERS[rng.integers(len(FILTERS))]
        want = cropped(Image.fromarray(pixels), src).resize((width, height), resampling)
        want = flipped(cropped(want, out), flip)
        got = worker.run(pixels, [resample(src, width, height, resampling, out, flip)], want.size, identity())
        assert np.array_equal(got, planar(want)), (w, h, width, height, resampling, flip)


@pytest.mark.parametrize("mode", MODES)
def test_pad_equals_torchvision(worker: Worker, mode: str) -> None:
    functional = pytest.importorskip("torchvision.transforms.functional")
    rng = np.random.default_rng(2)
    for _ in range(150):
        w, h = int(rng.integers(1, 60)), int(rng.integers(1, 60))
        pixels = noise(rng, w, h)
        # Less than the image: beyond it numpy's mirrored modes depend on numpy's version.
        most_x, most_y = (40, 40) if mode in ("constant", "edge") else (max(w - 1, 0), max(h - 1, 0))
        left, right = (int(rng.integers(most_x + 1)) for _ in range(2))
        top, bottom = (int(rng.integers(most_y + 1)) for _ in range(2))
        fill = tuple(int(v) for v in rng.integers(0, 256, 3))
        image = Image.fromarray(pixels)
        want = functional.pad(image, [left, top, right, bottom], fill=fill, padding_mode=mode)
        out, flip = window(rng, *want.size), int(rng.integers(4))
        want = flipped(cropped(want, out), flip)
        pad = Pass(kind=PAD, left=left, top=top, right=right, bottom=bottom, mode=MODES.index(mode), out=out, flip=flip)
        pad.fill[:3] = fill
        got = worker.run(pixels, [pad], want.size, identity())
        assert np.array_equal(got, planar(want)), (w, h, left, top, right, bottom, flip)


def test_mirrored_padding_goes_back_and_forth(worker: Worker) -> None:
    """Padding wider than the image: the law of numpy.pad since 2.0, one axis after the other."""
    pixels = noise(np.random.default_rng(3), 3, 2)
    for mode in ("reflect", "symmetric"):
        pad = Pass(kind=PAD, left=11, right=8, top=5, bottom=9, mode=MODES.index(mode), out=Window(0, 0, 22, 16))
        want = np.pad(pixels, ((5, 9), (11, 8), (0, 0)), mode=mode)
        got = worker.run(pixels, [pad], (22, 16), identity())
        assert np.array_equal(got, want.transpose(2, 0, 1)), mode


@pytest.mark.parametrize("planes", [1, 3])
def test_grey_equals_pillow(worker: Worker, planes: int) -> None:
    rng = np.random.default_rng(4)
    for _ in range(60):
        w, h = side(rng), side(rng)
        pixels = noise(rng, w, h)
        grey = Image.fromarray(pixels).convert("L")
        want = planar(grey if planes == 1 else grey.convert("RGB"))
        got = worker.run(pixels, [Pass(kind=GREY, planes=planes)], (w, h), identity(planes))
        assert np.array_equal(got, want), (w, h)


def test_luma_equals_pillow_for_colours_of_all_kinds(worker: Worker) -> None:
    """Every third value of each channel, in all combinations."""
    values = np.arange(0, 256, 3, dtype=np.uint8)
    pixels = np.stack(np.meshgrid(values, values, values), -1).reshape(1, -1, 3)
    pixels = np.ascontiguousarray(pixels.reshape(86, -1, 3))
    want = planar(Image.fromarray(pixels).convert("L"))
    got = worker.run(pixels, [Pass(kind=GREY, planes=1)], (pixels.shape[1], pixels.shape[0]), identity(1))
    assert np.array_equal(got, want)


def test_chains_of_passes_equal_pillow_step_by_step(worker: Worker) -> None:
    rng = np.random.default_rng(5)
    for _ in range(150):
        w, h = side(rng), side(rng)
        pixels = noise(rng, w, h)
        image, planes, passes = Image.fromarray(pixels), 3, []
        for _ in range(int(rng.integers(1, 6))):
            w, h = image.size
            kind = int(rng.integers(3))
            if kind == RESAMPLE:
                src, width, height = window(rng, w, h), side(rng), side(rng)
                out, flip = window(rng, width, height), int(rng.integers(4))
                resampling = FILTERS[rng.integers(len(FILTERS))]
                passes.append(resample(src, width, height, resampling, out, flip))
                image = flipped(cropped(cropped(image, src).resize((width, height), resampling), out), flip)
            elif kind == PAD:
                amount = [int(v) for v in rng.integers(0, 9, 4)]
                pad = Pass(kind=PAD, left=amount[0], top=amount[1], right=amount[2], bottom=amount[3], mode=1)
                pad.out = Window(0, 0, w + amount[0] + amount[2], h + amount[1] + amount[3])
                passes.append(pad)
                padding = ((amount[1], amount[3]), (amount[0], amount[2]), (0, 0))[: np.asarray(image).ndim]
                image = Image.fromarray(np.pad(np.asarray(image), padding, mode="edge"))
            else:
                planes = 1 if planes == 1 else int(rng.choice([1, 3]))
                passes.append(Pass(kind=GREY, planes=planes))
                image = image.convert("L") if planes == 1 else image.convert("L").convert("RGB")
        got = worker.run(pixels, passes, image.size, identity(planes))
        assert np.array_equal(got, planar(image)), [p.kind for p in passes]


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (63, 2), (64, 5), (224, 224), (301, 203)])
def test_every_pixel_is_looked_up_and_nothing_else_is_written(
    worker: Worker, dtype: type[np.generic], shape: tuple[int, int]
) -> None:
    rng = np.random.default_rng(6)
    w, h = shape
    pixels = noise(rng, w, h)
    table = rng.integers(0, 256, (3, 256, np.dtype(dtype).itemsize), dtype=np.uint8).view(dtype)[..., 0]
    want = np.stack([table[c][pixels[..., c]] for c in range(3)])
    item = table.itemsize
    for offset in (0, item, 3 * item, 64 - item, 1):
        room = np.full(want.nbytes + 512, 0xA5, np.uint8)
        start = (-room.ctypes.data) % 64 + 64 + offset
        store = Store(3, item, tables=1, table=table.ctypes.data)
        job = Job(data=pixels.ctypes.data, size=pixels.nbytes, width=w, height=h, npass=1)
        job.passes[0] = resample(Window(0, 0, w, h), w, h, 0, flip=HORIZONTAL if offset == item else 0)
        job.dst, job.dst_size, job.store = room.ctypes.data + start, want.nbytes, ctypes.pointer(store)
        worker.library.gl_worker_run(worker.handle, ctypes.byref(job), 1, None)
        assert job.status == DECODED
        expected = want[..., ::-1] if offset == item else want
        assert room[start : start + want.nbytes].tobytes() == expected.tobytes(), offset
        assert (room[:start] == 0xA5).all() and (room[start + want.nbytes :] == 0xA5).all(), offset


def test_a_job_that_contradicts_itself_is_refused_before_anything_is_touched(worker: Worker) -> None:
    whole = Window(0, 0, 8, 6)
    bad = [
        [resample(Window(1, 0, 8, 6), 4, 4, 2)],
        [resample(Window(0, 0, 0, 6), 4, 4, 2)],
        [resample(whole, 4, 4, 6)],
        [resample(whole, 4, 4, 2, Window(0, 0, 5, 4))],
        [resample(whole, 2**30, 2**30, 2)],
        [Pass(kind=PAD, left=-1, out=Window(0, 0, 7, 6))],
        [Pass(kind=PAD, left=2**31 - 1, out=whole)],
        [Pass(kind=PAD, mode=9, out=whole)],
        [Pass(kind=GREY, planes=1)],
        [Pass(kind=GREY, planes=2)],
        [Pass(kind=SHARPNESS, factor=float("nan"))],
        [Pass(kind=HUE, shift=256)],
        [Pass(kind=PERSPECTIVE, width=0, height=6)],
        [Pass(kind=PERSPECTIVE, width=8, height=6, filter=1)],
        [Pass(kind=PERSPECTIVE, width=8, height=6, matrix=(0, 0, float("inf")))],
        [Pass(kind=99)],
        [Pass(kind=-1)],
        [],
    ]
    pixels, out, table = np.zeros((6, 8, 3), np.uint8), np.zeros((3, 6, 8), np.uint8), identity()
    store = Store(3, 1, tables=1, table=table.ctypes.data)
    for passes in bad:
        job = Job(data=pixels.ctypes.data, size=pixels.nbytes, width=8, height=6, npass=len(passes))
        job.dst, job.dst_size, job.store = out.ctypes.data, out.nbytes, ctypes.pointer(store)
        for i, one in enumerate(passes):
            job.passes[i] = one
        worker.library.gl_worker_run(worker.handle, ctypes.byref(job), 1, None)
        assert job.status == BAD_JOB and job.why, [p.kind for p in passes]


WIDE, WIDER = 2**25 + 6, 2**25 + 70


@functools.cache
def wide_row_of_pillow(resampling: Image.Resampling) -> Bytes:
    row = Image.fromarray(np.full((1, WIDE), 200, np.uint8))
    return np.asarray(row.resize((WIDER, 1), resampling))[:, -1:].copy()


@pytest.mark.parametrize("resampling", [Image.Resampling.BOX, Image.Resampling.BILINEAR])
def test_the_end_of_a_row_whose_width_float32_rounds_up_equals_pillow(
    worker: Worker, resampling: Image.Resampling
) -> None:
    """The last output lies so far behind the row's end that less than no pixels go into it."""
    out = Window(WIDER - 1, 0, 1, 1)
    one = resample(Window(0, 0, WIDE, 1), WIDER, 1, resampling, out)
    got = worker.run(np.full((1, WIDE), 200, np.uint8), [one], (1, 1), identity(1))
    assert np.array_equal(got[0], wide_row_of_pillow(resampling))
