"""Files of torch.save: a zip archive of a pickle and of storages (torch/serialization.py).

The pickle is not run. Its opcodes are read one by one, those that build what tensors consist of are followed, and a
call of anything else leaves an opaque mark: nothing that a file names is ever imported or called.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .archive import Archive
from .file_array import DTYPES, FileArray, reach

# Of a pickle that only names tensors: a million of them take 100 MB.
_PICKLE_BYTES_MAX = 256 << 20

_STORAGES = {
    "BoolStorage": "bool", "ByteStorage": "uint8", "CharStorage": "int8", "ShortStorage": "int16",
    "IntStorage": "int32", "LongStorage": "int64", "HalfStorage": "float16", "BFloat16Storage": "bfloat16",
    "FloatStorage": "float32", "DoubleStorage": "float64", "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128", "UntypedStorage": "",
}  # fmt: skip


@dataclass(frozen=True)
class _Global:
    """Something that the pickle names."""

    module: str
    name: str


@dataclass(frozen=True)
class _Storage:
    dtype: str
    key: str


@dataclass(frozen=True)
class _Tensor:
    storage: _Storage
    dtype: str
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]


class _Opaque:
    """Something that is no tensor, nor holds any that we could reach."""


_MARK = object()


def is_one(archive: Archive) -> bool:
    return _folder(archive) is not None


def _folder(archive: Archive) -> str | None:
    """In which folder of the archive the pickle is."""
    found = [name for name in archive.members if name.count("/") == 1 and name.endswith("/data.pkl")]
    return found[0].removesuffix("data.pkl") if len(found) == 1 else None


def read(archive: Archive, direct: bool) -> FileArray | dict[str, FileArray]:
    """The tensor of the file, or its tensors by their way through dicts and lists."""
    folder = _folder(archive)
    assert folder is not None  # is_one
    if folder + "byteorder" in archive.members and archive.read(folder + "byteorder", 16) != b"little":
        raise ValueError(f"{archive.path}: saved on a machine of another byte order")
    name = folder + "data.pkl"
    begin, _ = archive.place(name)
    top = _follow(f"{archive.path} at byte {begin}", archive.read(name, _PICKLE_BYTES_MAX))
    if isinstance(top, _Tensor):
        return _array(archive, folder, "the tensor", top, direct)
    found: dict[str, FileArray] = {}
    for way, tensor in _tensors(top):
        if tensor.shape:  # a number has no rows
            found[way] = _array(archive, folder, f"tensor {way!r}", tensor, direct)
    return found


def _tensors(top: Any) -> list[tuple[str, _Tensor]]:
    """Tensors inside dicts, lists and tuples, each container looked into once."""
    found: list[tuple[str, _Tensor]] = []
    left: list[tuple[str, Any]] = [("", top)]
    seen: set[int] = set()
    while left:
        way, value = left.pop()
        if isinstance(value, _Tensor):
            found.append((way, value))
        elif isinstance(value, dict | list | tuple) and id(value) not in seen:
            seen.add(id(value))
            items = value.items() if isinstance(value, dict) else enumerate(value)
            inside = [(f"{way}.{key}" if way else str(key), each) for key, each in items if isinstance(key, str | int)]
            left += reversed(inside)
    return found


def _array(archive: Archive, folder: str, what: str, tensor: _Tensor, direct: bool) -> FileArray:
    dtype = tensor.dtype or tensor.storage.dtype
    if dtype not in DTYPES:
        raise ValueError(f"{archive.path}: {what} has dtype {dtype or 'unknown'!r}")
    begin, size = archive.place(f"{folder}data/{tensor.storage.key}")
    item = DTYPES[dtype].itemsize
    if not tensor.shape:
        raise ValueError(f"{archive.path}: {what} has no dimensions, so no rows")
    array = FileArray(
        archive.path,
        dtype=dtype,
        shape=tensor.shape,
        offset=begin + item * tensor.offset,
        strides=[item * stride for stride in tensor.stride],
        direct=direct,
    )
    if 0 not in tensor.shape and item * tensor.offset + reach(tensor.shape, array.strides, item) > size:
        raise ValueError(f"{archive.path} at byte {begin}: {what} is longer than its storage of {size} bytes")
    return array


def _follow(where: str, pickle: bytes) -> Any:
    """What a pickle stands for."""
    machine = _Machine()
    at: int | None = 0
    try:
        for opcode, argument, position in pickletools.genops(pickle):
            at = position
            if opcode.name == "STOP":
                return machine.stack.pop()
            step = _STEPS.get(opcode.name)
            if step is not None:
                step(machine, argument)
            elif opcode.name not in ("PROTO", "FRAME"):
                raise ValueError(f"opcode {opcode.name}")
    # Whatever goes wrong on the way, the pickle is not one that torch.save wrote.
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ValueError(f"{where}, byte {at} of data.pkl: {type(error).__name__}: {error}") from None
    raise ValueError(f"{where}: data.pkl has no end")


class _Machine:
    """Stack and memo of a pickle that is followed."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def put(self, number: int | None) -> None:
        self.memo[len(self.memo) if number is None else number] = self.stack[-1]

    def get(self, number: int) -> None:
        self.push(self.memo[number])

    def since_mark(self) -> list[Any]:
        place = len(self.stack) - 1
        while self.stack[place] is not _MARK:
            place -= 1
            if place < 0:
                raise ValueError("no mark")
        items = self.stack[place + 1 :]
        del self.stack[place:]
        return items

    def tuple_of(self, count: int) -> None:
        items = tuple(self.stack[len(self.stack) - count :])
        if len(items) < count:
            raise ValueError("an empty stack")
        del self.stack[len(self.stack) - count :]
        self.push(items)

    def append(self, items: list[Any]) -> None:
        if isinstance(self.stack[-1], list):
            self.stack[-1].extend(items)

    def set_items(self, items: list[Any]) -> None:
        if isinstance(self.stack[-1], dict):
            keyed = zip(items[::2], items[1::2], strict=True)
            self.stack[-1].update((key, value) for key, value in keyed if isinstance(key, str | int))

    def name(self) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        if not isinstance(name, str) or not isinstance(module, str):
            raise ValueError("a name that is no text")
        self.push(_Global(module, name))

    def persistent(self) -> None:
        match self.stack.pop():
            case ("storage", _Global("torch" | "torch.storage", str(name)), str(key), _, int(_)) if name in _STORAGES:
                self.push(_Storage(_STORAGES[name], key))
            case _:
                self.push(_Opaque())

    def call(self) -> None:
        arguments, function = self.stack.pop(), self.stack.pop()
        match function, arguments:
            case _Global("torch._utils", "_rebuild_tensor_v2"), (_Storage() as storage, offset, shape, stride, *_):
                self.push(_tensor(storage, "", offset, shape, stride))
            case (
                _Global("torch._utils", "_rebuild_tensor_v3"),
                (_Storage() as storage, offset, shape, stride, _, _, _Global("torch", str(dtype)), *_),
            ):
                self.push(_tensor(storage, dtype, offset, shape, stride))
            case _Global("torch._utils", "_rebuild_parameter"), (_Tensor() as tensor, *_):
                self.push(tensor)
            case _Global("collections", "OrderedDict"), ():
                self.push({})
            case _:
                self.push(_Opaque())


def _tensor(storage: _Storage, dtype: str, offset: Any, shape: Any, stride: Any) -> _Tensor:
    sizes = (offset, *shape, *stride)
    if not all(type(size) is int and size >= 0 for size in sizes) or len(shape) != len(stride):
        raise ValueError("a tensor whose offset, shape and stride do not fit each other")
    return _Tensor(storage, dtype, offset, tuple(shape), tuple(stride))


_Step = Callable[[_Machine, Any], object]

_STEPS: dict[str, _Step] = {
    **dict.fromkeys(
        (
            "BINBYTES", "BINBYTES8", "BINFLOAT", "BININT", "BININT1", "BININT2", "BINUNICODE", "BINUNICODE8", "LONG1",
            "LONG4", "SHORT_BINBYTES", "SHORT_BINUNICODE",
        ),
        lambda machine, value: machine.push(value),
    ),
    "APPEND": lambda machine, _: machine.append([machine.stack.pop()]),
    "APPENDS": lambda machine, _: machine.append(machine.since_mark()),
    "BINGET": lambda machine, number: machine.get(number),
    "BINPERSID": lambda machine, _: machine.persistent(),
    "BINPUT": lambda machine, number: machine.put(number),
    "BUILD": lambda machine, _: machine.stack.pop(),  # attributes, such as _metadata of a state_dict
    "EMPTY_DICT": lambda machine, _: machine.push({}),
    "EMPTY_LIST": lambda machine, _: machine.push([]),
    "EMPTY_SET": lambda machine, _: machine.push(_Opaque()),
    "EMPTY_TUPLE": lambda machine, _: machine.push(()),
    "GLOBAL": lambda machine, name: machine.push(_Global(*name.split(" ", 1))),
    "LONG_BINGET": lambda machine, number: machine.get(number),
    "LONG_BINPUT": lambda machine, number: machine.put(number),
    "MARK": lambda machine, _: machine.push(_MARK),
    "MEMOIZE": lambda machine, _: machine.put(None),
    "NEWFALSE": lambda machine, _: machine.push(False),
    "NEWOBJ": lambda machine, _: machine.call(),
    "NEWTRUE": lambda machine, _: machine.push(True),
    "NONE": lambda machine, _: machine.push(None),
    "POP": lambda machine, _: machine.stack.pop(),
    "REDUCE": lambda machine, _: machine.call(),
    "SETITEM": lambda machine, _: machine.set_items([machine.stack.pop(-2), machine.stack.pop()]),
    "SETITEMS": lambda machine, _: machine.set_items(machine.since_mark()),
    "STACK_GLOBAL": lambda machine, _: machine.name(),
    "TUPLE": lambda machine, _: machine.push(tuple(machine.since_mark())),
    "TUPLE1": lambda machine, _: machine.tuple_of(1),
    "TUPLE2": lambda machine, _: machine.tuple_of(2),
    "TUPLE3": lambda machine, _: machine.tuple_of(3),
}  # fmt: skip
