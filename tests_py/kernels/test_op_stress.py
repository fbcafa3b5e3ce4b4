"""core/op under the address and undefined behaviour sanitizers: stress.c says what is tried."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
SOURCES = [HERE / "stress.c", *sorted((HERE.parents[1] / "core" / "op").glob("*.c"))]
SANITIZE = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


@pytest.fixture(scope="module")
def stress(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("stress") / "stress"
    compilers = [found for name in ("clang", "gcc", "cc") if (found := shutil.which(name))]
    for compiler in compilers:
        # Some compilers come without the sanitizers' libraries.
        probe = subprocess.run(
            [compiler, *SANITIZE, "-o", str(program), "-xc", "-"], input=b"int main(void) { return 0; }", check=False
        )
        if probe.returncode == 0:
            subprocess.run([compiler, *SANITIZE, "-o", str(program), *map(str, SOURCES), "-lm"], check=True)
            return program
    pytest.skip("no C compiler with sanitizers")


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.slow
def test_no_kernel_leaves_its_memory_and_all_give_the_same(stress: Path, seed: int) -> None:
    hashes = {}
    for kernels in ("plain", "avx2", "avx512", "neon"):
        run = subprocess.run(
            [stress, str(seed), "200"],
            env={**os.environ, "GOLOADER_KERNELS": kernels},
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        used, found = run.stdout.split()
        hashes[used] = found
    assert len(set(hashes.values())) == 1, hashes
