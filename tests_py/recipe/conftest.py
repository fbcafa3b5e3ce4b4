"""Image files, and a way to run code with stand-ins and without."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

sys.path.insert(0, str(Path(__file__).parent / "gallery"))

import photos

from goloader import _told
from goloader.doors.recipe import hooks
from goloader.doors.recipe.fetch import finish
from goloader.doors.recipe.hooks import pillow
from goloader.doors.recipe.native import CoreNative
from goloader.doors.recipe.session import Session
from goloader.doors.recipe.stand_ins import value
from goloader.doors.recipe.stand_ins.escape import without_stand_ins
from goloader.doors.recipe.switch import recording
from goloader.doors.recipe.workshop import Workshop
from goloader.plan import datasets
from goloader.plan.datasets.own.code import OwnCode, refusal


@pytest.fixture(autouse=True)
def whatever_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Images of a few pixels may take longer from the core; their batches are compared all the same."""
    monkeypatch.setattr(value, "_PIXELS_MIN", 0)
    monkeypatch.setattr(pillow, "_BYTES_MIN", 0)


@pytest.fixture(autouse=True)
def nothing_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """What users are told once is told in each test."""
    monkeypatch.setattr(_told, "_told", set())


@pytest.fixture(autouse=True)
def not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Classes that would be lowered as they are read are recorded here."""

    def left(own: Any) -> NoReturn:
        raise refusal(own.dataset if isinstance(own, OwnCode) else own, "it is left to door 2")

    monkeypatch.setattr(datasets.masks, "Masks", left)
    monkeypatch.setattr(datasets, "Scripted", left)


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """JPEG and PNG files of many kinds, and one BMP."""
    folder = tmp_path_factory.mktemp("files")
    for name, content in photos.native().items():
        (folder / name).write_bytes(content)
    return sorted(map(str, folder.iterdir()))


@pytest.fixture(scope="session")
def jpeg(files: list[str]) -> str:
    return files[0]


@pytest.fixture(params=[False, True], ids=["alone", "core"])
def traced(request: pytest.FixtureRequest) -> Any:
    """Calls a function with stand-ins, without the core and with it: traced(function, *arguments) -> what it returns,
    and what became real."""
    hooks.hold()
    held = [CoreNative(Workshop().core(), workers=1)] if request.param else [None]

    def run(function: Callable[..., Any], *arguments: Any) -> tuple[Any, list[str]]:
        session = Session(held[0])
        with recording(session):
            value = without_stand_ins(function(*arguments))
        return value, [what for what, _ in (*session.reasons, *session.seen)]

    yield run
    for native in filter(None, held):
        native.close()
    held.clear()
    hooks.release()


@pytest.fixture
def run() -> Iterator[Any]:
    """run(function, *arguments): what that makes with stand-ins, how many images of it the core made at the end, and
    what others became real for."""
    warnings.filterwarnings("ignore", "The image decoding and encoding")
    hooks.hold()
    held = [CoreNative(Workshop().core(), workers=2)]  # pytest holds what a fixture gives for too long

    def made(function: Callable[..., Any], *arguments: Any) -> tuple[Any, int, list[str]]:
        session = Session(held[0])
        with recording(session):
            batch = [function(*arguments)]
        count = sum((finish(session, batch, held[0].run) - session.made).values())
        reasons = [what for what, _ in (*session.reasons, *session.seen)]
        session.clear()
        return batch[0], count, reasons

    yield made
    held.pop().close()
    hooks.release()
