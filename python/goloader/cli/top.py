"""python -m goloader top: what the loaders of a running process do now, whatever that process is stuck in."""

from __future__ import annotations

import argparse
import json
import os
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .. import _table
from ..profile import write_last

_ANSWER_S = 2.0
_COMMAND_MAX = 60  # characters
_HEAD = ("process", "who", "what")
_STATES = {"R": "running", "D": "waits for a disk", "T": "stopped", "t": "stopped", "Z": "has ended"}

Cells = list[tuple[str, ...]]


def add(commands: Any) -> None:
    parser = commands.add(
        "top",
        _top,
        help="show what the loaders of a running process are doing",
        description=(
            "Shows what each goroutine of a process's loaders is doing, with which file and for how long, and the "
            "states of its worker processes. Refreshes until Ctrl-C. Go answers, so this works while the process "
            "hangs. GOLOADER_TOP=0 in the environment of that process turns it off."
        ),
    )
    parser.add_argument("pid", type=int, metavar="PID", help="id of the process that uses the loaders")
    parser.add_argument(
        "--record",
        type=Path,
        metavar="FILE",
        help="write what Go did last to this Chrome trace, and exit",
    )
    parser.add_argument("--every", type=float, default=1.0, metavar="S", help="seconds between refreshes (1)")
    parser.add_argument(
        "--once", action="store_true", help="print once and exit; the default if the output is not a terminal"
    )


def _top(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> int:
    if not _alive(parsed.pid) or parsed.every <= 0:
        parser.error(f"there is no process {parsed.pid}" if parsed.every > 0 else "--every is more than 0")
    if parsed.record is not None:
        answer = _answer(parsed.pid, b"events")
        if answer is None:
            print(f"{_process(parsed.pid)}; no loader is open in Go")
            return 1
        print(f"{write_last(parsed.record, answer['events'], parsed.pid)} events")
        return 0
    look = Look(parsed.pid)
    if parsed.once or not sys.stdout.isatty():
        print(_table.text(look.cells()))
        return 0
    with suppress(KeyboardInterrupt), _screen() as show:
        while _alive(parsed.pid):
            show(look.cells())
            time.sleep(parsed.every)
    return 0


@contextmanager
def _screen() -> Iterator[Callable[[Cells], None]]:
    """Shows a table in place of the last one."""
    try:
        from rich.live import Live
        from rich.markup import escape
        from rich.table import Table
    except ModuleNotFoundError:
        yield lambda cells: print("\033[H\033[2J" + _table.text(cells), flush=True)
        return
    with Live(auto_refresh=False) as live:

        def show(cells: Cells) -> None:
            table = Table(*cells[0], box=None)
            for row in cells[1:]:
                table.add_row(*map(escape, row))
            live.update(table, refresh=True)

        yield show


class Look:
    """Looks at a process and at those that it has started."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._samples: dict[tuple[int, int], tuple[float, int]] = {}  # when they were counted, by process and loader

    def cells(self) -> Cells:
        """A table of what goes on."""
        found: Cells = [_HEAD]
        for pid in _tree(self._pid):
            with suppress(OSError, IndexError):  # it has just ended
                answer = _answer(pid)
                if pid != self._pid or answer is not None:
                    found.append((str(pid), "process", _process(pid)))
                else:
                    found.append((str(pid), "process", f"{_process(pid)}; no loader is open in Go"))
                for loader in (answer or {}).get("loaders", []):
                    found.append(("", f"loader {loader['number']}", self._loader(pid, loader)))
                    for run in loader["runs"]:
                        found += [("", f"  {each['who']}", each["what"]) for each in run["doing"]]
        return found

    def _loader(self, pid: int, loader: dict[str, Any]) -> str:
        now, samples = time.monotonic(), loader["samples"]
        then, before = self._samples.get((pid, loader["number"]), (now, samples))
        self._samples[pid, loader["number"]] = now, samples
        rate = f", {(samples - before) / (now - then):.0f} samples/s" if now > then else ""
        return f"{loader['batches']} batches, {samples} samples{rate}, {loader['bytes_read'] / 1e6:.1f} MB read"


def _answer(pid: int, request: bytes = b"") -> dict[str, Any] | None:
    """What the core in a process says; None if no loader is open there. Raises OSError if it does not say it."""
    # A process in a container is named by its number there.
    (numbers,) = (line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("NSpid:"))
    begin = f"@goloader-{numbers.split()[-1]}-"
    for line in Path("/proc/net/unix").read_text().splitlines():
        name = line.rpartition(" ")[2]
        if name.startswith(begin):
            with socket.socket(socket.AF_UNIX) as asked:
                asked.settimeout(_ANSWER_S)
                with suppress(ConnectionError, json.JSONDecodeError):  # closed since, or another user's
                    asked.connect("\0" + name[1:])
                    peer = asked.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
                    if struct.unpack("3i", peer)[0] == pid:  # and nobody else, who has taken the name
                        asked.sendall(request)
                        asked.shutdown(socket.SHUT_WR)
                        with asked.makefile("rb") as file:
                            found: dict[str, Any] = json.loads(file.readline())
                            return found
    return None


def _tree(pid: int) -> list[int]:
    """A process and all that it has started, those first that came first."""
    found = [pid]
    for each in found:
        for task in Path(f"/proc/{each}/task").glob("*/children"):
            with suppress(OSError):
                found += map(int, task.read_text().split())
    return found


def _process(pid: int) -> str:
    """The command of a process, its state, and the CPU seconds that it has had. Raises OSError once it is gone."""
    command = " ".join(Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ").split())
    # Behind the name, which may have anything in it (proc(5)).
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    cpu_s = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    cut = command if len(command) <= _COMMAND_MAX else f"{command[:_COMMAND_MAX]}..."
    return f"{cut}: {_STATES.get(fields[0], 'sleeping')}, {cpu_s:.1f} s of CPU"


def _alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()
