"""A small program as people write them: trains two epochs and prints each step's loss, bit for bit.

    python train.py FOLDER PACKAGE ...

of each package's DataLoader in turn: tests_py/matrix names torch.utils.data and goloader, in each environment of
`make test-matrix`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import matrix_samples as samples
import torch
from torch import nn


def main(root: str, package: str) -> None:
    loader_of = import_module(package).DataLoader
    gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    torch.manual_seed(11)
    net = nn.Sequential(nn.Conv2d(3, 8, 5, stride=4), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 15 * 15, 2))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    loss_of = nn.CrossEntropyLoss()
    for dataset in (samples.folder(Path(root)), samples.Pairs(Path(root))):
        loader = loader_of(dataset, batch_size=8, shuffle=True, num_workers=2, persistent_workers=True, drop_last=True)
        for epoch in range(2):
            for step, (images, labels) in enumerate(loader):
                optimizer.zero_grad()
                loss = loss_of(net(images), labels)
                loss.backward()
                optimizer.step()
                print(epoch, step, images.shape, loss.item().hex())
        del loader
    assert getattr(sys, "_is_gil_enabled", lambda: True)() == gil, "something switched the GIL on again"


if __name__ == "__main__":
    for package in sys.argv[2:]:
        print("package")
        main(sys.argv[1], package)
