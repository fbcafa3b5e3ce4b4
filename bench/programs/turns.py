"""One turn: a program in a process of its own, with the loaders of one of the two libraries.

The process is a fork of this one, which has imported every library that a program uses but goloader, so that a turn
costs what loading costs and no seconds of imports.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import os
import random
import signal
import sys
import time
import traceback
import types
import warnings
from pathlib import Path
from typing import Any

import albumentations  # noqa: F401 # as the others below: for the programs
import cv2  # noqa: F401
import numpy as np
import pandas  # noqa: F401
import skimage.transform  # noqa: F401
import timm.data  # noqa: F401
import torch
import torchvision  # noqa: F401
from torchvision.transforms import v2  # noqa: F401

from bench.programs import data

LOADERS = ("torch", "goloader")
EPOCHS = 3

# What hangs is ended.
_SECONDS_MAX = 600


class Failed(RuntimeError):
    """A turn that ended otherwise than by its end; its text is what the process said last."""


def turn(name: str, loader: str, count: int, *, digests: bool = False) -> dict[str, Any]:
    """Three epochs of a program. Raises Failed.

    epochs     seconds in each that the program waited: in iter() and in each next(), the step being nothing
    digests    of each epoch: all that a user sees of its batches, and where the generators stand after it; they are
               made between two batches, so that seconds mean nothing if they are asked for
    workers    how many worker processes its authors have it take, two at most
    batches    of an epoch
    explained  goloader's: what explain() says after the last epoch
    """
    script = importlib.util.find_spec(f"bench.programs.scripts.{name}")
    assert script is not None
    readable, writable = os.pipe()
    sys.stdout.flush(), sys.stderr.flush()
    child = os.fork()
    if not child:
        _child(name, loader, count, digests, writable)
    os.close(writable)
    with open(readable, "rb") as pipe:
        said = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    found: dict[str, Any] = json.loads(said) if said else {"error": f"ended by {status} without a word"}
    if "error" in found:
        raise Failed(f"{name} with {loader}: {found['error']}")
    return found


def _child(name: str, loader: str, count: int, digests: bool, writable: int) -> None:
    """Writes what a turn found, and ends the process."""
    signal.alarm(_SECONDS_MAX)
    try:
        with contextlib.redirect_stdout(sys.stderr):  # programs print
            found = _run(name, loader, count, digests)
    except BaseException:
        found = {"error": traceback.format_exc()}
    with open(writable, "wb") as pipe:
        pipe.write(json.dumps(found).encode())
    sys.stderr.flush()
    os._exit(0)


def _run(name: str, loader: str, count: int, digests: bool) -> dict[str, Any]:
    warnings.filterwarnings("ignore")
    if loader == "goloader":
        import goloader

        goloader.install()
    program = importlib.import_module(f"bench.programs.scripts.{name}")
    root = data.ensure(program.DATA, count)
    data.accept_cifar(root)
    random.seed(0), np.random.seed(0), torch.manual_seed(0)
    made = program.train_loader(root)
    begin_epoch = getattr(program, "begin_epoch", lambda loader, epoch: None)
    epochs, said, batches = [], [], 0
    for epoch in range(EPOCHS):
        begin_epoch(made, epoch)
        seen, batches = hashlib.sha256(), 0
        start = time.perf_counter()
        for batch in made:
            batches += 1
            if digests:
                add(seen, batch)
        epochs.append(time.perf_counter() - start)
        if digests:
            add(seen, [random.getstate(), np.random.get_state(), torch.get_rng_state()])
            said.append(seen.hexdigest()[:16])
    inner = getattr(made, "loader", made)  # of a wrapper
    found = {"epochs": epochs, "digests": said, "workers": inner.num_workers, "batches": batches}
    if loader == "goloader":
        explanation = inner.explain()
        found["explained"] = {**explanation.to_dict(), "codes": explanation.codes, "text": str(explanation)}
    return found


def add(seen: Any, part: Any) -> None:
    """Adds all that a user sees of a thing to a digest."""
    seen.update(f"{type(part).__module__}.{type(part).__qualname__}".encode())
    if isinstance(part, torch.Tensor):
        seen.update(f"{part.dtype}{tuple(part.shape)}{part.stride()}{part.is_contiguous()}".encode())
        seen.update(part.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    elif isinstance(part, np.ndarray):
        seen.update(f"{part.dtype}{part.shape}".encode())
        seen.update(np.ascontiguousarray(part).tobytes())
    elif isinstance(part, dict):
        for key, value in part.items():
            add(seen, key)
            add(seen, value)
    elif isinstance(part, list | tuple):
        seen.update(str(len(part)).encode())
        for item in part:
            add(seen, item)
    elif isinstance(part, str | bytes | int | float | bool | np.generic | types.NoneType):
        seen.update(repr(part).encode())
    else:
        add(seen, vars(part))


def names() -> list[str]:
    """All programs."""
    return sorted(path.stem for path in (Path(__file__).parent / "scripts").glob("[!_]*.py"))
