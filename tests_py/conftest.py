"""For all tests of the Python package: shared helpers are found, and nothing is left behind.

`twins` (in parity/) runs torch's DataLoader and ours from the same seed and compares everything that a user can see;
`photos` writes small image folders with files of every kind.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import random
import re
import sys
import time
import warnings
import zlib
from collections import defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent / "parity"))

# Where images are made must not depend on how busy the machine is; before anything of goloader's is imported.
os.environ["GOLOADER_TRIAL"] = "wait"

from goloader import _core, _native

# The same examples in each run; how long one takes is the machine's to say. `--hypothesis-profile=default` for others.
settings.register_profile("ci", derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile("ci")

# There are tests with more workers than this machine may have cores.
_TOO_MANY_WORKERS = "This DataLoader will create .* worker processes in total"

# Folders whose tests start interpreters of their own or import the frameworks: 0.2 GB, whose tables each fork copies.
_SLOW_FOLDERS = {"frameworks", "hazards", "programs"}

# Of a test's variants one is quick, and one more for every twenty; the others are slow.
_QUICK_VARIANTS, _VARIANTS_A_QUICK_ONE = 1, 20

# Tests that took longer than a second when `make long-tests` was last run: all their variants are slow.
_LONG = frozenset((Path(__file__).parent / "long_tests.txt").read_text().split())

# Why a test may be skipped though --forbid-skips is given: what a machine or a version is, not what could be installed.
_GOOD_REASONS = re.compile(
    "this processor has no|the test above has them|there is an accelerator|no CUDA|there is one core"
    "|no Python .* here|of Python 3.11|came with Python 3.11|no O_DIRECT|no FUSE here|no npm here"
    "|may round otherwise here|adds in another order here"
    "|root alone can become another user"
    "|time is up"
)


@pytest.fixture(autouse=True)
def only_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether samples of a class that is not compiled are kept depends on how long they take: here none are, but where
    a test says so."""
    kept = sys.modules.get("goloader.plan.datasets.own.kept")
    if kept is not None:
        monkeypatch.setattr(kept, "SAMPLE_S_MIN", float("inf"))
        monkeypatch.setattr(kept, "ALL_S_MAX", -1.0)


@pytest.fixture
def untried(monkeypatch: pytest.MonkeyPatch) -> None:
    """No child process makes samples to compare them with Go's where requests are counted: it reads files, too."""
    from goloader.doors.index import trial

    monkeypatch.setattr(trial, "begin", lambda *_: None)


_passed, _long = pytest.StashKey[bool](), pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--forbid-skips", action="store_true", help="fail where a test is skipped that could run")
    parser.addoption(
        "--share",
        type=int,
        default=1,
        metavar="N",
        help="of a test's slow variants run every N-th, always the same ones",
    )
    parser.addoption(
        "--slow-until",
        type=float,
        metavar="TIME",
        help="begin no slow test after this time, in seconds since 1970, but those of long_tests.txt; the order of "
        "files is another for each time",
    )
    parser.addoption(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="other random numbers in the tests that draw without a seed of their own",
    )


def _seed(config: pytest.Config, *names: object) -> None:
    """What is drawn from here on depends on these names alone, not on the tests before."""
    number = zlib.crc32(repr((config.getoption("--seed"), *names)).encode())
    random.seed(number)
    np.random.seed(number)
    torch.manual_seed(number)


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest) -> None:
    _seed(request.config, fixturedef.argname, request.node.nodeid)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    _seed(item.config, item.nodeid)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """What is slow as a whole is not imported where nothing slow is asked for."""
    left = "not slow" in config.getoption("markexpr") and collection_path.name in _SLOW_FOLDERS
    return True if left else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks as slow what takes long, and all but a few variants of a test: always the same, from all over its list.

    Leaves out those that are not in the share that was asked for.
    """
    variants: dict[str, list[pytest.Item]] = defaultdict(list)
    left_out: set[pytest.Item] = set()
    share = config.getoption("--share")
    for item in items:
        if item.path.parent.name in _SLOW_FOLDERS:
            item.add_marker(pytest.mark.slow)
        variants[item.nodeid.partition("[")[0]].append(item)
    for name, same in variants.items():
        quick = _QUICK_VARIANTS + len(same) // _VARIANTS_A_QUICK_ONE
        ordered = sorted(same, key=lambda item: zlib.crc32(item.nodeid.encode()))
        for item in ordered[quick:]:
            item.add_marker(pytest.mark.slow)
        left_out |= {*ordered[quick:]}.difference(ordered[quick + share - 1 :: share])
        for item in ordered[:quick] if name.removeprefix("tests_py/") in _LONG else ():
            item.add_marker(pytest.mark.slow)
            item.stash[_long] = True
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=list(left_out))
    until = config.getoption("--slow-until")
    if until is not None:
        items.sort(key=lambda item: zlib.crc32(f"{until} {item.path.name}".encode()))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    until = item.config.getoption("--slow-until")
    may_wait = item.get_closest_marker("slow") is not None and not item.stash.get(_long, False)
    if until is not None and may_wait and time.time() > until:
        pytest.skip("time is up")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if call.when == "call":
        item.stash[_passed] = report.passed
    if not hasattr(report, "wasxfail"):
        _forbid_skip(item.config, report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    _seed(collector.config, collector.nodeid)
    report = yield
    _forbid_skip(collector.config, report)
    return report


def _forbid_skip(config: pytest.Config, report: pytest.TestReport | pytest.CollectReport) -> None:
    """Makes a failure of a skip for which there is no good reason."""
    if report.skipped and config.getoption("--forbid-skips"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if not _GOOD_REASONS.search(reason):
            report.outcome, report.longrepr = "failed", f"{report.nodeid} is skipped: {reason}"


def live() -> dict[str, int]:
    """What is alive: worker processes, and what the core counts of its own once the library is loaded."""
    processes = {"processes": len(multiprocessing.active_children())}
    if not _native.is_loaded():
        return processes
    _core.let_go()  # a busy machine may take its time with a read that is under way when a loader is closed
    return processes | _native.live()


def _left(before: dict[str, int]) -> dict[str, tuple[int, int]]:
    return {name: (before.get(name, 0), count) for name, count in live().items() if count > before.get(name, 0)}


@pytest.fixture(autouse=True, scope="module")
def _swept() -> None:
    """What is collected after a test is looked for among what came since, not in all of torch and its frameworks."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    gc.unfreeze()  # libraries look for what is left as they are unloaded


@pytest.fixture(autouse=True)
def _nothing_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """After a test no process, and no handle, slot, file or index of the core, is alive that was not before it."""
    before = live()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=_TOO_MANY_WORKERS)
        yield
    # A failed test's traceback holds its loaders.
    if request.node.stash.get(_passed, False) and _left(before):
        # Threads (torch's that pins, a framework's) may be about to let go of something.
        deadline = time.monotonic() + 30
        gc.collect()
        while _left(before) and time.monotonic() < deadline:
            time.sleep(0.05)
            gc.collect()
        assert not _left(before), f"left behind (before, after): {_left(before)}"
