"""A pytest plugin: a line of JSON for each test as it ends, so that a run that dies leaves what it had.

Refuses to run if the loaders that the tests would make are not those of GOLOADER_CONFORMANCE_LOADER's package.
"""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Iterator

import pytest

_FILE = os.environ["GOLOADER_CONFORMANCE_OUTCOMES"]
_MODULE, _, _NAME = os.environ["GOLOADER_CONFORMANCE_CLASS"].rpartition(".")


def pytest_configure() -> None:
    made_by = type(getattr(importlib.import_module(_MODULE), _NAME)([0])).__module__
    if made_by.partition(".")[0] != os.environ["GOLOADER_CONFORMANCE_LOADER"]:
        raise pytest.UsageError(f"{_NAME} makes a loader of {made_by}")


def _note(**what: str) -> None:
    with open(_FILE, "a") as file:
        file.write(json.dumps(what) + "\n")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    if report.failed or report.skipped or report.when == "call":
        outcome = "expected failure" if report.skipped and hasattr(report, "wasxfail") else report.outcome
        # unittest's unexpected success: a test that torch expects to fail.
        if report.failed and "Unexpected success" in str(report.longrepr):
            outcome = "unexpected success"
        text = "" if report.passed else str(report.longrepr)
        _note(test=item.nodeid.partition("::")[2], outcome=outcome, text=text)
    return report
