"""Worker processes that look at pixels have a core of their own; where they are forks, beside the one that died."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from textwrap import dedent
from typing import Any

import psutil
import pytest

Script = Callable[..., str]

# Worker processes go on from a parent in which Go is alive, and say what they have as numbers.
DATASET = """
import ctypes, faulthandler, subprocess
from PIL import Image
from torch.utils.data import Dataset
from goloader.doors.recipe import door, native
from goloader.doors.recipe.stand_ins import value
value._FEW = 0
next(iter(goloader.DataLoader(folder(), batch_size=8)))

class Looking(Dataset):
    def __init__(self, deed=lambda index: 0):
        self.paths, self.deed = [path for path, _ in folder().samples], deed
    def __len__(self):
        return len(self.paths)
    def __getitem__(self, index):
        x = T.functional.to_tensor(Image.open(self.paths[index]).convert("RGB").resize((40, 40)))
        mean = float(x.mean())
        return x, mean, self.deed(index)

def loader(deed=lambda index: 0, **options):
    return goloader.DataLoader(Looking(deed), **{"batch_size": 4, "num_workers": 2} | options)

right = torch.utils.data.DataLoader(Looking(), batch_size=4)
"""


def run(script: Script, text: str, **options: Any) -> str:
    return script(DATASET + dedent(text), **options)


@pytest.mark.slow
def test_a_forked_worker_s_pixels_come_from_a_core_of_its_own(script: Script) -> None:
    text = """
    each = loader(persistent_workers=True)
    for _ in range(2):  # the first batches are made without stand-ins
        for (x, mean, _), (wanted, means, _) in zip(each, right, strict=True):
            assert torch.equal(x, wanted) and torch.equal(mean, means)
    assert all(len(os.listdir(f"/proc/{worker.pid}/task")) > 3 for worker in each._iterator._workers)
    print(door.record(each).state)
    """
    assert run(script, text) == "looked at\n"


@pytest.mark.slow
def test_without_a_core_of_its_own_a_worker_decodes_in_python(script: Script) -> None:
    text = """
    each = loader()
    for (x, mean, _), (wanted, means, _) in zip(each, right, strict=True):
        assert torch.equal(x, wanted) and torch.equal(mean, means)
    print(door.record(each).state)
    """
    assert run(script, text, GOLOADER_FORKED_CORE="0") == "Python\n"
    missing = "_native.LIBRARY = _native.LIBRARY.with_name('gone.so')\n"
    assert run(script, missing + dedent(text)) == "Python\n"


@pytest.mark.slow
def test_what_a_worker_forks_has_neither_core_and_may_have_a_third(script: Script) -> None:
    text = """
    def deed(index):
        old = _native.own_library()
        child = os.fork()
        if child == 0:
            third = _native.own_library()
            fine = old.gl_kernels() is None and third.gl_kernels() is not None and third is not old
            os._exit(7 if fine else 1)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        echo = subprocess.run(["echo", "5"], capture_output=True, text=True, check=True)
        return code + int(echo.stdout)
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
    print(sorted({int(n) for _, _, deeds in loader(deed) for n in deeds}))
    """
    assert run(script, text) == "[12]\n"


@pytest.mark.slow
def test_workers_keep_no_more_threads_and_files_from_epoch_to_epoch(script: Script) -> None:
    text = """
    each = loader(num_workers=1, persistent_workers=True)
    counts = []
    for _ in range(6):
        list(each)
        process = f"/proc/{each._iterator._workers[0].pid}"
        counts.append([len(os.listdir(f"{process}/{kind}")) for kind in ("fd", "task")])
    assert counts[1][0] == counts[-1][0] and 3 < counts[-1][1] < 24, counts
    print("end")
    """
    assert run(script, text) == "end\n"


@pytest.mark.slow
def test_faulthandler_and_go_share_a_worker(script: Script) -> None:
    text = """
    def deed(index):
        faulthandler.enable() if index % 2 else faulthandler.disable()
        return signal.getsignal(signal.SIGINT) is signal.default_int_handler
    print({bool(n) for _, _, deeds in loader(deed) for n in deeds})
    """
    assert run(script, text) == "{True}\n"


@pytest.mark.slow
@pytest.mark.parametrize("how", ["ctypes.string_at(0)", "os.kill(os.getpid(), signal.SIGKILL)", "os._exit(3)"])
def test_a_worker_that_dies_with_a_core_is_told_of(script: Script, how: str) -> None:
    text = f"""
    def deed(index):
        if index == 13:
            os.close(2)  # torch names the signal there
            {how}
        return 0
    each = loader(deed)
    for _ in range(2):
        try:
            list(each)
        except RuntimeError as error:
            print(str(error).split(" (pid")[0], "exited unexpectedly" in str(error) or "killed by signal" in str(error))
    print(len(list(loader())))
    """
    assert run(script, text) == "DataLoader worker True\n" * 2 + "6\n"


@pytest.mark.slow
def test_ctrl_c_ends_workers_with_a_core(script: Script) -> None:
    text = """
    each = iter(loader(lambda index: time.sleep(0.01) or os.getpid()))
    pids = {int(pid) for _ in range(2) for pid in next(each)[2]}
    signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        list(each)
        while True:
            time.sleep(1)
    except KeyboardInterrupt:
        print(len(pids))
    del each
    gc.collect()
    assert not any(os.path.exists(f"/proc/{pid}") for pid in pids)
    """
    assert run(script, text) == "2\n"


@pytest.mark.slow
def test_workers_with_a_core_end_after_their_parent_was_killed(script: Script) -> None:
    text = """
    each = iter(loader(lambda index: os.getpid()))
    print(*{int(pid) for _ in range(2) for pid in next(each)[2]}, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
    """
    pids = list(map(int, run(script, text, code=-9).split()))
    deadline = time.monotonic() + 240
    while any(psutil.pid_exists(pid) for pid in pids):
        assert time.monotonic() < deadline, "a worker outlived its parent"
        time.sleep(0.1)
    assert len(pids) == 2 and os.getpid() not in pids
