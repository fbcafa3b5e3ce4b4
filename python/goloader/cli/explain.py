"""python -m goloader explain: what of a loader or dataset runs in Go, beside its source."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from . import objects


def add(commands: Any) -> None:
    parser = commands.add(
        "explain",
        _explain,
        help="show what runs in Go for a loader or dataset, and why the rest does not",
        description=(
            "Makes a few batches. Prints where each stage runs, the dataset's source with what Go made of each line, "
            "and what to change for stages that run in Python."
        ),
    )
    objects.takes_one(parser)
    parser.add_argument(
        "--batches", type=int, default=4, metavar="N", help="number of batches to make first (4); 0 only reads the code"
    )


def _explain(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> int:
    if parsed.batches < 0:
        parser.error("--batches is below 0")
    loader = objects.ready(parser, parsed.target)
    for _ in itertools.islice(loader, parsed.batches):
        pass
    print(text(loader))
    return 0


def text(loader: Any) -> str:
    """Where its stages run, the lines of its dataset, and what would help."""
    from ..plan.listing import listing

    explanation = loader.explain()
    parts = [
        str(explanation),
        "\n".join(listing(loader.dataset, explanation)),
        "\n".join(f"{code}: {what}" for code, what in reasons(explanation.codes)),
    ]
    return "\n\n".join(filter(None, parts))


def reasons(codes: Iterable[str]) -> Iterator[tuple[str, str]]:
    """What each code means, and what helps."""
    from ..plan.reasons import REASONS

    for code in codes:
        yield code, f"{REASONS[code].means}. What helps: {REASONS[code].change}."
