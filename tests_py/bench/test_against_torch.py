"""bench.against_torch: what it keeps, and that its cases can be run again one by one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import against_table, against_torch
from bench.cases import CASES

NAMES = list(CASES)


@pytest.mark.slow
def test_a_case_that_is_run_again_leaves_the_others_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "kept.json"
    others = {"tokens": {"as": "it was"}, "a case of former times": {}, "tensors": {"as": "it was, too"}}
    kept.write_text(json.dumps({"cases": others}))
    against_torch.main(["--cases=short_epochs", "--rounds=2", "--seconds=0", f"--output={kept}"])
    cases = json.loads(kept.read_text())["cases"]
    measured = cases.pop("short_epochs")
    assert list(cases) == ["tensors", "tokens"]
    assert cases == {name: others[name] for name in cases}
    speeds = measured["samples_per_s"]
    assert set(speeds) == {"goloader"} | {f"torch, {n}" for n in (0, measured["workers"], 2 * measured["workers"])}
    assert all(len(rounds) == 2 and min(rounds) > 0 for rounds in speeds.values())
    assert measured["bytes_per_sample"] == 32 * 4 + 8
    assert CASES["short_epochs"].title in capsys.readouterr().out


def test_results_stand_in_the_order_of_the_cases(tmp_path: Path) -> None:
    kept = tmp_path / "new" / "kept.json"
    for name in reversed(NAMES):
        against_torch.keep(kept, name, {"of": name})
    assert list(json.loads(kept.read_text())["cases"].items()) == [(name, {"of": name}) for name in NAMES]


def test_ratios_are_of_rounds_and_over_torch_s_best() -> None:
    case = CASES["short_epochs"]
    speeds = {"goloader": [10.0, 40.0, 90.0], "torch, 0": [10.0, 20.0, 30.0], "torch, 2": [1.0, 1.0, 900.0]}
    figures = {"workers": 2, "samples_per_s": speeds, "bytes_per_sample": 1, "memcpy_bytes_per_s": 80}
    best, same, memcpy = against_table.Row(case, figures).judged()
    assert (best.ratio, same.ratio, memcpy.ratio) == (2, 10, 0.5)
    assert (best.wanted, same.wanted) == (case.targets.best, case.targets.same) == (1, 50)
    assert against_table.missed([against_table.Row(case, figures)]) == [
        f"{case.title}: 10 times torch with 2 workers, 50 wanted"
    ]
    table = against_table.markdown({"short_epochs": figures})
    assert f"| {case.title} | 20 | 1 | 40 | 2x (1x) | 10x (50x) |" in table
    assert table.splitlines()[0] == "|  | torch, 0 | torch, 2 | goloader | / best | / same | / Go | GB/s | memcpy |"


def test_a_case_that_does_not_exist_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        against_torch.main(["--cases=tensors,nonsense"])
    assert "no case called nonsense; there are tensors, " in capsys.readouterr().err
