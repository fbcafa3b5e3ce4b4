"""The vector kernels against the plain ones, over all inputs or random extreme ones."""

from __future__ import annotations

import ctypes

import numpy as np
import numpy.typing as npt
import pytest
from kernel_sets import SETS

Bytes = npt.NDArray[np.uint8]
SLACK = 128
VECTOR_SETS = [name for name in SETS if name != "plain"]


def _pointer(array: npt.NDArray[np.generic], offset: int = 0) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data + offset)


@pytest.fixture(scope="module", params=VECTOR_SETS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_colours_of_all_ycc(library: ctypes.CDLL, name: str) -> None:
    cb, cr = (v.ravel() for v in np.meshgrid(*[np.arange(256, dtype=np.uint8)] * 2))
    n = cb.size
    cb, cr = (np.concatenate([v, np.zeros(SLACK, np.uint8)]) for v in (cb, cr))
    for y in [0, 1, 2, 60, 127, 128, 200, 254, 255]:
        luma = np.full(n + SLACK, y, np.uint8)
        results = []
        for kernels in ["plain", name]:
            out = [np.zeros(n + SLACK, np.uint8) for _ in range(3)]
            getattr(library, f"gl_jpeg_colour_{kernels}")(
                _pointer(luma), _pointer(cb), _pointer(cr), n, *[_pointer(p) for p in out]
            )
            results.append([p[:n] for p in out])
        np.testing.assert_array_equal(*results, str(y))


def test_upsampling(library: ctypes.CDLL, name: str) -> None:
    rng = np.random.default_rng(1)
    for n in [1, 2, 3, 15, 16, 17, 31, 32, 33, 63, 64, 65, 500]:
        near, far = (rng.integers(0, 256, n + 2 * SLACK, dtype=np.uint8) for _ in range(2))
        for kind in ["h2v1", "h2v2", "h1v2"]:
            if not hasattr(library, f"gl_jpeg_{kind}_{name}"):
                continue
            for bias in [1, 2]:
                results = []
                for kernels in ["plain", name]:
                    out = np.zeros(2 * n + SLACK, np.uint8)
                    rows = [_pointer(near, SLACK)] + [_pointer(far, SLACK)] * (kind != "h2v1")
                    function = getattr(library, f"gl_jpeg_{kind}_{kernels}")
                    function(*rows, *[bias] * (kind == "h1v2"), n, _pointer(out))
                    results.append(out[: n if kind == "h1v2" else 2 * n])
                np.testing.assert_array_equal(*results, f"{kind} {n}")


def _coefficients(rng: np.random.Generator) -> npt.NDArray[np.int16]:
    """Four blocks: sparse as in photographs, dense, or of extreme values that make sums wrap."""
    kind = rng.integers(0, 4)
    if kind == 0:
        block = rng.integers(-200, 200, (4, 64)) * (rng.random((4, 64)) < 0.2)
    elif kind == 1:
        block = rng.integers(-2048, 2048, (4, 64))
    elif kind == 2:
        block = rng.choice([-32768, -32767, -8193, -8192, 0, 8191, 8192, 32767], (4, 64))
    else:
        block = rng.integers(-32768, 32768, (4, 64)) * (np.arange(64) < rng.integers(1, 64))
    return block.astype(np.int16)


def test_transform(library: ctypes.CDLL, name: str) -> None:
    rng = np.random.default_rng(2)
    overflows = set()
    for _ in range(4000):
        blocks = _coefficients(rng)
        quant = rng.integers(1, int(rng.choice([2, 30, 256, 65536])), 64).astype(np.uint16)
        pointers = (ctypes.c_void_p * 4)(*[blocks[i].ctypes.data for i in range(4)])
        results = []
        for kernels in ["plain", name]:
            out = np.zeros((8, 48), np.uint8)
            function = getattr(library, f"gl_jpeg_idct_{kernels}")
            overflow = function(pointers, _pointer(quant), _pointer(out), ctypes.c_ssize_t(48))
            results.append((out, bool(overflow)))
        np.testing.assert_array_equal(results[0][0], results[1][0])
        assert results[0][1] == results[1][1]
        assert not results[0][0][:, 32:].any()
        overflows.add(results[0][1])
    assert overflows == {False, True}
