"""Puts goloader's StatefulDataLoader where torchdata's is: found by PYTHONPATH, in spawned children as well."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType

_PACKAGE = "torchdata.stateful_dataloader"


class _Replacing(importlib.abc.MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != _PACKAGE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        assert spec is not None and spec.loader is not None
        run = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            run(module)
            from distributed_sampler import StatefulDistributedSampler

            from goloader import StatefulDataLoader
            from goloader.state import samplers

            module.StatefulDataLoader = StatefulDataLoader
            sampler = importlib.import_module(_PACKAGE + ".sampler")
            sampler.RandomSampler = samplers.RandomSampler
            sampler.StatefulDistributedSampler = StatefulDistributedSampler

        spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, _Replacing())
