"""Files that other libraries wrote, and what they read in them."""

from __future__ import annotations

import pickle
import zipfile
from pathlib import Path
from typing import Any

ARCHIVE = Path(__file__).with_name("written.zip")


class Written:
    """The files of one format: their path, in a folder of its own, and the samples that its library read there."""

    def __init__(self, name: str, folder: Path) -> None:
        with zipfile.ZipFile(ARCHIVE) as archive:
            members = [each for each in archive.namelist() if each.startswith(f"{name}/")]
            archive.extractall(folder, members)
            self.samples: list[Any] = pickle.loads(archive.read(f"{name}.pickle"))
        self.path = folder / name

    @property
    def files(self) -> list[Path]:
        return sorted(each for each in self.path.rglob("*") if each.is_file())
