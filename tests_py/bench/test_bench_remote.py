"""bench.remote: ours come from Go, every image is given once, and ratios are taken inside a round."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import photos, remote


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_all_of_ours_come_from_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ensure = photos.ensure_photos
    monkeypatch.setattr(photos, "ensure_photos", lambda settings: ensure(settings, tmp_path))
    for name in ("ENDPOINT_URL_S3", "PROFILE", "SESSION_TOKEN"):
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    for name in ("ENDPOINT_URL", "ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "REGION"):
        monkeypatch.setenv(f"AWS_{name}", "set by what runs")
    monkeypatch.setattr(remote, "SHARD", 16)  # shards for each of eight workers
    names = [name for name in remote.CONTENDERS if "-" not in name or name == "webdataset-8"]
    output = tmp_path / "kept.json"
    remote.main(["--count=256", "--rounds=1", "--delays=1ms", f"--contenders={','.join(names)}", f"--output={output}"])
    found = json.loads(output.read_text())["contenders"]["1ms"]
    assert [*found] == names
    assert all(rate > 0 for (rate,) in found.values())


def test_ratios_are_taken_inside_rounds() -> None:
    found = {"goloader": [40.0, 90, 10], "boto3-8": [1.0, 2, 3], "boto3-32": [2.0, 3, 1], "boto3": [20.0, 30, 40]}
    lines = remote.table(found, "20ms").splitlines()
    assert [line.split()[-2:] for line in lines[1:]] == [
        ["40", "20.00x"], ["2", "0.67x"], ["2", "1.00x"], ["30", "10.00x"],
    ]  # fmt: skip
