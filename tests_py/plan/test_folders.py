"""Files by a pattern are those that pathlib and glob find, in their order, whatever comes into the folder meanwhile."""

from __future__ import annotations

import glob
import os
import random
from pathlib import Path

import pytest

from goloader.plan.bytecode import UnreadableError
from goloader.plan.datasets.reads import folders

PATTERNS = ("a*", "*a", "a.*", ".*", "*", "b*.png", "a.b*", "*.*"[1:], "aa*a", "x\n*")


def test_files_by_a_pattern(tmp_path: Path) -> None:
    chance = random.Random(0)
    for turn in range(30):
        name = "".join(chance.choice("aab.") for _ in range(chance.randint(1, 5))).strip(".") or "a"
        name = chance.choice(["", "."]) + name + chance.choice(["", ".png", "\n"])
        if turn % 7 == 6 and (there := list(tmp_path.iterdir())):
            chance.choice(there).unlink()
        (tmp_path / name).write_text("")
        for pattern in PATTERNS:
            assert folders.found_by_pathlib(tmp_path, pattern) == list(tmp_path.glob(pattern)), pattern
            path = os.path.join(tmp_path, pattern)
            assert folders.found_by_glob(path) == glob.glob(path), pattern


def test_a_listing_is_kept_once_the_folder_has_been_still(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    os.utime(tmp_path, (1e9, 1e9))
    first = folders.listing(str(tmp_path))
    assert folders.listing(str(tmp_path)).names is first.names
    (tmp_path / "b").write_text("")
    assert sorted(folders.listing(str(tmp_path)).names) == ["a", "b"]


@pytest.mark.parametrize("pattern", ["a", "**", "*b*", "[a]*", "a?*", "b/*", ""])
def test_other_patterns_are_left_alone(pattern: str, tmp_path: Path) -> None:
    with pytest.raises(UnreadableError):
        folders.found_by_pathlib(tmp_path, pattern)
    with pytest.raises(UnreadableError):
        folders.found_by_glob(f"{tmp_path}/x/{pattern}")


def test_a_folder_that_is_not_there_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError):
        folders.found_by_pathlib(tmp_path / "none", "a*")
