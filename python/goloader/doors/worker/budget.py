"""How much memory the slots of one loader may take."""

from __future__ import annotations

import os
from pathlib import Path

# Beside the batches under way, a user may keep some; the rest of the machine is the user's.
_SHARE_OF_MEMORY = 4

_CGROUP = Path("/sys/fs/cgroup")


def bytes_max() -> int:
    """GOLOADER_SLOTS_BYTES_MAX, with K, M, G or T for powers of 1,024; else a quarter of the memory that this process
    may use. 0 means no slots: every batch goes torch's way.

    Raises ValueError if the variable is not a size.
    """
    text = os.environ.get("GOLOADER_SLOTS_BYTES_MAX", "").strip()
    if text:
        return _parse(text)
    return memory_bytes() // _SHARE_OF_MEMORY


def memory_bytes() -> int:
    """What the machine has, or the control group of this process allows."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for file in _limit_files():
        try:
            limits.append(int(file.read_text()))
        except (OSError, ValueError):  # no such file, or "max"
            continue
    return min(limits)


def _limit_files() -> list[Path]:
    """Of the control group and all above it; inside a container the group's own path may not be visible."""
    files = [_CGROUP / "memory.max", _CGROUP / "memory" / "memory.limit_in_bytes"]
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return files
    for line in lines:
        _, controllers, name = line.split(":", 2)
        if not controllers:
            own, base, limit = _CGROUP / name.lstrip("/"), _CGROUP, "memory.max"
        elif "memory" in controllers.split(","):
            own, base, limit = _CGROUP / "memory" / name.lstrip("/"), _CGROUP / "memory", "memory.limit_in_bytes"
        else:
            continue
        files += [folder / limit for folder in (own, *own.parents) if folder.is_relative_to(base)]
    return files


def _parse(text: str) -> int:
    digits, unit = (text[:-1], text[-1].upper()) if text[-1].upper() in "KMGT" else (text, "")
    try:
        size = int(float(digits) * 1024 ** " KMGT".index(unit or " "))
    except (ValueError, OverflowError):
        size = -1
    if size < 0:
        raise ValueError(f"GOLOADER_SLOTS_BYTES_MAX is {text!r}, not a size such as 0, 500000000 or 4G")
    return size
