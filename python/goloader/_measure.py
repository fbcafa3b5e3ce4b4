"""What loaders are compared by: a digest of everything a user sees of their batches, and CPU seconds."""

from __future__ import annotations

import resource
from typing import Any

import numpy as np
import torch


def add(seen: Any, part: Any) -> None:
    """Adds all that a user sees of a thing to a digest of hashlib's."""
    seen.update(f"{type(part).__module__}.{type(part).__qualname__}".encode())
    if isinstance(part, torch.Tensor) and part.layout == torch.strided:
        seen.update(f"{part.dtype}{tuple(part.shape)}{part.stride()}".encode())
        seen.update(part.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    elif isinstance(part, np.ndarray) and not part.dtype.hasobject:
        seen.update(f"{part.dtype}{part.shape}{part.strides}".encode())
        seen.update(np.ascontiguousarray(part).tobytes())
    elif isinstance(part, dict):
        seen.update(str(len(part)).encode())
        for key, value in part.items():
            add(seen, key)
            add(seen, value)
    elif isinstance(part, list | tuple | np.ndarray):
        seen.update(str(len(part)).encode())
        for each in part:
            add(seen, each)
    elif isinstance(part, str | bytes | int | float | complex | np.generic | type(None)):
        seen.update(repr(part).encode())
    elif hasattr(part, "__dict__"):
        add(seen, vars(part))


def cpu_s() -> float:
    """Of this process and of those that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)
