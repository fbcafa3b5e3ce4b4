"""python -m goloader doctor: the machine, the versions, and what of a loader would have to change."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib import metadata
from typing import Any

from .. import _cores, _native, _table
from ..selfcheck import libraries
from . import explain, objects
from .rate import measured

# Beside those that have behaviours to be tried, in `libraries`.
_PACKAGES = ("goloader", "Python", "numpy", "albumentations")

# Of the files that are read: how many, how much of each, and for how long.
_FILES_MAX, _READ_MAX, _STORAGE_S = 64, 1 << 24, 1.0

# A part of the report, what of it, and what was found.
Line = tuple[str, str, str]


def add(commands: Any) -> None:
    parser = commands.add(
        "doctor",
        _doctor,
        help="describe this machine and its libraries, and what keeps a loader from Go",
        description=(
            "Prints what goloader finds on this machine and tries all behaviours of the installed libraries. For a "
            "loader or dataset it also prints what explain prints, how much memory its batches take, how fast it makes "
            "them, and how fast its files are read."
        ),
    )
    objects.takes_one(parser, nargs="?")
    parser.add_argument("--batches", type=int, default=4, metavar="N", help="number of batches to make (4)")
    parser.add_argument("--seconds", type=float, default=2.0, metavar="S", help="seconds to measure its speed for (2)")
    parser.add_argument(
        "--fail-on", choices=["python"], help="exit with code 1 if a stage runs in Python for a reason that has a code"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def _doctor(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> int:
    if parsed.batches < 1 or parsed.seconds <= 0 or (parsed.fail_on and parsed.target is None):
        parser.error("--batches is at least 1, --seconds more than 0, and --fail-on needs a MODULE:OBJECT")
    loader = None if parsed.target is None else objects.ready(parser, parsed.target)
    sizes = [] if loader is None else [_bytes(batch) for batch in itertools.islice(loader, parsed.batches)]
    # What is imported for the self-check may have the loader do otherwise.
    explanation, text = (None, "") if loader is None else (loader.explain(), explain.text(loader))
    codes = () if explanation is None else explanation.codes
    lines = [*_machine(), *_versions(), *_behaviours()]
    if loader is not None:
        lines += [*_memory(loader, max(sizes, default=0)), *_speed(loader, parsed.seconds), *_storage(loader)]
    if parsed.json:
        found: dict[str, Any] = {}
        for part, what, value in lines:
            found.setdefault(part, {})[what] = value
        if explanation is not None:
            found |= {"loader": explanation.to_dict(), "reasons": dict(explain.reasons(codes))}
        print(json.dumps(found, indent=2))
    else:
        print("\n\n".join(filter(None, (_table.text([("part", "what", "found"), *lines]), text))))
    return int(bool(parsed.fail_on and codes))


def _machine() -> Iterator[Line]:
    from ..doors.worker import budget

    yield "machine", "system", platform.platform()
    quota = _cores.quota()
    limit = "" if quota is None else f", a quota of {quota:g}"
    yield "machine", "cores", f"{_cores.allowed()} of {os.cpu_count()}{limit}"
    with suppress(OSError, ValueError, AttributeError):  # of Linux
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        yield "machine", "memory", f"{_size(budget.memory_bytes())} of {_size(whole)}"
        shared = os.statvfs("/dev/shm")
        free, blocks = shared.f_bavail * shared.f_frsize, shared.f_blocks * shared.f_frsize
        yield "machine", "/dev/shm", f"{_size(free)} free of {_size(blocks)}"
    missing = _native.missing()
    yield "machine", "CPU kernels", _native.library().gl_kernels().decode() if missing is None else missing


def _versions() -> Iterator[Line]:
    for name in _PACKAGES:
        yield "version", name, platform.python_version() if name == "Python" else version_of(name)
    for name in libraries.imported():
        _, _, version = libraries.version(name).rpartition(" ")
        yield "version", libraries.NAMES[name], version


def _behaviours() -> Iterator[Line]:
    """How many of a library's behaviours are known ones; the others keep from Go what needs them."""
    from ..selfcheck import names, tried

    for library in libraries.imported():
        found = {name: tried(name) for name in names() if name.partition(".")[0] == library}
        behaviours = {name: each for name, each in found.items() if each is not None}
        differing = ", ".join(each.what for each, variant in behaviours.values() if variant is None)
        known = sum(variant is not None for _, variant in behaviours.values())
        text = f"{known} of {len(behaviours)} behaviours are known"
        yield "self-check", libraries.NAMES[library], f"{text}; not its {differing}" if differing else text


def _memory(loader: Any, batch: int) -> Iterator[Line]:
    """An estimate of what batches take."""
    yield "memory", "a batch", f"{_size(batch)}, the largest that was made"
    # Made ahead, and the one that the program has while it takes the next one.
    count = loader.num_workers * (loader.prefetch_factor or 0) + 2
    yield "memory", "batches", f"{_size(count * batch)}, for {count} at a time"
    if any(row.stage == "seek index" for row in loader.explain()):
        from ..seek_index import SeekIndex

        yield "memory", "seek index", str(SeekIndex.of(loader.seek_index))


def _speed(loader: Any, seconds: float) -> Iterator[Line]:
    """What a program gets that does nothing with the batches."""
    try:
        found = measured(loader, seconds)
    except ValueError:  # it has no batches
        return
    epoch = ""
    with suppress(TypeError, NotImplementedError):  # of a dataset without a length
        epoch = f", an epoch in {len(loader.dataset) / found.rate:.1f} s"
    yield "speed", "samples", f"{found.rate:.0f} a second{epoch}; the first batch after {found.first_s:.2f} s"
    yield "speed", "CPU", f"{found.cpu_s:.2f} s for 1,000 samples"


def _storage(loader: Any) -> Iterator[Line]:
    """How fast some of the files that Go would read are read one after the other, past the page cache if it allows."""
    from ..doors import choice

    files = getattr(choice.decide(loader), "files", None)
    if files is None or files.remote or not len(files):
        return
    step = max(1, len(files) // _FILES_MAX)
    paths = list(dict.fromkeys(os.fsencode(getattr(path, "archive", path)) for path, _ in files[::step][:_FILES_MAX]))
    took, size, count = 0.0, 0, 0
    for path in paths:
        with suppress(OSError), open(path, "rb", buffering=0) as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            begun = time.perf_counter()
            size += len(file.read(_READ_MAX) or b"")
            took, count = took + time.perf_counter() - begun, count + 1
        if took > _STORAGE_S:
            break
    if size:
        each = f"{count} files, {took / count * 1e3:.2g} ms each"
        yield "storage", "reading", f"{size / took / 1e6:.0f} MB/s: {each}, one after the other"
    yield "storage", "file system", _file_system(os.fsdecode(paths[0]))


def _file_system(path: str) -> str:
    """Its kind, where it is mounted, and what is free."""
    place, kind = "/", "unknown"
    with suppress(OSError), open("/proc/mounts") as mounts:
        for line in mounts:
            _, mounted, found, *_ = line.split()
            mounted = mounted.replace("\\040", " ")
            if os.path.commonpath([mounted, os.path.realpath(path)]) == mounted and len(mounted) >= len(place):
                place, kind = mounted, found
    room = os.statvfs(place)
    return f"{kind} on {place}, {_size(room.f_bavail * room.f_frsize)} free"


def _bytes(batch: Any) -> int:
    from ..adapters.torch import pytree

    return sum(getattr(leaf, "nbytes", 0) for leaf in pytree.tree_leaves(batch))


def _size(count: int) -> str:
    power = max(0, min(3, (count.bit_length() - 1) // 10))
    return f"{count / 1024**power:.{min(power, 1)}f} {('bytes', 'KiB', 'MiB', 'GiB')[power]}"


def version_of(package: str) -> str:
    """Its version, or "not installed"."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
