"""The table of what bench.programs measured."""

from __future__ import annotations

import ast
import statistics
from typing import Any

from bench.programs import turns

SECONDS = ("torch s", "goloader s", "ratio", "1st epoch", "2nd", "3rd", "CPU")
HEAD = ("program", "", "workers", *SECONDS, "where", "reasons")
# What is wanted: the median, how many are wholly Go's, and of each program in its first epoch and in later ones.
MEDIAN, NATIVE, FIRST, LATER = 4.0, 2 / 3, 0.9, 0.97


def title(name: str) -> str:
    """The first line of a program's docstring."""
    return (ast.get_docstring(turns.source(name)) or name).splitlines()[0]


def total(figures: dict[str, Any], loader: str) -> float:
    return float(statistics.median(map(sum, figures["seconds"][loader])))


def ratio(figures: dict[str, Any], epoch: int | None = None) -> float:
    """torch's seconds over ours, round by round, then the median: of an epoch, or of all."""
    chosen = slice(None) if epoch is None else slice(epoch, epoch + 1)
    pairs = zip(figures["seconds"]["torch"], figures["seconds"]["goloader"], strict=True)
    return float(statistics.median(sum(theirs[chosen]) / sum(ours[chosen]) for theirs, ours in pairs))


def cpu_ratio(figures: dict[str, Any]) -> float:
    """The same of the seconds of CPU in all epochs, which tell more where others use the machine."""
    pairs = zip(figures["cpu_s"]["torch"], figures["cpu_s"]["goloader"], strict=True)
    return float(statistics.median(theirs / ours for theirs, ours in pairs))


def where(figures: dict[str, Any]) -> str:
    """Go: indices become batches there. Images from Go: all of them, and Python runs what opens them. Python: none."""
    explained = figures["explained"]
    stages = [row["where"] == "Go" for row in explained["rows"] if row["stage"] in ("source", "transform", "collate")]
    if stages and all(stages):
        return "Go"
    share = explained["native_fraction"]
    return "images from Go" if share == 1 else f"{share:.0%} of images from Go" if share else "Python"


def cells(name: str, figures: dict[str, Any]) -> list[str]:
    ratios = [ratio(figures), *(ratio(figures, epoch) for epoch in range(turns.EPOCHS))]
    return [
        name,
        title(name) + ("" if figures["equal"] else " **OTHER BATCHES**"),
        str(figures["workers"]),
        *(f"{total(figures, loader):.2f}" for loader in turns.LOADERS),
        *(f"{value:.2f}x" for value in ratios),
        f"{cpu_ratio(figures):.2f}x",
        where(figures),
        " ".join(figures["explained"]["codes"]),
    ]


def line(name: str, figures: dict[str, Any]) -> str:
    return "  ".join(cell for column, cell in enumerate(cells(name, figures)) if column != 1)


def text(results: dict[str, Any]) -> str:
    rows = [[cell for column, cell in enumerate(row) if column != 1] for row in all_rows(results)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.rjust(width) if 0 < column < 9 else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join([*lines, "", *summary(results)])


def markdown(results: dict[str, Any]) -> str:
    head, *rows = ("| " + " | ".join(row) + " |" for row in all_rows(results))
    notes = [f"- {note}" for note in summary(results)]
    return "\n".join([*notes, "", head, "|---|---|" + "--:|" * 8 + "---|---|", *rows]) + "\n"


def all_rows(results: dict[str, Any]) -> list[list[str]]:
    """The head, and a row a program: what gains most comes first."""
    return [list(HEAD), *(cells(name, results[name]) for name in sorted(results, key=lambda n: -ratio(results[n])))]


def summary(results: dict[str, Any]) -> list[str]:
    """What all programs make together, and which do not make what is wanted."""
    count = len(results)
    kinds = [where(figures) for figures in results.values()]
    median = statistics.median(map(ratio, results.values()))
    first = [name for name, figures in results.items() if ratio(figures, 0) < FIRST]
    later = [
        name for name, figures in results.items() if min(ratio(figures, i) for i in range(1, turns.EPOCHS)) < LATER
    ]
    others = [name for name, figures in results.items() if not figures["equal"]]
    loads = [figures["machine"]["load_before"][0] for figures in results.values()]
    cores = max(figures["machine"]["cores"] for figures in results.values())
    return [
        f"load of the machine as each began: {min(loads):.1f} to {max(loads):.1f}, with {cores} cores",
        f"{count} programs, the batches of {count - len(others)} are torch's bit for bit",
        f"median over three epochs: {median:.2f}x ({MEDIAN:g}x wanted)",
        f"wholly in Go: {kinds.count('Go')}; all images from Go: {kinds.count('images from Go')};"
        f" some: {sum(kind.endswith('of images from Go') for kind in kinds)}; Python: {kinds.count('Python')}"
        f" ({round(NATIVE * count)} wholly in Go wanted)",
        f"below {FIRST:g}x in the first epoch: {', '.join(first) or 'none'}",
        f"below {LATER:g}x in a later one: {', '.join(later) or 'none'}",
    ]
