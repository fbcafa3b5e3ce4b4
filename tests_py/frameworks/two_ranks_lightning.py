"""A rank of test_lightning.py: fits with the loaders that it finds, which are ours, and with torch's."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import lightning_module
import torch
from lightning.pytorch.strategies import DDPStrategy


def fit(root: str, name: str) -> dict[str, Any]:
    torch.manual_seed(0)
    model = lightning_module.Net(lambda: lightning_module.LOADERS[name](root))
    lightning_module.trainer(devices=2, strategy=DDPStrategy(process_group_backend="gloo")).fit(model)
    (loader,) = model.seen.loaders
    sampler = loader.sampler if loader.batch_size else loader.batch_sampler.sampler
    return {
        "steps": model.seen.steps,
        "kind": type(loader).__name__,
        "sampler": type(sampler).__name__,
        "native": hasattr(loader, "explain") and loader.explain().native,
    }


if __name__ == "__main__":
    root, results = sys.argv[1:]
    ours = {name: fit(root, name) for name in lightning_module.LOADERS}
    sys.modules["goloader"].uninstall()
    theirs = {name: fit(root, name) for name in lightning_module.LOADERS}
    cases = {name: {"theirs": theirs[name], "ours": ours[name]} for name in ours}
    Path(results, f"result-{torch.distributed.get_rank()}.json").write_text(json.dumps(cases))
    torch.distributed.destroy_process_group()
