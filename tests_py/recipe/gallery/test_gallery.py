"""Every dataset of the gallery gives torch's batches, bit for bit, and its pixels come from where they must."""

from __future__ import annotations

import math
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
import of_arrays
import of_batches
import of_graphs
import of_series
import of_sounds
import of_tables
import of_texts
import pytest
import sampled
import torch
from torch.utils import data

import goloader
from goloader.doors.recipe import door, hooks
from goloader.doors.same import difference
from goloader.plan.collates.own import compiler
from goloader.plan.datasets.own import kept
from tests_py.pages import require_part

_MODULES = (of_arrays, of_tables, of_texts, of_sounds, of_series, of_graphs, of_batches)
SAMPLED: dict[str, sampled.Sampled] = {name: case for each in _MODULES for name, case in each.CASES.items()}
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


@pytest.fixture(scope="module")
def sampled_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sampled.fill(tmp_path_factory.mktemp("sampled"))


@pytest.mark.parametrize("workers", [0, 1, 2])
@pytest.mark.parametrize("name", SAMPLED)
def test_batches_without_images_are_torch_s(
    sampled_root: Path, name: str, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Batches of so few small samples are Python's, as it is faster; here they are ours all the same.
    monkeypatch.setattr(compiler, "PAYS_FROM", dict.fromkeys(compiler.PAYS_FROM, 0))
    monkeypatch.setattr(kept, "LOOK_MAX", math.inf)
    monkeypatch.setattr(kept, "SAMPLE_S_MIN", 0.0)
    monkeypatch.setattr(kept, "ALL_S_MAX", math.inf)
    case = SAMPLED[name]

    def loader_by(kind: Any) -> Any:
        made = case.make(sampled_root)
        dataset, more = made if type(made) is tuple else (made, {})
        return kind(dataset, **{"batch_size": 9, "shuffle": True, "num_workers": workers} | case.options | more)

    want = epochs(loader_by(data.DataLoader), 2)
    loader = loader_by(goloader.DataLoader)
    assert difference(want, epochs(loader, 2)) is None
    explained = loader.explain()
    stages = {row.where for row in explained.rows if row.stage in ("source", "collate")}
    made_by = "Go" if stages == {"Go"} else "samples" if "Go" in stages else "Python"
    assert made_by == (case.state if workers else case.alone or case.state), explained


def test_the_readme_counts_the_gallery_and_its_page_lists_it() -> None:
    names = {
        state: [name for name, case in CASES.items() if case.state == state]
        for state in ("native", "looked at", "partly", "Python")
    }
    headings = (
        "Images: all of the pixels from Go",
        "Images: all of the pixels from Go, and Python goes on with some of them",
        "Images: some of the pixels from Go",
        "Images: none of the pixels from Go",
    )
    parts = list(zip(headings, names.values(), strict=True))
    for module in _MODULES:
        kind = module.__name__.removeprefix("of_").capitalize()
        for state, told in (("Go", "wholly from Go"), ("samples", "samples from Go"), ("Python", "from Python")):
            there = [name for name, case in module.CASES.items() if case.state == state]
            parts += [(f"{kind}: {told}", there)] if there else []
    lists = "".join(f"## {heading}\n\n{' · '.join(each)}\n\n" for heading, each in parts)
    native, looked_at, partly, python = map(len, names.values())
    wholly = sum(case.state == "Go" for case in SAMPLED.values())
    total = f"Of {len(CASES) + len(SAMPLED)} datasets, {native + wholly} are wholly from Go.\n\n"
    require_part("docs/gallery.md", "gallery", total + lists)
    told = f"""\
Of the {len(CASES)} datasets of images in [gallery.md](gallery.md), each equal to torch's with 0 and 2 workers,
pixels come from Go alone in {native}; in {looked_at} more as well, but Python goes on with some of them; in part in
{partly}; from Python alone in {python}.
"""
    require_part("docs/datasets.md", "gallery", told)
