from __future__ import annotations

import ctypes
from collections.abc import Iterator

import native
import pytest


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return native.build(tmp_path_factory.mktemp("decoders"))


@pytest.fixture(scope="module", params=["best", "plain"])
def kernels(request: pytest.FixtureRequest) -> Iterator[str]:
    """Both versions of the vector code; the choice is made when a decoder's state is opened."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GOLOADER_KERNELS", request.param)
        yield request.param


@pytest.fixture(scope="module")
def jpeg(library: ctypes.CDLL, kernels: str) -> Iterator[native.Decoder]:
    decoder = native.Decoder(library, "gl_jpeg_turbo")
    yield decoder
    decoder.close()


@pytest.fixture(scope="module")
def png(library: ctypes.CDLL, kernels: str) -> Iterator[native.Decoder]:
    decoder = native.Decoder(library, "gl_png")
    yield decoder
    decoder.close()
