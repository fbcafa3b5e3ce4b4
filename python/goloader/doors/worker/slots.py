"""Slots of shared memory, in Python: a process takes and sends them, another leases them."""

from __future__ import annotations

import ctypes
import itertools
import os
import weakref
from collections import deque
from collections.abc import Callable
from ctypes import byref, c_int32, c_void_p
from multiprocessing import reduction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _native
from . import forks

# The slots that this process made, by the key that comes back in a parcel.
_made: weakref.WeakValueDictionary[int, Slots] = weakref.WeakValueDictionary()
_keys = itertools.count(1)

# All that this process has open.
_opened: weakref.WeakSet[Slots] = weakref.WeakSet()

# ctypes makes a class for every length of an array; one for all of them will do, since numpy looks at what it needs.
_Memory = ctypes.c_uint8 * (1 << 56)


class Slot:
    """A slot that this process holds as long as its array, or anything made from it, lives.

    array     [bytes] uint8, writable
    number, sequence  what the process that will lease it has to say
    """

    __slots__ = ("array", "number", "sequence")

    def __init__(self, array: NDArray[np.uint8], number: int, sequence: int) -> None:
        self.array, self.number, self.sequence = array, number, sequence


class Slots:
    """Memory that worker processes fill and the process that made it reads: see goloader.h.

    Pickled for a process that is being started, it is the same memory there.
    """

    def __init__(self, bytes_max: int) -> None:
        """Raises MemoryError if the system gives no anonymous file."""
        self._lib = _native.slots_library()
        self.key = next(_keys)
        fd, opened = c_int32(), c_void_p()
        self._lib.call(self._lib.gl_slots_create, bytes_max, byref(fd), byref(opened))
        self._keep(fd.value, opened)
        _made[self.key] = self

    @classmethod
    def _open(cls, key: int, duplicate: Any) -> Slots:
        self = cls.__new__(cls)
        self._lib = _native.slots_library()
        self.key = key
        fd, opened = duplicate.detach(), c_void_p()
        self._lib.call(self._lib.gl_slots_open, fd, byref(opened))
        self._keep(fd, opened)
        return self

    def __reduce__(self) -> tuple[Callable[..., Slots], tuple[int, Any]]:
        return Slots._open, (self.key, reduction.DupFd(self._fd))

    def _keep(self, fd: int, opened: c_void_p) -> None:
        self._fd, self._opened = fd, opened
        # Leases hold this object, so nothing is unmapped that somebody reads. At exit the kernel is quicker.
        self._closer = weakref.finalize(self, _close, self._lib, opened, fd)
        self._closer.atexit = False
        # Leases of this process with the forks that saw them; those that ended, but not for all children.
        self._leases: dict[int, tuple[forks.Guard, ...]] = {}
        self._parked: deque[tuple[int, tuple[forks.Guard, ...]]] = deque()
        _opened.add(self)

    @staticmethod
    def made(key: int) -> Slots:
        """The slots of this process with that key. Raises KeyError if they are gone."""
        return _made[key]

    def take(self, size: int, owner: int) -> Slot | None:
        """A free slot of `size` > 0 bytes; None if there is none, and no room for another."""
        return self.filled(None, size, owner)

    def filled(self, address: int | None, size: int, owner: int) -> Slot | None:
        """The same with a copy of so many bytes, if there is an address."""
        slot = _native.Slot()
        if self._lib.gl_slot_take(self._opened, size, owner, byref(slot)) != _native.OK:
            return None
        made = Slot(self._array(slot), slot.number, slot.sequence)
        if address is not None:
            self._lib.gl_slot_fill(byref(slot), address, size)
        return made

    def send(self, number: int) -> None:
        """Holds a slot of this process for whoever leases it."""
        self._lib.gl_slot_send(self._opened, number)

    def lease(self, number: int, sequence: int, size: int) -> NDArray[np.uint8]:
        """The [size] uint8 bytes of a slot that was sent; it is free again when the last view of them is gone.

        Raises CoreError if it is not on its way any more.
        """
        self._settle()
        slot = _native.Slot()
        if self._lib.call(self._lib.gl_slot_lease, self._opened, number, sequence, size, byref(slot)) == _native.OK:
            return self._array(slot)
        copy = np.empty(size, np.uint8)
        self._lib.call(self._lib.gl_slot_copy, self._opened, number, sequence, copy.ctypes.data, size)
        return copy

    def reclaim(self, owner: int) -> None:
        """Frees what processes took or sent that are gone, for an owner whose processes all are.

        An owner in a reference cycle may call this as it goes, when these slots are gone already.
        """
        if self._closer.alive:
            self._lib.gl_slots_reclaim(self._opened, owner)

    def trim(self) -> None:
        """Begins an epoch: memory that the last one did not use is given back."""
        self._settle()
        self._lib.gl_slots_trim(self._opened)

    def usage(self) -> dict[str, int]:
        """slots: that have memory; held: of these, not free; bytes: of all; bytes_max."""
        self._settle()
        usage = _native.SlotsUsage()
        self._lib.gl_slots_count(self._opened, byref(usage))
        return {field[0]: getattr(usage, field[0]) for field in usage._fields_}

    def _array(self, slot: _native.Slot) -> NDArray[np.uint8]:
        # numpy's views of views go back to this array, which is the lease, and not to the memory below it.
        memory = _Memory.from_address(slot.data)
        array: NDArray[np.uint8] = np.ndarray((slot.bytes,), np.uint8, memoryview(memory))
        self._leases[slot.lease] = ()
        weakref.finalize(array, self._release, slot.lease).atexit = False
        return array

    def _release(self, lease: int) -> None:
        guards = self._leases.pop(lease, ())
        if guards:
            self._parked.append((lease, guards))
        else:
            self._lib.gl_slot_release(self._opened, lease)

    def _settle(self) -> None:
        """Releases what waits for children that are gone."""
        for _ in range(len(self._parked)):
            lease, guards = self._parked.popleft()
            if all(guard.gone() for guard in guards):
                self._lib.gl_slot_release(self._opened, lease)
            else:
                self._parked.append((lease, guards))


def _close(lib: _native.Library, opened: c_void_p, fd: int) -> None:
    lib.gl_slots_close(opened)
    os.close(fd)


def _before_fork() -> None:
    for slots in list(_opened):
        for lease, guards in list(slots._leases.items()):
            guard = forks.guard()
            if guard not in guards:
                slots._leases[lease] = (*guards, guard)


def _after_fork_in_child() -> None:
    # What the parent leased is the parent's to give back.
    forks.forget()
    for slots in list(_opened):
        slots._leases.clear()
        slots._parked.clear()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(before=_before_fork, after_in_child=_after_fork_in_child)
