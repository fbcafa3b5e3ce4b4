"""A small image folder, and programs that ran under both loaders."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from types import ModuleType

import photos
import pytest
from filelock import FileLock
from programs import Outcome, under_both


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """24 small JPEG files in three classes."""
    return photos.fill(tmp_path_factory.mktemp("plain"), photos.plain(24))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "outcomes" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.timeout(900))  # the first one waits for all programs


@pytest.fixture(scope="session")
def all_outcomes(
    request: pytest.FixtureRequest, root: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[Outcome, Outcome]]:
    """What the PROGRAMS of all modules do under torch's loader, and under ours: those that this run asks for.

    They run once, however many of pytest-xdist's processes share the tests.
    """
    programs = {
        _named(item.module, item.callspec.params["name"]): item.module.PROGRAMS[item.callspec.params["name"]]
        for item in request.session.items
        if isinstance(item, pytest.Function) and "outcomes" in item.fixturenames
    }
    base = tmp_path_factory.getbasetemp()
    kept = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "outcomes.pickle"
    with FileLock(f"{kept}.lock"):
        if not kept.exists():
            kept.write_bytes(pickle.dumps(under_both(programs, root)))
    found: dict[str, tuple[Outcome, Outcome]] = pickle.loads(kept.read_bytes())
    return found


@pytest.fixture
def outcomes(
    request: pytest.FixtureRequest, all_outcomes: dict[str, tuple[Outcome, Outcome]]
) -> dict[str, tuple[Outcome, Outcome]]:
    """Those of a test's module."""
    name = request.node.callspec.params["name"]
    return {name: all_outcomes[_named(request.module, name)]}


def _named(module: ModuleType, name: str) -> str:
    return f"{module.__name__}, {name}"
