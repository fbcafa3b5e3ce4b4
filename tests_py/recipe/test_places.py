"""Wherever a dataset keeps a random generator or a state, its batches are torch's: each case in fresh processes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests_py.recipe import places

GROUPS = 8


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("group", range(GROUPS))
def test_generators_and_states_are_torch_s(group: int, tmp_path: Path) -> None:
    names = list(places.PLACES)[group::GROUPS]
    command = [sys.executable, "-m", "tests_py.recipe.places", str(tmp_path), *names]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    assert json.loads(done.stdout) == {}
