"""Classes of torchvision.datasets that are known by their names, so that nothing is imported to look for them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from .. import look
from ..originals import module_of
from ..refusal import SourceRefusal


@dataclass(frozen=True)
class Known:
    """A class.

    module, name  of it in torchvision.datasets; subclasses that change nothing of what is known are meant too
    """

    module: str
    name: str

    @property
    def base(self) -> Any:
        """The class, None while nobody imported it."""
        return getattr(sys.modules.get(f"torchvision.datasets.{self.module}"), self.name, None)


K = TypeVar("K", bound=Known)


def nearest(dataset: Any, kinds: Sequence[K]) -> K | None:
    """Which of these classes `dataset` is of; the one nearest to its own."""
    # Only torchvision's own classes are looked up: that is done at each epoch.
    parents = [
        parent for parent in look.parents(type(dataset)) if module_of(parent).startswith("torchvision.datasets.")
    ]
    return next((kind for parent in parents for kind in kinds if parent is kind.base), None)


def check_paths(name: str, paths: Iterable[Any]) -> None:
    """Raises RefusalError if one is none."""
    for kind in set(map(type, paths)):
        if not issubclass(kind, str | bytes | os.PathLike):
            raise SourceRefusal(name, f"it has paths of type {kind.__name__}", "FILE_LIST")


@dataclass(frozen=True)
class _Left(Known):
    """A class that is left to Python, and why."""

    why: str


_LEFT = (
    _Left(
        "fakedata",
        "FakeData",
        "torch.randn draws its images: by another arithmetic, with other bits, on another kind of processor, as byte() "
        "does of its negative numbers",
    ),
    _Left("sbd", "SBDataset", "scipy reads its masks out of .mat files"),
    _Left("pcam", "PCAM", "h5py reads its images out of an HDF5 file"),
    _Left("lsun", "LSUN", "lmdb reads its images out of a database"),
)


def why_not(dataset: Any) -> str:
    """Why a class of torchvision's that one might look for is left to Python; "" for all others."""
    left = nearest(dataset, _LEFT)
    return "" if left is None else left.why
