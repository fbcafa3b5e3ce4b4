"""Runs the tests of tests_py/matrix with every set of versions of tests_py/matrix/rows.py, an environment each.

    python -m scripts.matrix [ROW ...] [--wheel FILE] [--keep]      # or: make test-matrix ROWS="oldest newest"

An environment is made in .matrix/ROW by uv, with goloader from a wheel as users have it, and removed when its row is
done: uv keeps what it downloaded, so that the next time takes seconds. A Python is looked for on PATH, in
GOLOADER_PYTHONS (folders, as PATH), and in pyenv's folder; where there is none, scripts/python.sh makes one from what
Debian has, or says why it cannot.

A row fails if a test fails, if one is skipped, or if a door is not as the row says. A row whose Python is not here is
left out, with a word; one that was asked for by its name fails. What was found goes to tests_py/matrix/results.json,
in place of what was found for the row before; the README's table is made from it (GOLOADER_UPDATE=1 pytest
tests_py/readme -k versions).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from tests_py.matrix.rows import RESULTS, ROWS, Row

REPOSITORY = Path(__file__).resolve().parents[1]
FOLDER = REPOSITORY / ".matrix"
OVERRIDES = (REPOSITORY / "scripts/overrides.txt").read_text()
# What is told of an environment, in the order of the table.
VERSIONS = """
import json, platform, sysconfig
from importlib.metadata import PackageNotFoundError, version
told = [("Python", platform.python_version() + "t" * bool(sysconfig.get_config_var("Py_GIL_DISABLED")))]
for name, package in (
    ("torch", "torch"), ("torchvision", "torchvision"), ("Pillow", "pillow"), ("pillow-simd", "pillow-simd"),
    ("numpy", "numpy"), ("OpenCV", "opencv-python-headless"), ("albumentations", "albumentations"),
):
    try:
        told.append((name, version(package)))
    except PackageNotFoundError:
        pass
print(json.dumps(told))
"""


class FailedError(Exception):
    """A row that is not as it must be."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW", help="all of them, if none is named")
    parser.add_argument("--wheel", type=Path, help="the newest of dist/ for this machine, if none is named")
    parser.add_argument("--keep", action="store_true", help="keep the environments")
    given = parser.parse_args()
    unknown = {*given.rows} - {row.name for row in ROWS}
    if unknown:
        parser.error(f"no row {', '.join(sorted(unknown))}; there are {', '.join(row.name for row in ROWS)}")
    wheel = given.wheel or newest_wheel()
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "overrides.txt").write_text(OVERRIDES)
    failed = False
    for row in ROWS:
        if given.rows and row.name not in given.rows:
            continue
        interpreter = python(row.python)
        if interpreter is None:
            failed |= bool(given.rows)
            print(f"{row.name:14} left out: no CPython {row.python} here", flush=True)
            continue
        try:
            told = run(row, interpreter, wheel, keep=given.keep)
        except FailedError as error:
            failed = True
            print(f"{row.name:14} FAILED: {error}", flush=True)
        else:
            keep_result(told)
            doors, versions = " ".join(map(str, told["doors"])), " ".join(" ".join(each) for each in told["versions"])
            print(f"{row.name:14} doors {doors}, {told['tests']} tests, {versions}", flush=True)
    return int(failed)


def keep_result(told: dict[str, Any]) -> None:
    """In the order of the rows, those that are no more left out."""
    kept = {each["row"]: each for each in json.loads(RESULTS.read_text())} if RESULTS.exists() else {}
    kept[told["row"]] = told
    lines = [json.dumps(kept[row.name]) for row in ROWS if row.name in kept]
    RESULTS.write_text("[\n" + ",\n".join(lines) + "\n]\n")


def newest_wheel() -> Path:
    machine = os.uname().machine
    wheels = sorted(REPOSITORY.glob(f"dist/goloader-*{machine}.whl"), key=lambda file: file.stat().st_mtime)
    if not wheels:
        sys.exit(f"no wheel for {machine} in dist/: make wheel")
    return wheels[-1]


def python(version: str) -> str | None:
    """A CPython of a version, 3.14t for one that is free-threaded; None if there is none, and none could be made."""
    given = os.environ.get("GOLOADER_PYTHONS", "").split(os.pathsep)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    kept = sorted(pyenv.glob(f"{version.rstrip('t')}.*{'t' * version.endswith('t')}/bin"), reverse=True)
    folders = [*filter(None, given), *os.environ.get("PATH", "").split(os.pathsep), *map(str, kept)]
    wanted = f"import sys, sysconfig; print('%d.%d' % sys.version_info[:2] + 't' * {'t' in version} * bool("
    wanted += "sysconfig.get_config_var('Py_GIL_DISABLED')))"
    for folder in folders:
        found = shutil.which(f"python{version}", path=folder)
        if found is None:
            continue
        done = subprocess.run([found, "-c", wanted], capture_output=True, text=True)
        if done.returncode == 0 and done.stdout.strip() == version:
            return found
    made = subprocess.run(["scripts/python.sh", version], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
    return made.stdout.strip() if made.returncode == 0 else None


def run(row: Row, interpreter: str, wheel: Path, *, keep: bool) -> dict[str, Any]:
    """What was found with a row's versions. Raises FailedError."""
    home = FOLDER / row.name
    shutil.rmtree(home, ignore_errors=True)
    environment = os.environ | {
        "UV_OVERRIDE": str(FOLDER / "overrides.txt"),
        "GOLOADER_MATRIX_DOORS": " ".join(map(str, row.doors)),
        "OMP_NUM_THREADS": "1",
    }
    environment.pop("PYTHONPATH", None)
    if row.image != "pillow":  # torchvision asks for Pillow by that name
        (FOLDER / "image.txt").write_text(OVERRIDES + "pillow ; sys_platform == 'never'\n")
        environment["UV_OVERRIDE"] = str(FOLDER / "image.txt")
    try:
        uv = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}") or "uv"
        call([uv, "venv", "-q", "--python", interpreter, str(home)], environment)
        own = str(home / "bin/python")
        # The newest hypothesis is partly Rust, which free-threaded CPython 3.13 has no compiler for.
        install = [uv, "pip", "install", "-q", "--compile-bytecode", "--only-binary", "hypothesis", "--python", own]
        call([*install, str(wheel), *row.requirements()], environment)
        versions = json.loads(call([own, "-c", VERSIONS], environment))
        report = FOLDER / f"{row.name}.xml"
        report.unlink(missing_ok=True)
        tests = [own, "-m", "pytest", "-p", "no:cacheprovider", f"--junitxml={report}", "tests_py/matrix"]
        call(tests, environment)
        suite = next(ElementTree.parse(report).getroot().iter("testsuite"))
        skipped = [f"{case.get('name')}: {why.get('message')}" for case in suite for why in case.iter("skipped")]
        if skipped:
            raise FailedError(f"skipped: {'; '.join(skipped)}")
        return {
            "row": row.name,
            "versions": versions,
            "doors": list(row.doors),
            "tests": int(suite.get("tests", 0)),
        }
    finally:
        if not keep:
            shutil.rmtree(home, ignore_errors=True)


def call(command: list[str], environment: dict[str, str]) -> str:
    """What a command prints. Raises FailedError with it if the command fails."""
    done = subprocess.run(command, env=environment, cwd=REPOSITORY, capture_output=True, text=True)
    if done.returncode != 0:
        raise FailedError(f"{' '.join(command[:4])} ...\n{done.stdout[-6000:]}{done.stderr[-3000:]}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
