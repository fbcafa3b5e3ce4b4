"""python -m goloader top: it sees into a process that hangs, and is nobody else's to see."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from goloader.cli import main
from goloader.cli.top import Look

# The sixth image is a named pipe that nobody writes into. What comes behind "hang" never ends.
_PROGRAM = """
import ctypes, os, sys, time
from torchvision.datasets import ImageFolder
from torchvision.transforms import Compose, Resize, ToTensor
import goloader

loader = goloader.DataLoader(ImageFolder("photos", Compose([Resize((8, 8)), ToTensor()])), batch_size=2, num_workers=2)
iterator = iter(loader)
next(iterator)
{}
print("hang", flush=True)
ctypes.PyDLL(None).pause()  # with the GIL, where no thread of Python's can go on
"""


_LISTENS = 0x10000  # __SO_ACCEPTCON among a socket's flags in /proc/net/unix


@contextmanager
def hanging(folder: Path, more: str = "", **environment: str) -> Iterator[subprocess.Popen[str]]:
    """A process that hangs with a loader open."""
    (folder / "photos/a").mkdir(parents=True)
    for number in range(12):
        pixels = np.random.default_rng(number).integers(0, 256, (40, 50, 3), np.uint8)
        Image.fromarray(pixels).save(folder / f"photos/a/{number:02d}.jpg")
    (folder / "photos/a/05.jpg").unlink()
    os.mkfifo(folder / "photos/a/05.jpg")
    command = [sys.executable, "-c", _PROGRAM.format(more)]
    program = subprocess.Popen(
        command, cwd=folder, env=os.environ | environment, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert program.stdout is not None
        assert program.stdout.readline() == "hang\n"
        while Path(f"/proc/{program.pid}/stat").read_text().rpartition(")")[2].split()[0] != "S":
            time.sleep(0.01)  # it has yet to call pause()
        yield program
    finally:
        os.killpg(program.pid, signal.SIGKILL)
        program.communicate()


def sockets(pid: int) -> list[tuple[str, str]]:
    """Names and inodes of the sockets on which a process listens. One that it answered on may have yet to close."""
    fields = (line.split() for line in Path("/proc/net/unix").read_text().splitlines())
    return [
        (line[7][1:], line[6])
        for line in fields
        if len(line) > 7 and line[7].startswith(f"@goloader-{pid}-") and int(line[3], 16) & _LISTENS
    ]


@pytest.mark.slow
def test_a_process_that_hangs_with_the_gil_is_seen_into(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # A child that was forked goes on, and does not keep the socket.
    fork = "child = os.fork()\nif child == 0: time.sleep(1000)\nopen('child', 'w').write(str(child))"
    with hanging(tmp_path, fork) as program:
        assert main(["top", str(program.pid)]) == 0
        said = capsys.readouterr().out
        assert re.search(rf"^{program.pid} +process +.*: sleeping, [\d.]+ s of CPU$", said, re.MULTILINE)
        assert re.search(r"loader 1 +1 batches, \d+ samples, 0\.\d MB read", said)
        assert re.search(r"batch 1 +is next: \d of its \d parts are done", said)
        assert re.search(r"worker \d +has been (reading|idle)|Python is asked for .*05\.jpg", said)
        child = int((tmp_path / "child").read_text())
        assert re.search(rf"^{child} +process", said, re.MULTILINE)
        ((_, inode),) = sockets(program.pid)

        def holds(pid: int) -> bool:
            links = [os.readlink(each) for each in Path(f"/proc/{pid}/fd").iterdir()]
            return f"socket:[{inode}]" in links

        assert holds(program.pid)
        assert not holds(child)
        # What it did last is written without its help.
        assert main(["top", str(program.pid), "--record", str(tmp_path / "last.json")]) == 0
        events = json.loads((tmp_path / "last.json").read_text())["traceEvents"]
        assert {"read", "decode"} <= {each["name"] for each in events}
        assert {each["pid"] for each in events} == {program.pid}
        # A rate is of the time between two looks.
        look = Look(program.pid)
        assert "samples/s" not in str(look.cells())
        assert ", 0 samples/s" in str(look.cells())
        # A socket of the same name that another process has is not believed.
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(f"\0goloader-{child}-0")
            other.listen()
            assert str(Look(child).cells()).endswith("no loader is open in Go')]")


@pytest.mark.slow
def test_others_are_told_nothing(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("root alone can become another user")
    with hanging(tmp_path) as program:
        ((name, _),) = sockets(program.pid)
        ask = f"s = socket.socket(socket.AF_UNIX); s.connect(chr(0) + {name!r}); s.shutdown(1); "
        ask += "print(s.recv(1 << 20).decode())"
        told = []
        for user in (0, 65534):
            command = [sys.executable, "-c", f"import os, socket; os.setuid({user}); {ask}"]
            told.append(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        assert json.loads(told[0])["loaders"][0]["batches"] == 1
        assert told[1] == "\n"


@pytest.mark.slow
def test_the_environment_keeps_the_socket_from_being_made(tmp_path: Path) -> None:
    with hanging(tmp_path, GOLOADER_TOP="0") as program:
        assert sockets(program.pid) == []
        assert "no loader is open in Go" in str(Look(program.pid).cells())


def test_the_socket_is_there_while_loaders_are_open() -> None:
    import torch
    from torch.utils import data

    import goloader

    loaders = [goloader.DataLoader(data.TensorDataset(torch.rand(8, 2)), batch_size=4) for _ in range(2)]
    for loader in loaders:
        list(loader)
        assert len(sockets(os.getpid())) == 1
    del loader
    loaders.pop()
    assert len(sockets(os.getpid())) == 1
    loaders.clear()
    assert sockets(os.getpid()) == []


def test_a_process_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["top", "999999999"])
    assert left.value.code == 2
    assert "there is no process 999999999" in capsys.readouterr().err
