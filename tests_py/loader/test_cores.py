"""The cores a process may use are those of its affinity, cut to its cgroups' quota and to its share of a node; the
memory is the machine's, cut to what its cgroups allow."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from goloader import _cores
from goloader.doors.worker import budget
from tests_py import fresh

V2 = "30 24 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate"
V1 = "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct"
DOCKER_V1 = "32 31 0:29 /docker/4f /sys/fs/cgroup/cpu rw master:9 - cgroup cgroup rw,cpu"
MEMORY_V1 = "33 31 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory"
CPUSET = "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset"

# name: (/proc/self/mountinfo, /proc/self/cgroup, files, cores granted)
TREES: dict[str, tuple[list[str], str, dict[str, str], float | None]] = {
    "v2, own": ([V2], "0::/a/b", {"a/b/cpu.max": "250000 100000"}, 2.5),
    "v2, no limit": ([V2], "0::/a/b", {"a/b/cpu.max": "max 100000", "a/cpu.max": "max 100000"}, None),
    "v2, the least of all above": (
        [V2],
        "0::/a/b",
        {"a/b/cpu.max": "800000 100000", "a/cpu.max": "150000 50000", "cpu.max": "max 100000"},
        3,
    ),
    "v2, in a container": ([V2], "0::/", {"cpu.max": "50000 100000"}, 0.5),
    "v2, of another": ([V2], "0::/a", {"b/cpu.max": "50000 100000"}, None),
    "v1": (
        [CPUSET, V1],
        "4:cpuset:/x\n3:cpu,cpuacct:/a",
        {"cpu,cpuacct/a/cpu.cfs_quota_us": "400000\n", "cpu,cpuacct/a/cpu.cfs_period_us": "100000\n"},
        4,
    ),
    "v1, no limit": (
        [V1],
        "3:cpu,cpuacct:/a",
        {"cpu,cpuacct/a/cpu.cfs_quota_us": "-1\n", "cpu,cpuacct/a/cpu.cfs_period_us": "100000\n"},
        None,
    ),
    "v1, a container's part of the tree": (
        [DOCKER_V1],
        "3:cpu:/docker/4f/sub",
        {"cpu/cpu.cfs_quota_us": "600000", "cpu/cpu.cfs_period_us": "200000"},
        3,
    ),
    "both": (
        [V1, V2.replace("/sys/fs/cgroup ", "/sys/fs/cgroup/unified ")],
        "3:cpu,cpuacct:/a\n0::/a",
        {
            "cpu,cpuacct/a/cpu.cfs_quota_us": "700000",
            "cpu,cpuacct/a/cpu.cfs_period_us": "100000",
            "unified/a/cpu.max": "600000 100000",
        },
        6,
    ),
    "nonsense": ([V2], "0::/a", {"a/cpu.max": "many"}, None),
    "no cgroups": ([], "", {}, None),
}
# The same, and bytes allowed.
MEMORY: dict[str, tuple[list[str], str, dict[str, str], float | None]] = {
    "v2": ([V2], "0::/a/b", {"a/b/memory.max": "max", "a/memory.max": "1048576"}, 1 << 20),
    "v2, in a container": ([V2], "0::/", {"memory.max": "1048576\n"}, 1 << 20),
    "v2, no limit": ([V2], "0::/a", {"a/memory.max": "max\n"}, None),
    "v1": (
        [V1, MEMORY_V1],
        "5:memory:/a\n3:cpu,cpuacct:/b",
        {"memory/a/memory.limit_in_bytes": "2097152\n", "memory/b/memory.limit_in_bytes": "1048576\n"},
        2 << 20,
    ),
    "no cgroups": ([], "", {}, None),
}


def tree(root: Path, mounts: list[str], groups: str, files: dict[str, str], *_: object) -> Path:
    texts = {
        "proc/self/mountinfo": "\n".join(["22 1 8:1 / / rw - ext4 /dev/sda rw", *mounts]),
        "proc/self/cgroup": groups,
    }
    texts |= {f"sys/fs/cgroup/{path}": text for path, text in files.items()}
    for path, text in texts.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


@pytest.mark.parametrize("name", TREES)
def test_the_least_quota_above_a_process_holds(tmp_path: Path, name: str) -> None:
    root, want = tree(tmp_path, *TREES[name]), TREES[name][3]
    assert _cores.quota(root) == want
    assert _cores.allowed(root) == max(1, min(len(os.sched_getaffinity(0)), int(want or 1e6)))


@pytest.mark.parametrize("name", MEMORY)
def test_the_least_memory_above_a_process_holds(tmp_path: Path, name: str) -> None:
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert budget.memory_bytes(tree(tmp_path, *MEMORY[name])) == (MEMORY[name][3] or machine)


def test_without_proc_there_is_no_quota(tmp_path: Path) -> None:
    assert _cores.quota(tmp_path) is None


@pytest.fixture
def affinity() -> Iterator[set[int]]:
    before = os.sched_getaffinity(0)
    yield before
    os.sched_setaffinity(0, before)


def test_affinity_is_what_it_is_at_the_moment(affinity: set[int], tmp_path: Path) -> None:
    for cores in range(1, len(affinity) + 1):
        os.sched_setaffinity(0, sorted(affinity)[:cores])
        assert _cores.allowed(tmp_path) == cores


@pytest.mark.parametrize(("ranks", "share"), [("1", 8), ("2", 4), ("3", 2), ("99", 1), ("none", 8), ("0", 8)])
def test_the_ranks_of_a_node_share_its_cores(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ranks: str, share: int
) -> None:
    monkeypatch.setattr(_cores, "allowed", lambda root: 8)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", ranks)
    monkeypatch.setenv("LOCAL_RANK", "0")
    assert _cores.share(tmp_path) == share


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ({}, (0, 1)),
        ({"LOCAL_RANK": "3", "LOCAL_WORLD_SIZE": "8"}, (3, 8)),  # torchrun, accelerate
        ({"LOCAL_RANK": "3", "LOCAL_SIZE": "4"}, (3, 4)),  # DeepSpeed
        ({"OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}, (1, 2)),
        ({"MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "2"}, (1, 2)),
        ({"LOCAL_WORLD_SIZE": "8"}, (0, 1)),
        ({"LOCAL_RANK": "8", "LOCAL_WORLD_SIZE": "8"}, (0, 1)),
        ({"LOCAL_RANK": "-1", "LOCAL_WORLD_SIZE": "8"}, (0, 1)),
        ({"LOCAL_RANK": "one", "LOCAL_WORLD_SIZE": "8"}, (0, 1)),
    ],
)
def test_launchers_say_which_rank_of_how_many_it_is(
    said: dict[str, str], found: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for names in _cores._RANKS:
        for name in names:
            monkeypatch.delenv(name, raising=False)
    for name, value in said.items():
        monkeypatch.setenv(name, value)
    assert _cores.ranks() == found


_THREADS = """
import os, pathlib, sys, time
from torchvision.datasets import ImageFolder
from torchvision.transforms import Compose, Resize, ToTensor
import goloader

def threads():
    found = set()
    for task in pathlib.Path("/proc/self/task").iterdir():
        tid = int(task.name)
        found.add((os.getpriority(os.PRIO_PROCESS, tid), tuple(sorted(os.sched_getaffinity(tid)))))
    return found

loader = goloader.DataLoader(ImageFolder(sys.argv[1], Compose([Resize((8, 8)), ToTensor()])), 2, num_workers=2)
batches = iter(loader)
next(batches)
want = eval(sys.argv[3])
end = time.monotonic() + 240
while threads() != want and time.monotonic() < end:  # one that has just begun has its niceness before its cores
    time.sleep(0.01)
print(sorted(threads()))
assert (os.getpriority(os.PRIO_PROCESS, 0), len(os.sched_getaffinity(0))) == (0, int(sys.argv[2]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("nice", "cpus"), [("7", ""), ("", "0"), ("7", "0-0"), ("", "")])
def test_threads_that_make_samples_are_as_nice_and_where_it_is_said(nice: str, cpus: str, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for number in range(40):
        Image.new("RGB", (64, 64)).save(tmp_path / "a" / f"{number}.jpg")
    whole = tuple(sorted(os.sched_getaffinity(0)))
    want = {(0, whole), (int(nice or 0), (0,) if cpus else whole)}
    said = fresh.run(_THREADS, tmp_path, len(whole), want, GOLOADER_NICE=nice, GOLOADER_CPUS=cpus)
    assert said.stdout.strip() == str(sorted(want)), said.stderr


@pytest.mark.parametrize(("name", "text"), [("NICE", "20"), ("NICE", "low"), ("CPUS", "0-"), ("CPUS", "a")])
def test_niceness_and_cores_that_are_none_are_refused(name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"GOLOADER_{name}", text)
    with pytest.raises(ValueError, match=f"GOLOADER_{name} is '{text}', not a"):
        _ = _cores.niceness(), _cores.cpus()


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one core")
def test_a_rank_that_was_bound_to_cores_shares_them_with_nobody() -> None:
    program = (
        "import os\nfrom goloader import _cores\n_cores.allowed = lambda root: 8\n"
        "print(_cores.share())\nos.sched_setaffinity(0, [min(os.sched_getaffinity(0))])\nprint(_cores.share())"
    )
    rank = {"LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "4"}
    environment = os.environ | rank | {"PYTHONPATH": str(Path(_cores.__file__).parents[1])}
    answer = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert answer.stdout.split() == ["2", "8"]
