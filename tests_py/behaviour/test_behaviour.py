"""Each law of arguments.py and workers.py holds for torch's class and ours; docs/behaviour.md says so.

`GOLOADER_UPDATE=1 pytest tests_py/behaviour` writes the tables of both anew.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import arguments  # noqa: F401  # its laws
import photos
import pytest
import table
import workers  # noqa: F401
from table import Door, Law, World
from torch.utils import data

import goloader
from tests_py.pages import require_part


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """24 small JPEG files in three classes."""
    return photos.fill(tmp_path_factory.mktemp("plain"), photos.plain(24))


@pytest.fixture
def watched() -> Iterator[tuple[table.Kind, set[bool]]]:
    """goloader's class, and whether those of its loaders that were used ran in Go."""
    native = set()

    class DataLoader(goloader.DataLoader[Any]):
        def __iter__(self) -> Any:
            iterator = super().__iter__()
            native.add(self.explain().native)
            return iterator

    yield DataLoader, native


CASES = [pytest.param(law, door, id=f"{law.name}-{door}") for law in table.LAWS for door in law.doors]


@pytest.mark.parametrize(("law", "door"), CASES)
def test_law(law: Law, door: Door, root: Path, tmp_path: Path, watched: tuple[table.Kind, set[bool]]) -> None:
    world = World(door, root, tmp_path)
    ours, native = watched
    theirs, found = law.observe(data.DataLoader, world), law.observe(ours, world)
    if door == "native" and law.native is not None:
        assert native <= {law.native}, f"native datasets run in {'Go' if True in native else 'Python'} too"
    if law.differs and door in law.differs_for:
        assert found == law.instead(theirs)
        assert found != theirs
    else:
        assert found == theirs


def test_the_table_of_the_page_is_the_laws() -> None:
    require_part("docs/behaviour.md", "behaviour", table.long())


def test_every_argument_of_torch_s_class_has_a_law() -> None:
    assert {law.about for law in table.LAWS if law.argument} == set(inspect.signature(data.DataLoader).parameters)


def test_names_of_laws_are_unique() -> None:
    names = [law.name for law in table.LAWS]
    assert len(names) == len(set(names))
