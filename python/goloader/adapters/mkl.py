"""MKL, as torch has it in its own library: its exponentials are torch's, to the last bit."""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache


def vmsexp() -> int | None:
    """The address of its VMSEXP; None without torch, or where torch was built without MKL."""
    torch = sys.modules.get("torch")
    return None if torch is None else _vmsexp(os.path.dirname(torch.__file__ or ""))


@cache
def _vmsexp(package: str) -> int | None:
    try:
        # Loaded already, by torch.
        library = ctypes.CDLL(os.path.join(package, "lib", "libtorch_cpu.so"))
        return ctypes.cast(library.VMSEXP_, ctypes.c_void_p).value
    except (AttributeError, OSError):
        return None
