"""Whatever a user puts in place of a library's function, and when, batches are those of torch's loader."""

from __future__ import annotations

import inspect
import itertools
import json
import pickle
import random
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import replaced
import torch
import torch.utils.data as torch_data
from PIL import Image, ImageOps
from torchvision.transforms import functional as F

import goloader
from goloader.doors.recipe import door, hooks
from goloader.doors.recipe.session import Session
from goloader.doors.recipe.switch import recording

WHEN = ("before", "made", "epochs", "within")
KINDS = ("folder", "compiled", "recorded")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two classes of six images each, one of them turned by its EXIF."""
    root = tmp_path_factory.mktemp("photos")
    rng = np.random.default_rng(8)
    turned = Image.Exif()
    turned[0x0112] = 6
    for number in range(12):
        path = root / "ab"[number % 2] / f"{number}.jpg"
        path.parent.mkdir(exist_ok=True)
        image = Image.fromarray(rng.integers(0, 256, (40, 50, 3), dtype=np.uint8))
        image.save(path, exif=turned if number == 4 else Image.Exif())
    return root


def run(cases: list[tuple[Any, ...]], folder: Path) -> list[Any]:
    program = subprocess.run(
        [sys.executable, replaced.__file__, str(folder)],
        input=json.dumps(cases),
        stdout=subprocess.PIPE,
        check=True,
        text=True,
        timeout=280,
    )
    return list(json.loads(program.stdout))


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("target", replaced.TARGETS)
def test_replacements_are_the_users(target: str, workers: int, folder: Path) -> None:
    """Ways for this function, each in a process of its own: at a time and with a dataset drawn by lot."""
    seed = random.randrange(1 << 30)
    draw = random.Random(seed)
    cases = [
        (target, way, draw.choice(WHEN), draw.choice(KINDS), workers)
        for way in draw.sample(replaced.WAYS, len(replaced.WAYS) if workers == 0 else 3)
    ]
    check(cases, folder, f"seed {seed}")


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
def test_replacements_count_from_when_they_are_made(workers: int, folder: Path) -> None:
    cases = [("Image.open", "closure", when, kind, workers) for when, kind in itertools.product(WHEN, KINDS)]
    check(cases, folder, "")


def check(cases: list[tuple[Any, ...]], folder: Path, hint: str) -> None:
    wanted = run([("torch", *case) for case in cases], folder)
    got = run([("goloader", *case) for case in cases], folder)
    assert {case: ours for case, ours, want in zip(cases, got, wanted, strict=True) if ours != want} == {}, hint


def recorded(folder: Path) -> tuple[Any, Any]:
    """A loader whose batches are recorded, and one of torch's."""
    paths = sorted(map(str, folder.rglob("*.jpg")))
    return tuple(kind(replaced.Recorded(paths), batch_size=4) for kind in (goloader.DataLoader, torch_data.DataLoader))


def resized(image: torch.Tensor) -> torch.Tensor:
    return F.resize(image, [7, 9])


def seen() -> list[Any]:
    """What a training loop can see of functions that have hooks."""
    source = [inspect.getsource(function) for function in (F.resized_crop, F.normalize, Image.open)]
    scripted = torch.jit.script(resized)(torch.arange(300.0).view(3, 10, 10))
    return [
        source,
        scripted.sum().item(),
        pickle.loads(pickle.dumps(Image.open)) is Image.open,
        Image.open.__code__.co_consts,
    ]


def test_a_training_loop_sees_functions_as_they_are(folder: Path) -> None:
    ours, torchs = recorded(folder)
    want = [seen() for _ in torchs]
    assert [seen() for _ in ours] == want
    assert door.record(ours).on


def test_other_threads_go_on_while_hooks_are_held(folder: Path) -> None:
    path = str(next(folder.rglob("*.jpg")))
    want = Image.open(path).convert("RGB").tobytes()
    got: list[Any] = []

    def look() -> None:
        image = Image.open(path)
        got.extend((type(image).__module__, image.convert("RGB").tobytes(), inspect.getsource(Image.open)[:8]))

    hooks.hold()
    try:
        with recording(Session()):
            assert type(Image.open(path)).__module__.startswith("goloader")
            thread = threading.Thread(target=look)
            thread.start()
            thread.join()
    finally:
        hooks.release()
    assert got == ["PIL.JpegImagePlugin", want, "def open"]


def test_hooks_are_all_held_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    hooks.hold()
    swaps = list(hooks._installed.parts)
    hooks.release()
    codes = [swap._function.__code__ for swap in swaps]

    def fails() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(swaps[len(swaps) // 2], "install", fails)
    with pytest.raises(KeyboardInterrupt):
        hooks.hold()
    assert [swap._function.__code__ for swap in swaps] == codes
    monkeypatch.undo()
    hooks.hold()
    assert all(swap._function.__code__ is not code for swap, code in zip(swaps, codes, strict=True))
    hooks.release()
    assert [swap._function.__code__ for swap in swaps] == codes


def test_one_function_that_was_replaced_costs_no_other_its_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ImageOps, "equalize", lambda image, mask=None: image)
    hooks.hold()
    try:
        assert hooks.left_alone()["PIL.ImageOps.equalize"] == "PIL.ImageOps.equalize was replaced"
        assert len(hooks._installed.parts) > 20
    finally:
        hooks.release()
    monkeypatch.undo()
    assert hooks.refusal() is None
    assert hooks.left_alone() == {}


@pytest.mark.parametrize("name", ["open", "convert"])
def test_images_are_real_where_their_methods_were_replaced(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner: Any = Image if name == "open" else Image.Image
    original = vars(owner)[name]
    monkeypatch.setattr(owner, name, lambda *arguments, **options: original(*arguments, **options))
    hooks.hold()
    try:
        with recording(Session()):
            image = Image.open(next(folder.rglob("*.jpg")))
        assert hooks.left_alone()["PIL.Image.open"].endswith(f".{name} was replaced")
        assert type(image).__module__ == "PIL.JpegImagePlugin"
    finally:
        hooks.release()
    monkeypatch.undo()
    assert hooks.refusal() is None
