"""A rank of test_accelerate.py: trains with the loaders that it finds, which are ours, and with torch's."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
import training
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration
from torch import nn
from torch.utils.data import DataLoader

CASES: dict[str, tuple[dict[str, Any], int]] = {
    "as it is": ({}, 2),
    "batches split": ({"split_batches": True}, 0),
    "dispatched": ({"dispatch_batches": True}, 0),
    "dispatched, with workers": ({"dispatch_batches": True}, 2),
}


def train(root: str, options: dict[str, Any], num_workers: int) -> tuple[list[Any], bool]:
    torch.manual_seed(0)
    accelerator = Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(**options))
    model = training.network()
    loader = DataLoader(training.images(root), batch_size=4, shuffle=True, num_workers=num_workers)
    model, optimizer, loader = accelerator.prepare(model, torch.optim.SGD(model.parameters(), 0.1), loader)
    seen = training.Seen()
    for _ in range(2):
        for images, labels in loader:
            loss = nn.functional.cross_entropy(model(images), labels)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            seen.step((images, labels), loss)
    explain = getattr(loader, "explain", None)
    return seen.steps, explain is not None and explain().native


if __name__ == "__main__":
    root, results = sys.argv[1:]
    goloader = sys.modules["goloader"]
    made = {name: [train(root, *case)] for name, case in CASES.items()}
    goloader.uninstall()
    for name, case in CASES.items():
        made[name].insert(0, train(root, *case))
    rank = Accelerator(cpu=True).process_index
    cases = {
        name: {"theirs": theirs[0], "ours": ours[0], "native": [theirs[1], ours[1]]}
        for name, (theirs, ours) in made.items()
    }
    Path(results, f"result-{rank}.json").write_text(json.dumps(cases))
    torch.distributed.destroy_process_group()
