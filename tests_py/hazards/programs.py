"""Programs that run under torch's loader and under ours, each in a process of its own; all they say is compared.

A program is a text. `DataLoader` in it is one of the two loaders, and `_PROLOGUE` has what else it may use. A process
imports all libraries once and forks for each program, which makes one cost 50 ms where a new interpreter takes seconds;
what has to begin or end as an interpreter does runs in one of its own (`alone`).
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "python"
PHOTOS = Path(__file__).parents[1] / "parity"

# Longer than any program takes on a busy machine. One that hangs is killed, and is then unlike torch's.
_SECONDS = 120

_PROLOGUE = """
import collections, functools, hashlib, gc, itertools, math, os, pathlib, pickle, random, signal, sys, threading, time
import warnings
import numpy as np
import torch
import torchvision.transforms as T
from PIL import Image, ImageFile
from torch.utils.data import Dataset, IterableDataset, Subset, ConcatDataset, TensorDataset, default_collate
from torchvision.datasets import ImageFolder
OURS = sys.argv[1] == "ours"
ROOT = sys.argv[2]
if OURS:
    import goloader
    from goloader import DataLoader
else:
    from torch.utils.data import DataLoader

def digest(thing):
    "A short name of all that a user sees of a thing."
    if isinstance(thing, torch.Tensor):
        inside = thing.detach().contiguous().numpy().tobytes()
        said = ("tensor", str(thing.dtype), tuple(thing.shape), hashlib.sha256(inside).hexdigest()[:12])
        return str(said)
    if isinstance(thing, np.ndarray):
        return str(("array", thing.dtype.name, thing.shape, hashlib.sha256(thing.tobytes()).hexdigest()[:12]))
    if isinstance(thing, dict):
        return str({key: digest(value) for key, value in thing.items()})
    if isinstance(thing, (list, tuple)):
        return f"{type(thing).__name__}[{', '.join(map(digest, thing))}]"
    return f"{type(thing).__name__} {thing!r}"

def generators():
    "Where all of the process's own generators stand."
    numpy = np.random.get_state()
    said = torch.get_rng_state().numpy().tobytes(), repr(random.getstate()), numpy[1].tobytes(), repr(numpy[2:])
    return hashlib.sha256(repr(said).encode()).hexdigest()[:8]

def say(*what):
    print(*what, flush=True)

def show(batch):
    say(digest(batch), generators())

def complain(error):
    "What a user reads of an error, but for the frames of the code that raised it."
    lines = [line for line in str(error).splitlines() if line.strip() and not line.startswith("goloader: sample")]
    say(type(error).__module__, type(error).__qualname__, lines[:1], lines[-1:], generators())

def attempt(action):
    try:
        show(action())
    except Exception as error:
        complain(error)

def go_on(iterator, most=40):
    "Shows all batches of an iterator, and its errors, which do not end it."
    for _ in range(most):
        try:
            show(next(iterator))
        except StopIteration:
            say("end", generators())
            return
        except Exception as error:
            complain(error)
    say("no end")

def epoch(loader, most=40):
    try:
        iterator = iter(loader)
    except Exception as error:
        complain(error)
        return
    go_on(iterator, most)

def seed(number):
    torch.manual_seed(number), random.seed(number), np.random.seed(number)

def augment(size=24):
    return T.Compose([T.RandomResizedCrop(size), T.RandomHorizontalFlip(), T.ToTensor()])

class Files(Dataset):
    "A class of a user's own that door 1 reads."
    def __init__(self, paths, transform=None):
        self.paths, self.transform = list(paths), transform or augment()
    def __len__(self):
        return len(self.paths)
    def __getitem__(self, index):
        image = Image.open(self.paths[index]).convert("RGB")
        return self.transform(image), index

def files(root):
    "Paths below a folder."
    return sorted(str(path) for path in pathlib.Path(root).rglob("*.jpg"))

def in_go(loader):
    "That a loader runs in Go is a matter of ours alone."
    assert not OURS or loader.explain().native, str(loader.explain())
    return loader

signal.signal(signal.SIGINT, signal.default_int_handler)
"""

# Python seeds its generator anew in each forked child.
_BEGIN = "seed(7)\n"

# A child that ends looks through all objects that may be in cycles, and copies the memory they are in: those of the
# libraries are left out. Triton, which they import, would complain of that, and is not used.
_SERVER = (
    """
import sys
sys.modules["triton"] = None
"""
    + _PROLOGUE
    + f"""
def _forked():
    gc.collect()
    gc.freeze()
    place = sys.argv[3]
    for name, text in pickle.load(sys.stdin.buffer).items():
        child = os.fork()
        if child:
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            pathlib.Path(place, name + ".code").write_text(str(status))
            continue
        signal.alarm({_SECONDS})
        for number, end in (1, "out"), (2, "err"):
            fd = os.open(os.path.join(place, name + "." + end), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(fd, number), os.close(fd)
        os.mkdir(os.path.join(place, name)), os.chdir(os.path.join(place, name))
        {_BEGIN}        return compile(text, "<program>", "exec")

_code = _forked()
if _code is not None:
    exec(_code, globals())
"""
)


@dataclass(frozen=True)
class Outcome:
    """What a program printed, what it printed on stderr, and its exit status: below 0 for a signal."""

    out: str
    err: str
    code: int


def under_both(programs: Mapping[str, str], root: Path, **environment: str) -> dict[str, tuple[Outcome, Outcome]]:
    """What each program does under torch's loader, and under ours. It begins in an empty folder; its ROOT is `root`."""
    with tempfile.TemporaryDirectory() as place:
        whose = "torch", "ours"
        processes = []
        for who in whose:
            folder = Path(place, who)
            folder.mkdir()
            process = subprocess.Popen(
                [sys.executable, "-c", _SERVER, who, str(root), str(folder)],
                stdin=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=_environment(environment),
            )
            assert process.stdin is not None
            pickle.dump(dict(programs), process.stdin)
            process.stdin.close()
            processes.append(process)
        for process in processes:
            assert process.stderr is not None
            error = process.stderr.read()
            assert process.wait() == 0, error.decode()

        def outcome(who: str, name: str) -> Outcome:
            out, err, code = (Path(place, who, f"{name}.{end}").read_text() for end in ("out", "err", "code"))
            return Outcome(out, err, int(code))

        return {name: (outcome("torch", name), outcome("ours", name)) for name in programs}


def alone(text: str, root: Path, *options: str, **environment: str) -> tuple[Outcome, Outcome]:
    """The same of one program, each time in an interpreter of its own, started with these options."""
    with tempfile.TemporaryDirectory() as place:
        script = Path(place, "program.py")
        script.write_text(_PROLOGUE + _BEGIN + text)
        processes = [
            subprocess.Popen(
                [sys.executable, *options, str(script), who, str(root)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=_environment(environment),
                cwd=place,
            )
            for who in ("torch", "ours")
        ]
        made = []
        for process in processes:
            out, err = process.communicate(timeout=2 * _SECONDS)
            made.append(Outcome(out, err.replace(place, ""), process.returncode))
        return made[0], made[1]


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": f"{PACKAGE}{os.pathsep}{PHOTOS}"} | more
