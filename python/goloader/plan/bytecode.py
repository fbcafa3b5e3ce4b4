"""What a `__getitem__` does for an index, read from its bytecode without running it.

`rows_of(function)` gives an answer only for straight-line code that takes rows of attributes and puts them together:

    def __getitem__(self, index):
        image = self.images[index]
        return {"image": image, "target": (self.data["labels"][index], self.weights[index])}

A row may be copied, and a numpy array made a tensor, by calls that leave its numbers as they are: `.copy()`,
`.clone()`, `torch.from_numpy`, `torch.as_tensor` and `torch.tensor` of it alone. Whoever asks has to see what `torch`
is there.

Anything else (another call, a branch, arithmetic, a slice, a store to an attribute, a loop, an instruction that is not
in the table below) is not understood, which is an answer too. The instructions are those of CPython 3.10 to 3.13, where
the tests of this module ran; in any other Python nothing is understood.
"""

from __future__ import annotations

import dis
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any, Union

__all__ = ["FUNCTIONS", "Composed", "Row", "UnreadableError", "rows_of"]

_VERSIONS = range(10, 14)  # of Python 3

METHODS = ("clone", "copy")
FUNCTIONS = ("as_tensor", "from_numpy", "tensor")  # of torch


class UnreadableError(Exception):
    """Says what of a function is not understood, as the end of a sentence."""


@dataclass(frozen=True)
class Row:
    """self.attribute[key][...][index]: the keys are constants, str or int; mostly there are none.

    calls  what is made of it, one after the other: names of METHODS, and of FUNCTIONS
    """

    attribute: str
    keys: tuple[str | int, ...] = ()
    calls: tuple[str, ...] = ()


# What comes of an index: a row, a tuple (or list: torch makes no difference) of such, or a dict by constant names.
Composed = Union[Row, "tuple[Composed, ...]", "dict[Any, Composed]"]


@dataclass(frozen=True)
class _Place:
    """A Row before it is indexed."""

    attribute: str
    keys: tuple[str | int, ...] = ()


@dataclass(frozen=True)
class _Constant:
    value: Any


@dataclass(frozen=True)
class _Method:
    """What is called next: a method of a row, or a function of torch's (row is None)."""

    row: Row | None
    name: str


class _Torch:
    pass


class _Self:
    pass


class _Index:
    pass


def rows_of(function: Any) -> Composed:
    """What `function(self, index)` makes of an index. Raises UnreadableError."""
    if sys.implementation.name != "cpython" or sys.version_info[0] != 3 or sys.version_info[1] not in _VERSIONS:
        raise UnreadableError(f"has bytecode of {sys.implementation.name} {sys.version.split()[0]}")
    if type(function) is not FunctionType:
        raise UnreadableError(f"is a {type(function).__name__}, not a plain function")
    rows, why_not = _read(function.__code__)
    if rows is None:
        raise UnreadableError(why_not)
    return rows


@lru_cache(maxsize=64)  # a loader asks at each epoch
def _read(code: CodeType) -> tuple[Composed | None, str]:
    try:
        return _rows_of(code), ""
    except UnreadableError as error:
        return None, str(error)


def _rows_of(code: CodeType) -> Composed:
    special = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS | inspect.CO_GENERATOR | inspect.CO_COROUTINE
    if code.co_argcount != 2 or code.co_kwonlyargcount or code.co_flags & (special | inspect.CO_ASYNC_GENERATOR):
        raise UnreadableError("takes or gives more than an index and a sample")
    if getattr(code, "co_exceptiontable", b""):
        raise UnreadableError("handles exceptions")
    machine = _Machine(dict(zip(code.co_varnames, (_Self(), _Index()), strict=False)))
    for instruction in dis.get_instructions(code):
        step = _STEPS.get(instruction.opname)
        if step is None:
            raise UnreadableError(f"does more than take rows of attributes ({instruction.opname})")
        result = step(machine, instruction)
        if result is not None:
            return machine.finish(result)
    raise UnreadableError("does not return")  # not code of a compiler


class _Machine:
    """The stack and the local variables, holding what is known of each value."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = names
        self.stack: list[Any] = []
        self.made: list[Row | _Place] = []

    def pop(self, count: int) -> list[Any]:
        if count == 0:
            return []
        taken = self.stack[-count:]
        del self.stack[-count:]
        return taken

    def load(self, name: str) -> None:
        if name not in self.names:
            raise UnreadableError(f"uses {name} before it is assigned")
        self.stack.append(self.names[name])

    def store(self, name: str) -> None:
        self.names[name] = self.stack.pop()

    def attribute(self, name: str) -> None:
        if type(self.stack.pop()) is not _Self:
            raise UnreadableError(f"looks .{name} up in something other than itself")
        self.push(_Place(name))

    def subscript(self) -> None:
        base, key = self.pop(2)
        if type(base) is not _Place:
            raise UnreadableError("indexes something that is not its attribute")
        if type(key) is _Index:
            self.push(Row(base.attribute, base.keys))
        elif type(key) is _Constant and type(key.value) in (str, int):
            self.push(_Place(base.attribute, (*base.keys, key.value)))
        else:
            raise UnreadableError("indexes an attribute with more than the index")

    def method(self, name: str) -> None:
        owner = self.stack.pop()
        if type(owner) is Row and name in METHODS:
            self.stack.append(_Method(owner, name))
        elif type(owner) is _Torch and name in FUNCTIONS:
            self.stack.append(_Method(None, name))
        else:
            raise UnreadableError(f"does more than take rows of attributes (it calls .{name})")

    def call(self, count: int) -> None:
        callee, *arguments = self.pop(count + 1)
        given = [*([] if callee.row is None else [callee.row]), *arguments] if type(callee) is _Method else []
        if len(given) != 1 or type(given[0]) is not Row:
            raise UnreadableError("calls something with more than a row")
        (row,) = given
        # What becomes of it is what is taken.
        if row in self.made:
            self.made.remove(row)
        self.push(Row(row.attribute, row.keys, (*row.calls, callee.name)))

    def push(self, value: Row | _Place) -> None:
        self.made.append(value)
        self.stack.append(value)

    def finish(self, result: Any) -> Composed:
        used: set[Row | _Place] = set()
        _collect(result, used)
        if not used:
            raise UnreadableError("takes no row")
        # What is evaluated and not used may raise all the same, or do more than be looked at.
        if any(type(value) is Row and value not in used for value in self.made) or any(
            type(value) is _Place
            and not any(row.attribute == value.attribute and row.keys[: len(value.keys)] == value.keys for row in used)
            for value in self.made
        ):
            raise UnreadableError("takes rows that it does not give")
        composed: Composed = result
        return composed


def _collect(value: Any, used: set[Row | _Place]) -> None:
    if type(value) is Row:
        used.add(value)
    elif type(value) is tuple and value:
        for each in value:
            _collect(each, used)
    elif type(value) is dict and value:
        for each in value.values():
            _collect(each, used)
    else:
        raise UnreadableError("gives more than rows of its attributes")


# The instructions. Each gives None, or what is returned.


def _nothing(machine: _Machine, instruction: dis.Instruction) -> None:
    pass


def _load_fast(machine: _Machine, instruction: dis.Instruction) -> None:
    names = instruction.argval
    for name in names if isinstance(names, tuple) else (names,):
        machine.load(name)


def _store_fast(machine: _Machine, instruction: dis.Instruction) -> None:
    names = instruction.argval
    for name in names if isinstance(names, tuple) else (names,):
        machine.store(name)


def _store_fast_load_fast(machine: _Machine, instruction: dis.Instruction) -> None:
    stored, loaded = instruction.argval
    machine.store(stored)
    machine.load(loaded)


def _load_const(machine: _Machine, instruction: dis.Instruction) -> None:
    machine.stack.append(_Constant(instruction.argval))


def _load_attr(machine: _Machine, instruction: dis.Instruction) -> None:
    method = sys.version_info >= (3, 12) and instruction.arg is not None and instruction.arg & 1
    # What a module imports at its top is asked for attributes, not for methods, from 3.11 on.
    if method or type(machine.stack[-1]) is _Torch:
        machine.method(instruction.argval)
    else:
        machine.attribute(instruction.argval)


def _load_method(machine: _Machine, instruction: dis.Instruction) -> None:
    machine.method(instruction.argval)


def _load_global(machine: _Machine, instruction: dis.Instruction) -> None:
    if instruction.argval != "torch":
        raise UnreadableError(f"does more than take rows of attributes (it uses {instruction.argval})")
    machine.stack.append(_Torch())


def _call(machine: _Machine, instruction: dis.Instruction) -> None:
    machine.call(instruction.argval)


def _binary_subscr(machine: _Machine, instruction: dis.Instruction) -> None:
    machine.subscript()


def _build_tuple(machine: _Machine, instruction: dis.Instruction) -> None:
    machine.stack.append(tuple(machine.pop(instruction.argval)))


def _build_map(machine: _Machine, instruction: dis.Instruction) -> None:
    items = machine.pop(2 * instruction.argval)
    machine.stack.append(dict(zip(map(_name, items[::2]), items[1::2], strict=True)))


def _build_const_key_map(machine: _Machine, instruction: dis.Instruction) -> None:
    (names,) = machine.pop(1)
    values = machine.pop(instruction.argval)
    machine.stack.append(dict(zip(map(_name, map(_Constant, names.value)), values, strict=True)))


def _name(key: Any) -> Any:
    if type(key) is not _Constant or type(key.value) not in (str, int):
        raise UnreadableError("makes a dict with names that are not constants")
    return key.value


def _rot_two(machine: _Machine, instruction: dis.Instruction) -> None:
    machine.stack.insert(-1, machine.stack.pop())


def _rot_three(machine: _Machine, instruction: dis.Instruction) -> None:
    machine.stack.insert(-2, machine.stack.pop())


def _swap(machine: _Machine, instruction: dis.Instruction) -> None:
    stack, depth = machine.stack, instruction.argval
    stack[-1], stack[-depth] = stack[-depth], stack[-1]


def _return_value(machine: _Machine, instruction: dis.Instruction) -> Any:
    return machine.stack.pop()


_STEPS: dict[str, Callable[[_Machine, dis.Instruction], Any]] = {
    "BINARY_SUBSCR": _binary_subscr,
    "BUILD_CONST_KEY_MAP": _build_const_key_map,
    "BUILD_LIST": _build_tuple,
    "BUILD_MAP": _build_map,
    "BUILD_TUPLE": _build_tuple,
    "CACHE": _nothing,
    "CALL": _call,
    "CALL_METHOD": _call,
    "EXTENDED_ARG": _nothing,
    "LOAD_ATTR": _load_attr,
    "LOAD_CONST": _load_const,
    "LOAD_FAST": _load_fast,
    "LOAD_GLOBAL": _load_global,
    "LOAD_METHOD": _load_method,
    "LOAD_FAST_LOAD_FAST": _load_fast,
    "NOP": _nothing,
    "PRECALL": _nothing,
    "PUSH_NULL": _nothing,
    "RESUME": _nothing,
    "RETURN_VALUE": _return_value,
    "ROT_THREE": _rot_three,
    "ROT_TWO": _rot_two,
    "STORE_FAST": _store_fast,
    "STORE_FAST_LOAD_FAST": _store_fast_load_fast,
    "STORE_FAST_STORE_FAST": _store_fast,
    "SWAP": _swap,
}
