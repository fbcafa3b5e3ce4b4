"""Programs of bench/programs over small sets, under both loaders."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]

# Those that drop their last batch need more samples for one.
SAMPLES = {"dino": 72, "moco": 72, "offline_rl": 260, "open_clip": 72, "simclr": 260, "tacotron2": 72}


@pytest.fixture(scope="module")
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the programs did that this run asks for: one process imports all libraries, and forks for each."""
    items = (item for item in request.session.items if isinstance(item, pytest.Function))
    asked = {name for item in items if item.module is request.module for name in item.callspec.params["names"]}
    counts = defaultdict(list)
    for name in sorted(asked):
        counts[SAMPLES.get(name, 40)].append(name)
    output = tmp_path_factory.mktemp("programs") / "kept.json"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(REPOSITORY / "python"), str(REPOSITORY)])}
    for count, names in counts.items():
        command = [sys.executable, "-m", "bench.programs", "--rounds=0", f"--output={output}"]
        command += [f"--samples={count}", f"--only={','.join(names)}"]
        done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True)
        assert output.exists(), done.stderr
        print(done.stderr)
    programs: dict[str, Any] = json.loads(output.read_text())["programs"]
    return programs
