"""Image files, and a way to run code with stand-ins and without."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent / "gallery"))

import photos

from goloader.trace import hooks, record
from goloader.trace.escape import without_stand_ins
from goloader.trace.session import Session
from goloader.trace.switch import recording


@pytest.fixture(autouse=True)
def whatever_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Images of a few pixels may take longer with stand-ins; their batches are compared all the same."""
    monkeypatch.setattr(record, "_SLOWER_MAX", 1 << 40)


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


@pytest.fixture
def traced() -> Any:
    """Calls a function with stand-ins: traced(function, *arguments) -> what it returns, and what became real."""
    hooks.hold()

    def run(function: Callable[..., Any], *arguments: Any) -> tuple[Any, list[str]]:
        session = Session()
        with recording(session):
            value = without_stand_ins(function(*arguments))
        return value, [what for what, _ in session.reasons]

    yield run
    hooks.release()
