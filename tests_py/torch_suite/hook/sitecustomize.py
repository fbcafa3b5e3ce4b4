"""Puts goloader's DataLoader where torch's is: found by PYTHONPATH, in spawned children and `python -c` as well."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType


class _Replacing(importlib.abc.MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != "torch.utils.data":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        assert spec is not None and spec.loader is not None
        run = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            run(module)
            from goloader import DataLoader

            module.DataLoader = DataLoader
            module.dataloader.DataLoader = DataLoader

        spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, _Replacing())
