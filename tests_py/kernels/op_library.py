"""core/op's C half, compiled into a library of its own and driven by ctypes: neither Go nor the C ABI is between a
difference and its cause. Images come in as raw pixels: decoders have tests of their own.
"""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

import numpy as np
import numpy.typing as npt
import PIL
from PIL import Image

OP = Path(__file__).resolve().parents[2] / "core" / "op"
KERNELS = ("plain", "avx2", "avx512", "neon")

# As the C sources have them: a job that is laid out otherwise would be written beyond.
_SIZES = dict(
    re.findall(
        r"\bGL_(\w+) = (\d+)\b",
        "".join(file.read_text() for file in [*OP.glob("*.h"), OP / "../decode/decoder.h", OP / "../rng/twister.h"]),
    )
)
PASSES_MAX, PATCHES_MAX, WHY_BYTES, TAPS_MAX, SMOOTH_MAX = (
    int(_SIZES[name]) for name in ("PASSES_MAX", "PATCHES_MAX", "WHY_BYTES", "TAPS_MAX", "SMOOTH_MAX")
)
TERMS_MAX, NOISES_MAX, TWISTER_WORDS = (int(_SIZES[name]) for name in ("TERMS_MAX", "NOISES_MAX", "TWISTER_WORDS"))
# In the order of passes.h, which tests_py/recipe/test_tables.py compares.
(
    RESAMPLE, PAD, GREY, LOOKUP, CONTRAST, SATURATION, SHARPNESS, HUE, AUTOCONTRAST, EQUALIZE,
    AFFINE, PERSPECTIVE, TURN, SELECT, BOX_BLUR, CONVOLVE, STENCIL, TO_HSV, FROM_HSV, TORCH_COLOUR, RANK,
    TO_YCBCR, CONVOLVE_UNIT, ZOOM, TORCH_AFFINE, TORCH_PERSPECTIVE,
    NORMALIZE, ERASE,
) = range(28)  # fmt: skip
HORIZONTAL, VERTICAL = 1, 2
DECODED, BAD_JOB = 0, 101
RAW_RGB, RAW_GREY = 0, 2
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
        ("factor", ctypes.c_float),
        ("shift", ctypes.c_int32),
        ("radius", ctypes.c_float * 2),
        ("times", ctypes.c_int32),
        ("weight", (ctypes.c_float * TAPS_MAX) * 2),
        ("rest", ctypes.c_float),
        ("fused", ctypes.c_int32),
        ("over_numbers", ctypes.c_int32),
        ("number", (ctypes.c_float * 3) * 2),
        ("noise", ctypes.c_int32),
        ("matrix", ctypes.c_double * 8),
        ("smooth", (ctypes.c_double * SMOOTH_MAX) * 2),
        ("table", (ctypes.c_uint8 * 256) * 3),
    ]


class Store(ctypes.Structure):
    _fields_ = [
        ("channels", ctypes.c_int32),
        ("itemsize", ctypes.c_int32),
        ("interleaved", ctypes.c_int32),
        ("tables", ctypes.c_int32),
        ("table", ctypes.c_void_p),
    ]


class Seek(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("room", ctypes.c_size_t), ("size", ctypes.c_size_t)]


class Noise(ctypes.Structure):
    _fields_ = [
        ("fill", ctypes.c_void_p),
        ("numbers", ctypes.c_int32 * 4),
        ("state", ctypes.c_uint32 * TWISTER_WORDS),
    ]


class Finish(ctypes.Structure):
    _fields_ = [
        ("terms", ctypes.c_int32),
        ("noises", ctypes.c_int32),
        ("term", (ctypes.c_int32 * 5) * TERMS_MAX),
        ("noise", Noise * NOISES_MAX),
    ]


class Job(ctypes.Structure):
    _fields_ = [
        ("decoder", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("size", ctypes.c_size_t),
        ("width", ctypes.c_int32),
        ("height", ctypes.c_int32),
        ("raw", ctypes.c_int32),
        ("is_one_plane", ctypes.c_int32),
        ("seek", Seek),
        ("npass", ctypes.c_int32),
        ("status", ctypes.c_int32),
        ("dst", ctypes.c_void_p),
        ("dst_size", ctypes.c_size_t),
        ("store", ctypes.POINTER(Store)),
        ("passes", Pass * PASSES_MAX),
        ("npatch", ctypes.c_int32),
        ("patches", (ctypes.c_int32 * 5) * PATCHES_MAX),
        ("finish", Finish),
        ("why", ctypes.c_char * WHY_BYTES),
    ]


class Kernels(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_void_p)
        for name in ("name", "torch", "pack_horizontal", "pack_vertical", "horizontal", "vertical", "put",
                     "linear_across", "linear_down", "grey", "split", "lookup", "blend", "smooth", "hue", "stencil",
                     "blur", "convolve", "convolve_apart", "weigh", "warp_along", "warp_nearest", "warp_pack",
                     "warp_unpack", "warp_blend", "warp_inside", "to_hsv", "from_hsv", "zoom_smooth", "zoom_row",
                     "grid")
    ]  # fmt: skip


def pass_order() -> int:
    """The order of the installed Pillow, as op.h lists it."""
    version = tuple(int(part) for part in PIL.__version__.split(".")[:2])
    return 2 if version >= (13, 0) else 1 if version >= (12, 2) else 0


class Worker:
    """One gl_worker of one library."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library
        library.gl_kernels_name.restype = ctypes.c_char_p
        self.name = library.gl_kernels_name().decode()
        library.gl_worker_open.restype = ctypes.c_void_p
        library.gl_worker_close.argtypes = [ctypes.c_void_p]
        library.gl_worker_run.argtypes = [ctypes.c_void_p, ctypes.POINTER(Job), ctypes.c_int32, ctypes.c_void_p]
        library.gl_worker_bytes_live.restype = ctypes.c_size_t
        self.handle = library.gl_worker_open(pass_order())
        assert self.handle

    def close(self) -> None:
        self.library.gl_worker_close(self.handle)
        assert self.library.gl_worker_bytes_live() == 0

    def kernel(self, name: str) -> int:
        """The address of one of its kernels, by its name in kernels.h."""
        self.library.gl_kernels_chosen.restype = ctypes.c_void_p
        return int(Kernels.from_address(self.library.gl_kernels_chosen()).__getattribute__(name))

    def run(
        self, image: Bytes, passes: list[Pass], size: tuple[int, int], table: npt.NDArray[np.generic]
    ) -> npt.NDArray[np.generic]:
        """The sample of an image [h, w, 3] or [h, w] through passes that leave size (w, h); table: [channels, 256]."""
        out = np.zeros((table.shape[0], size[1], size[0]), table.dtype)
        store = Store(table.shape[0], table.itemsize, tables=1, table=table.ctypes.data)
        job = Job(data=image.ctypes.data, size=image.nbytes, width=image.shape[1], height=image.shape[0])
        job.raw = RAW_RGB if image.ndim == 3 else RAW_GREY
        job.npass, job.dst, job.dst_size, job.store = len(passes), out.ctypes.data, out.nbytes, ctypes.pointer(store)
        for i, one in enumerate(passes):
            job.passes[i] = one
        self.library.gl_worker_run(self.handle, ctypes.byref(job), 1, None)
        assert (job.status, job.why) == (DECODED, b"")
        return out


def identity(channels: int = 3) -> Bytes:
    return np.tile(np.arange(256, dtype=np.uint8), (channels, 1))


def noise(rng: np.random.Generator, width: int, height: int) -> Bytes:
    """Noise, at times in black and white only: there ringing filters clip and orders of passes differ most."""
    image = rng.integers(0, 256, (height, width, 3), dtype=np.uint8)
    return np.where(image > 127, np.uint8(255), np.uint8(0)) if rng.random() < 0.3 else image


def planar(image: Image.Image) -> Bytes:
    array = np.asarray(image)
    return array[None] if array.ndim == 2 else np.ascontiguousarray(array.transpose(2, 0, 1))


def side(rng: np.random.Generator) -> int:
    """Small sides most of the time, with 1 among them; now and then long ones."""
    return int(rng.integers(1, (4, 40, 300, 900)[rng.choice(4, p=[0.2, 0.45, 0.3, 0.05])]))


def window(rng: np.random.Generator, width: int, height: int) -> Window:
    x, y = int(rng.integers(width)), int(rng.integers(height))
    return Window(x, y, int(rng.integers(1, width - x + 1)), int(rng.integers(1, height - y + 1)))


def resample(src: Window, width: int, height: int, resampling: int, out: Window | None = None, flip: int = 0) -> Pass:
    out = out or Window(0, 0, width, height)
    return Pass(kind=RESAMPLE, src=src, width=width, height=height, filter=resampling, out=out, flip=flip)
