"""What goes on in the core is in the notes of an error that ends a wait, and events of it can be copied out."""

from __future__ import annotations

import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import PIL
import pytest
import torch
from PIL import Image
from torchvision.datasets import ImageFolder
from torchvision.transforms import Compose, Resize, ToTensor

import goloader
from goloader import _native

needs_notes = pytest.mark.skipif(not hasattr(BaseException, "add_note"), reason="notes came with Python 3.11")


class Stuck:
    """Images of which one, the sixth, is a named pipe that nobody writes into."""

    def __init__(self, root: Path) -> None:
        (root / "a").mkdir(parents=True)
        for number in range(12):
            pixels = np.random.default_rng(number).integers(0, 256, (40, 50, 3), np.uint8)
            Image.fromarray(pixels).save(root / "a" / f"{number:02d}.jpg")
        self.root, self.path = root, root / "a" / "05.jpg"
        self.path.unlink()
        os.mkfifo(self.path)

    def loader(self, **options: Any) -> Any:
        dataset = ImageFolder(str(self.root), Compose([Resize((8, 8)), ToTensor()]))
        return goloader.DataLoader(dataset, batch_size=2, **options)


@needs_notes
@pytest.mark.parametrize("workers", [0, 2])
def test_ctrl_c_in_a_stall_names_the_file(tmp_path: Path, workers: int) -> None:
    stuck = Stuck(tmp_path)
    iterator = iter(stuck.loader(num_workers=workers))
    next(iterator)
    next(iterator)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        with pytest.raises(KeyboardInterrupt) as raised:
            next(iterator)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert raised.value.args == ()
    assert len(raised.value.__notes__) == 1
    first, *others = raised.value.__notes__[0].splitlines()
    assert re.fullmatch(rf"goloader: batch 2 has been waited for \d+ ms: Python is asked for {stuck.path}", first)
    assert all("has been idle for" in line for line in others)
    assert 1 <= len(others) <= 11
    del raised, iterator


@needs_notes
@pytest.mark.parametrize("workers", [0, 2])
def test_the_last_seconds_before_an_error_are_in_a_file(
    tmp_path: Path, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck = Stuck(tmp_path / "photos")
    stuck.path.unlink()
    stuck.path.write_bytes(b"no image")
    (tmp_path / "file").touch()
    for folder in tmp_path / "made" / "anew", tmp_path / "file":
        monkeypatch.setenv("GOLOADER_RECORD", str(folder))
        with pytest.raises(PIL.UnidentifiedImageError) as raised:
            list(stuck.loader(num_workers=workers))
        told = raised.value.__notes__[-1]
        if folder.name == "anew":
            written = folder / f"{os.getpid()}.json"
            assert told == f"goloader: what Go did last is in {written}"
        else:
            assert told.startswith("goloader: what Go did last could not be written: [Errno 17]")
        del raised
    events = json.loads(written.read_text())["traceEvents"]
    spans = [each for each in events if each["ph"] == "X"]
    assert {"read", "decode"} <= {each["name"] for each in spans}
    assert max(each["ts"] + each["dur"] for each in spans) == pytest.approx(0, abs=1)
    assert {each["pid"] for each in events} == {os.getpid()}
    assert {"worker 0"} <= {each["args"]["name"] for each in events if each["ph"] == "M"}


@pytest.mark.parametrize("workers", [0, 2])
def test_events_are_what_the_stages_count(tmp_path: Path, workers: int) -> None:
    made = Stuck(tmp_path)
    made.path.unlink()
    loader = made.loader(num_workers=workers)
    lib, room = _native.library(), (_native.Event * 16384)()
    count, following, lost = ctypes.c_int32(), ctypes.c_int64(), ctypes.c_int64()

    def copy(begin: int) -> None:
        lib.call(lib.gl_events, begin, room, len(room), count, following, lost)

    copy(-1)
    begun = time.perf_counter_ns()
    for _ in range(2):
        assert len(list(loader)) == 6
    ended = time.perf_counter_ns()
    copy(following.value)
    events = np.frombuffer(room, np.dtype(_native.Event))[: count.value]
    assert lost.value == 0
    assert (events["begin_ns"] > begun - 1e6).all()
    assert (events["begin_ns"] + events["took_ns"] < ended + 1e6).all()
    for number, name in enumerate(("read", "decode", "op")):
        of_stage, stage = events[events["stage"] == number], loader.stats().stages[name]
        assert 20 <= of_stage["count"].sum() <= stage.count == 22  # but for what took less than a microsecond
        assert of_stage["took_ns"].sum() * 1e-9 == pytest.approx(stage.total_s, rel=0.02)
        assert len(set(of_stage["run"])) == 2
        assert set(of_stage["batch"]) == set(range(6))


SAYS = (
    "import goloader, logging, sys; {}; from goloader._told import log; log.debug('D'); log.info('I'); log.error('E')"
)


@pytest.mark.parametrize(
    ("chosen", "before", "want"),
    [
        ("", "", ["E"]),
        ("off", "", []),
        ("error", "", ["ERROR:goloader:E"]),
        ("info", "", ["INFO:goloader:I", "ERROR:goloader:E"]),
        ("Debug", "", ["DEBUG:goloader:D", "INFO:goloader:I", "ERROR:goloader:E"]),
        ("info", "import goloader._told; logging.basicConfig(format='own %(message)s')", ["own I", "own E"]),
        ("info", "logging.getLogger('goloader').addHandler(logging.NullHandler())", []),
    ],
)
def test_the_environment_sets_up_the_log(chosen: str, before: str, want: list[str]) -> None:
    environment = os.environ | {"GOLOADER_LOG": chosen}
    command = [sys.executable, "-c", SAYS.format(before or "pass")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines() == want


def test_a_level_that_there_is_not_is_told() -> None:
    environment = os.environ | {"GOLOADER_LOG": "loud"}
    command = [sys.executable, "-c", "import goloader._told"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "GoloaderWarning: GOLOADER_LOG is 'loud', not one of off, error, warning, info, debug" in done.stderr


@needs_notes
@pytest.mark.slow
def test_a_timeout_ends_a_wait_for_pillow(tmp_path: Path) -> None:
    """The pipe is no regular file: the core leaves it to Pillow, which waits in open(), as in torch's workers."""
    stuck = Stuck(tmp_path)
    iterator = iter(stuck.loader(num_workers=2, timeout=3))
    next(iterator)
    next(iterator)
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"^DataLoader timed out after 3 seconds") as raised:
            next(iterator)
        assert f"Python is asked for {stuck.path}" in raised.value.__notes__[0]
    pixels = Image.new("RGB", (50, 40), (255, 0, 0))
    with stuck.path.open("wb") as pipe:
        pixels.save(pipe, "BMP")
    images, _ = next(iterator)
    assert torch.equal(images[1], ToTensor()(pixels.resize((8, 8))))
    assert len(list(iterator)) == 3
