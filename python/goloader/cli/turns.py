"""Loaders of the user's that are measured in turn, each time in a process of its own."""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from . import objects


def apart(
    command: str, arguments: Sequence[str], what: str, environment: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Has `python -m goloader COMMAND ARGUMENTS... FILE` write JSON to a file, and returns that.

    Raises SystemExit where that fails; it has said why. `what` is how the message names the turn.
    """
    with tempfile.NamedTemporaryFile("r", suffix=".json") as outcome:
        line = [sys.executable, "-m", "goloader", command, *arguments, outcome.name]
        status = subprocess.run(
            line, env=os.environ | (environment or {}), stdout=subprocess.DEVNULL, check=False
        ).returncode
        if status:
            raise SystemExit(f"python -m goloader {command}: with {what} it ended with exit code {status}")
        found: dict[str, Any] = json.loads(outcome.read())
        return found


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
