"""Programs that run in a process of their own, so that a hang is a failure and what they print is seen."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "python"
HERE = Path(__file__).parent

sys.path.insert(0, str(HERE))


@pytest.fixture
def script() -> Callable[..., str]:
    """Runs a program that may import `samples`; returns what it prints. It must end by itself, with `code`."""

    def run(text: str, *arguments: str, timeout: float = 240, code: int = 0, **environment: str) -> str:
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(text), *arguments],
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(PACKAGE), str(HERE)])} | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # its children too: they hold the pipes open
            out, err = process.communicate()
            pytest.fail(f"hung after {timeout} s, having said:\n{out}{err}")
        assert process.returncode == code, out + err
        return out

    return run
