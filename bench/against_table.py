"""Tables of what bench/against_torch.py has measured: as text, and as Markdown for the README."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Iterable
from typing import Any

from bench.cases import CASES, Case

OURS, LOWERED = "goloader", "goloader, lowered"


def torch_with(workers: int) -> str:
    return f"torch, {workers}"


def torchs_of(speeds: Iterable[str]) -> list[str]:
    """torch's loaders among those timed, fewest workers first."""
    names = {name for name in speeds if name.startswith("torch")}
    return sorted(names, key=lambda name: int(name.removeprefix("torch, ")))


@dataclasses.dataclass(frozen=True)
class Judged:
    """How many times what it is compared with, and how many times that is to be."""

    over: str
    ratio: float
    wanted: float | None

    def __str__(self) -> str:
        return f"{self.ratio:.3g}x" + (f" ({self.wanted:g}x)" if self.wanted else "")


@dataclasses.dataclass(frozen=True)
class Row:
    """A case and its figures."""

    case: Case
    figures: dict[str, Any]

    def samples_per_s(self, loader: str) -> float:
        return float(statistics.median(self.figures["samples_per_s"][loader]))

    def ratio(self, loader: str) -> float:
        """Ours over a loader, round by round, then the median."""
        speeds: dict[str, list[float]] = self.figures["samples_per_s"]
        return statistics.median(mine / other for mine, other in zip(speeds[OURS], speeds[loader], strict=True))

    @property
    def bytes_per_s(self) -> float:
        return self.samples_per_s(OURS) * float(self.figures["bytes_per_sample"])

    def judged(self) -> tuple[Judged, Judged, Judged]:
        targets, workers = self.case.targets, self.figures["workers"]
        best = max(torchs_of(self.figures["samples_per_s"]), key=self.samples_per_s)
        share = self.bytes_per_s / self.figures["memcpy_bytes_per_s"]
        return (
            Judged("torch's best", self.ratio(best), targets.best),
            Judged(f"torch with {workers} workers", self.ratio(torch_with(workers)), targets.same),
            Judged("memcpy", share, targets.memcpy),
        )

    def cells(self, torchs: list[str]) -> list[str]:
        speeds = self.figures["samples_per_s"]
        best, same, memcpy = self.judged()
        return [
            self.case.title,
            *(f"{self.samples_per_s(name):,.0f}" if name in speeds else "" for name in torchs),
            f"{self.samples_per_s(OURS):,.0f}",
            str(best),
            str(same),
            str(Judged("Go", self.ratio(LOWERED), None)) if LOWERED in speeds else "",
            f"{self.bytes_per_s / 1e9:.2g}" if self.bytes_per_s else "",
            f"{self.figures['memcpy_bytes_per_s'] / 1e9:.2g}" + (f", {memcpy}" if memcpy.wanted else ""),
        ]


def rows_of(results: dict[str, Any], chosen: Callable[[Case], bool]) -> list[Row]:
    return [Row(CASES[name], figures) for name, figures in results.items() if chosen(CASES[name])]


def head_of(rows: list[Row], unit: str) -> tuple[list[str], list[str]]:
    """torch's loaders in these rows, and the words over the columns."""
    torchs = torchs_of({name for row in rows for name in row.figures["samples_per_s"]})
    return torchs, [unit, *torchs, OURS, "/ best", "/ same", "/ Go", "GB/s", "memcpy"]


def text(results: dict[str, Any]) -> str:
    rows = rows_of(results, lambda case: True)
    torchs, head = head_of(rows, "samples a second")
    lines = [head, *(row.cells(torchs) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    shown = [
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    return "\n".join([shown[0], "-" * len(shown[0]), *shown[1:], *missed(rows)])


def short(results: dict[str, Any], chosen: Callable[[Case], bool]) -> str:
    """One figure a case: ours over torch's best, all in one table."""
    lines = ["| | times torch's best |", "|---|--:|"]
    lines += [f"| {row.case.title} | {row.judged()[0].ratio:.3g} |" for row in rows_of(results, chosen)]
    return "\n".join(lines) + "\n"


def markdown(results: dict[str, Any]) -> str:
    """A table a group of cases, one after another."""
    rows = rows_of(results, lambda case: True)
    torchs, head = head_of(rows, "")
    lines = ["| " + " | ".join(head) + " |", "|---" + "|--:" * (len(head) - 1) + "|"]
    group = ""
    for row in rows:
        if row.case.group != group:
            group = row.case.group
            lines.append(f"| **{group}** |" + " |" * (len(head) - 1))
        lines.append("| " + " | ".join(row.cells(torchs)) + " |")
    notes = [f"- {note}" for note in missed(rows)]
    return "\n".join(lines + (["", "Below what is wanted:", "", *notes] if notes else [])) + "\n"


def missed(rows: list[Row]) -> list[str]:
    """A line for each that is not as many times as wanted."""
    return [
        f"{row.case.title}: {each.ratio:.3g} times {each.over}, {each.wanted:g} wanted"
        for row in rows
        for each in row.judged()
        if each.wanted is not None and each.ratio < each.wanted
    ]
