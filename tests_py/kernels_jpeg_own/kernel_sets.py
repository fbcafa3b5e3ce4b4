"""The sets of JPEG kernels this machine runs, by their names in GOLOADER_KERNELS."""

from __future__ import annotations

import platform
from pathlib import Path


def _sets() -> list[str]:
    if platform.machine() in ("aarch64", "arm64"):
        return ["plain", "neon"]
    cpuinfo = Path("/proc/cpuinfo")
    flags = cpuinfo.read_text() if cpuinfo.exists() and platform.machine() == "x86_64" else ""
    return ["plain"] + [name for name, flag in [("avx2", "avx2"), ("avx512", "avx512bw")] if flag in flags]


SETS = _sets()
