"""One turn: a program in a process of its own, with the loaders of one of the two libraries.

The process is a fork of one that has imported the libraries of this program, and nothing that goloader loads by, so
that a turn costs what loading costs and no seconds of imports.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import hashlib
import importlib
import json
import os
import random
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from goloader import _measure as measure

LOADERS = ("torch", "goloader")
EPOCHS = 3

# What hangs is ended.
_SECONDS_MAX = 600

_SCRIPTS = Path(__file__).parent / "scripts"


class Failed(RuntimeError):
    """A process that ended otherwise than by its end; its text is what it said last."""


def names() -> list[str]:
    """All programs."""
    return sorted(path.stem for path in _SCRIPTS.glob("[!_]*.py"))


def source(name: str) -> ast.Module:
    return ast.parse((_SCRIPTS / f"{name}.py").read_text())


def import_libraries(name: str) -> None:
    """Imports what a program imports."""
    for node in ast.walk(source(name)):
        if isinstance(node, ast.Import):
            for each in node.names:
                importlib.import_module(each.name)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            importlib.import_module(node.module)


def apart(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What `work` gives in a fork of this process. Raises Failed."""
    readable, writable = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if not child:
        try:
            with contextlib.redirect_stdout(sys.stderr):  # programs print
                found = work()
        except BaseException:
            found = {"error": traceback.format_exc()}
        with open(writable, "wb") as pipe:
            pipe.write(json.dumps(found).encode())
        sys.stderr.flush()
        os._exit(0)
    os.close(writable)
    with open(readable, "rb") as pipe:
        said = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    found = json.loads(said) if said else {"error": f"ended by {status} without a word"}
    if "error" in found:
        raise Failed(found["error"])
    return found


def turn(name: str, loader: str, count: int, *, digests: bool = False) -> dict[str, Any]:
    """Three epochs of a program in a fork of this process. Raises Failed.

    epochs     seconds in each that the program waited: in iter() and in each next(), the step being nothing
    cpu_s      of all epochs, worker processes included
    digests    of each epoch: all that a user sees of its batches, and where the generators stand after it; they are
               made between two batches, so that seconds mean nothing if they are asked for
    workers    how many worker processes its authors have it take, two at most
    batches    of an epoch
    explained  goloader's: what explain() says after the last epoch
    """
    return apart(lambda: _run(name, loader, count, digests))


def _run(name: str, loader: str, count: int, digests: bool) -> dict[str, Any]:
    signal.alarm(_SECONDS_MAX)
    warnings.filterwarnings("ignore")
    if loader == "goloader":
        import goloader

        goloader.install()
    program = importlib.import_module(f"bench.programs.scripts.{name}")
    root = ensure(program.DATA, count)
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    made = program.train_loader(root)
    gc.collect()  # it writes to pages that a fork shares: they are copied now, and not while a loader is timed
    begin_epoch = getattr(program, "begin_epoch", lambda loader, epoch: None)
    epochs, said, batches, cpu_s = [], [], 0, measure.cpu_s()
    for epoch in range(EPOCHS):
        begin_epoch(made, epoch)
        seen, batches = hashlib.sha256(), 0
        start = time.perf_counter()
        for batch in made:
            batches += 1
            if digests:
                measure.add(seen, batch)
        epochs.append(time.perf_counter() - start)
        batch = None
        if digests:
            measure.add(seen, [random.getstate(), np.random.get_state(), torch.get_rng_state()])
            said.append(seen.hexdigest()[:16])
    inner = getattr(made, "loader", made)  # of a wrapper
    found = {"epochs": epochs, "digests": said, "workers": inner.num_workers, "batches": batches}
    explaining_s = 0.0  # a program does not ask for it
    if loader == "goloader":
        before = measure.cpu_s()
        explanation = inner.explain()
        explaining_s = measure.cpu_s() - before
        explained = {**explanation.to_dict(), "codes": explanation.codes, "text": str(explanation)}
        found["explained"] = json.loads(json.dumps(explained).replace(str(root), program.DATA))
    del made, inner
    begun = time.process_time()
    gc.collect()  # and workers that persist end: what they took counts, and not going through all objects there are
    collecting_s = time.process_time() - begun
    return found | {"cpu_s": measure.cpu_s() - cpu_s - explaining_s - collecting_s}


def ensure(kind: str, count: int) -> Path:
    """The folder of a set, which exists: nothing that makes it is imported for programs."""
    from bench.programs import place

    root = place.of(kind, count)
    if kind.startswith("cifar"):
        from bench.programs import data

        data.accept_cifar(root)
    return root
