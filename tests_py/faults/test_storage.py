"""A file system that does not answer: whoever leaves, leaves at once; who waits hears what for."""

from __future__ import annotations

import gc
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import photos
import pytest
from torchvision.datasets import ImageFolder
from torchvision.transforms import Compose, RandomResizedCrop, ToTensor

import goloader
from goloader import _core, _native

pytestmark = [pytest.mark.alone, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
# Far above what 100 ms become on a busy machine, far below a hang.
SOON = 3.0


class Hanging:
    """An image folder of which one file does not open before let_go(): `path`."""

    def __init__(self, process: subprocess.Popen[str], root: Path, path: Path) -> None:
        self.root, self.path, self._process = root, path, process

    def let_go(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("go on\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline() == "let go\n"


@pytest.fixture(scope="module")
def mount_command(tmp_path_factory: pytest.TempPathFactory) -> Path:
    go = shutil.which("go")
    assert go is not None
    command = tmp_path_factory.mktemp("bin") / "mount"
    subprocess.run([go, "build", "-trimpath", "-o", command, "./tests_go/source/faultfs/mount"], cwd=ROOT, check=True)
    return command


@pytest.fixture
def hanging(mount_command: Path, tmp_path: Path) -> Iterator[Hanging]:
    files = photos.fill(tmp_path / "files", photos.plain(16))
    point = tmp_path / "mounted"
    point.mkdir()
    late = sorted(path for path in files.rglob("*") if path.is_file())[5]
    process = subprocess.Popen(
        [mount_command, "-hang", late.name, files, point], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    if process.stdout.readline() != "mounted\n":
        pytest.skip("no FUSE here")
    try:
        yield Hanging(process, point, point / late.relative_to(files))
    finally:
        process.communicate(timeout=280)


def loader(root: Path, **options: object) -> goloader.DataLoader[object]:
    dataset = ImageFolder(os.fspath(root), Compose([RandomResizedCrop(32), ToTensor()]))
    return goloader.DataLoader(dataset, batch_size=2, **{"num_workers": 2, **options})  # type: ignore[arg-type]


def left() -> int:
    return _native.live()["reads_left"]


def until_none_is_left() -> None:
    deadline = time.monotonic() + 240
    while left():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    _core.let_go()


def test_a_timeout_names_the_file(hanging: Hanging) -> None:
    iterator = iter(loader(hanging.root, timeout=2))
    next(iterator)
    next(iterator)
    with pytest.raises(RuntimeError, match=r"^DataLoader timed out after 2 seconds") as raised:
        next(iterator)
    if hasattr(raised.value, "__notes__"):  # Python 3.11
        (note,) = raised.value.__notes__
        lines = note.splitlines()
        assert re.match(r"goloader: batch 2 has been waited for \d\.\d s: \d of its \d parts are done", lines[0])
        assert re.match(rf"  (worker|reader) \d+ has been reading {hanging.path} for \d\.\d s \(batch 2\)", lines[1])
        assert 2 <= len(lines) <= 12
    begin = time.monotonic()
    del raised, iterator
    gc.collect()
    assert time.monotonic() - begin < SOON
    assert left() >= 1
    hanging.let_go()
    until_none_is_left()


@pytest.mark.parametrize("persistent_workers", [False, True])
def test_a_break_does_not_wait(hanging: Hanging, persistent_workers: bool) -> None:
    loaded = loader(hanging.root, persistent_workers=persistent_workers)
    for number, _batch in enumerate(loaded):
        if number == 1:
            break
    time.sleep(0.2)  # the reader is in the file by now
    begin = time.monotonic()
    del loaded, _batch
    gc.collect()
    assert time.monotonic() - begin < SOON
    assert left() >= 1
    hanging.let_go()
    until_none_is_left()


def test_ctrl_c_and_the_end_of_the_process_do_not_wait(hanging: Hanging) -> None:
    program = """
        import signal, sys
        from pathlib import Path
        sys.path[:0] = sys.argv[2:]
        from test_storage import loader
        signal.signal(signal.SIGINT, signal.default_int_handler)  # the tests may run where it is ignored
        iterator = iter(loader(Path(sys.argv[1])))
        next(iterator), next(iterator)
        print("waits", flush=True)
        try:
            next(iterator)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    """
    paths = [os.fspath(Path(__file__).parent), os.fspath(Path(photos.__file__).parent)]
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program), os.fspath(hanging.root), *paths],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.fspath(ROOT / "python")},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "waits\n"
    time.sleep(0.5)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "interrupted\n"
    assert time.monotonic() - begin < SOON
    assert process.wait(timeout=280) == 0
    assert time.monotonic() - begin < 2 * SOON
