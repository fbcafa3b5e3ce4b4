"""Rewrites rng.json: what torch's CPU generator draws.

Run it as it is: python tests_go/testdata/generate_rng.py
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

HERE = Path(__file__).resolve().parent
SEEDS = (0, 1234567890123, 2**64 - 1)


def digest(generator: torch.Generator) -> str:
    return hashlib.sha256(generator.get_state().numpy().tobytes()).hexdigest()


def draws(seed: int) -> dict[str, Any]:
    """A walk of mixed draws, past two refills of the generator; floats by their exact value."""
    g = torch.Generator().manual_seed(seed)
    pick = random.Random(seed)
    walk: list[list[Any]] = []
    for _ in range(850):
        match pick.randrange(6):
            case 0:
                lo, hi = sorted((pick.choice((-1, 1)) * 10 ** pick.uniform(-12, 12), 10 ** pick.uniform(-12, 12)))
                walk.append(["uniform", lo, hi, torch.empty(1).uniform_(lo, hi, generator=g).item()])
            case 1:
                walk.append(["rand", torch.rand(1, generator=g).item()])
            case 2:
                walk.append(["rand64", torch.rand(1, dtype=torch.float64, generator=g).item()])
            case 3:
                n = pick.randrange(1, 700)
                walk.append(["randint", n, torch.randint(0, n, (1,), generator=g).item()])
            case 4:
                n = pick.choice((2**28 - 1, 2**28, 2**31, 2**32, 2**63 - 1))
                walk.append(["randint", n, torch.randint(0, n, (1,), generator=g).item()])
            case 5:
                walk.append(["random63", torch.empty((), dtype=torch.int64).random_(generator=g).item()])
    return {"seed": seed, "fma": os.environ.get("ATEN_CPU_CAPABILITY") != "default", "draws": walk, "state": digest(g)}


def main() -> None:
    if sys.argv[1:] == ["--draws"]:
        print(json.dumps([draws(seed) for seed in SEEDS]))
        return
    walks: list[Any] = []
    for environment in ({}, {"ATEN_CPU_CAPABILITY": "default"}):
        command = [sys.executable, __file__, "--draws"]
        out = subprocess.run(command, env=os.environ | environment, check=True, stdout=subprocess.PIPE).stdout
        walks += json.loads(out)
    (HERE / "rng.json").write_text(json.dumps(walks, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
