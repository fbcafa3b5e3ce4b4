"""Frameworks train with our loaders as they do with torch's; a test is skipped only where its framework is missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import photos
import pytest

import goloader

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """26 small JPEG files in three classes."""
    return photos.fill(tmp_path_factory.mktemp("frameworks"), photos.plain(26, width=24, height=24))


@pytest.fixture(autouse=True)
def _uninstalled() -> Any:
    yield
    goloader.uninstall()


@pytest.fixture
def torchrun(root: Path, tmp_path: Path) -> Callable[[str], list[Any]]:
    """Runs a program of this folder below `python -m goloader run` as two ranks of torchrun.

    Its arguments are the image folder and a folder for results; returns what each rank wrote to result-RANK.json there.
    """

    def run(program: str) -> list[Any]:
        command = [sys.executable, "-m", "goloader", "run", "-m", "torch.distributed.run", "--standalone"]
        command += ["--nproc-per-node", "2", str(HERE / program), str(root), str(tmp_path)]
        search = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
        environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": search, "CUDA_VISIBLE_DEVICES": ""}
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=200
        )
        assert done.returncode == 0, done.stderr
        return [json.loads((tmp_path / f"result-{rank}.json").read_text()) for rank in range(2)]

    return run
