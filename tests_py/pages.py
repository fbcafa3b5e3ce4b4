"""Parts of the README and of docs that tests write: between `<!-- name:begin -->` and `<!-- name:end -->`."""

from __future__ import annotations

import os
import re
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]


def part(page: str, name: str) -> str:
    """What a page has between the two marks. Raises AttributeError if it has no such marks."""
    return _between(name).search((REPOSITORY / page).read_text()).group()  # type: ignore[union-attr]


def require_part(page: str, name: str, made: str) -> None:
    """Asserts that a part of a page is what a test made; with GOLOADER_UPDATE=1 writes it."""
    if os.environ.get("GOLOADER_UPDATE"):
        path = REPOSITORY / page
        path.write_text(_between(name).sub(lambda _: made, path.read_text()))
        return
    assert part(page, name) == made


def _between(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<=<!-- {name}:begin -->\n).*?(?=<!-- {name}:end -->)", re.DOTALL)
