"""equal_steps: ranks with data of different lengths take as many steps, each its own batches first."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from equal_ranks import KINDS, POLICIES, SAMPLES

import goloader

HERE = Path(__file__).parent


def ranks(how: str, place: Path) -> list[Any]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(len(SAMPLES))]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    command += [str(HERE / "equal_ranks.py"), how, str(place)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=250)
    assert done.returncode == 0, done.stderr
    files = [place / f"result-{rank}.json" for rank in range(len(SAMPLES))]
    return [json.loads(file.read_text()) if file.exists() else None for file in files]


def wanted(policy: str, own: list[Any], steps: int) -> list[Any]:
    fillers = own * steps if policy == "repeat" else [own[-1]] * steps
    return [[numbers, False] for numbers in own[:steps]] + [
        [numbers, True] for numbers in fillers[: max(0, steps - len(own))]
    ]


@pytest.mark.slow
def test_ranks_take_as_many_steps(tmp_path: Path) -> None:
    told = ranks("compared", tmp_path)
    assert len(told[0]) == len(KINDS) * len(POLICIES) * 2
    for cases in zip(*told, strict=True):
        policy = (case := cases[0]["case"])[-1]
        lengths = {len(each["own"]) for each in cases}
        assert len(lengths) == 3, case
        steps = min(lengths) if policy == "truncate" else max(lengths)
        for each in cases:
            assert not each["padded"], case
            own = each["own"]
            for number, epoch in enumerate([*each["epochs"], each["next"]]):
                assert epoch == wanted(policy, own, steps), (case, number)
            middle, rest = each["middle"], each["rest"]
            assert middle == [numbers for numbers, _ in wanted(policy, own, len(middle))], case
            left = own[len(middle) :]
            fillers = own * steps if policy == "repeat" or not left else [left[-1]] * steps
            again = [[numbers, True] for numbers in fillers][: max(0, steps - len(middle) - len(left))]
            assert rest == [[numbers, False] for numbers in left[: steps - len(middle)]] + again, case


@pytest.mark.slow
def test_ranks_that_fail_or_are_gone_are_named(tmp_path: Path) -> None:
    told = ranks("raises,empty,other,gone", tmp_path)
    assert told[1] is None
    raises, empty, other, gone = zip(told[0], told[2], strict=True)
    assert set(raises) == {"RuntimeError: no step 2 in this rank, for others have failed:\nrank 1: OSError: number 104"}
    why = (
        "ValueError: rank 1 has no batch, so equal_steps='pad' has nothing to give again: give each rank data, or take"
    )
    assert set(empty) == {f'RuntimeError: no step 0 in this rank, for others have failed:\nrank 1: {why} "truncate"'}
    assert set(other) == {"ValueError: all ranks need the same equal_steps, but have 'pad', 'truncate'"}
    for each in gone:
        assert each.startswith("RuntimeError") and named(tmp_path, "has ended") in each


def named(place: Path, doing: str) -> str:
    return f"equal_steps, step 2: rank 1 (process {(place / 'pid-1').read_text()} {doing}) does not answer"


@pytest.mark.slow
@pytest.mark.parametrize(("how", "doing"), [("hangs", "is stopped"), ("waits", r"has waited for a batch for \d+ s")])
def test_a_rank_that_does_not_go_on_is_named_after_the_timeout_of_the_group(
    how: str, doing: str, tmp_path: Path
) -> None:
    told = ranks(how, tmp_path)
    for (said,) in (told[0], told[2]):
        assert said.startswith("RuntimeError")
        assert re.search(re.escape(named(tmp_path, "...")).replace(re.escape("..."), doing), said), said


def test_with_one_rank_it_is_the_loaders_own_length() -> None:
    loader = goloader.DataLoader(range(10), 3, equal_steps="pad")  # type: ignore[arg-type]
    assert [len(batch) for batch in loader] == [3, 3, 3, 1]
    assert loader.explain().rows[0].why == "there is one rank"
    with pytest.raises(ValueError, match="equal_steps is None, 'truncate', 'repeat', 'pad', but got 'drop'"):
        goloader.DataLoader(range(10), equal_steps="drop")  # type: ignore[arg-type]
