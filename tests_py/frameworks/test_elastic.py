"""torchrun with other numbers of ranks, killed in the middle of an epoch and started again: nothing of the epoch is
seen twice and nothing is left out, and the next one is torch's for the ranks that there are then."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from elastic import SAMPLES
from torch.utils.data import DistributedSampler

HERE = Path(__file__).parent


def told(place: Path, ranks: int) -> list[Any]:
    return [json.loads((place / f"result-{rank}.json").read_text()) for rank in range(ranks)]


def torchrun(ranks: int, *arguments: Any) -> int:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    command += [str(HERE / "elastic.py"), *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=280)
    return done.returncode if "SIGKILL" in done.stderr or done.returncode == 0 else pytest.fail(done.stderr)


@pytest.mark.slow
@pytest.mark.parametrize(("way", "drop_last"), [("json", False), ("dcp", True)])
def test_ranks_are_killed_and_others_go_on(way: str, drop_last: bool, tmp_path: Path) -> None:
    choose = random.Random(f"{way} {drop_last}")
    epoch, parts = choose.randint(0, 5), (3, 2, 5)
    for part, ranks in enumerate(parts):
        # One after the first save, perhaps just before the next.
        kill_at = choose.randint(2, 4) if part < 2 else -1
        shape = choose.randint(3, 6), choose.choice([0, 1, 2]), int(drop_last)
        killed = torchrun(ranks, way, tmp_path, epoch, *shape, kill_at)
        assert (killed != 0) == (part < 2)
        if part < 2:
            saved = json.loads((tmp_path / "last").read_text())["seen"]
            assert len(set(saved)) == len(saved)
    left = SAMPLES - len(saved)
    results = told(tmp_path, 5)
    seen = Counter(results[0]["seen"])
    if drop_last:
        assert set(seen.values()) == {1} and SAMPLES - seen.total() == left % 5
    else:
        assert set(seen) == set(range(SAMPLES)) and seen.total() - SAMPLES == -left % 5
    for rank, result in enumerate(results):
        sampler: Any = DistributedSampler(range(SAMPLES), 5, rank, seed=epoch, drop_last=drop_last)  # type: ignore[arg-type]
        sampler.set_epoch(epoch + 1)
        assert result["later"] == list(sampler)


@pytest.mark.slow
def test_ranks_that_fail_or_do_not_answer_are_named(tmp_path: Path) -> None:
    torchrun(3, "fails", tmp_path, 0, 1, 0, 0, 0)
    assert told(tmp_path, 3) == ["StateError: no state of the job:\nprocess 1: OSError: no state today"] * 3
    torchrun(3, "late", tmp_path, 0, 1, 0, 0, 0)
    first, _, other = told(tmp_path, 3)
    assert "Ranks 1 failed" in first and other.startswith("RuntimeError")
