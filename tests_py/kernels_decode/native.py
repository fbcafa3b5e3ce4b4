"""The C decoders in a shared library of their own, to be compared with Pillow without the rest of goloader."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import warnings
from io import BytesIO
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

DECODE = Path(__file__).resolve().parents[2] / "core" / "decode"
DECODED, REFUSED = 0, 1
WHY_BYTES = 200

Pixels = npt.NDArray[np.uint8]
Box = tuple[int, int, int, int]  # x, y, width, height


class _Window(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int32) for name in ("x", "y", "width", "height")]


class Seek(ctypes.Structure):
    """A file's seek index in memory of its own: gl_seek."""

    _fields_ = [("data", ctypes.c_void_p), ("room", ctypes.c_size_t), ("size", ctypes.c_size_t)]

    def __init__(self, room: int) -> None:
        self.bytes = np.zeros(room, np.uint8)
        super().__init__(self.bytes.ctypes.data, room, 0)


def build(folder: Path) -> ctypes.CDLL:
    """Compiles the decoders, the collecting sink of core/decode/decodetest, and encode.c.

    GOLOADER_TEST_CC and GOLOADER_TEST_CFLAGS choose another compiler or a sanitizer.
    """
    cc = os.environ.get("GOLOADER_TEST_CC") or shutil.which("cc") or "cc"
    flags = os.environ.get("GOLOADER_TEST_CFLAGS", "-O2").split()
    parts = ("jpeg", "png", "webp", "bmp", "gif", "tiff", "decodetest")
    sources = sorted(str(c) for part in parts for c in (DECODE / part).glob("*.c"))
    sources.append(str(Path(__file__).with_name("encode.c")))
    library = folder / "decoders.so"
    command = [cc, "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", *flags, *sources]
    subprocess.run([*command, "-ljpeg", "-ldeflate", "-o", str(library)], check=True)
    lib = ctypes.CDLL(str(library))
    lib.gl_test_open.restype = ctypes.c_void_p
    lib.gl_test_open.argtypes = [ctypes.c_void_p]
    lib.gl_test_close.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    lib.gl_test_decode.argtypes = [
        ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int32, ctypes.c_int32,
        _Window, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p,
    ]  # fmt: skip
    return lib


class Decoder:
    """One worker's state of one decoder; `name` is the gl_decoder's symbol."""

    def __init__(self, lib: ctypes.CDLL, name: str) -> None:
        self._lib = lib
        self._decoder = ctypes.addressof(ctypes.c_char.in_dll(lib, name))
        self._state = lib.gl_test_open(self._decoder)
        assert self._state
        self.why = ""  # of the last refusal

    def close(self) -> None:
        self._lib.gl_test_close(self._decoder, self._state)

    def decode(
        self, data: bytes, size: tuple[int, int], box: Box | None = None, seek: Seek | None = None
    ) -> Pixels | None:
        """The box of the image as [height, width, 3], or None if the decoder refuses."""
        box = box or (0, 0, *size)
        out = np.zeros((box[3], box[2], 3), np.uint8)
        rows = ctypes.c_int32()
        why = ctypes.create_string_buffer(WHY_BYTES)
        # bytes objects end in a NUL that a sanitizer cannot tell from the file: a buffer of the exact size instead.
        exact = np.frombuffer(data, np.uint8).copy()
        status = self._lib.gl_test_decode(
            self._decoder, self._state, exact.ctypes.data, len(data), *size, _Window(*box),
            None if seek is None else ctypes.byref(seek),
            out.ctypes.data, ctypes.byref(rows), why,
        )  # fmt: skip
        self.why = why.value.decode("latin-1")
        assert exact.tobytes() == data, "the file's bytes were written to"
        if status == DECODED:
            assert rows.value == box[3], "rows are missing"
            return out
        assert status == REFUSED and self.why, (status, self.why)
        return None


def pillow(data: bytes) -> Pixels | None:
    """What torchvision's loader makes of a file, or None if Pillow raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return np.asarray(Image.open(BytesIO(data)).convert("RGB"))
        except Exception:
            return None
