"""Draws a result as horizontal bars: images a second, with CPU seconds for 1,000 images beside them.

    python -m bench.chart [bench/results/image_folder.json] [--output FILE.png]

Writes PNG and SVG beside the JSON unless told otherwise.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import matplotlib

from bench.harness import RESULTS
from bench.peers import OURS

matplotlib.use("Agg")  # no display is needed to write a file
matplotlib.rcParams["svg.hashsalt"] = "goloader"  # the same JSON draws the same bytes

from matplotlib import pyplot  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402

OUR_COLOUR = "#0b7285"
THEIR_COLOUR = "#b8c1c9"
INK = "#212529"
FAINT = "#6c757d"


def bars(axes: Axes, entries: list[dict[str, Any]], names: list[str], key: str, form: str, title: str) -> None:
    values = [entry["median"][key] for entry in entries]
    colours = [OUR_COLOUR if name == OURS else THEIR_COLOUR for name in names]
    axes.barh(range(len(values)), values, color=colours, height=0.62)
    for row, (value, name) in enumerate(zip(values, names, strict=True)):
        weight = "bold" if name == OURS else "normal"
        axes.text(value + max(values) * 0.02, row, form.format(value), va="center", color=INK, fontweight=weight)
    axes.set_title(title, loc="left", fontsize=10, color=FAINT)
    axes.set_xlim(0, max(values) * 1.16)
    axes.set_xticks([])
    axes.set_ylim(len(values) - 0.4, -0.6)  # fastest on top
    axes.tick_params(left=False)
    for side in ("top", "right", "bottom"):
        axes.spines[side].set_visible(False)
    axes.spines["left"].set_color(THEIR_COLOUR)


def subtitle(result: dict[str, Any]) -> str:
    images, machine = result["images"], result["machine"]
    return (
        f"{images['images']:,} JPEGs, mean {images['mean_kb']:.0f} KB, {images['mean_megapixels']:.2f} Mpixel; "
        f"{machine['cpu']}, {machine['cores']} cores; {result['date'][:10]}; rounds: {result['rounds']}, medians"
    )


def draw(result: dict[str, Any], outputs: list[Path]) -> None:
    """Raises ValueError if no contender ran."""
    ran = {name: entry for name, entry in result["contenders"].items() if entry["status"] == "ok"}
    if not ran:
        raise ValueError("no contender ran: nothing to draw")
    names = sorted(ran, key=lambda name: -ran[name]["median"]["images_per_s"])
    entries = [ran[name] for name in names]
    with pyplot.rc_context({"font.family": "DejaVu Sans", "font.size": 10}):
        figure, (speed, cpu) = pyplot.subplots(
            1, 2, figsize=(10, 1.3 + 0.46 * len(names)), width_ratios=(3, 2), layout="constrained", sharey=True
        )
        bars(speed, entries, names, "images_per_s", "{:,.0f}", "images a second (more is better)")
        bars(cpu, entries, names, "cpu_s_per_1000", "{:.2f}", "CPU seconds for 1,000 images (less is better)")
        speed.set_yticks(range(len(names)), [f"{entry['title']}\n({entry['best']})" for entry in entries], color=INK)
        for label, name in zip(speed.get_yticklabels(), names, strict=True):
            label.set_fontweight("bold" if name == OURS else "normal")
            label.set_fontsize(9)
        # The title's empty lines make the layout leave room for the subtitle.
        title = result["scenario"].replace("_", " ").capitalize()
        figure.suptitle(f"{title}\n\n", x=0.01, ha="left", fontweight="bold", color=INK)
        figure.text(0.01, 1 - 0.32 / figure.get_figheight(), subtitle(result), va="top", fontsize=8.5, color=FAINT)
        for output in outputs:
            metadata = {"Date": None} if output.suffix == ".svg" else None
            figure.savefig(output, dpi=160, metadata=metadata)
        pyplot.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw a benchmark's result.")
    parser.add_argument("result", type=Path, nargs="?", default=RESULTS / "image_folder.json")
    parser.add_argument("--output", type=Path, action="append", help="PNG or SVG; may be given twice")
    arguments = parser.parse_args()
    outputs = arguments.output or [arguments.result.with_suffix(suffix) for suffix in (".png", ".svg")]
    draw(json.loads(arguments.result.read_text()), outputs)
    print(*outputs, sep="\n")


if __name__ == "__main__":
    main()
