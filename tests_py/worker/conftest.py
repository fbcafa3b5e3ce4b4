"""Programs that run in a process of their own, so that a hang is a failure and what they print is seen."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from tests_py import fresh

PACKAGE = Path(__file__).parents[2] / "python"
HERE = Path(__file__).parent

sys.path.insert(0, str(HERE))


@pytest.fixture
def script() -> Callable[..., str]:
    """Runs a program that may import `samples`; returns what it prints. It must end by itself, with `code`."""

    def run(text: str, *arguments: str, timeout: float = 240, code: int = 0, **environment: str) -> str:
        try:
            done = fresh.run(
                textwrap.dedent(text), *arguments, libraries="torch", timeout=timeout, path=[HERE], **environment
            )
        except subprocess.TimeoutExpired as hung:
            pytest.fail(f"hung after {timeout} s, having said:\n{hung.stdout}{hung.stderr}")
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    return run
