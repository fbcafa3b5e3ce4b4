"""Every set of kernels, x86-64's and arm64's, makes the same bits: digest.c, arm64 under qemu where there is one."""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
import subprocess
from pathlib import Path

import native
import numpy as np
import pytest
import test_jpeg_pillow as laws
from kernel_sets import SETS
from make_jpeg import jpeg
from test_own_pillow import CODINGS, OURS

HERE = Path(__file__).parent
SOURCES = [
    HERE / "digest.c",
    native.DECODE / "decodetest" / "collect.c",
    *(path for path in (native.DECODE / "jpeg").glob("*.c") if path.name != "turbo.c"),
]


def build(folder: Path, cc: str, *flags: str) -> str:
    program = folder / "digest"
    strict = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([cc, *strict, *flags, *map(str, SOURCES), "-o", str(program)], check=True)
    return str(program)


@pytest.fixture(scope="module")
def files(built: ctypes.CDLL, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder, rng = tmp_path_factory.mktemp("files"), np.random.default_rng(6)
    written = []
    for kind, (colour, sampling) in OURS.items():
        for i, coding in enumerate(CODINGS.values()):
            size = [(150, 140), (97, 33), (16, 16)][i % 3]
            data = jpeg(built, laws.picture(rng, *size, 1 if kind == "grey" else 3), colour, sampling, **coding)
            assert data is not None
            written.append(folder / f"{kind.replace(':', '')}{i}.jpg")
            written[-1].write_bytes(data)
    return [str(path) for path in written]


def digest(command: list[str], files: list[str], kernels: str) -> str:
    environment = {**os.environ, "GOLOADER_KERNELS": kernels}
    run = subprocess.run([*command, *files], capture_output=True, text=True, env=environment, check=True)
    name, _, digests = run.stdout.partition("\n")
    assert name == kernels
    assert digests.count("\n12 ") > len(files) // 2  # most are ours, in all windows
    return digests


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> str:
    return build(tmp_path_factory.mktemp("here"), shutil.which("cc") or "cc")


@pytest.fixture(scope="module")
def plain(here: str, files: list[str]) -> str:
    return digest([here], files, "plain")


@pytest.mark.parametrize("kernels", SETS[1:])
@pytest.mark.slow
def test_the_sets_of_this_machine(kernels: str, here: str, files: list[str], plain: str) -> None:
    assert digest([here], files, kernels) == plain


@pytest.mark.skipif(platform.machine() in ("aarch64", "arm64"), reason="the test above has them")
@pytest.mark.parametrize("kernels", ["plain", "neon"])
def test_the_sets_of_arm64(kernels: str, files: list[str], plain: str, tmp_path: Path) -> None:
    cc, qemu = (shutil.which(name) for name in ("aarch64-linux-gnu-gcc", "qemu-aarch64"))
    if cc is None or qemu is None:
        pytest.skip("no aarch64-linux-gnu-gcc or no qemu-aarch64 (gcc-aarch64-linux-gnu, qemu-user)")
    assert digest([qemu, build(tmp_path, cc, "-static")], files, kernels) == plain
