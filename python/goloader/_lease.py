"""numpy arrays over a slot of the core; the last one gone gives the slot back."""

from __future__ import annotations

import ctypes
import weakref
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _native

# A field of at most this many bytes is copied out, so that keeping the labels of an epoch does not keep its images.
COPIED_BYTES_MAX = 64 << 10

# ctypes makes a class for every length of an array, and padded batches have many: one will do, as numpy looks at what
# it needs. Views of views go back to the array over it, and not to the memory.
_Memory = ctypes.c_uint8 * (1 << 56)


@cache
def _numpy_dtype(lib: _native.Library, dtype: int) -> np.dtype[Any]:
    # numpy has no bfloat16; whoever has torch views the words as what they are.
    name = _native.dtype_name(lib, dtype)
    return np.dtype(np.uint16 if name == "bfloat16" else name)


def arrays(lib: _native.Library, batch: _native.Batch) -> list[NDArray[Any]]:
    """The fields of a delivered batch, in its order: views of the slot, or copies of small ones.

    The slot goes back to the core when the last view of it is gone, in whatever thread that happens; never at
    interpreter exit.
    """
    if not batch.lease:
        return []
    slot: NDArray[Any] = np.ndarray((batch.bytes,), np.uint8, memoryview(_Memory.from_address(batch.data)))
    made: list[NDArray[Any]] = []
    leased = False
    for field in batch.field[: batch.nfields]:
        view: NDArray[Any] = np.ndarray(
            tuple(field.shape[: field.ndim]), _numpy_dtype(lib, field.dtype), buffer=slot, offset=field.offset
        )
        if view.nbytes <= COPIED_BYTES_MAX:
            view = view.copy()
        else:
            leased = True
        made.append(view)
    if leased:
        # Not at exit: views may outlive the interpreter's last moments, and the kernel frees everything anyway.
        weakref.finalize(slot, lib.gl_release, batch.lease).atexit = False
    else:
        lib.gl_release(batch.lease)
    return made
