"""A small image folder, and programs that ran under both loaders."""

from __future__ import annotations

from pathlib import Path

import photos
import pytest
from programs import Outcome, under_both


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """24 small JPEG files in three classes."""
    return photos.fill(tmp_path_factory.mktemp("plain"), photos.plain(24))


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest, root: Path) -> dict[str, tuple[Outcome, Outcome]]:
    """What a module's PROGRAMS do under torch's loader, and under ours: those that this run asks for."""
    items = (item for item in request.session.items if isinstance(item, pytest.Function))
    asked = {item.callspec.params["name"] for item in items if item.module is request.module}
    return under_both({name: request.module.PROGRAMS[name] for name in request.module.PROGRAMS if name in asked}, root)
