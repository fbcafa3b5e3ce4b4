"""The laws of a loader, one a row of docs/behaviour.md: each is run with torch's class and with ours, and compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
import torchvision.transforms as T
from torch.utils import data
from torchvision.datasets import ImageFolder

Kind = type[data.DataLoader[Any]]
Door = Literal["native", "own"]


@dataclass(frozen=True)
class World:
    """What a law works with.

    door    whose dataset: one that Go knows, or one of the user's own
    root    a folder of 24 images in three classes
    folder  for what a law writes
    """

    door: Door
    root: Path
    folder: Path

    def dataset(self) -> Any:
        """24 samples (tensor [3, 30, 30], int) that draw random numbers; pickles."""
        files = ImageFolder(str(self.root), T.Compose([T.RandomResizedCrop(30), T.ToTensor()]))
        return files if self.door == "native" else Own(files)


class Own(data.Dataset[Any]):
    """A dataset of the user's own over another."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __len__(self) -> int:
        return len(self.inner)

    def __getitem__(self, index: Any) -> Any:
        image, label = self.inner[index]
        return torch.roll(image, 1, 0), label  # which is not read through


@dataclass(frozen=True)
class Law:
    """A row.

    about        an argument's name, or a behaviour
    argument     it is an argument, ...
    case         ... and this is about some values of it: "=..." or "that ..."
    says         what holds
    observe      everything a user sees of it, for a class of loader in a world; equal for both classes
    doors        the datasets it is tried with
    native       native datasets run in Go with such arguments; None: as far as explain() says
    differs      what is different in ours, ...
    differs_for  ... for which datasets, ...
    instead      ... and what is seen then, given what torch's class shows
    """

    about: str
    argument: bool
    says: str
    observe: Callable[[Kind, World], Any]
    doors: tuple[Door, ...]
    native: bool | None
    case: str = ""
    differs: str = ""
    differs_for: tuple[Door, ...] = ("native",)
    instead: Callable[[Any], Any] = field(default=lambda theirs: theirs)

    @property
    def name(self) -> str:
        return self.observe.__name__


LAWS: list[Law] = []

BOTH: tuple[Door, ...] = ("native", "own")
OWN: tuple[Door, ...] = ("own",)

_Observe = Callable[[Kind, World], Any]


def argument(about: str, says: str, *, doors: tuple[Door, ...] = BOTH, **more: Any) -> Callable[[_Observe], _Observe]:
    """A law about an argument of DataLoader."""
    return _law(about, True, says, doors, more)


def behaviour(about: str, says: str, *, doors: tuple[Door, ...] = BOTH, **more: Any) -> Callable[[_Observe], _Observe]:
    """A law about anything else that users see."""
    return _law(about, False, says, doors, more)


def _law(
    about: str, is_argument: bool, says: str, doors: tuple[Door, ...], more: dict[str, Any]
) -> Callable[[_Observe], _Observe]:
    def add(observe: _Observe) -> _Observe:
        native = more.pop("native", "native" in doors)
        LAWS.append(Law(about, is_argument, says, observe, doors, native, **more))
        return observe

    return add


def long() -> str:
    """docs/behaviour.md's table."""
    lines = ["| | | native datasets | any other dataset | law |", "|---|---|---|---|---|"]
    for law in LAWS:
        cells = " | ".join(_cell(law, door) for door in BOTH)
        lines.append(f"| {_title(law)} | {law.says} | {cells} | `{law.name}` |")
    return "\n".join(lines) + "\n"


def _title(law: Law) -> str:
    if not law.argument:
        return law.about
    return f"`{law.about}{law.case}`" if law.case.startswith("=") else f"`{law.about}` {law.case}".strip()


def _cell(law: Law, door: Door) -> str:
    if door not in law.doors:
        return ""
    if law.differs and door in law.differs_for:
        return law.differs
    if door == "own":
        return "as torch"
    return f"as torch, in {'Go' if law.native else 'Python'}"
