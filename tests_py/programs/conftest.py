"""Programs of bench/programs over small sets, under both loaders."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]

# Those that drop their last batch need more samples for one.
SAMPLES = {"dino": 72, "moco": 72, "offline_rl": 260, "open_clip": 72, "simclr": 260, "tacotron2": 72}


@pytest.fixture
def run(tmp_path: Path) -> Callable[[tuple[str, ...]], dict[str, Any]]:
    """Runs programs, and gives what each of them did: a process imports all libraries, and forks for each."""

    def run(names: tuple[str, ...]) -> dict[str, Any]:
        counts = defaultdict(list)
        for name in names:
            counts[SAMPLES.get(name, 40)].append(name)
        output = tmp_path / "kept.json"
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(REPOSITORY / "python"), str(REPOSITORY)])}
        for count, of_this_size in counts.items():
            command = [sys.executable, "-m", "bench.programs", "--rounds=0", f"--output={output}"]
            command += [f"--samples={count}", f"--only={','.join(of_this_size)}"]
            done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True)
            assert output.exists(), done.stderr
            print(done.stderr)
        programs: dict[str, Any] = json.loads(output.read_text())["programs"]
        return programs

    return run
