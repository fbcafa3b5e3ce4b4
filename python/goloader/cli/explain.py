"""python -m goloader explain: what of a loader or dataset runs in Go, beside its source."""

from __future__ import annotations

import argparse
import itertools
import os
from typing import Any

from . import objects


def add(commands: Any) -> None:
    """Adds the command to those of the command line."""
    parser = commands.add_parser(
        "explain",
        help="say what of a loader or a dataset runs in Go, and why the rest does not",
        description=(
            "Makes a few batches and prints where each stage runs, the source of the dataset with what goloader made "
            "of each line, and what to change where Python runs something."
        ),
        allow_abbrev=False,
    )
    parser.add_argument(
        "target",
        metavar="MODULE:OBJECT",
        help=f"a DataLoader or a dataset: {objects.HELP}",
    )
    parser.add_argument(
        "--batches", type=int, default=4, metavar="N", help="batches to make first (4); 0 only looks at the code"
    )
    parser.set_defaults(command=lambda parsed: _explain(parser, parsed))


def _explain(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> int:
    if parsed.batches < 0:
        parser.error("--batches is below 0")
    # Before goloader looks: each batch waits until it is known whether the next may be recorded.
    os.environ.setdefault("GOLOADER_TRIAL", "wait")
    import goloader

    goloader.install()
    found = objects.find(parser, parsed.target)
    loader = objects.loader(found)
    if loader is None:
        parser.error(f"{parsed.target} gives a {type(found).__qualname__}, neither a DataLoader nor a dataset")
    for _ in itertools.islice(loader, parsed.batches):
        pass
    _print(loader)
    return 0


def _print(loader: Any) -> None:
    from ..plan.listing import listing
    from ..plan.reasons import REASONS

    explanation = loader.explain()
    print(explanation)
    lines = list(listing(loader.dataset, explanation))
    if lines:
        print("", *lines, sep="\n")
    if explanation.codes:
        print()
    for code in explanation.codes:
        print(f"{code}: {REASONS[code].means}. What helps: {REASONS[code].change}.")
