"""A worker of core/op for each set of kernels that this processor has."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from op_library import KERNELS, OP, Worker


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = os.environ.get("CC") or shutil.which("cc") or pytest.skip("no C compiler")
    library = tmp_path_factory.mktemp("op") / "op.so"
    sources = [str(path) for path in sorted(OP.glob("*.c"))]
    # A sum or product of signed numbers that overflows ends the process.
    checked = ["-fsanitize=signed-integer-overflow", "-fsanitize-undefined-trap-on-error"]
    subprocess.run([compiler, "-O2", *checked, "-fPIC", "-shared", "-o", str(library), *sources, "-lm"], check=True)
    return library


@pytest.fixture(scope="session", params=KERNELS)
def worker(request: pytest.FixtureRequest, built: Path) -> Iterator[Worker]:
    # A library chooses its kernels once: each set gets a copy of it, which stays loaded and must not be written again.
    copy = built.with_name(f"{request.param}.so")
    if not copy.exists():
        shutil.copy(built, copy)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GOLOADER_KERNELS", request.param)
        library = ctypes.CDLL(str(copy))
        library.gl_kernels_name.restype = ctypes.c_char_p
        if library.gl_kernels_name().decode() != request.param:
            pytest.skip(f"this processor has no {request.param}")
    worker = Worker(library)
    yield worker
    worker.close()
