"""The files of a format, for a test that may change them."""

from __future__ import annotations

from pathlib import Path

import pytest
from written import Written


@pytest.fixture
def written(tmp_path: Path, request: pytest.FixtureRequest) -> Written:
    return Written(request.param, tmp_path)
