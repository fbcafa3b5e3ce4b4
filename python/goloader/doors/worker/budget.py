"""How much memory the slots of one loader may take."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from ... import _cores

# Beside the batches under way, a user may keep some; the rest of the machine is the user's.
_SHARE_OF_MEMORY = 4


def bytes_max() -> int:
    """GOLOADER_SLOTS_BYTES_MAX, with K, M, G or T for powers of 1,024; else a quarter of the memory that this process
    may use. 0 means no slots: every batch goes torch's way.

    Raises ValueError if the variable is not a size.
    """
    text = os.environ.get("GOLOADER_SLOTS_BYTES_MAX", "").strip()
    if text:
        return _parse(text)
    return memory_bytes() // _SHARE_OF_MEMORY


def memory_bytes(root: Path = Path("/")) -> int:
    """What the machine has, or the control groups of this process allow; `root` is where /proc and /sys are."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for folder in _cores.cgroups("memory", root):
        for file in ("memory.max", "memory.limit_in_bytes"):
            with suppress(OSError, ValueError):  # no such file, or "max"
                limits.append(int((folder / file).read_text()))
    return min(limits)


def _parse(text: str) -> int:
    digits, unit = (text[:-1], text[-1].upper()) if text[-1].upper() in "KMGT" else (text, "")
    try:
        size = int(float(digits) * 1024 ** " KMGT".index(unit or " "))
    except (ValueError, OverflowError):
        size = -1
    if size < 0:
        raise ValueError(f"GOLOADER_SLOTS_BYTES_MAX is {text!r}, not a size such as 0, 500000000 or 4G")
    return size
