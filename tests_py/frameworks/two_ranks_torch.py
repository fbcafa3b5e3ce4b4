"""A rank of test_torchrun.py: trains with DistributedDataParallel and the loaders that it finds, and with torch's."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
import training
from torch import distributed, nn
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

WORKERS = {"here": 0, "with workers": 2}


def train(root: str, workers: int) -> dict[str, Any]:
    torch.manual_seed(distributed.get_rank())
    dataset = training.images(root)
    sampler: DistributedSampler[Any] = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=4, sampler=sampler, num_workers=workers, persistent_workers=workers > 0)
    model = nn.parallel.DistributedDataParallel(training.network())
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    seen = training.Seen()
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for images, labels in loader:
            loss = nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen.step((images, labels), loss)
    return {
        "steps": seen.steps,
        "kind": type(loader).__module__,
        "native": hasattr(loader, "explain") and loader.explain().native,
    }


if __name__ == "__main__":
    root, results = sys.argv[1:]
    distributed.init_process_group("gloo")
    ours = {name: train(root, workers) for name, workers in WORKERS.items()}
    sys.modules["goloader"].uninstall()
    theirs = {name: train(root, workers) for name, workers in WORKERS.items()}
    cases = {name: {"theirs": theirs[name], "ours": ours[name]} for name in WORKERS}
    Path(results, f"result-{distributed.get_rank()}.json").write_text(json.dumps(cases))
    distributed.destroy_process_group()
