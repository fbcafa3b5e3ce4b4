"""core/op against Pillow and torchvision themselves: every byte, with every set of kernels this processor has.

The C half is compiled here into a library of its own and driven by ctypes, so that neither Go nor the C ABI is between
a difference and its cause. Images come in as raw pixels: decoders have tests of their own.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import PIL
import pytest
from PIL import Image

OP = Path(__file__).resolve().parents[2] / "core" / "op"
KERNELS = ("plain", "avx2", "avx512", "neon")

PASSES_MAX, WHY_BYTES = 16, 200
RESAMPLE, PAD, GREY = 0, 1, 2
HORIZONTAL, VERTICAL = 1, 2
DECODED, BAD_JOB = 0, 101
MODES = ("constant", "edge", "reflect", "symmetric")
# All that torchvision can name; Pillow 13 has more (MKS filters).
FILTERS = tuple(Image.Resampling(number) for number in range(6))

Bytes = npt.NDArray[np.uint8]


class Window(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int32) for name in ("x", "y", "width", "height")]


class Pass(ctypes.Structure):
    _fields_ = [
        ("kind", ctypes.c_int32),
        ("src", Window),
        ("width", ctypes.c_int32),
        ("height", ctypes.c_int32),
        ("filter", ctypes.c_int32),
        ("out", Window),
        ("flip", ctypes.c_int32),
        ("left", ctypes.c_int32),
        ("top", ctypes.c_int32),
        ("right", ctypes.c_int32),
        ("bottom", ctypes.c_int32),
        ("mode", ctypes.c_int32),
        ("fill", ctypes.c_uint8 * 4),
        ("planes", ctypes.c_int32),
    ]


class Store(ctypes.Structure):
    _fields_ = [("channels", ctypes.c_int32), ("itemsize", ctypes.c_int32), ("table", ctypes.c_void_p)]


class Seek(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("room", ctypes.c_size_t), ("size", ctypes.c_size_t)]


class Job(ctypes.Structure):
    _fields_ = [
        ("decoder", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("size", ctypes.c_size_t),
        ("width", ctypes.c_int32),
        ("height", ctypes.c_int32),
        ("raw", ctypes.c_int32),
        ("seek", Seek),
        ("npass", ctypes.c_int32),
        ("status", ctypes.c_int32),
        ("dst", ctypes.c_void_p),
        ("dst_size", ctypes.c_size_t),
        ("store", ctypes.POINTER(Store)),
        ("passes", Pass * PASSES_MAX),
        ("why", ctypes.c_char * WHY_BYTES),
    ]


def pass_order() -> int:
    """The order of the installed Pillow, as op.h lists it."""
    version = tuple(int(part) for part in PIL.__version__.split(".")[:2])
    return 2 if version >= (13, 0) else 1 if version >= (12, 2) else 0


class Worker:
    """One gl_worker of one library."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library
        library.gl_worker_open.restype = ctypes.c_void_p
        library.gl_worker_close.argtypes = [ctypes.c_void_p]
        library.gl_worker_run.argtypes = [ctypes.c_void_p, ctypes.POINTER(Job), ctypes.c_int32, ctypes.c_void_p]
        library.gl_worker_bytes_live.restype = ctypes.c_size_t
        self.handle = library.gl_worker_open(pass_order())
        assert self.handle

    def close(self) -> None:
        self.library.gl_worker_close(self.handle)
        assert self.library.gl_worker_bytes_live() == 0

    def run(
        self, image: Bytes, passes: list[Pass], size: tuple[int, int], table: npt.NDArray[np.generic]
    ) -> npt.NDArray[np.generic]:
        """The sample of an image [h, w, 3] through passes that leave size (w, h); table is [channels, 256]."""
        out = np.zeros((table.shape[0], size[1], size[0]), table.dtype)
        store = Store(table.shape[0], table.itemsize, table.ctypes.data)
        job = Job(data=image.ctypes.data, size=image.nbytes, width=image.shape[1], height=image.shape[0])
        job.npass, job.dst, job.dst_size, job.store = len(passes), out.ctypes.data, out.nbytes, ctypes.pointer(store)
        for i, one in enumerate(passes):
            job.passes[i] = one
        self.library.gl_worker_run(self.handle, ctypes.byref(job), 1, None)
        assert (job.status, job.why) == (DECODED, b"")
        return out


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = os.environ.get("CC") or shutil.which("cc") or pytest.skip("no C compiler")
    library = tmp_path_factory.mktemp("op") / "op.so"
    sources = [str(path) for path in sorted(OP.glob("*.c"))]
    subprocess.run([compiler, "-O2", "-fPIC", "-shared", "-o", str(library), *sources, "-lm"], check=True)
    return library


@pytest.fixture(scope="module", params=KERNELS)
def worker(request: pytest.FixtureRequest, built: Path) -> Iterator[Worker]:
    # A library chooses its kernels once: each set gets a copy of it.
    copy = built.with_name(f"{request.param}.so")
    shutil.copy(built, copy)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GOLOADER_KERNELS", request.param)
        library = ctypes.CDLL(str(copy))
        library.gl_kernels_name.restype = ctypes.c_char_p
        if library.gl_kernels_name().decode() != request.param:
            pytest.skip(f"this processor has no {request.param}")
    worker = Worker(library)
    yield worker
    worker.close()


def identity(channels: int = 3) -> Bytes:
    return np.tile(np.arange(256, dtype=np.uint8), (channels, 1))


def noise(rng: np.random.Generator, width: int, height: int) -> Bytes:
    """Noise, at times in black and white only: there ringing filters clip and orders of passes differ most."""
    image = rng.integers(0, 256, (height, width, 3), dtype=np.uint8)
    return np.where(image > 127, np.uint8(255), np.uint8(0)) if rng.random() < 0.3 else image


def window(rng: np.random.Generator, width: int, height: int) -> Window:
    x, y = int(rng.integers(width)), int(rng.integers(height))
    return Window(x, y, int(rng.integers(1, width - x + 1)), int(rng.integers(1, height - y + 1)))


def resample(src: Window, width: int, height: int, resampling: int, out: Window | None = None, flip: int = 0) -> Pass:
    out = out or Window(0, 0, width, height)
    return Pass(kind=RESAMPLE, src=src, width=width, height=height, filter=resampling, out=out, flip=flip)


def cropped(image: Image.Image, w: Window) -> Image.Image:
    return image.crop((w.x, w.y, w.x + w.width, w.y + w.height))


def flipped(image: Image.Image, flip: int) -> Image.Image:
    if flip & HORIZONTAL:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    if flip & VERTICAL:
        image = image.transpose(Image.Transpose.FLIP_TOP_BOTTOM)
    return image


def planar(image: Image.Image) -> Bytes:
    array = np.asarray(image)
    return array[None] if array.ndim == 2 else np.ascontiguousarray(array.transpose(2, 0, 1))


def side(rng: np.random.Generator) -> int:
    """Small sides most of the time, with 1 among them; now and then long ones."""
    return int(rng.integers(1, (4, 40, 300, 900)[rng.choice(4, p=[0.2, 0.45, 0.3, 0.05])]))


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
        store = Store(3, item, table.ctypes.data)
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
        [Pass(kind=9)],
        [],
    ]
    pixels, out, table = np.zeros((6, 8, 3), np.uint8), np.zeros((3, 6, 8), np.uint8), identity()
    store = Store(3, 1, table.ctypes.data)
    for passes in bad:
        job = Job(data=pixels.ctypes.data, size=pixels.nbytes, width=8, height=6, npass=len(passes))
        job.dst, job.dst_size, job.store = out.ctypes.data, out.nbytes, ctypes.pointer(store)
        for i, one in enumerate(passes):
            job.passes[i] = one
        worker.library.gl_worker_run(worker.handle, ctypes.byref(job), 1, None)
        assert job.status == BAD_JOB and job.why, [p.kind for p in passes]
