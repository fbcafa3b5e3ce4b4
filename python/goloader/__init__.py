"""goloader: torch's DataLoader, with the work done in Go.

    from goloader import DataLoader  # in place of torch.utils.data's

The names here are what goloader promises. DataLoader needs torch; NumpyLoader, the transforms and the exceptions need
numpy only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import transforms
from ._errors import BugError, CoreError, ForkedError, LibraryError, PlanError
from ._numpy import NumpyLoader
from .plan.explain import Explanation, Row

if TYPE_CHECKING:
    from ._loader import DataLoader

__all__ = [
    "BugError",
    "CoreError",
    "DataLoader",
    "Explanation",
    "ForkedError",
    "LibraryError",
    "NumpyLoader",
    "PlanError",
    "Row",
    "transforms",
]


def __getattr__(name: str) -> Any:
    # torch is imported by those who use it.
    if name == "DataLoader":
        from ._loader import DataLoader

        return DataLoader
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
