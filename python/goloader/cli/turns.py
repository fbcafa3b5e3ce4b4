"""Loaders of the user's that are measured in turn, each time in a process of its own."""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping
from typing import IO, Any, NoReturn

from ..adapters.python import fork_unwarned
from . import objects


def apart(
    turn: Callable[[], Any], command: str, what: str, environment: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """What a function gives in a process of its own, as JSON has it. `what` is how a message names the turn.

    The process is forked from this one, which has imported torch, and nothing of the user's: a new interpreter would
    take longer to import torch than most turns last. Raises SystemExit where it fails; it has said why.
    """
    import torch  # noqa: F401 # by all turns

    with tempfile.TemporaryFile("w+") as outcome:
        for each in (sys.stdout, sys.stderr):
            each.flush()
        with fork_unwarned(always=True):
            child = os.fork()
        if not child:
            os.environ.update(environment or {})
            _end(turn, outcome)
        try:
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        except BaseException:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise
        if status:
            raise SystemExit(f"python -m goloader {command}: with {what} it ended with exit code {status}")
        outcome.seek(0)
        found: dict[str, Any] = json.load(outcome)
        return found


def _end(turn: Callable[[], Any], outcome: IO[str]) -> NoReturn:
    """Writes what a turn gives, and ends this process as an interpreter ends."""
    status: Any = 1
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        json.dump(turn(), outcome)
        outcome.flush()
        status = 0
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 1
        if not isinstance(error.code, int):
            print(error.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def seeded(parser: argparse.ArgumentParser, target: str) -> Any:
    """What objects.loader gives for a target; all generators are seeded before and after it is made."""
    _seed()
    made = objects.loader(parser, target)
    _seed()
    return made


def _seed() -> None:
    """Seeds every generator that a loader may draw from."""
    import numpy as np
    import torch

    for each in (random.seed, np.random.seed, torch.manual_seed):
        each(0)
