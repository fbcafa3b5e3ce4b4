"""A dataset's first batch waits for nothing that records: that comes with the second one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests_py import fresh

PROGRAM = """
import sys
import torch
from PIL import Image
from torchvision import transforms as T
import goloader

workers, epochs = int(sys.argv[1]), int(sys.argv[2])
RECORDING = ("fetch", "image", "native", "tensor", "tracer", "trial")

def imported():
    return sum(f"goloader.doors.recipe.{name}" in sys.modules for name in RECORDING)

class Own(torch.utils.data.Dataset):
    transform = T.Compose([T.RandomCrop(16), T.ToTensor()])

    def __len__(self):
        return int(sys.argv[3])

    def __getitem__(self, index):
        image = Image.open(f"{sys.argv[4]}/{index % 8}.jpg").convert("RGB")
        return self.transform(image), imported()

loader = goloader.DataLoader(Own(), batch_size=4, num_workers=workers)
for epoch in range(epochs):
    for number, (images, counts) in enumerate(loader):
        if epoch == 0 and number < max(workers, 1):
            assert not counts.any() and not imported(), number
print("in batch[0]" in str(loader.explain()))
"""


def printed(folder: Path, workers: int, epochs: int, samples: int) -> str:
    for number in range(8):
        pixels = np.random.default_rng(number).integers(0, 256, (24, 32, 3), np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.jpg")
    done = fresh.run(PROGRAM, workers, epochs, samples, folder, GOLOADER_TRIAL="wait")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
def test_what_records_is_imported_after_the_first_batch_of_each_process(workers: int, tmp_path: Path) -> None:
    assert printed(tmp_path, workers, epochs=1, samples=32) == "True"


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
def test_epochs_of_one_batch_for_each_process_are_recorded_too(workers: int, tmp_path: Path) -> None:
    assert printed(tmp_path, workers, epochs=4, samples=4 * max(workers, 1)) == "True"
