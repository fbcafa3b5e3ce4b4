"""Rewrites rng.json and sampler.json: what torch's CPU generator and torch.utils.data's samplers draw.

Run it as it is: python tests_go/testdata/generate_rng.py
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import BatchSampler, RandomSampler, SubsetRandomSampler
from torch.utils.data.distributed import DistributedSampler

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


def samplers() -> Iterator[dict[str, Any]]:
    """Each takes `take` indices at a time; states are those after each take, the last one being short."""

    def case(kind: str, sampler: Any, g: torch.Generator | None, take: int, **arguments: Any) -> dict[str, Any]:
        iterator, taken, states = iter(sampler), [], []
        while True:
            indices = list(islice(iterator, take))
            taken.append(indices)
            states.append(digest(g) if g is not None else "")
            if len(indices) < take:
                return {"kind": kind, "take": take, "taken": taken, "states": states, "len": len(sampler)} | arguments

    for seed, (n, count, take) in enumerate(
        [(1, 1, 1), (5, 5, 2), (5, 13, 4), (97, 97, 10), (64, 128, 64), (7, 3, 8), (700, 700, 100)]
    ):
        for kind in ("random", "with_replacement"):
            g = torch.Generator().manual_seed(seed)
            sampler: Any = RandomSampler(range(n), replacement=kind != "random", num_samples=count, generator=g)
            yield case(kind, sampler, g, take, n=n, count=count, seed=seed)
    for indices in ([], [4], [9, 8, 7, 100, 3, 3], list(range(0, 300, 3))):
        g = torch.Generator().manual_seed(3)
        yield case("subset_random", SubsetRandomSampler(indices, generator=g), g, 7, indices=indices, seed=3)
    for n, replicas in ((10, 1), (10, 3), (11, 4), (2, 5), (1, 8), (12, 4)):
        data: Any = range(n)
        for rank in sorted({0, replicas // 2, replicas - 1}):
            for shuffle in (False, True):
                for drop_last in (False, True):
                    sampler = DistributedSampler(data, replicas, rank, shuffle, seed=5, drop_last=drop_last)
                    sampler.set_epoch(2)
                    share = {"replicas": replicas, "rank": rank, "shuffle": shuffle, "seed": 5, "epoch": 2}
                    yield case("distributed", sampler, None, 3, n=n, drop_last=drop_last, **share)


def batches() -> Iterator[dict[str, Any]]:
    cases = ((10, 3, False), (10, 3, True), (9, 3, False), (2, 5, True), (2, 5, False), (0, 4, False))
    for n, size, drop_last in cases:
        sampler = BatchSampler(range(n), size, drop_last)
        yield {"n": n, "size": size, "drop_last": drop_last, "batches": list(sampler), "len": len(sampler)}


def main() -> None:
    if sys.argv[1:] == ["--draws"]:
        print(json.dumps([draws(seed) for seed in SEEDS]))
        return
    walks: list[Any] = []
    for environment in ({}, {"ATEN_CPU_CAPABILITY": "default"}):
        command = [sys.executable, __file__, "--draws"]
        out = subprocess.run(command, env=os.environ | environment, check=True, stdout=subprocess.PIPE).stdout
        walks += json.loads(out)
    _write("rng.json", walks)
    _write("sampler.json", {"samplers": list(samplers()), "batches": list(batches())})


def _write(name: str, value: Any) -> None:
    (HERE / name).write_text(json.dumps(value, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
