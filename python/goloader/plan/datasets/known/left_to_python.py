"""Classes of torchvision.datasets that are left to Python, by their names: nothing is imported to look for them."""

from __future__ import annotations

import sys
from typing import Any

from ...trust.look import parents

# By module and name in torchvision.datasets; subclasses that change nothing of what is known are meant too.
_LEFT = {
    ("fakedata", "FakeData"): "torch.randn draws its images: by another arithmetic, with other bits, on another kind "
    "of processor, as byte() does of its negative numbers",
    ("sbd", "SBDataset"): "scipy reads its masks out of .mat files",
    ("pcam", "PCAM"): "h5py reads its images out of an HDF5 file",
    ("lsun", "LSUN"): "lmdb reads its images out of a database",
}


def why_not(dataset: Any) -> str:
    """Why a class of torchvision's that one might look for is left to Python; "" for all others."""
    kinds = parents(type(dataset))
    for (module, name), why in _LEFT.items():
        left = getattr(sys.modules.get(f"torchvision.datasets.{module}"), name, None)
        if any(kind is left for kind in kinds):
            return why
    return ""
