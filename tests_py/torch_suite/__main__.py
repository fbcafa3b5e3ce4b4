"""PyTorch's own tests of its DataLoader against goloader's, torchdata's of its StatefulDataLoader: `make conformance`.

The law: every test that passes with their class passes with ours. So each of PyTorch's tests runs below `python -m
goloader run`, and each of torchdata's with our class under its name; one that does not pass runs again with nothing
beside it, since some of these tests are races against the clock; and one that still does not pass runs with their
class. If it passes there, ours is at fault, and the exit status is 1.

    make conformance SUITE=stateful                        torchdata's alone (SUITE=loader: PyTorch's)
    make conformance                                       all, as many at a time as there are cores
    make conformance TESTS='test_len or TestStackDataset'  some, as pytest's -k selects them
    make conformance JOBS=4
    PYTORCH_TEST_WITH_SLOW=1 make conformance              with the tests that PyTorch calls slow
    GOLOADER_TORCHDATA=~/data make conformance             with torchdata's, which source.py finds nowhere by itself

A suite whose files cannot be had is left out, with a word.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from .source import Unavailable, stateful_files, test_file

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[1]
# A test that hangs is a failure; PyTorch's own wait for their processes for a minute, some several times.
_TEST_SECONDS_MAX = 300
# Runs for each job, so that one with slow tests does not leave the others idle for long; but each starts a Python.
_RUNS_A_JOB, _TESTS_A_RUN_MIN = 4, 8

PASSED, SKIPPED, CRASHED = "passed", "skipped", "crashed"
# A test that torch marks as failing may pass with ours.
_GOOD = (PASSED, "unexpected success")


@dataclass(frozen=True)
class Outcome:
    kind: str
    text: str = ""

    @property
    def good(self) -> bool:
        return self.kind in _GOOD


class Suite:
    """A test file and the ways to run it.

    replaced  the class, by its full name
    command   what runs Python with ours in its place
    startup   a folder of PYTHONPATH that puts ours in its place
    """

    def __init__(self, file: Path, replaced: str, command: Sequence[str] = (), startup: Path | None = None) -> None:
        self._file, self._replaced, self._command, self._startup = file, replaced, command, startup

    def tests(self, selection: str) -> list[str]:
        """Their names, Class::test, in the order of the file. Raises SystemExit if the file cannot be read."""
        run = self._pytest(["--collect-only", "-q", "-k", selection], os.devnull, ours=True)
        if run.returncode not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            raise SystemExit(f"{self._file.name}:\n{run.stdout}{run.stderr}")
        return [line.partition("::")[2] for line in run.stdout.splitlines() if "::" in line]

    def run(self, tests: Sequence[str], *, ours: bool) -> dict[str, Outcome]:
        """What becomes of each test in one process; one that ends the process leaves the rest to a process each."""
        with tempfile.TemporaryDirectory() as folder:
            noted = Path(folder) / "outcomes"
            run = self._pytest([f"{self._file.name}::{test}" for test in tests], str(noted), ours=ours)
            lines = noted.read_text().splitlines() if noted.exists() else []
        outcomes = {line["test"]: Outcome(line["outcome"], line["text"]) for line in map(json.loads, lines)}
        missing = [test for test in tests if test not in outcomes]
        if missing:
            outcomes[missing[0]] = Outcome(CRASHED, run.stdout + run.stderr)
            for test in missing[1:]:
                outcomes |= self.run([test], ours=ours)
        return outcomes

    def _pytest(self, arguments: Sequence[str], noted: str, *, ours: bool) -> subprocess.CompletedProcess[str]:
        options = [
            "-c", os.devnull, "--rootdir", ".", "-p", "no:cacheprovider", "-p", "outcomes", "-W", "ignore",
            f"--timeout={_TEST_SECONDS_MAX}", "--timeout-method=thread",
        ]  # fmt: skip
        if not any("::" in argument for argument in arguments):
            options.append(self._file.name)
        run = self._command if ours else ()
        paths = [_ROOT / "python", _HERE]
        if ours and self._startup is not None:
            paths.append(self._startup)
        environment = {
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
            "GOLOADER_CONFORMANCE_OUTCOMES": noted,
            "GOLOADER_CONFORMANCE_CLASS": self._replaced,
            "GOLOADER_CONFORMANCE_LOADER": "goloader" if ours else self._replaced.partition(".")[0],
        }
        return subprocess.run(
            [sys.executable, *run, "-m", "pytest", *options, *arguments],
            env=os.environ | environment,
            cwd=self._file.parent,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )


def main() -> int:
    parser = argparse.ArgumentParser(prog="make conformance", description=__doc__.partition("\n")[0])
    parser.add_argument("--tests", default="", help="which, as pytest's -k (default: all)")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="runs at a time")
    parser.add_argument("--folder", type=Path, default=_ROOT / "build" / "conformance", help="for what is fetched")
    parser.add_argument("--suite", choices=("loader", "stateful", "all"), default="all")
    options = parser.parse_args()
    selected = [(suite, suite.tests(options.tests)) for suite in suites(options.suite, options.folder)]
    if not any(tests for _, tests in selected):
        raise SystemExit(f"no test is selected by {options.tests!r}")
    passed = [check(suite, tests, options.jobs) for suite, tests in selected if tests]
    return int(not all(passed))


def suites(which: str, folder: Path) -> list[Suite]:
    """Those whose files can be had; a word about each other one."""
    found = []
    if which != "stateful":
        try:
            found.append(Suite(test_file(folder), "torch.utils.data.DataLoader", command=("-m", "goloader", "run")))
        except Unavailable as why:
            print(f"left out: PyTorch's tests of its DataLoader: {why}", flush=True)
    if which != "loader":
        name, startup = "torchdata.stateful_dataloader.StatefulDataLoader", _HERE / "stateful"
        try:
            found += [Suite(file, name, startup=startup) for file in stateful_files()]
        except Unavailable as why:
            print(f"left out: torchdata's tests of its StatefulDataLoader: {why}", flush=True)
    if not found:
        raise SystemExit("no suite is left")
    return found


def check(suite: Suite, tests: Sequence[str], jobs: int) -> bool:
    """Whether every test that passes with their class passes with ours; prints which do not."""
    runs = max(1, min(jobs * _RUNS_A_JOB, len(tests) // _TESTS_A_RUN_MIN))
    with ThreadPoolExecutor(jobs) as pool:
        outcomes: dict[str, Outcome] = {}
        # Neighbours in the file are alike, also in what they cost: deal them out.
        hands = [tests[first::runs] for first in range(runs)]
        for part in pool.map(lambda hand: suite.run(hand, ours=True), hands):
            outcomes |= part
            print(f"{len(outcomes)} of {len(tests)} tests run", flush=True)

    for test in [test for test in tests if not outcomes[test].good and outcomes[test].kind != SKIPPED]:
        outcomes |= suite.run([test], ours=True)
    doubtful = [test for test in tests if not outcomes[test].good]
    theirs = suite.run(doubtful, ours=False) if doubtful else {}
    failed = [test for test in doubtful if theirs[test].good]
    for test in doubtful:
        if (outcomes[test].kind, theirs[test].kind) != (SKIPPED, SKIPPED):
            print(f"{test}: {outcomes[test].kind} with goloader's class, {theirs[test].kind} with theirs")
    for test in failed:
        print(f"\n{test}\n{outcomes[test].text}")
    counts = Counter(outcome.kind for outcome in outcomes.values())
    print(f"\n{len(tests)} tests with goloader's class: " + ", ".join(f"{n} {kind}" for kind, n in counts.items()))
    print(f"{len(failed)} of them pass with their class and not with ours")
    return not failed


if __name__ == "__main__":
    sys.exit(main())
