"""What Python's collector of garbage goes through in a worker process."""

from __future__ import annotations

import gc
import multiprocessing
import weakref
from typing import Any

import pytest
from torch.utils import data

import goloader

pytestmark = pytest.mark.skipif(multiprocessing.get_start_method() != "fork", reason="nothing is inherited")

HERE = [[number] for number in range(1000)]


class Cycle:
    def __init__(self) -> None:
        self.own = self


class Looked(data.Dataset[Any]):
    """Whether the collector goes through lists of the parent, and whether it finds garbage of the worker."""

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> tuple[bool, bool]:
        inherited = set(map(id, HERE))
        gone = weakref.ref(Cycle())
        gc.collect()
        return any(id(each) in inherited for each in gc.get_objects()), gone() is None


def test_a_worker_leaves_what_it_inherited_out_of_collections() -> None:
    (sample,) = goloader.DataLoader(Looked(), num_workers=1, batch_size=None)
    assert tuple(sample) == (False, True)
