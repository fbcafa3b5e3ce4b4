"""The README's table of versions is what `make test-matrix` found, and pyproject.toml promises no more than that."""

from __future__ import annotations

import json
import re
from typing import Any

from tests_py.matrix.rows import RESULTS, ROWS
from tests_py.pages import REPOSITORY, require_part

COLUMNS = ("Python", "torch", "torchvision", "Pillow", "numpy", "OpenCV", "albumentations")
DOORS = ("datasets that goloader knows", "classes of your own", "worker processes")

FOUND: list[dict[str, Any]] = json.loads(RESULTS.read_text())


def table() -> str:
    lines = [f"| {' | '.join((*COLUMNS, *DOORS))} |", "|---" * (len(COLUMNS) + len(DOORS)) + "|"]
    for row in FOUND:
        versions = dict(row["versions"])
        if "pillow-simd" in versions:
            versions["Pillow"] = f"{versions['pillow-simd']} (pillow-simd)"
        on = ("on" if door in row["doors"] else "off" for door in (1, 2, 3))
        lines.append(f"| {' | '.join((*(versions.get(name, '') for name in COLUMNS), *on))} |")
    return "\n".join(lines) + "\n"


def lowest(name: str) -> tuple[int, ...]:
    """The oldest version that a row ran with, as far as two numbers tell it."""
    versions = (dict(row["versions"])[name].rstrip("t") for row in FOUND)
    return min(tuple(map(int, version.split(".")[:2])) for version in versions if version)


def test_the_table_of_versions_is_that_of_the_kept_results() -> None:
    require_part("README.md", "versions", table())


def test_what_was_found_is_what_the_rows_say() -> None:
    rows = {row.name: list(row.doors) for row in ROWS}
    assert {row["row"]: row["doors"] for row in FOUND} == {row["row"]: rows.get(row["row"]) for row in FOUND}


def test_pyproject_promises_what_was_tried() -> None:
    text = (REPOSITORY / "pyproject.toml").read_text()
    for name in ("torch", "torchvision", "numpy"):
        floors = {tuple(map(int, floor.split("."))) for floor in re.findall(rf'"{name}>=([0-9.]+)"', text)}
        assert floors == {lowest(name)}, name
    assert f'requires-python = ">={".".join(map(str, lowest("Python")))}"' in text
    tried = {dict(row["versions"])["Python"].rstrip("t").rpartition(".")[0] for row in FOUND}
    assert set(re.findall(r'"Programming Language :: Python :: (3\.\d+)"', text)) == tried
