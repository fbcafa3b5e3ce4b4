"""LMDB: keys and values of a file."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..storage.lmdb import Tree
from .records import Read, Records, Spans


class LMDB(Records):
    """Keys and values of an LMDB file, in the order of its keys."""

    kind = "LMDB"

    def __init__(self, path: str) -> None:
        with open(path, "rb") as file:
            tree = Tree(path, file.fileno())
        self._keys = tree.keys
        places = np.frombuffer(tree.places, np.int64).reshape(-1, 2)
        super().__init__([path], [places], {"key": "bytes", "value": "bytes"})

    def spans(self, row: int, read: Read) -> Spans:
        return {"key": (0, 0), "value": (0, int(self.size[row]))}  # keys are in memory

    def value(self, row: int, name: str, content: bytes) -> Any:
        return self._keys[row] if name == "key" else content
