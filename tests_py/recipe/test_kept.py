"""What trials of recording found is kept on disk: the next process begins with it while code and settings are the
same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests_py import fresh

pytestmark = pytest.mark.slow

CODE = """
import os
from PIL import Image
from torch.utils.data import Dataset
from torchvision import transforms as T

class Photos(Dataset):
    def __init__(self, root, size):
        self.paths = sorted(os.path.join(root, name) for name in os.listdir(root))
        self.transform = T.Compose([T.Resize((size, size)), T.ToTensor()])
    def __len__(self):
        return len(self.paths)
    def __getitem__(self, index):
        try:
            image = Image.open(self.paths[index]).convert("RGB")
        finally:
            real = type(Image.new("RGB", (1, 1)))
        if os.path.exists("odd") and type(image) is not real:
            image = image.resize((3, 3))
        return self.transform(image)
"""

PROGRAM = """
import json, sys, time, warnings
import torch
sys.path.insert(0, "")
from photos import Photos
from goloader import DataLoader
from goloader.doors.index import later
later._BATCHES, later._LEFT_S = 1, 1e-9  # without workers, too, the second batch is recorded, though they are few
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    loader = DataLoader(Photos(sys.argv[1], int(sys.argv[2])), batch_size=4, num_workers=int(sys.argv[3]))
    sums = [float(batch.double().sum()) for epoch in range(2) for batch in loader]
    for epoch in range(int(sys.argv[4])):
        if caught:
            break
        time.sleep(0.5)
        list(loader)
rows = [row.what for row in loader.explain() if row.stage == "trace" and row.where == "Go"]
print(json.dumps([rows, sums, [str(each.message) for each in caught if "SAMPLES_DIFFER" in str(each.message)]]))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "photos").mkdir()
    rng = np.random.default_rng(3)
    for number in range(24):
        pixels = rng.integers(0, 256, (240, 280, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / "photos" / f"{number:02}.jpg")
    (tmp_path / "photos.py").write_text(CODE)
    return tmp_path


def run(folder: Path, *, size: int = 8, workers: int = 0, wait: bool = False, more: int = 0) -> Any:
    """What is recorded, what is in the batches of two epochs, and what is warned of, in some more epochs as well.

    Without `wait` so few images see no trial.
    """
    return json.loads(printed(folder, PROGRAM, size, workers, more, wait=wait))


def printed(folder: Path, program: str, *arguments: object, wait: bool = False) -> str:
    environment = {"GOLOADER_CACHE": str(folder / "cache"), "GOLOADER_TRIAL": "wait" if wait else ""}
    done = fresh.run(program, folder / "photos", *arguments, cwd=folder, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("workers", [0, 2])
def test_the_next_process_records_from_the_first_batch_on(folder: Path, workers: int) -> None:
    none, sums, _ = run(folder, workers=workers)
    assert none == []
    recorded, same, _ = run(folder, workers=workers, wait=True)
    assert recorded and same == sums
    recorded, same, _ = run(folder, workers=workers)
    # Without workers torch makes a batch before any loader is looked at.
    assert recorded == [f"{48 if workers else 44} images in batch"] and same == sums
    none, _, _ = run(folder, workers=workers, size=9)
    assert none == [], "other settings"
    (folder / "photos.py").write_text(CODE + "\n")
    none, same, _ = run(folder, workers=workers)
    assert none == [] and same == sums, "other code"


def test_what_was_found_is_checked_again(folder: Path) -> None:
    run(folder, wait=True)
    (folder / "odd").touch()
    _, _, warned = run(folder, more=60)
    assert warned


@pytest.mark.parametrize("content", ["", "{}", '{"files": 3}', '{"files": {"/none": [1, 2]}}', "[]"])
def test_a_file_that_is_damaged_says_nothing(folder: Path, content: str) -> None:
    run(folder, wait=True)
    (kept,) = (folder / "cache" / "recordings").iterdir()
    kept.write_text(content)
    none, _, _ = run(folder)
    assert none == []


CHECKED = """
import sys, time
sys.path.insert(0, "")
from photos import Photos
from goloader import DataLoader
from goloader.doors import sandbox
from goloader.doors.recipe import door
begin = sandbox.begin
def counting(page, work):
    with open("trials", "a") as file:
        file.write("one\\n")
    begin(page, work)
sandbox.begin = counting
loader = DataLoader(Photos(sys.argv[1], 8), batch_size=4, num_workers=2)
for _ in range(60):
    list(loader)
    if not door.record(loader).kept:
        break
    time.sleep(0.5)
heard = len(open("trials").readlines())
for _ in range(3):
    list(loader)
print(door.record(loader).kept, door.record(loader).state, len(open("trials").readlines()) - heard)
"""


def test_what_was_kept_is_checked_once_a_process(folder: Path) -> None:
    run(folder, workers=2, wait=True)
    assert printed(folder, CHECKED).split() == ["False", "native", "0"]
