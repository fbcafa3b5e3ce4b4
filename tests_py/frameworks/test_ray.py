"""goloader.ray.Transform in a real cluster: ray_nodes.py."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zlib
from pathlib import Path

import photos
import pytest

from goloader.ray import Transform
from tests_py.pages import part

pytest.importorskip("ray")
from ray_nodes import transform

HERE = Path(__file__).parent


@pytest.mark.slow
def test_three_nodes_make_what_one_process_makes_though_one_of_them_is_killed(tmp_path: Path) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    files = photos.plain(90)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    (example,) = re.findall(r"```python\n(.*?)```", part("docs/ray.md", "ray"), re.DOTALL)
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": "", "RAY_USAGE_STATS_ENABLED": "0"}
    done = subprocess.run(
        [sys.executable, str(HERE / "ray_nodes.py"), str(folder), example, str(tmp_path / "results.json")],
        env=environment, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=280,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-5000:]
    told = json.loads((tmp_path / "results.json").read_text())

    def wanted(epoch: int) -> dict[str, int]:
        ours = Transform(transform(), seed=5, epoch=epoch, key="path")
        paths = [str(folder / name) for name in files]
        made = ours({"bytes": list(files.values()), "path": paths})["image"]
        return {name: zlib.crc32(image.tobytes()) for name, image in zip(files, made, strict=True)}

    assert told["nodes"] == 3 and told["nodes left"] == 2
    assert told["actors"] == wanted(0)
    lines = [f"torch.Size([{rows}, 3, 224, 224]) torch.float32" for rows in (32, 32, 26)]
    assert told["example"].splitlines() == lines
    assert told["killed"] == wanted(1)
    assert "row 0 of the batch, path 'some.jpg'" in told["error"]
