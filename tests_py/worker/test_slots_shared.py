"""Slots: taken, sent, leased, freed, limited, given back; shared by processes that may die at any point."""

from __future__ import annotations

import gc
import os
import random
import resource
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goloader._errors import CoreError
from goloader.doors.worker import budget, forks
from goloader.doors.worker.slots import Slots

ME, OTHER = 1, 2
MIB = 1 << 20


def used(slots: Slots) -> tuple[int, int]:
    """(slots that are held, bytes of all)."""
    usage = slots.usage()
    return usage["held"], usage["bytes"]


def take(slots: Slots, size: int, owner: int = ME) -> Any:
    slot = slots.take(size, owner)
    assert slot is not None
    return slot


def test_what_was_written_is_what_is_leased_and_the_last_view_frees_it() -> None:
    slots = Slots(64 * MIB)
    slot = take(slots, 100_000)
    slot.array[:] = np.arange(100_000) % 251
    slots.send(slot.number)
    number, sequence = slot.number, slot.sequence
    del slot
    assert used(slots)[0] == 1
    leased = slots.lease(number, sequence, 100_000)
    assert np.array_equal(leased, np.arange(100_000) % 251)
    part = leased[10:20].view(np.int16)
    del leased
    assert used(slots)[0] == 1
    del part
    assert used(slots)[0] == 0


def test_a_slot_that_its_writer_still_has_is_not_free() -> None:
    slots = Slots(64 * MIB)
    slot = take(slots, 5000)
    slots.send(slot.number)
    leased = slots.lease(slot.number, slot.sequence, 5000)
    del leased
    assert used(slots)[0] == 1
    again = take(slots, 5000)
    assert again.number != slot.number


def test_memory_is_used_again_and_again() -> None:
    slots = Slots(64 * MIB)
    places = set()
    for size in range(1_000_000, 1_000_200):
        slot = take(slots, size)
        places.add(slot.array.ctypes.data)
        del slot
    assert len(places) == 1
    assert used(slots) == (0, slots.usage()["bytes"])


def test_no_more_than_the_limit_is_ever_used() -> None:
    slots = Slots(10 * MIB)
    held = [take(slots, MIB) for _ in range(10)]
    assert slots.take(1, ME) is None
    assert slots.take(11 * MIB, ME) is None
    assert used(slots) == (10, 10 * MIB)
    held.clear()
    # Free slots make room for a larger one.
    large = take(slots, 9 * MIB)
    large.array[-1] = 1
    assert used(slots)[1] <= 10 * MIB


def test_a_slot_is_taken_that_is_too_large_rather_than_none() -> None:
    slots = Slots(10 * MIB)
    large = take(slots, 10 * MIB)
    place = large.array.ctypes.data
    del large
    held = take(slots, 9 * MIB)
    assert held.array.ctypes.data == place


def test_slots_of_a_process_that_is_gone_come_back() -> None:
    slots = Slots(64 * MIB)
    pid = os.fork()
    if not pid:
        kept = [take(slots, MIB, ME) for _ in range(5)]
        slots.send(kept[0].number)
        slots.send(kept[1].number)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    mine = take(slots, MIB, OTHER)
    leased = slots.lease(1, 1, MIB)
    assert used(slots)[0] == 6
    slots.reclaim(ME)
    assert used(slots)[0] == 2
    with pytest.raises(CoreError, match="the batch is gone"):
        slots.lease(0, 1, MIB)
    del mine, leased
    assert used(slots)[0] == 0


def test_a_forked_child_does_not_end_its_parent_s_leases() -> None:
    slots = Slots(64 * MIB)
    slot = take(slots, MIB)
    pid = os.fork()
    if not pid:
        del slot
        gc.collect()
        os._exit(used(slots)[0])
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1
    assert used(slots)[0] == 1


def test_many_processes_never_have_one_slot_at_once() -> None:
    """Each writes its number into what it takes, and finds nothing else there until it lets go."""
    slots = Slots(8 * MIB)
    children = []
    for number in range(1, 5):
        pid = os.fork()
        if not pid:
            code = 0
            try:
                chance = random.Random(number)
                held: list[Any] = []
                for _ in range(3000):
                    slot = slots.take(chance.choice((4096, 10_000, 300_000, 2 * MIB)), number)
                    if slot is not None:
                        slot.array[:] = number
                        held.append(slot)
                    if held and chance.random() < 0.6:
                        checked = held.pop(chance.randrange(len(held)))
                        code |= not (checked.array == number).all()
                        del checked
                    slot = None
                    code |= 2 * (slots.usage()["bytes"] > 8 * MIB + 4 * 2 * MIB)
            finally:
                os._exit(code)
        children.append(pid)
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children] == [0] * 4
    for number in range(1, 5):
        slots.reclaim(number)
    usage = slots.usage()
    assert usage["held"] == 0
    assert usage["bytes"] <= 8 * MIB


def test_memory_that_an_epoch_did_not_use_is_given_back() -> None:
    slots = Slots(64 * MIB)
    kept = [take(slots, MIB) for _ in range(20)]
    for slot in kept:
        slot.array[:] = 1
    del slot
    kept.clear()
    slots.trim()
    assert used(slots)[1] == 20 * MIB
    for _ in range(3):
        take(slots, MIB)
    slots.trim()
    assert used(slots)[1] == MIB


def test_slots_live_as_long_as_what_was_leased_from_them() -> None:
    Slots(MIB)  # loads the library, which has descriptors of its own
    gc.collect()
    before = set(os.listdir("/proc/self/fd"))
    slots = Slots(64 * MIB)
    slot = take(slots, MIB)
    slots.send(slot.number)
    leased = slots.lease(slot.number, slot.sequence, MIB)
    del slot, slots
    gc.collect()
    leased[:] = 3
    assert leased.sum() == 3 * MIB
    del leased
    gc.collect()
    assert set(os.listdir("/proc/self/fd")) <= before
    assert "goloader-slots" not in Path("/proc/self/maps").read_text()


def test_where_no_more_may_be_mapped_nothing_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    slots = Slots(256 * MIB)
    slot = take(slots, 64 * MIB)
    slot.array[:] = 7
    slots.send(slot.number)
    number, sequence = slot.number, slot.sequence
    pid = os.fork()
    if not pid:
        code = 1
        try:
            other = Slots._open(slots.key, _Fd(os.dup(slots._fd)))
            mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (mapped + 32 * MIB, resource.RLIM_INFINITY))
            none = other.take(64 * MIB, OTHER)
            monkeypatch.setattr("numpy.empty", lambda *_: raise_limit())
            code = 10 * (none is not None) + 20 * (other.lease(number, sequence, 64 * MIB).sum() != 7 * 64 * MIB)
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    del slot
    assert used(slots)[0] == 0


def raise_limit() -> Any:
    """Room for a copy, once there was none to map."""
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return np.zeros(64 * MIB, np.uint8)


class _Fd:
    def __init__(self, fd: int) -> None:
        self.fd = fd

    def detach(self) -> int:
        return self.fd


@pytest.mark.parametrize(
    ("text", "size"), [("0", 0), ("4096", 4096), ("2K", 2048), ("1.5m", 3 * MIB // 2), ("3G", 3 << 30)]
)
def test_the_limit_is_read_from_the_environment(monkeypatch: pytest.MonkeyPatch, text: str, size: int) -> None:
    monkeypatch.setenv("GOLOADER_SLOTS_BYTES_MAX", text)
    assert budget.bytes_max() == size


@pytest.mark.parametrize("text", ["much", "-1", "4X", "G", "nan"])
def test_a_limit_that_is_no_size_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("GOLOADER_SLOTS_BYTES_MAX", text)
    with pytest.raises(ValueError, match="GOLOADER_SLOTS_BYTES_MAX"):
        budget.bytes_max()


def test_without_a_setting_the_limit_is_a_share_of_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOLOADER_SLOTS_BYTES_MAX", raising=False)
    assert 0 < budget.bytes_max() <= budget.memory_bytes() // 4
    assert budget.memory_bytes() <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def lease(slots: Slots, value: int) -> Any:
    slot = take(slots, MIB)
    slot.array[:] = value
    slots.send(slot.number)
    number, sequence = slot.number, slot.sequence
    del slot
    return slots.lease(number, sequence, MIB)


def test_what_a_forked_child_sees_is_not_overwritten_while_it_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forks, "_guard", None)  # a child of a test before, which is still ending, is none of these
    slots = Slots(64 * MIB)
    batches = [lease(slots, 1), lease(slots, 2)]
    go = [os.pipe(), os.pipe()]
    children = []
    for child in range(2):
        pid = os.fork()
        if not pid:
            os.read(go[child][0], 1)
            os._exit(not ((batches[0] == 1).all() and (batches[1] == 2).all()))
        children.append(pid)
    before = len(os.listdir("/proc/self/fd"))
    batches.clear()
    for value in range(3, 20):
        other = lease(slots, value)
        del other
    assert slots.usage()["held"] == 2
    os.write(go[1][1], b"x")
    assert os.waitstatus_to_exitcode(os.waitpid(children[1], 0)[1]) == 0
    other = lease(slots, 20)
    del other
    assert slots.usage()["held"] == 2
    os.write(go[0][1], b"x")
    assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 0
    slots.trim()
    assert slots.usage()["held"] == 0
    assert len(os.listdir("/proc/self/fd")) <= before
    for descriptor in (*go[0], *go[1]):
        os.close(descriptor)


def test_a_lease_that_is_dropped_in_a_cycle_or_a_thread_is_released() -> None:
    slots = Slots(64 * MIB)
    cycle: list[Any] = [lease(slots, 1)]
    cycle.append(cycle)
    del cycle
    gc.collect()
    held = [lease(slots, 2)]
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    assert slots.usage()["held"] == 0
