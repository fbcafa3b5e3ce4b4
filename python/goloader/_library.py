"""The core's library as a file: why it cannot be loaded, with a message that says what to do."""

from __future__ import annotations

import os
import platform
import struct
import sys
from pathlib import Path
from typing import BinaryIO

from ._errors import LibraryError

# ELF's numbers of machines (elf.h, e_machine), as platform.machine() calls them.
_MACHINES = {62: "x86_64", 183: "aarch64", 3: "i686", 40: "armv7l", 243: "riscv64", 22: "s390x", 21: "ppc64le"}
_LOAD = 1  # PT_LOAD


def check(path: Path) -> None:
    """Raises LibraryError for a file that the system's loader would crash on, one that was cut, or not even try."""
    if not sys.platform.startswith("linux"):
        raise refused(path, f"it is for Linux, and this is {platform.system() or sys.platform}")
    try:
        with path.open("rb") as file:
            size = path.stat().st_size
            machine, end = _read(file)
    except OSError as error:
        raise refused(path, str(error)) from error
    except struct.error:  # too short, or no library at all
        machine, end = "", size + 1
    if end > size:
        raise refused(path, f"{path} is incomplete")
    if machine != os.uname().machine:
        raise refused(path, f"it is for {machine}, and this is {os.uname().machine}")


def _read(file: BinaryIO) -> tuple[str, int]:
    """The machine that a 64-bit library is for, and the bytes that it must have for its segments to be mapped.

    Raises struct.error for what is no such library. Offsets are those of elf.h's Elf64_Ehdr and Elf64_Phdr.
    """
    head = file.read(64)
    if head[:6] != b"\x7fELF\x02\x01":
        raise struct.error
    (table,), (size, count) = struct.unpack_from("<Q", head, 32), struct.unpack_from("<HH", head, 54)
    file.seek(table)
    segments = [struct.unpack_from("<I4xQ16xQ", file.read(size)) for _ in range(count)]
    ends = [offset + in_file for kind, offset, in_file in segments if kind == _LOAD]
    return _MACHINES.get(struct.unpack_from("<H", head, 18)[0], "another machine"), max(ends, default=0)


def refused(path: Path, why: str) -> LibraryError:
    """The error for a library that was not loaded, with the likely causes, the likeliest first."""
    return LibraryError(f"goloader's core cannot be loaded: {why}", _causes(path, why))


def _causes(path: Path, why: str) -> list[str]:
    if not sys.platform.startswith("linux"):
        return ["the core runs on Linux only, so far"]
    causes = []
    if platform.libc_ver()[0] != "glibc":
        causes.append("this system's C library is not glibc (Alpine has musl): use an image with glibc")
    if not path.exists():
        causes.append(f"{path.name} was never built: run `pip install .` or `make build` in the source tree")
    if "it is for" in why:
        causes.append("the library was built for another kind of machine: build it here")
    if "GLIBC_" in why:
        causes.append(f"glibc here ({platform.libc_ver()[1]}) is older than where the library was built: build it here")
    if "libjpeg" in why or "libdeflate" in why:
        causes.append("libjpeg-turbo or libdeflate is missing: install them, or use the wheel, which holds them")
    return causes or [
        f"{path.name} is damaged, or of another version of goloader: install goloader again",
        "it needs a newer libc, or libraries that are not here: build it here, or use the wheel",
    ]
