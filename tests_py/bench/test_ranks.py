"""bench.ranks: all ranks have torch's batches, and the table has ratios taken inside rounds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import photos, ranks


@pytest.mark.slow
def test_both_contenders_make_the_same_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranks, "ensure_photos", lambda settings: photos.ensure_photos(settings, tmp_path))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    output = tmp_path / "kept.json"
    ranks.main(["--count=64", "--ranks=2", "--rounds=1", f"--output={output}"])
    found = json.loads(output.read_text())["ranks"]["2"]
    (ours,), (theirs,) = found["goloader"], found["torch"]
    assert ours["checksums"] == theirs["checksums"] and len(ours["checksums"]) == 2
    assert all(one["peak_mib"] > 0 and one["cpu_s_per_1k"] > 0 and 0 < one["least"] <= 1 for one in (ours, theirs))


def test_ratios_are_taken_inside_rounds() -> None:
    def figures(rate: float, memory: float) -> dict[str, float]:
        return {"images_per_s": rate, "cpu_s_per_1k": 1, "peak_mib": memory, "least": 0.95}

    ours = [figures(10, 100), figures(40, 100), figures(90, 100)]
    torchs = [figures(1, 200), figures(2, 400), figures(3, 400)]
    lines = ranks.table({"4": {"goloader": ours, "torch": torchs}}, cores=2).splitlines()
    # Two cores that make an image in 1 ms each: 2,000 a second.
    assert lines[1].split() == ["4", "x", "goloader", "40", "1.00", "100", "0.95", "20.00x", "0.25", "0.02"]
    assert lines[2].split()[-3:-1] == ["1.00x", "1.00"]
