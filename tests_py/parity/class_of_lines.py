"""Classes of datasets from lines, as people write them."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torchvision.transforms.functional as F
from PIL import Image

_NAMES: dict[str, Any] = {"Image": Image, "F": F, "np": np, "torch": torch, "random": random, "os": os}


def dataset_of(base: type, lines: Sequence[str], root: Path) -> Any:
    """base's dataset of a root, whose `__getitem__(self, i)` has these lines; the last one is what it returns."""
    *before, result = lines
    body = [f"        {line}" for line in (*before, f"return {result}")]
    names = {**_NAMES, "Base": base}
    exec("\n".join(["class Made(Base):", "    def __getitem__(self, i):", *body]), names)
    return names["Made"](root)
