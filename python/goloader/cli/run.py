"""python -m goloader run and profile: an unmodified script, with every DataLoader that it or a framework in it makes
being ours.

The script is run by a fresh interpreter in place of this process, so all that it sees of itself (sys.argv, sys.path,
__main__, tracebacks, exit code) is as without us. Two environment variables make the difference, and every process that
the script starts inherits them:

    PYTHONPATH     starts with startup/, whose sitecustomize.py Python imports when it starts
    GOLOADER_RUN   "install", or "explain" for --explain; without it startup/ does nothing

and for `profile` a third one, GOLOADER_PROFILE, its folder; with --chart also GOLOADER_PROFILE_CHART, which is "1".
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any, NoReturn

_STARTUP = Path(__file__).resolve().parent / "startup"


def add(commands: Any) -> None:
    parser = commands.add(
        "run",
        _run,
        help="run an unmodified script with goloader's DataLoader in place of torch's",
        description=(
            "Runs a script as `python SCRIPT ...` would, but with goloader's DataLoader in place of torch's: for "
            "loaders that the script makes, that a framework in it makes, and that processes started by it make "
            "(torchrun's ranks, spawned workers)."
        ),
        usage="%(prog)s [-h] [--explain] [-m] SCRIPT [ARGUMENT ...]",
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        help="when a loader's first epoch begins, print on stderr what runs in Go, what runs in Python, and why",
    )
    _takes_script(parser)
    parser = commands.add(
        "profile",
        _profile,
        help="run an unmodified script, and write a timeline of its loaders",
        description=(
            "Runs a script as `run` does, and writes a timeline (Chrome trace) of each process that uses a loader when "
            "the process ends: FOLDER/PID.json, or rank-N.json for torchrun's ranks."
        ),
        usage="%(prog)s [-h] [--output FOLDER] [--chart] [-m] SCRIPT [ARGUMENT ...]",
    )
    parser.add_argument("--output", metavar="FOLDER", default="traces", help="where timelines are written (traces)")
    parser.add_argument(
        "--chart", action="store_true", help="also draw each timeline, with matplotlib: PID.png or rank-N.png"
    )
    _takes_script(parser)


def _takes_script(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-m", dest="module", action="store_true", help="SCRIPT is a module name, as in python -m")
    parser.add_argument("script", metavar="SCRIPT", help="a Python file, or a folder or zip file with a __main__.py")
    parser.add_argument("arguments", metavar="ARGUMENT", nargs=argparse.REMAINDER, help="arguments for the script")


def _profile(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> NoReturn:
    if parsed.chart and importlib.util.find_spec("matplotlib") is None:
        parser.error("--chart needs matplotlib: pip install matplotlib")
    os.environ["GOLOADER_PROFILE_CHART"] = "1" if parsed.chart else ""
    os.environ["GOLOADER_PROFILE"] = folder = os.path.abspath(parsed.output)
    os.makedirs(folder, exist_ok=True)
    _execute(parser, parsed, "install")


def _run(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> NoReturn:
    _execute(parser, parsed, "explain" if parsed.explain else "install")


def _execute(parser: argparse.ArgumentParser, parsed: argparse.Namespace, how: str) -> NoReturn:
    """Replaces this process by the script."""
    if sys.flags.ignore_environment or sys.flags.no_site:
        parser.error("with python's options -E, -I or -S, goloader cannot replace torch's DataLoader")
    if not sys.executable:
        parser.error("sys.executable is empty: there is no Python to run the script with")
    os.environ["GOLOADER_RUN"] = how
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.fspath(_STARTUP) + (os.pathsep + before if before else "")
    script = ["-m", parsed.script] if parsed.module else [parsed.script]
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, *_flags(), *script, *parsed.arguments])


def _flags() -> list[str]:
    """The options that this interpreter was given, as in `python -u -X dev -m goloader run`."""
    # Before this program's own arguments stand the interpreter, its options, and "-m goloader" or the path to it.
    options = sys.orig_argv[1 : len(sys.orig_argv) - len(sys.argv)]
    if options and options[-1].startswith("-") and options[-1].endswith("m"):
        options[-1] = options[-1][:-1]  # -m, or -um
    return [option for option in options if option != "-"]
