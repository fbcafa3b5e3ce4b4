"""python -m goloader plan: what an epoch on many machines needs, and what it will wait for."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, replace
from typing import Any

from .. import _table
from ..storage.cache import size_of
from . import objects
from .rate import measured
from .sizing import STORES, Job, Needs, needs

# How long a loader is measured.
_SECONDS = 5.0


def add(commands: Any) -> None:
    parser = commands.add(
        "plan",
        _plan,
        help="tell what an epoch on many machines needs: cores, bandwidth, cache, requests, money",
        description=(
            "Computes what the nodes of a job need for their GPUs never to wait for data, and simulates the steps of "
            "an epoch. Its rates are those that you give: measure them with --measure, doctor and bench."
        ),
    )
    add_argument = parser.add_argument
    add_argument("--nodes", type=int, default=1, help="machines (%(default)s)")
    add_argument("--gpus", type=int, default=8, help="GPUs in a node (%(default)s)")
    add_argument("--rate", type=float, required=True, help="images a second that a GPU trains on without waiting")
    add_argument("--images", type=float, required=True, help="images in an epoch: 5e9")
    add_argument("--bytes", type=size_of, default="110KB", metavar="SIZE", help="mean size of an image (%(default)s)")
    add_argument("--batch", type=int, default=256, help="images in a GPU's batch (%(default)s)")
    add_argument(
        "--ahead",
        type=int,
        default=16,
        metavar="N",
        help="batches made ahead for a GPU, of all workers (%(default)s)",
    )
    add_argument("--cores", type=int, default=64, help="cores of a node that load (%(default)s)")
    add_argument("--decode", type=float, default=1000, help="images a second that a core makes (%(default)s)")
    add_argument(
        "--measure", metavar="MODULE:OBJECT", help=f"measure --decode here, with a loader or dataset: {objects.HELP}"
    )
    add_argument("--store", choices=sorted(STORES), default="disk", help="where images are (%(default)s)")
    add_argument("--latency", type=float, metavar="MS", help="of half of all reads, in ms; default: the store's")
    add_argument("--latency-p99", type=float, metavar="MS", help="of 99%% of all reads")
    add_argument("--bandwidth", type=size_of, metavar="SIZE", help="bytes a second that a node reads: 3GB")
    add_argument("--images-per-read", type=float, default=1, metavar="N", help="more than 1 in shards (%(default)s)")
    add_argument("--cost-per-1000-requests", type=float, metavar="PRICE", help="default: the store's list price, in $")
    add_argument("--cost-per-gb", type=float, metavar="PRICE", help="of what is read from the store")
    add_argument("--cache", type=size_of, metavar="SIZE", help="of each node, or one that all nodes share")
    add_argument("--json", action="store_true", help="print all numbers as JSON")


def _plan(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> int:
    counts = "nodes", "gpus", "rate", "images", "batch", "ahead", "cores", "decode", "images_per_read"
    for name in counts:
        if getattr(parsed, name) <= 0:
            parser.error(f"--{name.replace('_', '-')} is not above 0")
    decode = parsed.decode
    if parsed.measure is not None:
        decode = 1000 / measured(objects.ready(parser, parsed.measure), _SECONDS).cpu_s
    store = STORES[parsed.store]
    given = {
        "latency_s": None if parsed.latency is None else parsed.latency / 1e3,
        "latency_p99_s": None if parsed.latency_p99 is None else parsed.latency_p99 / 1e3,
        "bytes_per_s": parsed.bandwidth,
        "cost_per_1000_requests": parsed.cost_per_1000_requests,
        "cost_per_gb": parsed.cost_per_gb,
    }
    store = replace(store, **{name: value for name, value in given.items() if value is not None})
    if not 0 < store.latency_s <= store.latency_p99_s:
        parser.error("--latency is not above 0, or above --latency-p99")
    job = Job(
        nodes=parsed.nodes, gpus=parsed.gpus, rate=parsed.rate, images=int(parsed.images), image_bytes=parsed.bytes,
        batch=parsed.batch, ahead=parsed.ahead, cores=parsed.cores, decode=decode, store=store,
        images_per_read=parsed.images_per_read, cache_bytes=parsed.cache or 0,
    )  # fmt: skip
    first, later = needs(job, epoch=0), needs(job, epoch=1)
    if parsed.json:
        print(json.dumps({"job": asdict(job), "first_epoch": asdict(first), "later_epochs": asdict(later)}, indent=1))
    else:
        print(text(job, first, later))
    return 0


def text(job: Job, first: Needs, later: Needs) -> str:
    """The tables of a job."""
    total = job.images * job.image_bytes
    head = (
        f"{job.images:,} images, {_bytes(total)}; {job.nodes * job.gpus:,} GPUs in {job.nodes:,} nodes, "
        f"{job.rate:,.0f} images/s each"
    )
    epochs = [("first epoch", first)] if first == later else [("first epoch", first), ("later epochs", later)]
    rows: list[tuple[str, ...]] = [("of a node", "there is", *(f"needed, {name}" for name, _ in epochs))]
    rows.append(("cores", str(job.cores), *(f"{each.cores:,.1f}" for _, each in epochs)))
    bandwidth = f"{_bytes(job.store.bytes_per_s)}/s"
    rows.append(("read from the store", bandwidth, *(f"{_bytes(each.bytes_per_s)}/s" for _, each in epochs)))
    most = f"{job.reads_max:,}"
    rows.append(("reads in flight", most, *(f"{each.reads_in_flight:,.0f}" for _, each in epochs)))
    in_memory = _bytes(job.batches_bytes)
    rows.append(("batches made ahead", in_memory, *("" for _ in epochs)))
    held = f"{job.cached:.0%} of the set" if job.cache_bytes else "none"
    rows.append(("cache", held, *("" for _ in epochs[1:]), _bytes(total)))
    lines = [head, "", _table.text(rows, right=range(1, len(rows[0]))), ""]
    for name, each in epochs:
        waiting = f"{each.waiting:.1%} of it waiting for data" if each.waiting >= 0.0005 else "never waiting for data"
        cost = f", {each.requests:,.0f} requests, {each.cost:,.2f} $" if each.requests else ""
        lines.append(f"{name}: {_time(each.seconds)}, {waiting}, bound by {each.bound}{cost}")
    return "\n".join(lines)


def _bytes(count: float) -> str:
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if count < 999.5:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.3g} PB"


def _time(seconds: float) -> str:
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"
