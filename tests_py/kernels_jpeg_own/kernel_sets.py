"""The sets of JPEG kernels this machine runs, by their names in GOLOADER_KERNELS."""

from __future__ import annotations

import platform
from pathlib import Path


def _cpu_flags() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    return cpuinfo.read_text() if cpuinfo.exists() and platform.machine() == "x86_64" else ""


SETS = ["plain", *(["avx2"] if "avx2" in _cpu_flags() else []), *(["avx512"] if "avx512bw" in _cpu_flags() else [])]
