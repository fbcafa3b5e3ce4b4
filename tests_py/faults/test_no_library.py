"""Where the library cannot be loaded, goloader imports, loaders are torch's, and explain() says why in a line."""

from __future__ import annotations

import os
import platform
import shutil
import struct
import subprocess
import sys
import textwrap
from pathlib import Path

import photos
import pytest

from goloader import _library

PACKAGE = Path(__file__).parents[2] / "python" / "goloader"


PROGRAM = """
import sys, warnings
import numpy as np, torch, torchvision.transforms as T
from torch.utils import data
from torchvision.datasets import ImageFolder
{before}
import goloader
from goloader.datasets import ImageFolder as Ours

STEPS = T.Compose([T.RandomResizedCrop(20), T.ToTensor()])

def batches(loader):
    torch.manual_seed(3)
    return [batch for _ in range(2) for batch in loader]

for dataset in ImageFolder(sys.argv[1], STEPS), Ours(sys.argv[1], STEPS), data.TensorDataset(torch.rand(9, 2)):
    for workers, kind in (0, "FetchingIterator"), (2, "_MultiProcessingDataLoaderIter"):
        arguments = {{"batch_size": 4, "shuffle": True, "num_workers": workers}}
        loader = goloader.DataLoader(dataset, **arguments)
        assert type(iter(loader)).__name__ == kind, (type(iter(loader)).__name__, kind)
        ours, theirs = batches(loader), batches(data.DataLoader(dataset, **arguments))
        assert len(ours) == len(theirs)
        assert all(x.equal(y) for a, b in zip(ours, theirs) for x, y in zip(a, b))
        told = loader.explain()
        assert not told.native and told.codes == ("LIBRARY",), told
        (row,) = (row for row in told if row.code)
        assert "\\n" not in row.why
assert isinstance(goloader.DataLoader([1], num_workers="auto"), data.DataLoader)
stateful = goloader.StatefulDataLoader(range(9), 2)
next(iter(stateful))
assert stateful.state_dict()
for use in (
    lambda: next(iter(goloader.NumpyLoader([np.zeros(3)]))),
    lambda: goloader.NumpyLoader(sys.argv[1]),
    lambda: next(iter(goloader.samplers.WeightedSampler([1, 2], 3))),
):
    try:
        use()
    except goloader.LibraryError as error:
        assert "Likely causes:\\n- " in str(error), error
    else:
        raise AssertionError("nothing was raised")
print(row.what + ": " + row.why)
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return photos.fill(tmp_path_factory.mktemp("plain"), photos.plain(9))


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package without its library."""
    shutil.copytree(PACKAGE, tmp_path / "goloader", ignore=shutil.ignore_patterns("lib", "__pycache__"))
    (tmp_path / "goloader" / "lib").mkdir()
    return tmp_path / "goloader"


def run(package: Path, root: Path, before: str = "") -> str:
    """What explain() says in a process of its own that has this copy of the package."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(before=textwrap.dedent(before)), str(root)],
        env=os.environ | {"PYTHONPATH": str(package.parent)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.slow
def test_a_library_that_is_not_there(package: Path, root: Path) -> None:
    said = run(package, root)
    assert said.startswith("goloader's library: goloader's core cannot be loaded: [Errno 2] No such file or directory")
    assert said.endswith("libgoloader.so was never built: run `pip install .` or `make build` in the source tree")


@pytest.mark.slow
def test_a_library_that_was_cut_does_not_crash_the_process(package: Path, root: Path) -> None:
    whole = (PACKAGE / "lib" / "libgoloader.so").read_bytes()
    (package / "lib" / "libgoloader.so").write_bytes(whole[: len(whole) // 2])
    assert "is incomplete" in run(package, root)


# What Python finds elsewhere than on Linux.
FOREIGN = """
import os, sys, platform
sys.platform = "darwin"
platform.system = lambda: "Darwin"
for name in (
    "eventfd", "memfd_create", "sched_getaffinity", "sched_setaffinity", "pread", "preadv", "posix_fadvise",
    "posix_fallocate", "O_DIRECT", "pipe2", "sysconf", "sendfile", "copy_file_range", "splice", "register_at_fork",
    "eventfd_read", "pidfd_open", "EFD_CLOEXEC", "MFD_CLOEXEC",
):
    vars(os).pop(name, None)
for name in [name for name in sys.modules if name.partition(".")[0] in ("fcntl", "resource", "termios")]:
    del sys.modules[name]
sys.modules["resource"] = sys.modules["termios"] = None
def look(event, arguments):
    if event == "open" and str(arguments[0]).startswith(("/proc", "/sys")):
        raise FileNotFoundError(arguments[0])
sys.addaudithook(look)
"""


@pytest.mark.slow
def test_a_system_that_is_not_linux(package: Path, root: Path) -> None:
    """Its Python has no calls of Linux's alone, nor files below /proc; the library is one that it could not load."""
    shutil.copy(PACKAGE / "lib" / "libgoloader.so", package / "lib")
    said = run(package, root, FOREIGN)
    assert said == (
        "goloader's library: goloader's core cannot be loaded: it is for Linux, and this is Darwin; "
        "the core runs on Linux only, so far"
    )


def changed(library: bytes, at: int, format: str, value: int) -> bytes:
    return library[:at] + struct.pack(format, value) + library[at + struct.calcsize(format) :]


def test_files_that_are_no_library_of_this_machine_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = (PACKAGE / "lib" / "libgoloader.so").read_bytes()
    path = tmp_path / "libgoloader.so"
    other, name = (183, "aarch64") if platform.machine() == "x86_64" else (62, "x86_64")
    cases = {
        b"": "is incomplete",
        library[:70]: "is incomplete",
        b"#!/bin/sh\n" * 99: "is incomplete",
        library[:-4096][: len(library) // 3]: "is incomplete",
        changed(library, 18, "<H", other): f"it is for {name}, and this is {platform.machine()}",
    }
    for content, why in cases.items():
        path.write_bytes(content)
        with pytest.raises(RuntimeError, match=why):
            _library.check(path)
    path.write_bytes(library)
    _library.check(path)
    monkeypatch.setattr(platform, "libc_ver", lambda: ("", ""))
    assert "musl" in _library.refused(path, "Error loading shared library").line
    monkeypatch.setattr(platform, "libc_ver", lambda: ("glibc", "2.17"))
    old = "/lib/libc.so.6: version `GLIBC_2.34' not found"
    assert "glibc here (2.17) is older" in _library.refused(path, old).line
    assert "libjpeg-turbo" in _library.refused(path, "libjpeg.so.62: cannot open shared object file").line


def test_a_library_of_another_version_is_no_crash(package: Path, tmp_path: Path) -> None:
    """A shared library without our functions: any other one will do."""
    import _ctypes

    shutil.copy(_ctypes.__file__, package / "lib" / "libgoloader.so")
    code = "from goloader import _native; print(_native.missing())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=280,
        check=True,
    )
    assert "undefined symbol: gl_" in done.stdout
    assert "of another version of goloader: install goloader again" in done.stdout


OTHERS_FIRST = """
import ctypes, sys
for library in sys.argv[2:]:
    ctypes.CDLL(library)
import goloader
from goloader import NumpyLoader, transforms as T

((images, _),) = NumpyLoader(sys.argv[1], [T.Resize((8, 8)), T.ToArray()], batch_size=4)
assert images.shape == (4, 3, 8, 8) and images.std() > 0
"""


def test_libraries_of_the_same_name_that_are_there_before_are_not_taken(tmp_path: Path) -> None:
    """torchvision's wheels bring a libjpeg that has the name of the system's, and lacks functions in old ones."""
    photos.fill(tmp_path / "photos", photos.plain(4))
    stubs = []
    for name in ("libjpeg.so.62", "libjpeg.so.8", "libdeflate.so.0"):
        stubs.append(str(tmp_path / f"of-another-wheel-{name}"))
        command = ["cc", "-shared", "-x", "c", "/dev/null", f"-Wl,-soname,{name}", "-o", stubs[-1]]
        subprocess.run(command, check=True)
    subprocess.run([sys.executable, "-c", OTHERS_FIRST, str(tmp_path / "photos"), *stubs], check=True)
