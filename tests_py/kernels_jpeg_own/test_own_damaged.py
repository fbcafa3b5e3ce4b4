"""Damaged files under the sanitizers: compare.c and turns.c state the laws."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import native
import numpy as np
import pytest
import test_jpeg_pillow as laws
from kernel_sets import SETS
from make_jpeg import jpeg
from test_own_pillow import CODINGS, OURS

HERE = Path(__file__).parent
FLAGS = ["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror"]
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


def _built(folder: Path, name: str) -> Path:
    cc = shutil.which("clang") or shutil.which("cc") or "cc"
    program = folder / name
    sources = [HERE / f"{name}.c", native.DECODE / "decodetest" / "collect.c", *(native.DECODE / "jpeg").glob("*.c")]
    subprocess.run([cc, *FLAGS, *SANITIZE, *map(str, sources), "-ljpeg", "-o", str(program)], check=True)
    return program


@pytest.fixture(scope="module")
def compare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _built(tmp_path_factory.mktemp("compare"), "compare")


@pytest.fixture(scope="module")
def turns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _built(tmp_path_factory.mktemp("turns"), "turns")


@pytest.fixture(scope="module")
def files(built: ctypes.CDLL, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder, rng = tmp_path_factory.mktemp("files"), np.random.default_rng(4)
    written = []
    for kind, (colour, sampling) in OURS.items():
        for i, coding in enumerate(CODINGS.values()):
            size = [(50, 40), (97, 33), (16, 16)][i % 3]
            data = jpeg(built, laws.picture(rng, *size, 1 if kind == "grey" else 3), colour, sampling, **coding)
            assert data is not None
            path = folder / f"{len(written)}.jpg"
            path.write_bytes(data)
            written.append(str(path))
    return written


@pytest.mark.slow
def test_what_fuzzing_found_stays_solved(compare: Path, tmp_path: Path) -> None:
    """corpus.zip: small files that each take our decoder somewhere else, as libFuzzer found them."""
    with zipfile.ZipFile(HERE / "corpus.zip") as corpus:
        corpus.extractall(tmp_path)
    files = sorted(str(path) for path in tmp_path.iterdir())
    assert len(files) > 200
    run = subprocess.run(
        [str(compare), "1", "3", "4", *files], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("kernels", SETS)
@pytest.mark.slow
def test_what_is_accepted_decodes_in_libjpeg_to_the_same(compare: Path, files: list[str], kernels: str) -> None:
    environment = {**os.environ, "GOLOADER_KERNELS": kernels}
    command = [str(compare), str(len(kernels)), "40", "4", *files]
    folder = Path(files[0]).parent
    run = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder, check=False)
    assert run.returncode == 0, run.stderr
    accepted, indexed = (int(run.stdout.split(before)[1].split()[0]) for before in (" files, ", " windows, "))
    assert accepted > 300  # the law would hold for a decoder that refuses everything,
    assert indexed > 300  # and for one that makes no use of an index


@pytest.mark.parametrize("kernels", SETS)
@pytest.mark.slow
def test_images_by_turns_end_as_if_alone(turns: Path, files: list[str], kernels: str) -> None:
    environment = {**os.environ, "GOLOADER_KERNELS": kernels}
    command = [str(turns), str(len(kernels)), "1000", *files]
    run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert run.returncode == 0, run.stderr
    images, decoded = (int(word) for word in run.stdout.split() if word.isdigit())
    assert decoded > 1000
    assert images - decoded > 1000
