"""A small image folder, and programs that ran under both loaders."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import photos
import pytest
from filelock import FileLock
from programs import Outcome, under_both


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """24 small JPEG files in three classes."""
    return photos.fill(tmp_path_factory.mktemp("plain"), photos.plain(24))


@pytest.fixture(scope="module")
def outcomes(
    request: pytest.FixtureRequest, root: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[Outcome, Outcome]]:
    """What a module's PROGRAMS do under torch's loader, and under ours: those that this run asks for.

    They run once, however many of pytest-xdist's processes share the module's tests.
    """
    items = (item for item in request.session.items if isinstance(item, pytest.Function))
    asked = {item.callspec.params["name"] for item in items if item.module is request.module}
    base = tmp_path_factory.getbasetemp()
    kept = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / f"{request.module.__name__}.pickle"
    with FileLock(f"{kept}.lock"):
        if not kept.exists():
            programs = {name: text for name, text in request.module.PROGRAMS.items() if name in asked}
            kept.write_bytes(pickle.dumps(under_both(programs, root)))
    found: dict[str, tuple[Outcome, Outcome]] = pickle.loads(kept.read_bytes())
    return found
