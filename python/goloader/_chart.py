"""Draws a profile with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

# What is shown as it changes over time is shown for so many parts of it.
_PARTS = 120
# A batch that takes so many times the median is marked, if it is among the longest.
_SPIKE, _SPIKES_MAX = 3.0, 8


def figure(width: int = 11, height: int = 9) -> Any:
    """An empty figure, in inches. Raises ModuleNotFoundError that says what to install."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("a chart needs matplotlib: pip install matplotlib", name=error.name) from error
    return Figure(figsize=(width, height), layout="constrained")


def batches(events: Sequence[dict[str, Any]]) -> tuple[Numbers, Numbers, Numbers]:
    """Of each next(): when it came back, how long it took, and how long the step before it took, 0 if there was none;
    in seconds."""
    program = sorted((event for event in events if event["tid"] == 0), key=lambda event: event["ts"])
    found = [
        (
            event["ts"] + event["dur"],
            event["dur"],
            before["dur"] if before is not None and before["name"] == "step" else 0,
        )
        for before, event in zip([None, *program], program, strict=False)
        if event["name"] == "next()"
    ]
    at, waits, steps = np.array(found, np.float64).reshape(-1, 3).T * 1e-6
    return at, waits, steps


def spikes(took: Numbers) -> NDArray[np.int64]:
    """Which batches took far longer than most, the longest first."""
    longest = np.argsort(-took, kind="stable")[:_SPIKES_MAX]
    return longest[took[longest] > _SPIKE * np.median(took)] if len(took) else longest


def busy(begins: Numbers, ends: Numbers, edges: Numbers) -> Numbers:
    """How many of these spans are under way between one edge and the next, on average: [len(edges) - 1]."""

    def passed(moments: Numbers) -> Numbers:  # since each of them, together
        ordered = np.sort(moments)
        count = np.searchsorted(ordered, edges)
        together: Numbers = count * edges - np.concatenate([[0], np.cumsum(ordered)])[count]
        return together

    under_way: Numbers = np.diff(passed(begins) - passed(ends))
    return under_way / np.diff(edges)


def draw(path: Path, events: Sequence[dict[str, Any]], stages: Sequence[str]) -> None:
    """Draws a trace's events: batch times, the share that the program waits, Go's stages, and throughput, over time."""
    page = figure()
    each, waiting, working, rate = page.subplots(4, sharex=True)
    at, waits, steps = batches(events)
    # No event is longer than the whole.
    end = max((event["ts"] + event["dur"] for event in events), default=0) * 1e-6 or 1.0
    edges = np.linspace(0, end, _PARTS + 1)
    middle = (edges[:-1] + edges[1:]) / 2

    each.set(title=f"{len(at)} batches", ylabel="ms a batch")
    each.vlines(at, 0, steps * 1e3, color="tab:blue", label="step")
    each.vlines(at, steps * 1e3, (steps + waits) * 1e3, color="tab:orange", label="waited")
    for number in spikes(steps + waits):
        top = (steps + waits)[number] * 1e3
        each.plot(at[number], top, "rv")
        each.annotate(f"batch {number}", (at[number], top), textcoords="offset points", xytext=(5, 0), fontsize=8)
    each.legend(loc="upper right")

    waiting.fill_between(middle, 100 * busy(at - waits, at, edges), step="mid", color="tab:orange")
    waiting.set(ylabel="% waited", ylim=(0, 100))

    spans = [[event for event in events if event["name"] == stage and event["tid"] > 0] for stage in stages]
    begins = [np.array([event["ts"] for event in of], np.float64) * 1e-6 for of in spans]
    ends = [begin + np.array([event["dur"] for event in of]) * 1e-6 for begin, of in zip(begins, spans, strict=True)]
    heights = [busy(begin, until, edges) for begin, until in zip(begins, ends, strict=True)]
    working.stackplot(middle, heights, labels=stages)
    working.set(ylabel="goroutines busy")
    working.legend(loc="upper right")

    rate.fill_between(middle, np.histogram(at, edges)[0] / np.diff(edges), step="mid", color="tab:green")
    rate.set(ylabel="batches/s", xlabel="seconds")
    page.savefig(path)
