"""MODULE:OBJECT of a command line."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

HELP = "the module is a name or a .py file; a class or function is called without arguments"


def find(parser: argparse.ArgumentParser, target: str) -> Any:
    """What a target names, or what it gives if it is a class or function. Ends the program with 2 if there is none."""
    module, _, name = target.rpartition(":")
    if not module:
        parser.error(f"{target!r} is not MODULE:OBJECT")
    try:
        found: Any = _module(module)
        for each in name.split("."):
            found = getattr(found, each)
    except (ImportError, AttributeError, OSError) as error:
        parser.error(f"{target}: {error}")
    return found() if isinstance(found, type | FunctionType) else found


def _module(name: str) -> ModuleType:
    sys.path.insert(0, os.getcwd())
    if not name.endswith(".py"):
        return importlib.import_module(name)
    path = Path(name).resolve()
    sys.path.insert(0, str(path.parent))
    return importlib.import_module(path.stem)


def loader(found: Any) -> Any:
    """A loader of ours, if `found` is one, or a dataset, or gives one; else None."""
    import goloader

    if isinstance(found, goloader.DataLoader):
        return found
    if hasattr(type(found), "__getitem__") or hasattr(type(found), "__iter__"):
        return goloader.DataLoader(found, batch_size=8)
    return None
