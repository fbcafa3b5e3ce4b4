"""torch's and numpy's settings that torch's workers would have: those of the moment they were forked."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from ...adapters.torch import default_device

# How each is asked for, and how it is set.
_SETTINGS: tuple[tuple[Callable[[], Any], Callable[[Any], Any]], ...] = (
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    (torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode),
)
_THREADS = torch.get_num_threads, torch.set_num_threads


class Settings:
    """The settings of this moment."""

    def __init__(self) -> None:
        self._there = [(*each, each[0]()) for each in _SETTINGS]
        self._device, self._grad = default_device(), torch.is_grad_enabled()
        self._autocast, self._errors = _autocast(), np.geterr()

    @contextlib.contextmanager
    def inside(self, *, alone: bool = False) -> Iterator[None]:
        """In a with statement they hold: for code of the user's that runs in place of a worker's.

        alone  in one thread, as all of a worker's: sums depend on their number
        """
        with contextlib.ExitStack() as back:
            for ask, put, there in [*self._there, *([(*_THREADS, 1)] if alone else [])]:
                here = ask()
                if here != there:
                    back.callback(put, here)
                    put(there)
            if default_device() != self._device:
                back.enter_context(self._device)
            if _autocast() != self._autocast:
                enabled, dtype, cache = self._autocast
                back.enter_context(torch.autocast("cpu", dtype, enabled, cache))
            if torch.is_grad_enabled() != self._grad:
                back.enter_context(torch.set_grad_enabled(self._grad))
            back.enter_context(np.errstate(**self._errors))
            yield


def _autocast() -> tuple[bool, torch.dtype, bool]:
    return torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"), torch.is_autocast_cache_enabled()
