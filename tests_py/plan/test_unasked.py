"""Nothing is asked of objects that a dataset's code uses, whatever it does with them, and no code that goes on for ever
is waited for: explain() says so, as only making the sample may take for ever."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import types
from collections.abc import Callable
from pathlib import PosixPath
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils import data

import goloader
from goloader.plan.datasets.own import kept


class Asked(BaseException):
    """No Exception: nobody catches it."""


def ask(*_: Any, **__: Any) -> Any:
    raise Asked


_NAMES = (
    "__getattr__", "__eq__", "__ne__", "__hash__", "__bool__", "__len__", "__iter__", "__contains__", "__call__",
    "__repr__", "__str__", "__index__", "__int__", "__float__", "__getitem__", "__array__", "__fspath__", "__lt__",
    "__format__", "__add__", "__radd__", "__rmul__", "__array_ufunc__",
)  # fmt: skip
_METHODS = dict.fromkeys(_NAMES, ask)
_OF_VALUES = {name: method for name, method in _METHODS.items() if name not in ("__getattr__", "__hash__", "__call__")}

Stuck = type("Stuck", (), {**_METHODS, "__class__": property(ask), "__array_interface__": property(ask)})
Looked: Any = type("Looked", (), {"__getattribute__": ask})
Meta = type("Meta", (type,), {**_METHODS, "__hash__": type.__hash__, "__eq__": type.__eq__, "__instancecheck__": ask})
Lazy = type("Lazy", (types.ModuleType,), {"__getattr__": ask})
Number = type("Number", (int,), _OF_VALUES)
Text = type("Text", (str,), _OF_VALUES)
Row = type("Row", (list,), _OF_VALUES)
Table = type("Table", (dict,), {**_OF_VALUES, "get": ask, "items": ask, "keys": ask})
Path = type("Path", (PosixPath,), {"__fspath__": ask, "__str__": ask, "__eq__": ask, "__hash__": ask})
Cells = type("Cells", (np.ndarray,), {**_OF_VALUES, "__array_finalize__": lambda *_: None, "__array_function__": ask})
Module = type("Module", (torch.nn.Module,), {"__getattr__": ask, "forward": lambda self, x: x})


class Tensor(torch.Tensor):
    @classmethod
    def __torch_function__(cls, *_: Any, **__: Any) -> Any:
        raise Asked


def of_meta() -> Any:
    return Meta("OfMeta", (), {})


def objects() -> Any:
    made = np.empty(6, object)
    for n in range(6):
        made[n] = Stuck()
    return made


THINGS: dict[str, Callable[[], Any]] = {
    "object": Stuck, "attribute lookup": Looked, "class": of_meta, "of a class": lambda: object.__new__(of_meta()),
    "module": lambda: Lazy("lazy"), "number": lambda: Number(3), "text": lambda: Text("abc"), "network": Module,
    "list": lambda: Row([1, 2]), "dict": lambda: Table(a=1), "path": lambda: Path("/tmp"), "objects": objects,
    "array": lambda: np.arange(6.0).view(Cells), "tensor": lambda: torch.arange(6.0).as_subclass(Tensor),
    "in a list": lambda: [Number(1), Text("a"), Stuck()], "in a tuple": lambda: (Stuck(), of_meta()),
}  # fmt: skip

USES: dict[str, Callable[[Any, Any], Any]] = {
    "none": lambda self, i: self.x[i],
    "an attribute": lambda self, i: self.x[i] + self.thing.value[i],
    "a call": lambda self, i: self.thing(self.x[i]),
    "its items": lambda self, i: self.x[i] + sum(each for each in self.thing),
    "its length": lambda self, i: self.x[i] + len(self.thing),
    "a condition": lambda self, i: self.x[i] if self.thing else self.x[0],
    "a comparison": lambda self, i: self.x[i] if self.thing == 3 else self.x[0],
    "a search": lambda self, i: self.x[i] if 3 in self.thing else self.x[0],
    "a key": lambda self, i: self.x[i] if {3: 4}.get(self.thing) else self.x[0],
    "a text": lambda self, i: (f"{self.thing}", self.x[i]),
    "a sum": lambda self, i: self.thing + self.x[i],
    "a product": lambda self, i: self.x[i] * self.thing,
    "a class": lambda self, i: self.x[i] if isinstance(self.x, self.thing) else self.x[0],
    "an int": lambda self, i: self.x[int(self.thing)],
    "a tensor": lambda self, i: torch.tensor(self.thing) + self.x[i],
    "an array": lambda self, i: np.asarray(self.thing)[i] + self.x[i],
}


def items(self: Any, i: int) -> Any:
    found = self.x[i]
    for each in self.thing:
        found = found + each
    return found


USES["a loop"] = items


class Base(data.Dataset[Any]):
    def __init__(self, thing: Any = None) -> None:
        self.x, self.thing = torch.arange(6.0), thing

    def __len__(self) -> int:
        return 6


@pytest.mark.parametrize("use", USES)
def test_objects_are_asked_nothing(use: str) -> None:
    kind = type("Uses", (Base,), {"__getitem__": USES[use]})
    for thing in THINGS.values():
        loader = goloader.DataLoader(kind(thing()), batch_size=2)
        loader.explain()
        iter(loader)


def endless(self: Any, i: int) -> Any:
    while True:
        pass


def turning(self: Any, i: int) -> Any:
    while i != 100:
        i = (i * 7 + 3) % 64
    return self.x[i % 6]


def counting(self: Any, i: int) -> Any:
    total = 0
    for n in range(10**10):
        total += n
    return self.x[i] + total


def matching(self: Any, i: int) -> Any:
    return self.x[i], bool(re.match(r"(a+)+$", "a" * 60 + "b"))


def computed(self: Any) -> Any:
    while True:
        pass


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("code", [endless, turning, counting, matching, lambda self, i: self.computed[i]])
def test_no_sample_is_waited_for(code: Any, workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "LIMIT_S", 0.2)
    kind = type("Endless", (Base,), {"__getitem__": code, "computed": property(computed)})
    source = goloader.DataLoader(kind(), batch_size=2, num_workers=workers).explain().rows[0]
    assert source.where == "Python" and "takes more than 0.2 s" in source.why


class LastOnes(Base):
    def __getitem__(self, i: int) -> Any:
        ids = [ord(letter) % 7 for letter in self.thing[i]]
        while self.thing[i] == "b":
            pass
        return torch.tensor(ids[:3])


def test_samples_before_one_that_takes_for_ever_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "LIMIT_S", 0.5)
    monkeypatch.setattr(kept, "SAMPLE_S_MIN", 0.0)
    monkeypatch.setattr(kept, "LOOK_MAX", float("inf"))
    loader = goloader.DataLoader(LastOnes(["abcabc"] * 5 + ["b"]), batch_size=2)
    assert loader.explain().native
    assert next(iter(loader)).tolist() == [[6, 0, 1]] * 2


ENDLESS = """
import goloader, torch
class Endless(torch.utils.data.Dataset):
    numbers = list(range(9))
    def __len__(self):
        return 9
    def __getitem__(self, i):
        while self.numbers:
            pass
from goloader.plan.datasets.own import kept
kept.LIMIT_S = 100.0
print("ready", flush=True)
goloader.DataLoader(Endless(), 2).explain()
"""


def test_nothing_is_left_of_a_process_that_is_killed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as program:
        assert program.stdout is not None and program.stdout.readline() == "ready\n"
        deadline = time.monotonic() + 60
        while len(_of_session(program.pid)) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert len(_of_session(program.pid)) == 2  # the child makes a sample that never ends
        program.send_signal(signal.SIGKILL)
        program.wait()
    while _of_session(program.pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not _of_session(program.pid)


def _of_session(leader: int) -> list[int]:
    """The processes of a session that run."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            stat = PosixPath(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(stat[3]) == leader and stat[0] != "Z":
            found.append(int(name))
    return found
