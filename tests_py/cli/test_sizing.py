"""python -m goloader plan: what binds a job is named, and its numbers are those of the model."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from goloader.cli import main, sizing
from goloader.cli.sizing import Job, Store, needs
from tests_py import fresh
from tests_py.pages import require_part

READING = Path(__file__).parents[2] / "core" / "pipeline" / "reading.go"

ENOUGH = Job(
    nodes=2, gpus=4, rate=1000, images=800_000, image_bytes=1e5, batch=100, ahead=4, cores=8, decode=1000,
    store=Store(0.001, 0.002, 1e9, cost_per_1000_requests=0.5, cost_per_gb=0.1),
)  # fmt: skip


def test_a_job_that_has_enough_never_waits() -> None:
    found = needs(ENOUGH)
    assert found.bound == "the GPUs"
    assert found.waiting < 0.001
    assert found.seconds == pytest.approx(100, rel=0.01)  # 800,000 images at 8 x 1,000 a second
    assert found.cores == 4
    assert found.bytes_per_s == 4e8
    assert found.reads_in_flight == pytest.approx(4000 * 0.00105, rel=0.05)
    assert found.requests == 800_000
    assert found.cost == pytest.approx(800 * 0.5 + 80 * 0.1)


@pytest.mark.parametrize(
    ("change", "bound", "slower"),
    [
        ({"cores": 2}, "cores", 2.0),
        ({"decode": 250}, "cores", 2.0),
        ({"store": Store(0.001, 0.002, 1e8)}, "bandwidth", 4.0),
        ({"store": Store(1.0, 1.0001, 1e9)}, "reads in flight", 4000 / 1024),
        ({"ahead": 1, "store": Store(0.02, 0.15, 1e9)}, "slow reads", None),
    ],
)
def test_what_binds_is_named(change: dict[str, Any], bound: str, slower: float | None) -> None:
    found = needs(replace(ENOUGH, **change))
    assert found.bound == bound
    assert found.waiting > 0.05
    if slower is not None:
        assert found.seconds == pytest.approx(100 * slower, rel=0.02)
        assert found.waiting == pytest.approx(1 - 1 / slower, rel=0.02)


def test_batches_made_ahead_and_second_requests_hide_slow_reads() -> None:
    slow = replace(ENOUGH, ahead=1, store=Store(0.02, 0.15, 1e9))
    asked_again = replace(slow, store=replace(slow.store, remote=True))
    waiting = [needs(replace(slow, ahead=ahead)).waiting for ahead in (1, 2, 4, 32)]
    assert waiting == sorted(waiting, reverse=True)
    assert waiting[-1] < 0.001
    assert needs(asked_again).waiting < 0.5 * waiting[0]


def test_all_nodes_wait_for_the_slowest() -> None:
    slow = replace(ENOUGH, ahead=1, store=Store(0.02, 0.15, 1e9))
    one, many = (needs(replace(slow, nodes=nodes)).waiting for nodes in (1, 64))
    assert many > 1.2 * one


def test_the_slowest_of_many_reads_is_that_of_the_distribution() -> None:
    import numpy as np

    store, reads = Store(0.02, 0.2, 1e9), 400
    chance = np.random.default_rng(1)
    drawn = store.latency_s * np.exp(store.spread * chance.standard_normal((4000, reads))).max(axis=1)
    for share in (0.1, 0.5, 0.9):
        (expected,) = store.slowest_s(np.array([share]), reads)
        assert expected == pytest.approx(np.quantile(drawn, share), rel=0.05)


def test_later_epochs_read_what_no_cache_holds() -> None:
    cached = replace(ENOUGH, cache_bytes=2e10)  # a quarter of the set
    first, later = needs(cached), needs(cached, epoch=1)
    assert first == needs(ENOUGH)
    assert later.requests == pytest.approx(0.75 * first.requests)
    assert later.cost == pytest.approx(0.75 * first.cost)
    whole = needs(replace(ENOUGH, cache_bytes=1e11), epoch=1)
    assert (whole.requests, whole.bytes_per_s, whole.waiting) == (0, 0, 0)


def test_as_many_reads_are_in_flight_as_the_core_has() -> None:
    found = re.search(r"readersMin, readersMax = 16, (\d+)", READING.read_text())
    assert found is not None and int(found[1]) == sizing.READS_MAX


def test_the_command_prints_tables_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["plan", "--nodes=512", "--images=5e9", "--store=s3", "--rate=2500", "--cache=55TB"]
    assert main(given) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("5,000,000,000 images, 550 TB; 4,096 GPUs in 512 nodes, 2,500 images/s each\n")
    assert re.search(r"^cores +64 +20\.0 +20\.0$", printed, re.MULTILINE)
    assert re.search(r"^cache +10% of the set +550 TB$", printed, re.MULTILINE)
    assert "5,000,000,000 requests, 2,000.00 $" in printed
    assert "4,500,000,000 requests, 1,800.00 $" in printed
    assert main([*given, "--json", "--latency=5", "--latency-p99=9"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["job"]["store"]["latency_s"] == 0.005
    assert told["later_epochs"]["requests"] == pytest.approx(4.5e9)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (["--nodes=0"], "--nodes is not above 0"),
        (["--latency=5", "--latency-p99=1"], "--latency is not above 0, or above --latency-p99"),
        (["--bytes=many"], "invalid size_of value"),
    ],
)
def test_what_makes_no_sense_is_an_error(given: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["plan", "--images=1e6", "--rate=100", *given])
    assert left.value.code == 2
    assert why in capsys.readouterr().err


@pytest.mark.slow
def test_a_loader_is_measured(tmp_path: Path) -> None:
    (tmp_path / "rows.py").write_text("import torch\ndata = torch.utils.data.TensorDataset(torch.zeros(4096, 8))\n")
    done = fresh.command("plan", "--images=1e6", "--rate=100", "--measure=rows.py:data", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["job"]["decode"] > 1000


def test_the_page_shows_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    command = "plan --nodes 512 --gpus 8 --rate 2500 --images 5e9 --store s3 --cache 55TB"
    assert main(command.split()) == 0
    printed = capsys.readouterr().out
    require_part("docs/distributed.md", "plan", f"```text\n$ python -m goloader {command}\n{printed}```\n")
