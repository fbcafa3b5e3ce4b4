"""How many cores this process may use: its affinity, its cgroup's quota, and the ranks beside it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path, PurePosixPath


def allowed(root: Path = Path("/")) -> int:
    """Cores this process may keep busy, at least 1: those of its affinity, and no more than its cgroups' quota gives.

    A quota of 2.5 cores allows 2: a third thread would only be throttled. `root` is where /proc and /sys are looked up.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = quota(root)
    return cores if limit is None else max(1, min(cores, int(limit)))


def share(root: Path = Path("/")) -> int:
    """The cores of one rank, at least 1: `allowed`, divided by the ranks that one launcher started here (`ranks`).

    A rank that was bound to cores of its own (numactl, torchrun --numa-binding) has fewer than its parent process, and
    shares them with nobody.
    """
    cores = allowed(root)
    return cores if bound() else max(1, cores // ranks()[1])


def bound() -> bool:
    """Whether this process may use fewer cores than its parent."""
    try:
        return os.sched_getaffinity(0) < os.sched_getaffinity(os.getppid())
    except (OSError, AttributeError):
        return False


def ranks() -> tuple[int, int]:
    """Which rank of this machine this process is, from 0 on, and how many there are: as torchrun and accelerate say it,
    DeepSpeed, Open MPI, or MPICH and Intel's. (0, 1) where none does."""
    for rank, count in _RANKS:
        try:
            found = int(os.environ[rank]), int(os.environ[count])
        except (KeyError, ValueError):
            continue
        if 0 <= found[0] < found[1]:
            return found
    return 0, 1


_RANKS = (
    ("LOCAL_RANK", "LOCAL_WORLD_SIZE"),
    ("LOCAL_RANK", "LOCAL_SIZE"),
    ("OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ("MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
)


def niceness() -> int:
    """Of the threads that make samples in Go: GOLOADER_NICE, or 0 for the process's. Raises ValueError."""
    text = os.environ.get("GOLOADER_NICE", "").strip() or "0"
    try:
        found = int(text)
    except ValueError:
        found = -99
    if not -20 <= found <= 19:
        raise ValueError(f"GOLOADER_NICE is {text!r}, not a number from -20 to 19")
    return found


def cpus() -> list[int]:
    """The cores they run on: GOLOADER_CPUS, as "2-7,10"; none for those of the process. Raises ValueError."""
    text = os.environ.get("GOLOADER_CPUS", "").strip()
    found: list[int] = []
    for part in filter(None, text.split(",")):
        first, dash, last = part.partition("-")
        try:
            found += range(int(first), int(last if dash else first) + 1)
        except ValueError:
            raise ValueError(f"GOLOADER_CPUS is {text!r}, not a list of cores as 2-7,10") from None
    return found


def quota(root: Path = Path("/")) -> float | None:
    """Cores that the cgroups of this process grant it, v1 or v2: the least of its own and of those above; None if any.

    https://docs.kernel.org/admin-guide/cgroup-v2.html, cpu.max; .../scheduler/sched-bwc.html, cpu.cfs_quota_us
    """
    now = time.monotonic()
    known = _known.get(root)
    if known is None or now - known[0] > _KEPT_S:
        known = _known[root] = now, _least(root)
    return known[1]


# An epoch may take less than a look at all of these files.
_KEPT_S = 1.0
_known: dict[Path, tuple[float, float | None]] = {}


def _least(root: Path) -> float | None:
    limits = [limit for folder in cgroups("cpu", root) if (limit := _limit(folder)) is not None]
    return min(limits, default=None)


def cgroups(controller: str, root: Path = Path("/")) -> Iterator[Path]:
    """The folders of the cgroups of this process for a controller, and of those above them that it can see."""
    try:
        mounts = (root / "proc/self/mountinfo").read_text().splitlines()
        groups = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    paths = {}  # "" for v2, the controller for v1: the path of this process
    for line in groups:
        _, controllers, path = line.split(":", 2)
        if controllers == "" or controller in controllers.split(","):
            paths[controller if controllers else ""] = path
    for line in mounts:
        # 36 35 98:0 /root /mount/point options [optional ...] - type source superoptions      (man 5 proc)
        fields, _, rest = line.partition(" - ")
        mounted, point = fields.split(" ")[3:5]
        kind, _, options = rest.split(" ")[:3]
        of = {"cgroup2": "", "cgroup": controller}.get(kind)
        if of not in paths or (of and of not in options.split(",")):
            continue
        # In a container the mount may show a part of the tree only.
        group = PurePosixPath(paths[of])
        inside = group.relative_to(mounted if group.is_relative_to(mounted) else "/")
        top = root / point.lstrip("/")
        for folder in (inside, *inside.parents):
            yield top / folder


def _limit(folder: Path) -> float | None:
    """Cores that one cgroup grants; None for as many as there are."""
    try:
        quota, period = (folder / "cpu.max").read_text().split()
    except (OSError, ValueError):
        try:
            quota = (folder / "cpu.cfs_quota_us").read_text().strip()
            period = (folder / "cpu.cfs_period_us").read_text().strip()
        except OSError:
            return None
    try:
        return float(quota) / float(period) if float(quota) > 0 else None
    except (ValueError, ZeroDivisionError):  # "max"
        return None
