"""Where the programs' sets are."""

from __future__ import annotations

from pathlib import Path

# Goes into the folder's name: raise it when a change of data.py changes the files.
RECIPE = 1


def of(kind: str, count: int) -> Path:
    return Path(__file__).parents[1] / "data" / f"programs-{RECIPE}-{count}" / kind
