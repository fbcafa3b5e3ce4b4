"""The parent side of a comparison: runs contenders in turn, watches their memory, and keeps, prints and judges figures.

One measurement is one whole process of one variant of one peer (bench/contender.py). Rounds are interleaved: every
variant runs once before any runs again, so that a slow minute of the machine hits all of them; every second round goes
backwards. A ratio is taken inside a round and the median over rounds is reported.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import datetime
import json
import mmap
import os
import platform
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any, TypeAlias

from bench.contender import Job
from bench.peers import OURS, PEERS, ROOT, Peer

Figures: TypeAlias = dict[str, Any]

RESULTS = ROOT / "bench" / "results"

MEMORY_INTERVAL_S = 0.25
# The kernel walks every page for a sample: about 10 ms for a process that has torch. Samples may take this much of one
# core, and less while the clock runs, so that a tree of many processes is not slowed by being watched.
MEMORY_SHARE = 0.2
MEMORY_SHARE_TIMED = 0.01

CONTENDER_TIMEOUT_S = 900.0

# More than any program's batches take.
MEMORY_TOUCHED_MAX = 2 << 30

# Two pipelines that draw different crops of the same images differ by about 0.01 in the mean of normalised pixels.
PIXEL_MEAN_TOLERANCE = 0.1


class ContenderError(Exception):
    """A contender's process failed; the text is its last words."""


@dataclasses.dataclass
class Memory:
    """Peak of a process tree in MiB: proportional set size, so that shared pages count once."""

    pss: float = 0.0
    file_pss: float = 0.0  # the part of that peak that is mapped files: code, and data the kernel may drop

    def sample(self, root: int) -> None:
        total = mapped = 0
        for pid in process_tree(root):
            try:
                lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
            except OSError:
                continue  # ended meanwhile
            sizes = {line.split(":")[0]: int(line.split()[1]) for line in lines}
            total += sizes.get("Pss", 0)
            mapped += sizes.get("Pss_File", 0)
        if total / 1024 > self.pss:
            self.pss, self.file_pss = total / 1024, mapped / 1024


def process_tree(root: int) -> list[int]:
    """root and every living process below it."""
    found = [root]
    for pid in found:
        try:
            tasks = list(Path(f"/proc/{pid}/task").iterdir())
            for task in tasks:
                found += [int(child) for child in (task / "children").read_text().split()]
        except OSError:
            continue
    return found


def run_contender(peer: Peer, scenario: str, job: Job) -> Figures:
    """One whole process. Returns its line of figures with memory and wall time added; raises ContenderError."""
    command = [str(peer.python), "-m", "bench.contender", peer.name, scenario, json.dumps(dataclasses.asdict(job))]
    memory = Memory()
    start = time.perf_counter()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as log:
        child = subprocess.Popen(
            command, cwd=ROOT, env=peer.environment, stdin=subprocess.DEVNULL, stdout=out, stderr=log,
            start_new_session=True,
        )  # fmt: skip
        over = threading.Event()
        watcher = threading.Thread(target=watch_memory, args=(child.pid, memory, out.fileno(), over))
        watcher.start()
        try:
            status: int | str = child.wait(CONTENDER_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            status = f"no end after {CONTENDER_TIMEOUT_S:.0f} s"
        finally:
            over.set()
            watcher.join()
            end_session(child)
        out.seek(0)
        log.seek(0)
        lines, words = out.read().splitlines(), log.read().strip().splitlines()
    if status != 0:
        raise ContenderError(f"exit {status}: {words[-1] if words else 'no message'}")
    figures: Figures = json.loads(lines[-1]) if lines else {}
    return figures | {
        "peak_pss_mib": memory.pss,
        "peak_pss_file_mib": memory.file_pss,
        "process_s": time.perf_counter() - start,
    }


def watch_memory(pid: int, memory: Memory, out: int, over: threading.Event) -> None:
    """Samples until over is set; seldom once the child has written its first line, which starts its clock."""
    pause = MEMORY_INTERVAL_S
    while not over.wait(pause):
        start = time.perf_counter()
        memory.sample(pid)
        cost = time.perf_counter() - start
        timed = os.fstat(out).st_size > 0
        pause = max(MEMORY_INTERVAL_S, cost / (MEMORY_SHARE_TIMED if timed else MEMORY_SHARE))


def end_session(child: subprocess.Popen[bytes]) -> None:
    """Ends what is left of the child's own session, workers that outlived it included."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def missing_modules(peer: Peer) -> str:
    """Why the peer cannot run, in a few words; empty when it can."""
    if not peer.python.exists():
        return "no environment"
    # Importing a few of these takes seconds; finding them is enough to tell 'not installed' from 'broken'.
    probe = (
        "import importlib.util as u, sys\n"
        "def found(name):\n"
        "    try: return u.find_spec(name) is not None\n"
        "    except ModuleNotFoundError: return False\n"
        "print(*[name for name in sys.argv[1:] if not found(name)])"
    )
    result = subprocess.run(
        [str(peer.python), "-c", probe, *peer.needs], env=peer.environment, capture_output=True, text=True, cwd=os.sep
    )
    if result.returncode:
        return result.stderr.strip().splitlines()[-1]
    missing = result.stdout.split()
    return f"no {', '.join(missing)}" if missing else ""


def read_all(root: Path) -> None:
    """Brings every file into the page cache: loaders are compared, not disks."""
    for file in sorted(root.rglob("*")):
        if file.is_file():
            file.read_bytes()


def touch_memory() -> int:
    """Uses memory once and gives it back: so many bytes.

    On a virtual machine the first use of a page costs fifteen times the next, and so does the next where free memory
    goes back to its host after some seconds: to be called before each turn.
    """
    size = min(MEMORY_TOUCHED_MAX, os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)
    with mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(mmap.MADV_HUGEPAGE)
        for place in range(0, size, mmap.PAGESIZE):
            memory[place] = 1
    return size


def now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def machine() -> dict[str, object]:
    model = platform.processor()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cpu": model,
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(memory / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "load_before": [round(load, 2) for load in os.getloadavg()],
    }


def compare(scenario: str, job: Job, peers: list[str], rounds: int, about: Figures) -> Figures:
    """Runs every variant of these peers in interleaved rounds; returns the result that is kept as JSON."""
    result: Figures = {
        "scenario": scenario,
        "date": now(),
        "command": shlex.join(["python", "-m", f"bench.{scenario}", *sys.argv[1:]]),
        "machine": machine(),
        "job": {key: value for key, value in dataclasses.asdict(job).items() if key not in ("root", "scratch")},
        "rounds": rounds,
        **about,
        "contenders": {},
    }
    turns: list[tuple[Peer, str, Job]] = []
    for name in peers:
        peer = PEERS[name]
        entry: Figures = {"title": peer.title, "status": "ok", "variants": {}}
        result["contenders"][name] = entry
        if reason := missing_modules(peer):
            entry |= {"status": "not installed", "reason": reason, "install": peer.install}
            continue
        if peer.prepares:
            try:
                entry["prepare_s"] = run_contender(peer, "prepare", job)["process_s"]
            except ContenderError as error:
                entry |= {"status": "failed", "reason": f"prepare: {error}"}
                continue
        turns += [
            (peer, label, dataclasses.replace(job, **changes)) for label, changes in peer.variants(job.workers).items()
        ]

    read_all(Path(job.root))
    read_all(Path(job.scratch))
    for number in range(1, rounds + 1):
        for peer, label, variant in turns if number % 2 else reversed(turns):
            entry = result["contenders"][peer.name]
            if entry["status"] != "ok":
                continue
            try:
                figures = run_contender(peer, scenario, variant)
            except ContenderError as error:
                entry |= {"status": "failed", "reason": f"{label}: {error}"}
                say(f"round {number}/{rounds}  {peer.title:<28} {label:<26} failed: {error}")
                continue
            entry["versions"] = figures.pop("versions")
            entry["variants"].setdefault(label, []).append(figures)
            say(f"round {number}/{rounds}  {peer.title:<28} {label:<26} {figures['images_per_s']:8.0f} img/s")
    for entry in result["contenders"].values():
        summarize(entry)
    add_ratios(result["contenders"])
    result["same_bits_as_torch"] = same_bits(result["contenders"])
    return result


def same_bits(contenders: Figures) -> bool | None:
    """Whether goloader's epochs have the checksums of torch's with as many workers; None if that did not run.

    Both are seeded alike, so every batch must hold the same bytes.
    """
    ours, torchs = (contenders.get(name, {}).get("variants", {}) for name in (OURS, "torch_pil"))
    pairs = [
        (mine["checksums"], theirs["checksums"])
        for label in ours
        for mine, theirs in zip(ours[label], torchs.get(label, []), strict=False)
    ]
    return all(mine == theirs for mine, theirs in pairs) if pairs else None


def say(line: str) -> None:
    """Progress, away from the table on standard output."""
    print(line, file=sys.stderr, flush=True)


SUMMARY = ("images_per_s", "cpu_s_per_1000", "import_s", "build_s", "first_batch_s", "cold_epoch_s", "peak_pss_mib",
           "peak_pss_file_mib", "pixel_mean", "pixel_std")  # fmt: skip


def summarize(entry: Figures) -> None:
    """Adds the best variant (by median img/s) and the medians of its rounds."""
    if entry["status"] != "ok":
        return
    speeds = {
        label: statistics.median(figures["images_per_s"] for figures in rounds)
        for label, rounds in entry["variants"].items()
    }
    entry["best"] = max(speeds, key=speeds.__getitem__)
    best = entry["variants"][entry["best"]]
    entry["median"] = {key: statistics.median(figures[key] for figures in best) for key in SUMMARY}
    entry["images_per_s_range"] = [pick(figures["images_per_s"] for figures in best) for pick in (min, max)]


def add_ratios(contenders: Figures) -> None:
    """ours / each: img/s of goloader over the peer's best variant, round by round, then the median."""
    ours = contenders.get(OURS, {"status": "absent"})
    if ours["status"] != "ok":
        return
    for entry in contenders.values():
        if entry["status"] == "ok":
            pairs = zip(ours["variants"][ours["best"]], entry["variants"][entry["best"]], strict=True)
            ratios = [mine["images_per_s"] / theirs["images_per_s"] for mine, theirs in pairs]
            entry["ours_over_it"] = {"median": statistics.median(ratios), "rounds": ratios}


COLUMNS = (
    ("img/s", "{:.0f}", "images_per_s"),
    ("CPU s/1k", "{:.2f}", "cpu_s_per_1000"),
    ("import s", "{:.2f}", "import_s"),
    ("build s", "{:.2f}", "build_s"),
    ("1st batch s", "{:.2f}", "first_batch_s"),
    ("peak MiB", "{:.0f}", "peak_pss_mib"),
)


def table(result: Figures) -> str:
    """The comparison as text, fastest first; those that did not run follow, each with the reason."""
    ran = [entry for entry in result["contenders"].values() if entry["status"] == "ok"]
    ran.sort(key=lambda entry: -entry["median"]["images_per_s"])
    rows = [["", "best of", *(title for title, _, _ in COLUMNS), "ours / it"]]
    for entry in ran:
        figures = [form.format(entry["median"][key]) for _, form, key in COLUMNS]
        ratio = f"{entry['ours_over_it']['median']:.2f}x" if "ours_over_it" in entry else "-"
        rows.append([entry["title"], entry["best"], *figures, ratio])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    lines.insert(1, "-" * max(map(len, lines)))
    for entry in result["contenders"].values():
        if entry["status"] == "not installed":
            lines.append(f"{entry['title']}: not installed ({entry['reason']}); install: {entry['install']}")
        elif entry["status"] == "failed":
            lines.append(f"{entry['title']}: failed, {entry['reason']}")
    lines += doubts(ran)
    if result["same_bits_as_torch"] is not None:
        verdict = "the same bits as" if result["same_bits_as_torch"] else "OTHER BITS THAN"
        lines.append(f"goloader's epochs hold {verdict} torch's with as many workers (checksums of every batch)")
    return "\n".join(lines)


def doubts(ran: list[Figures]) -> list[str]:
    """Lines for contenders whose pixels look unlike the median contender's: another scale, channel order or crop."""
    if not ran:
        return []
    middle = statistics.median(entry["median"]["pixel_mean"] for entry in ran)
    return [
        f"{entry['title']}: mean pixel {entry['median']['pixel_mean']:.3f}, the median contender's is {middle:.3f}:"
        " not the same work?"
        for entry in ran
        if abs(entry["median"]["pixel_mean"] - middle) > PIXEL_MEAN_TOLERANCE
    ]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments every scenario takes."""
    cores = len(os.sched_getaffinity(0))
    parser.add_argument("--rounds", type=int, default=3, help="whole processes of each contender (default: 3)")
    parser.add_argument("--peers", default=",".join(PEERS), help="comma-separated (default: %(default)s)")
    parser.add_argument(
        "--workers", type=int, default=cores,
        help=f"threads or workers; torch's DataLoader also tries 0 and twice as many (default: the cores, {cores})",
    )  # fmt: skip
    parser.add_argument("--warm-epochs", type=int, default=2, help="timed epochs after the first one (default: 2)")
    parser.add_argument("--output", type=Path, help="JSON file (default: bench/results/SCENARIO.json)")


def chosen(parser: argparse.ArgumentParser, given: str | None, known: Collection[str], kind: str) -> list[str]:
    """Those of one kind whose names are given, between commas; all that are known, if none is."""
    names = given.split(",") if given else [*known]
    if unknown := sorted({*names} - {*known}):
        parser.error(f"no {kind} called {', '.join(unknown)}; there are {', '.join(known)}")
    return names


def report(result: Figures, output: Path | None) -> None:
    """Prints the table and keeps the JSON."""
    print(table(result))
    path = output or RESULTS / f"{result['scenario']}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=2) + "\n")
    print(f"\nkept in {path}; draw it: python -m bench.chart {path}")
