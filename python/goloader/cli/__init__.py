"""The command line: `python -m goloader COMMAND`. Each command is a module here with `add(commands)`.

run.py      runs an unmodified script with goloader's DataLoader, and profiles it
startup/    goes on PYTHONPATH for that; Python runs it at its start
bench.py    times a loader with torch and with goloader
plan.py     tells what an epoch on many machines needs; sizing.py has the model
tune.py     measures num_workers, prefetch_factor, batch_size and a cache
rate.py     measures how many samples a second a loader gives
turns.py    runs measurements in turn, each in a new process
explain.py  shows what runs in Go, beside the source of the dataset
top.py      shows what the loaders of a running process are doing
doctor.py   describes the machine, versions, and what keeps a loader from Go
inspect.py  shows what archives, folders and files of other libraries contain
index.py    lists tar archives or a folder of images ahead
cache.py    lists, checks or empties a dataset's cache on disk
pack.py     writes samples into tar archives, and verifies them
objects.py  parses MODULE:OBJECT
paths.py    tells archives and folders of images apart
"""

from __future__ import annotations

import argparse
import platform
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from . import bench, cache, doctor, explain, index, inspect, pack, plan, run, top, tune


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command that `arguments` (None: those of the process) name, and returns its exit code.

    Raises SystemExit as argparse does: 0 after --help and --version, 2 for arguments that make no sense.
    """
    parsed = parser().parse_args(arguments)
    status: int = parsed.command(parsed)
    return status


def parser() -> argparse.ArgumentParser:
    """Of all commands."""
    made = argparse.ArgumentParser(
        prog="python -m goloader", description="PyTorch's DataLoader with the work done in Go", allow_abbrev=False
    )
    made.add_argument("--version", action="version", version=_versions())
    commands = _Commands(made.add_subparsers(title="commands", metavar="COMMAND", required=True))
    for module in (run, explain, doctor, bench, tune, plan, top, inspect, index, pack, cache):
        module.add(commands)
    return made


class _Commands:
    def __init__(self, parsers: Any) -> None:
        self._parsers = parsers

    def add(self, name: str, command: Callable[..., int], **about: Any) -> Any:
        """The parser of a command, which it gets with what that has parsed."""
        made = self._parsers.add_parser(name, allow_abbrev=False, **about)
        made.set_defaults(command=partial(command, made))
        return made


def _versions() -> str:
    """goloader's version, and those that a report of a bug should name."""
    names = [
        f"goloader {doctor.version_of('goloader')}",
        f"torch {doctor.version_of('torch')}",
        f"Python {platform.python_version()}",
    ]
    return ", ".join(names)
