"""Programs that run in a process of their own, so that a hang is a failure and what they print is seen."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from tests_py import fresh

HERE = Path(__file__).parent

sys.path.insert(0, str(HERE))


@pytest.fixture
def script() -> Callable[..., str]:
    """Runs a program that may import `samples`; returns what it prints. It must end by itself, with `code`."""

    def run(text: str, *arguments: str, timeout: float = 240, code: int = 0, **environment: str) -> str:
        done = fresh.run(
            textwrap.dedent(text), *arguments, libraries="torch", timeout=timeout, path=[HERE], **environment
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    return run
