"""Every dataset of the gallery gives torch's batches, bit for bit, and its pixels come from where they must."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import by_arrays
import by_collates
import by_opencv
import by_tensors
import classes
import numpy as np
import pytest
import torch
from torch.utils import data

import goloader
from goloader.doors.recipe import door, hooks
from goloader.doors.same import difference
from tests_py.pages import require_part

CASES = classes.CASES | by_arrays.CASES | by_collates.CASES | by_opencv.CASES | by_tensors.CASES


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = classes.fill(tmp_path_factory.mktemp("gallery"))
    for i in range(classes.COUNT):
        folder = made / "classes" / "ab"[i % 2]
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(made / "photos" / f"{i}.jpg", folder)
    return made


def seed(number: int) -> None:
    torch.manual_seed(number)
    random.seed(number)
    np.random.seed(number)


def epochs(loader: Any, count: int) -> tuple[list[Any], Any]:
    """The batches of several epochs, and where the generators stand afterwards."""
    seed(3)
    batches = [batch for _ in range(count) for batch in loader]
    return batches, (torch.rand(1).item(), random.random(), np.random.rand())


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("name", CASES)
def test_batches_are_torch_s(root: Path, name: str, workers: int) -> None:
    case = CASES[name]
    options = {"batch_size": 9, "shuffle": True, "num_workers": workers} | case.options
    count = 2 if workers else 4
    want = epochs(data.DataLoader(case.make(root), **options), count)
    loader = goloader.DataLoader(case.make(root), **options)
    got = epochs(loader, count)
    assert difference(want, got) is None
    if hooks.refusal() is not None:
        return
    state = case.state if workers else case.alone or case.state
    assert door.record(loader).state == state, loader.explain()
    assert loader.explain().native == (state != "Python")


def test_the_readme_counts_the_gallery_and_its_page_lists_it() -> None:
    names = {
        state: [name for name, case in CASES.items() if case.state == state]
        for state in ("native", "looked at", "partly", "Python")
    }
    headings = (
        "All of the pixels from Go",
        "All of the pixels from Go, and Python goes on with some of them",
        "Some of the pixels from Go",
        "None of the pixels from Go",
    )
    lists = "".join(
        f"## {heading}\n\n{' · '.join(each)}\n\n" for heading, each in zip(headings, names.values(), strict=True)
    )
    require_part("docs/gallery.md", "gallery", lists)
    native, looked_at, partly, python = map(len, names.values())
    told = f"""\
Of the {len(CASES)} datasets in [gallery.md](gallery.md), each equal to torch's with 0 and 2 workers,
pixels come from Go alone in {native}; in {looked_at} more as well, but Python goes on with some of them; in part in
{partly}; from Python alone in {python}.
"""
    require_part("docs/datasets.md", "gallery", told)
