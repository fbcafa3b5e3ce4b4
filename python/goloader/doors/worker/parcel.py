"""A batch under way: a pickle by torch's own rules, whose storages and arrays lie in slots where they are large.

The worker packs a batch in its main thread, so that what cannot be pickled becomes an error of that batch. In the main
process, torch's queue opens it by unpickling it: in the thread that pins memory if there is one.

Only the last step of torch's reductions is replaced, from a storage's bytes to another process: what shares a storage
shares it afterwards, and tensor subclasses, sparse, nested and quantized tensors, parameters and so on are taken apart
and put together by torch.
"""

from __future__ import annotations

import ctypes
import io
import pickle
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ...adapters.torch import pin_memory, storage_uses
from ...arrays.file_array import contiguous
from .collate import is_plain
from .slots import Slot, Slots

# What is smaller travels inside the pickle: a slot costs two system calls' time, and whole pages.
INLINE_BYTES_MAX = 8 << 10
# A pipe holds 64 KiB: more would stop the worker until the main process reads.
_INLINE_BYTES_ALL_MAX = 32 << 10

# Of a storage that one tensor has: that, and the storage in Python.
_OWN_USES = 2

# A storage that is more than this many times larger than the part a batch has of it is not sent for it.
_STORAGE_PER_VIEW_MAX = 2


class Sent(NamedTuple):
    """A slot on its way."""

    number: int
    sequence: int
    size: int


class Delivered:
    """A batch that arrived, and what its worker added to it."""

    __slots__ = ("batch", "extra")

    def __init__(self, batch: Any, extra: Any) -> None:
        self.batch, self.extra = batch, extra

    def pin_memory(self) -> Delivered:
        """torch's hook for types of one's own: the batch as torch pins it."""
        self.batch = pin_memory(self.batch)
        return self


class Parcel:
    """What a worker puts into torch's queue: the main process gets a Delivered from there."""

    __slots__ = ("extra", "key", "payload", "sent")

    def __init__(self, key: int, payload: bytes | None, sent: list[Sent], extra: Any) -> None:
        self.key, self.payload, self.sent, self.extra = key, payload, sent, extra

    def __reduce__(self) -> tuple[Callable[..., Delivered], tuple[Any, ...]]:
        return _open, (self.key, self.payload, [tuple(sent) for sent in self.sent], self.extra)


def _open(key: int, payload: bytes | None, sent: list[tuple[int, int, int]], extra: Any) -> Delivered:
    if not sent:
        return Delivered(pickle.loads(payload or b""), extra)
    slots = Slots.made(key)
    buffers = [slots.lease(*each) for each in sent]
    pickled: Any = buffers.pop() if payload is None else payload
    return Delivered(pickle.loads(pickled, buffers=buffers), extra)


class Packer:
    """Packs one batch after the other. One for each worker process, used by its main thread."""

    def __init__(self, slots: Slots, owner: int) -> None:
        self._slots, self._owner = slots, owner
        self._made: dict[int, Slot] = {}

    def empty(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor | None:
        """An uninitialized tensor for a part of the next batch, in a slot if it is large; None without a slot."""
        size = dtype.itemsize
        for length in shape:
            size *= length
        if size <= INLINE_BYTES_MAX:
            return torch.empty(shape, dtype=dtype, device="cpu")
        slot = self._slots.take(size, self._owner)
        if slot is None:
            return None
        storage = storage_over(slot.array)
        self._made[storage.data_ptr()] = slot
        return tensor_over(storage, dtype, 0, shape)

    def pack(self, batch: Any, extra: Any = None) -> Parcel:
        """Raises whatever a part of the batch raises when it is pickled."""
        file, pickler = self._dump(batch, {})
        if pickler.surveying:
            file, pickler = self._dump(batch, pickler.decide())
        slots, payload = pickler.slots, None
        if file.tell() > _INLINE_BYTES_ALL_MAX:
            pickled = np.frombuffer(file.getbuffer(), np.uint8)
            slot = self._slots.filled(pickled.ctypes.data, pickled.nbytes, self._owner)
            if slot is None:
                payload = file.getvalue()
            else:
                slots.append(slot)
        else:
            payload = file.getvalue()
        for slot in slots:
            self._slots.send(slot.number)
        return Parcel(self._slots.key, payload, [Sent(s.number, s.sequence, len(s.array)) for s in slots], extra)

    def _dump(self, batch: Any, whole: dict[int, bool]) -> tuple[io.BytesIO, _Pickler]:
        file = io.BytesIO()
        pickler = _Pickler(file, self._slots, self._owner, self._made, whole)
        pickler.dump(batch)
        return file, pickler

    def forget(self) -> None:
        """The next batch begins: slots of this one are held by whoever still holds a part of it."""
        self._made.clear()


class _Pickler(ForkingPickler):
    """torch's pickler, but for the bytes of storages and arrays.

    slots      those that the pickle refers to, in the order in which unpickling asks for them
    surveying  several tensors share a storage that is much larger than the first of them: the pickle is of no use, but
               `decide` knows what to do with that storage

    A storage that is much larger than its only tensor (a row of a dataset, say) is not sent; that part of it is.
    A class of tensors says by `__parcel__` if one is pickled in another way.
    """

    def __init__(
        self, file: io.BytesIO, slots: Slots, owner: int, made: dict[int, Slot], whole: dict[int, bool]
    ) -> None:
        self.slots: list[Slot] = []
        self.surveying = False
        self._all, self._owner, self._made, self._whole = slots, owner, made, whole
        # By the storage: its size, and the parts of it that tensors have.
        self._views: dict[int, tuple[int, dict[tuple[int, int], _Part]]] = {}
        self._sent: set[int] = set()
        # Buffers of ours by their ids; those of others (pandas, pyarrow) stay in the pickle. The callback must not
        # refer to this object: a cycle would hold slots until the next garbage collection.
        self._placed: dict[int, pickle.PickleBuffer] = {}
        placed = self._placed
        super().__init__(file, pickle.HIGHEST_PROTOCOL, True, lambda buffer: id(buffer) not in placed)

    def decide(self) -> dict[int, bool]:
        """By the storage, whether it is sent whole; else it is shared as torch does, which copies it once for all."""
        return {
            storage: size <= _STORAGE_PER_VIEW_MAX * sum(length for _, length in parts)
            for storage, (size, parts) in self._views.items()
            if len(parts) > 1 or storage in self._sent
        }

    def reducer_override(self, value: Any) -> Any:
        """How to pickle a value, or NotImplemented for torch's way; called by pickle for all but plain values."""
        kind = type(value)
        if kind is torch.Tensor:
            return self._tensor(value)
        if kind is np.ndarray:
            return self._ndarray(value)
        if kind is torch.UntypedStorage:
            return self._storage(value)
        if kind is _Part:
            return storage_over, (value.buffer,)
        if isinstance(value, torch.Tensor):
            own = getattr(kind, "__parcel__", None)
            if own is not None:
                return own(value)
            self._note(value)
        return NotImplemented

    def _tensor(self, tensor: torch.Tensor) -> Any:
        if tensor.requires_grad or not is_plain(tensor):
            self._note(tensor)
            return NotImplemented
        storage = tensor.untyped_storage()
        size = tensor.nbytes
        # Targets are many small tensors: those that share nothing need no storage of their own in the pickle.
        alone = 0 < size <= INLINE_BYTES_MAX and size == storage.nbytes() and storage_uses(storage._cdata) == _OWN_USES
        shape, strides = tuple(tensor.shape), tensor.stride()
        if alone and strides == contiguous(shape) and not storage.is_shared():
            return small_tensor, (bytearray(ctypes.string_at(tensor.data_ptr(), size)), tensor.dtype, *shape)
        if not _is_small_part(tensor, storage) or self._whole.get(storage._cdata, False):
            return tensor_over, (storage, tensor.dtype, tensor.storage_offset(), shape, strides)
        if storage.is_shared() or storage._cdata in self._whole:
            return NotImplemented
        part = self._part(tensor, storage)
        return NotImplemented if part is None else (tensor_over, (part, tensor.dtype, 0, shape, strides))

    def _part(self, tensor: torch.Tensor, storage: torch.UntypedStorage) -> _Part | None:
        where = tensor.data_ptr(), _extent(tensor)
        parts = self._views.setdefault(storage._cdata, (storage.nbytes(), {}))[1]
        if where not in parts:
            self.surveying |= bool(parts) or storage._cdata in self._sent
            buffer = self._bytes(*where)
            if buffer is None:
                return None
            parts[where] = _Part(buffer)
        return parts[where]

    def _note(self, tensor: torch.Tensor) -> None:
        """Keeps torch's own reductions from having a large storage copied for each small part of it."""
        if tensor.layout is torch.strided and tensor.device.type == "cpu" and not tensor.is_nested:
            storage = tensor.untyped_storage()
            if _is_small_part(tensor, storage) and storage._cdata not in self._whole:
                self._sent.add(storage._cdata)
                self._part(tensor, storage)

    def _storage(self, storage: torch.UntypedStorage) -> Any:
        if storage.device.type != "cpu":
            return NotImplemented
        made = self._made.get(storage.data_ptr())
        if made is not None:
            return storage_over, (self._place(made),)
        # What the user shares stays shared.
        if storage.is_shared() or not self._whole.get(storage._cdata, True):
            return NotImplemented
        self._sent.add(storage._cdata)
        self.surveying |= storage._cdata in self._views
        buffer = self._bytes(storage.data_ptr(), storage.nbytes())
        return NotImplemented if buffer is None else (storage_over, (buffer,))

    def _ndarray(self, array: NDArray[Any]) -> Any:
        flags = array.flags
        if (
            array.nbytes > INLINE_BYTES_MAX
            and array.dtype.isnative
            and not array.dtype.hasobject
            and (flags.c_contiguous or flags.f_contiguous)
        ):
            slot = self._all.filled(array.ctypes.data, array.nbytes, self._owner)
            if slot is not None:
                order = "C" if flags.c_contiguous else "F"
                return array_over, (self._place(slot), array.dtype, array.shape, order)
        # As torch's queue does it, whose older protocol makes arrays writable and of native byte order.
        return array.__reduce_ex__(4)

    def _bytes(self, address: int, size: int) -> bytearray | pickle.PickleBuffer | None:
        """A copy of some bytes for the pickle; None without a slot."""
        if self.surveying:
            return bytearray()
        if size <= INLINE_BYTES_MAX:
            return bytearray(ctypes.string_at(address, size))
        slot = self._all.filled(address, size, self._owner)
        return None if slot is None else self._place(slot)

    def _place(self, slot: Slot) -> pickle.PickleBuffer:
        buffer = pickle.PickleBuffer(slot.array.data)
        self._placed[id(buffer)] = buffer
        self.slots.append(slot)
        return buffer


class _Part:
    """The bytes of a tensor that is a small part of its storage, once for all tensors that have them."""

    __slots__ = ("buffer",)

    def __init__(self, buffer: bytearray | pickle.PickleBuffer) -> None:
        self.buffer = buffer


def _extent(tensor: torch.Tensor) -> int:
    """Bytes from the first to the last element."""
    if not tensor.numel():
        return 0
    last = sum((length - 1) * stride for length, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return (last + 1) * tensor.itemsize


def _is_small_part(tensor: torch.Tensor, storage: torch.UntypedStorage) -> bool:
    size = storage.nbytes()
    return size > INLINE_BYTES_MAX and size > tensor.nbytes and size > _STORAGE_PER_VIEW_MAX * _extent(tensor)


def storage_over(buffer: NDArray[np.uint8] | bytearray) -> torch.UntypedStorage:
    """A storage of exactly the buffer's bytes, which it keeps alive."""
    if isinstance(buffer, np.ndarray):
        return torch.from_numpy(buffer).untyped_storage()
    if not buffer:
        return torch.UntypedStorage(0)
    return torch.frombuffer(buffer, dtype=torch.uint8).untyped_storage()


def array_over(
    buffer: NDArray[np.uint8], dtype: np.dtype[Any], shape: tuple[int, ...], order: Literal["C", "F"]
) -> NDArray[Any]:
    """An array over the buffer, which it keeps alive."""
    return np.ndarray(shape, dtype, buffer, order=order)


def small_tensor(buffer: bytearray, dtype: torch.dtype, *shape: int) -> torch.Tensor:
    """A contiguous tensor of exactly the buffer's bytes, which it keeps alive; there is at least one."""
    made = torch.frombuffer(buffer, dtype=dtype)
    return made if len(shape) == 1 else made.view(shape)


def tensor_over(
    storage: torch.UntypedStorage,
    dtype: torch.dtype,
    offset: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...] | None = None,
) -> torch.Tensor:
    """A tensor of a storage; offset and strides in elements, contiguous without them."""
    empty = torch.empty(0, dtype=dtype, device="cpu")
    made: torch.Tensor = empty.set_(storage, offset, shape, strides or ())
    return made
