"""Programs in the manner of public repositories, under torch's loaders and under ours.

    python -m bench.programs [--only imagenet,mnist] [--rounds N] [--samples N] [--output FILE]

What: seconds that each program waits for its batches, over three epochs of sets of 1,000 samples, workers started and
first samples checked: its loader is made, and then all that the training does is to ask for the next batch.

How: goloader's files are compiled first, as pip does with all that it installs. A turn is a process of its own. In the
first, not timed, all that is in the batches of each loader goes into a digest; digests that differ are an error at the
end. Then both loaders run in turn, forwards and backwards. A ratio is torch's seconds over ours inside a round; the
median over rounds is shown. What a program measured is kept at once, beside what the file has of other programs.

How to read: table.py says it above its table. The batch sizes and workers are the authors', but two workers at most.
"""

from __future__ import annotations

import argparse
import compileall
import importlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import goloader
from bench import harness
from bench.programs import table, turns


def measure(name: str, count: int, rounds: int) -> dict[str, Any]:
    """One program: what both loaders gave, and how long that took. Raises Failed."""
    turns.apart(lambda: {"made": str(made(name, count))})
    return turns.apart(lambda: measured(name, count, rounds))


def made(name: str, count: int) -> Path:
    """A program's set, made if it is not there."""
    from bench.programs import data  # imports more than programs do

    return data.ensure(importlib.import_module(f"bench.programs.scripts.{name}").DATA, count)


def measured(name: str, count: int, rounds: int) -> dict[str, Any]:
    """In the process that all turns of a program are forked from."""
    turns.import_libraries(name)
    theirs, ours = (turns.turn(name, loader, count, digests=True) for loader in turns.LOADERS)
    seconds: dict[str, list[list[float]]] = {loader: [] for loader in turns.LOADERS}
    cpu_s: dict[str, list[float]] = {loader: [] for loader in turns.LOADERS}
    for number in range(rounds):
        for loader in turns.LOADERS[:: 1 if number % 2 == 0 else -1]:
            turns.apart(lambda: {"bytes": harness.touch_memory()})
            timed = turns.turn(name, loader, count)
            seconds[loader].append(timed["epochs"])
            cpu_s[loader].append(timed["cpu_s"])
            if loader == "goloader":  # the digests' pauses are not in this one
                ours["explained"] = timed["explained"]
    return {
        "equal": theirs["digests"] == ours["digests"],
        "samples": count,
        "batches": ours["batches"],
        "workers": ours["workers"],
        "seconds": seconds,
        "cpu_s": cpu_s,
        "explained": ours["explained"],
    }


def keep(path: Path, name: str, figures: dict[str, Any]) -> dict[str, Any]:
    """Puts a program into a file of results, beside those that it has; all that still exist, in the order of names."""
    kept = json.loads(path.read_text())["programs"] if path.exists() else {}
    kept[name] = figures
    ordered = {each: kept[each] for each in turns.names() if each in kept}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"scenario": "programs", "programs": ordered}, indent=1) + "\n")
    return ordered


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Run programs under torch's loaders and under ours.")
    parser.add_argument("--only", default=",".join(turns.names()), help="comma-separated (default: all)")
    parser.add_argument(
        "--rounds", type=int, default=3, help="timed turns of each loader (default: 3); 0: digests alone"
    )
    parser.add_argument("--samples", type=int, default=1000, help="in each set (default: 1000)")
    parser.add_argument("--output", type=Path, default=harness.RESULTS / "programs.json")
    arguments = parser.parse_args(argv)
    names = arguments.only.split(",")
    if unknown := sorted(set(names) - set(turns.names())):
        parser.error(f"no program called {', '.join(unknown)}; there are {', '.join(turns.names())}")
    compileall.compile_dir(Path(goloader.__file__).parent, quiet=1)
    results, failed = {}, []
    for name in names:
        about = {"date": harness.now(), "machine": harness.machine()}
        try:
            results[name] = about | measure(name, arguments.samples, arguments.rounds)
        except turns.Failed as error:
            harness.say(f"{name}: {error}")
            failed.append(name)
            continue
        keep(arguments.output, name, results[name])
        harness.say(table.line(name, results[name]) if arguments.rounds else name)
    if arguments.rounds and results:
        print(table.text(results))
    print(f"\nkept in {arguments.output}")
    others = [name for name in results if not results[name]["equal"]]
    if failed or others:
        raise SystemExit(f"failed: {', '.join(failed) or 'none'}; OTHER BATCHES: {', '.join(others) or 'none'}")


if __name__ == "__main__":
    main()
