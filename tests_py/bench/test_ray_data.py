"""bench.ray_data: it counts what Ray counted, and shows ours over Ray's own."""

from __future__ import annotations

import pytest

from bench import ray_data


def test_cpu_seconds_are_those_of_all_operators() -> None:
    told = """
* Remote wall time: 4.2ms min, 7.86ms max, 6.11ms mean, 24.46ms total
* Remote cpu time: 2.11ms min, 6.57ms max, 3.3ms mean, 13.21ms total
* Remote cpu time: 1.1s min, 2.36s max, 2.2s mean, 8.79s total
* Remote cpu time: 1us min, 2us max, 2us mean, 500us total
"""
    assert ray_data.cpu_seconds(told) == pytest.approx(8.80371)


def test_the_table_has_ratios_taken_inside_rounds() -> None:
    def figures(per_cpu_s: float) -> dict[str, float]:
        return {"images_per_s": 7, "images_per_cpu_s": per_cpu_s}

    found = {"ray": [figures(10), figures(20), figures(10)], "ours": [figures(40), figures(60), figures(30)]}
    lines = ray_data.table(found).splitlines()
    assert [line.split()[2] for line in lines[1:]] == ["10", "40"]
    assert [line.split()[3] for line in lines[1:]] == ["1.00x", "3.00x"]
