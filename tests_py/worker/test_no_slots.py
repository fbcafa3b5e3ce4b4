"""Where there are no slots, or no more of them, batches go torch's way: the same ones, and explain() says so."""

from __future__ import annotations

import platform
from collections.abc import Callable

import pytest

Script = Callable[..., str]

SLOTS = "they come through shared slots"
NO_MEMORY = "[True] they come through /dev/shm, as with torch: no memory to share, slots: "

# What a program prints of an epoch: its iterator, how its batches came, whether they are right.
EPOCH = """
    import resource, sys, torch
    from samples import Mapped, see
    import goloader
    from goloader.doors.worker import iterator as iterators

    def epoch(method, length=13):
        loader = goloader.DataLoader(
            Mapped("tensor", length), batch_size=4, num_workers=2, multiprocessing_context=method)
        iterator = iter(loader)
        batches = list(iterator)
        del iterator
        alone = list(torch.utils.data.DataLoader(Mapped("tensor", length), batch_size=4))
        assert all(torch.equal(ours, theirs) for ours, theirs in zip(batches, alone, strict=True))
        (how,) = (row.why for row in loader.explain().rows if row.stage == "batches")
        print(sorted({batch.is_shared() for batch in batches}), how)
        return batches
"""

LIMITS = """
    def limit(size):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
"""

# A filter of system calls, as container runtimes have them, that answers EPERM to memfd_create.
REFUSE = """
    import ctypes, struct
    def refuse_memfd_create(number):
        steps = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000)]
        code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
        program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))
        prctl = ctypes.CDLL(None, use_errno=True).prctl
        prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
        assert prctl(38, 1, 0, 0, 0) == 0, ctypes.get_errno()
        assert prctl(22, 2, ctypes.addressof(program), 0, 0) == 0, ctypes.get_errno()
"""


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_files_too_short_for_slots(script: Script, method: str) -> None:
    said = script(f"{EPOCH}{LIMITS}\n    limit(100_000); epoch({method!r})")
    assert said.startswith(f"{NO_MEMORY}a file of slots: File too large")


def test_a_limit_that_leaves_room_for_some_slots(script: Script) -> None:
    """Batches are 32 KB, and all are kept: no slot is used twice."""
    said = script(f"{EPOCH}{LIMITS}\n    limit(1 << 20); kept = epoch('fork', 200); kept = epoch('fork')")
    assert said.splitlines() == [
        "[False, True] they come through shared slots",
        "[False] they come through shared slots",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "forkserver"])
def test_a_system_without_anonymous_files(script: Script, method: str) -> None:
    number = {"x86_64": 319, "aarch64": 279}[platform.machine()]
    said = script(f"{EPOCH}{REFUSE}\n    refuse_memfd_create({number}); epoch({method!r})")
    assert said.startswith(
        "[True] they come through /dev/shm, as with torch: no memory to share, slots: memfd_create: "
        "Operation not permitted"
    )


@pytest.mark.slow
def test_slots_that_are_turned_off(script: Script) -> None:
    said = script(f"{EPOCH}\n    epoch('fork')", GOLOADER_SLOTS_BYTES_MAX="0")
    assert said == "[True] they come through /dev/shm, as with torch: GOLOADER_SLOTS_BYTES_MAX is 0\n"


@pytest.mark.slow
def test_kept_batches_beyond_the_limit_go_torch_s_way_and_slots_come_back(script: Script) -> None:
    said = script(f"{EPOCH}\n    kept = epoch('fork', 200); del kept; epoch('fork')", GOLOADER_SLOTS_BYTES_MAX="500K")
    assert said.splitlines() == [
        "[False, True] they come through shared slots",
        "[False] they come through shared slots",
    ]
