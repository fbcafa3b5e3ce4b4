"""The demo's picture: two loss curves that are one, and the time each took."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import matplotlib

matplotlib.use("Agg")  # no display is needed to write a file

from matplotlib import pyplot
from matplotlib.axes import Axes

OUR_COLOUR = "#0b7285"
THEIR_COLOUR = "#f4a261"
TRAINING_COLOUR = "#ced4da"
INK = "#212529"
FAINT = "#6c757d"


class Curve(Protocol):
    """What is drawn of a training run."""

    title: str
    losses: list[float]
    data_s: float
    total_s: float

    @property
    def step_s(self) -> float: ...

    @property
    def images_per_s(self) -> float: ...


def draw_losses(axes: Axes, before: Curve, after: Curve) -> None:
    steps = range(1, len(before.losses) + 1)
    axes.plot(steps, before.losses, color=THEIR_COLOUR, linewidth=6, solid_capstyle="round", label=before.title)
    axes.plot(steps, after.losses, color=OUR_COLOUR, linewidth=1.6, label=after.title)
    difference = max(abs(old - new) for old, new in zip(before.losses, after.losses, strict=True))
    axes.set_title(f"Loss at every step: largest difference {difference:g}", loc="left", fontsize=11, color=INK)
    axes.set_xlabel("step", color=FAINT)
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)


def draw_times(axes: Axes, before: Curve, after: Curve) -> None:
    for row, (run, colour) in enumerate(((before, THEIR_COLOUR), (after, OUR_COLOUR))):
        axes.barh(row, run.data_s, color=colour, height=0.55)
        axes.barh(row, run.step_s, left=run.data_s, color=TRAINING_COLOUR, height=0.55)
        text = f" {run.total_s:.1f} s\n {run.images_per_s:,.0f} images/s"
        axes.text(run.total_s, row, text, va="center", color=INK, fontsize=9)
    axes.set_yticks((0, 1), [before.title, after.title], color=INK)
    axes.set_ylim(1.6, -0.6)
    axes.set_xlim(0, max(before.total_s, after.total_s) * 1.35)
    axes.set_xlabel("seconds (coloured: waiting for batches, grey: training)", color=FAINT)
    axes.tick_params(left=False)
    axes.set_title(f"{before.total_s / after.total_s:.1f} times faster", loc="left", fontsize=11, color=INK)


def draw(before: Curve, after: Curve, output: Path) -> None:
    with pyplot.rc_context({"font.family": "DejaVu Sans", "font.size": 9.5}):
        figure, (losses, times) = pyplot.subplots(1, 2, figsize=(11, 3.8), width_ratios=(5, 4), layout="constrained")
        draw_losses(losses, before, after)
        draw_times(times, before, after)
        for axes in (losses, times):
            axes.spines[["top", "right"]].set_visible(False)
            axes.spines[["left", "bottom"]].set_color(TRAINING_COLOUR)
        output.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(output, dpi=150)
        pyplot.close(figure)
