from __future__ import annotations

import ctypes
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "kernels_decode"))

import native
from kernel_sets import SETS


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return native.build(tmp_path_factory.mktemp("decoders"))


@pytest.fixture(scope="module", params=SETS)
def library(request: pytest.FixtureRequest, built: ctypes.CDLL) -> Iterator[ctypes.CDLL]:
    """The decoders with one set of kernels; a copy of the library for each, since the choice is made once a library."""
    path = Path(built._name)
    copy = path.with_name(f"decoders-{request.param}.so")
    if not copy.exists():
        shutil.copy(path, copy)
    lib = ctypes.CDLL(str(copy))
    for name in ["gl_test_open", "gl_test_close", "gl_test_decode"]:
        getattr(lib, name).restype = getattr(built, name).restype
        getattr(lib, name).argtypes = getattr(built, name).argtypes
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GOLOADER_KERNELS", request.param)
        yield lib


@pytest.fixture(scope="module")
def jpeg(library: ctypes.CDLL) -> Iterator[native.Decoder]:
    """Our decoder with libjpeg-turbo behind it, as the product runs it."""
    decoder = native.Decoder(library, "gl_jpeg_own")
    yield decoder
    decoder.close()


@pytest.fixture(scope="module")
def alone(library: ctypes.CDLL) -> Iterator[native.Decoder]:
    """Our decoder without libjpeg-turbo: what it returns is its own work."""
    decoder = native.Decoder(library, "gl_jpeg_own_alone")
    yield decoder
    decoder.close()


@pytest.fixture(scope="module")
def turbo(library: ctypes.CDLL) -> Iterator[native.Decoder]:
    decoder = native.Decoder(library, "gl_jpeg_turbo")
    yield decoder
    decoder.close()
