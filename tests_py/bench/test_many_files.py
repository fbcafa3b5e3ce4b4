"""bench.many_files: it reads what it says, and shows memory over torch's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import many_files


@pytest.mark.slow
def test_a_whole_epoch_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "kept.json"
    many_files.main(["--files=3000", "--workers=2", "--contenders=goloader", f"--output={output}"])
    (figures,) = json.loads(output.read_text())["contenders"]["goloader"]
    assert figures["paths"] == figures["samples"] == 3000
    assert figures["peak_mib"] > 0 and figures["list_s"] > 0 and figures["read_s"] > 0
    assert "3,000 files, 2 workers, 3,000 samples read" in capsys.readouterr().out


def test_the_table_has_each_contender_s_memory_over_torch_s() -> None:
    def figures(peak_mib: float) -> dict[str, float]:
        about = {"paths": 10, "samples": 10, "workers": 8, "path_bytes": 60}
        return about | {"list_s": 1, "read_s": 2, "peak_mib": peak_mib, "list_mib": 4, "bytes_per_file": 16}

    found = {"goloader": [figures(100), figures(200), figures(300)], "torch": [figures(1500)] * 3}
    lines = many_files.table(found).splitlines()
    assert [line.split()[-1] for line in lines[2:]] == ["7.5x", "1.0x"]
