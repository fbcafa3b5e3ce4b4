"""MODULE:OBJECT of a command line."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

HELP = "MODULE is a module name or a .py file; if OBJECT is a class or function, it is called without arguments"


def takes_one(parser: argparse.ArgumentParser, **more: Any) -> None:
    """Adds the argument that names a loader or a dataset."""
    parser.add_argument("target", metavar="MODULE:OBJECT", help=f"a DataLoader or a dataset: {HELP}", **more)


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


def loader(parser: argparse.ArgumentParser, target: str) -> Any:
    """The loader of ours that a target names or gives, or one over that dataset. Ends the program with 2 for others."""
    import goloader

    goloader.install()
    found = find(parser, target)
    if isinstance(found, goloader.DataLoader):
        return found
    if not hasattr(type(found), "__getitem__") and not hasattr(type(found), "__iter__"):
        parser.error(f"{target} gives a {type(found).__qualname__}, neither a DataLoader nor a dataset")
    return goloader.DataLoader(found, batch_size=8)


def ready(parser: argparse.ArgumentParser, target: str) -> Any:
    """The same, where each batch waits until it is known whether the next may be recorded."""
    os.environ.setdefault("GOLOADER_TRIAL", "wait")  # before goloader looks
    return loader(parser, target)
