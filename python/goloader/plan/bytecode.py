"""What a `__getitem__` does for an index, read from its bytecode without running it.

`read(function, decide)` follows code that runs straight through, and says as expressions what is evaluated and what is
given:

    def __getitem__(self, index):
        row = self.rows[index]
        image = Image.open(os.path.join(self.root, row["file"])).convert("RGB")
        if self.transform is not None:
            image = self.transform(image)
        return image, int(row["label"])

Which way a branch goes is asked for: `decide` says it of conditions that are the same for every index. What an
expression means (whether a name is what it seems to be, whether a call has effects) is for the caller to find out.

Anything else (a loop, a handler of exceptions, a store to an attribute or an item, an instruction that is not in the
table below) is not understood, which is an answer too. The instructions are those of CPython 3.10 to 3.13, where the
tests of this module ran; in any other Python nothing is understood.
"""

from __future__ import annotations

import dis
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

__all__ = [
    "Attribute",
    "Binary",
    "Call",
    "Constant",
    "Display",
    "Expression",
    "Index",
    "Item",
    "Itself",
    "Mapping",
    "Name",
    "Reading",
    "Text",
    "UnreadableError",
    "parts_of",
    "read",
]

_VERSIONS = range(10, 14)  # of Python 3


class UnreadableError(Exception):
    """Says what of a function is not understood, as the end of a sentence."""


class Expression:
    """What is known of a value. Expressions are equal if they are spelt alike, and str() spells them."""


@dataclass(frozen=True)
class Itself(Expression):
    """The dataset."""

    def __str__(self) -> str:
        return "self"


@dataclass(frozen=True)
class Index(Expression):
    """The index."""

    def __str__(self) -> str:
        return "index"


@dataclass(frozen=True)
class Constant(Expression):
    """A constant of the code.

    kind  its type, since 1 and True are equal
    """

    value: Any
    kind: type

    def __str__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True)
class Name(Expression):
    """A variable of the module or of a function around, or a builtin."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Attribute(Expression):
    """owner.name"""

    owner: Expression
    name: str

    def __str__(self) -> str:
        return f"{self.owner}.{self.name}"


@dataclass(frozen=True)
class Item(Expression):
    """owner[key]"""

    owner: Expression
    key: Expression

    def __str__(self) -> str:
        return f"{self.owner}[{self.key}]"


@dataclass(frozen=True)
class Call(Expression):
    """function(*arguments, **options)"""

    function: Expression
    arguments: tuple[Expression, ...]
    options: tuple[tuple[str, Expression], ...] = ()

    def __str__(self) -> str:
        options = (f"{name}={value}" for name, value in self.options)
        return f"{self.function}({', '.join([*map(str, self.arguments), *options])})"


@dataclass(frozen=True)
class Text(Expression):
    """f"{part}{part}...": without formats."""

    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        return "f'" + "".join(f"{{{part}}}" for part in self.parts) + "'"


@dataclass(frozen=True)
class Binary(Expression):
    """left operator right: arithmetic, a comparison, "is", "is not", "in" or "not in"."""

    operator: str
    left: Expression
    right: Expression

    def __str__(self) -> str:
        return f"({self.left} {self.operator} {self.right})"


@dataclass(frozen=True)
class Display(Expression):
    """A tuple or a list."""

    kind: type
    items: tuple[Expression, ...]

    def __str__(self) -> str:
        return f"{self.kind.__name__}({', '.join(map(str, self.items))})"


@dataclass(frozen=True)
class Mapping(Expression):
    """A dict by constant names, str or int."""

    names: tuple[Any, ...]
    items: tuple[Expression, ...]

    def __str__(self) -> str:
        return "{" + ", ".join(f"{name!r}: {item}" for name, item in zip(self.names, self.items, strict=True)) + "}"


def parts_of(expression: Expression) -> Iterator[Expression]:
    """An expression and all that it is made of; what is in it twice comes twice."""
    yield expression
    for field in fields(expression):  # type: ignore[arg-type]
        value = getattr(expression, field.name)
        for each in value if type(value) is tuple else (value,):
            part = each[1] if type(each) is tuple and len(each) == 2 else each
            if isinstance(part, Expression):
                yield from parts_of(part)


@dataclass(frozen=True)
class Reading:
    """What a function does for an index.

    result      what it returns
    evaluated   whatever it evaluates on the way, in this order; the same objects as in result and conditions
    conditions  those that decide which way it goes, and how they came out
    """

    result: Expression
    evaluated: tuple[Expression, ...]
    conditions: tuple[tuple[Expression, bool], ...]


def read(function: Any, decide: Callable[[Expression], bool]) -> Reading:
    """What `function(self, index)` does. Raises UnreadableError, as `decide` may for what it cannot tell.

    Whatever is evaluated is part of what is given, or of a condition.
    """
    if sys.implementation.name != "cpython" or sys.version_info[0] != 3 or sys.version_info[1] not in _VERSIONS:
        raise UnreadableError(f"has bytecode of {sys.implementation.name} {sys.version.split()[0]}")
    if type(function) is not FunctionType:
        raise UnreadableError(f"is a {type(function).__name__}, not a plain function")
    code = function.__code__
    special = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS | inspect.CO_GENERATOR | inspect.CO_COROUTINE
    if code.co_argcount != 2 or code.co_kwonlyargcount or code.co_flags & (special | inspect.CO_ASYNC_GENERATOR):
        raise UnreadableError("takes or gives more than an index and a sample")
    if code.co_cellvars:
        raise UnreadableError("has functions inside")
    if getattr(code, "co_exceptiontable", b""):
        raise UnreadableError("handles exceptions")
    machine = _Machine(code, decide)
    reading = Reading(machine.run(), tuple(machine.evaluated), tuple(machine.conditions))
    wholes = [reading.result, *(condition for condition, _ in reading.conditions)]
    known = {id(part) for whole in wholes for part in parts_of(whole)}
    if loose := [each for each in reading.evaluated if id(each) not in known]:
        raise UnreadableError(f"evaluates what it does not give: {loose[-1]}")
    return reading


@lru_cache(maxsize=64)  # a loader asks at each epoch
def _instructions(code: CodeType) -> tuple[dis.Instruction, ...]:
    return tuple(dis.get_instructions(code))


class _Machine:
    """The stack and the local variables, holding what is known of each value."""

    def __init__(self, code: CodeType, decide: Callable[[Expression], bool]) -> None:
        self.locals: dict[str, Expression] = dict(zip(code.co_varnames, (Itself(), Index()), strict=False))
        self.stack: list[Expression] = []
        self.evaluated: list[Expression] = []
        self.conditions: list[tuple[Expression, bool]] = []
        self.options: tuple[str, ...] = ()  # names of the next call's last arguments
        self.constants = code.co_consts
        self._decide = decide
        self._code = _instructions(code)
        self._at = 0

    def run(self) -> Expression:
        """What is returned."""
        while self._at < len(self._code):
            instruction = self._code[self._at]
            self._at += 1
            step = _STEPS.get(instruction.opname)
            if step is None:
                raise UnreadableError(f"does more than can be read ({instruction.opname})")
            result = step(self, instruction)
            if result is not None:
                return result
        raise UnreadableError("does not return")  # not code of a compiler

    def pop(self, count: int) -> list[Expression]:
        if count == 0:
            return []
        taken = self.stack[-count:]
        del self.stack[-count:]
        return taken

    def push(self, value: Expression) -> None:
        self.evaluated.append(value)
        self.stack.append(value)

    def jump(self, instruction: dis.Instruction) -> None:
        """Goes on at an instruction further on."""
        for at in range(self._at, len(self._code)):
            if self._code[at].offset == instruction.argval:
                self._at = at
                return
        raise UnreadableError("has a loop")

    def holds(self, condition: Expression) -> bool:
        """How a condition comes out."""
        outcome = self._decide(condition)
        self.conditions.append((condition, outcome))
        return outcome

    def call(self, count: int) -> None:
        names, self.options = self.options, ()
        function, *arguments = self.pop(count + 1)
        plain = len(arguments) - len(names)
        self.push(Call(function, tuple(arguments[:plain]), tuple(zip(names, arguments[plain:], strict=True))))


# The instructions. Each gives None, or what is returned.

_None = Constant(None, type(None))


def _constant(value: Any) -> Expression:
    if type(value) is tuple:
        return Display(tuple, tuple(map(_constant, value)))
    return Constant(value, type(value))


def _value(expression: Expression) -> Any:
    """The value of a constant that the compiler made."""
    if type(expression) is Display:
        return tuple(map(_value, expression.items))
    if type(expression) is not Constant:
        raise UnreadableError("has bytecode that no compiler makes")
    return expression.value


def _nothing(machine: _Machine, instruction: dis.Instruction) -> None:
    pass


def _load_fast(machine: _Machine, instruction: dis.Instruction) -> None:
    names = instruction.argval
    for name in names if isinstance(names, tuple) else (names,):
        if name not in machine.locals:
            raise UnreadableError(f"uses {name} before it is assigned")
        machine.stack.append(machine.locals[name])


def _store_fast(machine: _Machine, instruction: dis.Instruction) -> None:
    names = instruction.argval
    for name in names if isinstance(names, tuple) else (names,):
        machine.locals[name] = machine.stack.pop()


def _store_fast_load_fast(machine: _Machine, instruction: dis.Instruction) -> None:
    stored, loaded = instruction.argval
    machine.locals[stored] = machine.stack.pop()
    machine.stack.append(machine.locals[loaded])


def _load_const(machine: _Machine, instruction: dis.Instruction) -> None:
    machine.stack.append(_constant(instruction.argval))


def _return_const(machine: _Machine, instruction: dis.Instruction) -> Expression:
    return _constant(instruction.argval)


def _load_attr(machine: _Machine, instruction: dis.Instruction) -> None:
    machine.push(Attribute(machine.stack.pop(), instruction.argval))


def _load_name(machine: _Machine, instruction: dis.Instruction) -> None:
    machine.push(Name(instruction.argval))


def _call(machine: _Machine, instruction: dis.Instruction) -> None:
    machine.call(instruction.argval)


def _call_with_names(machine: _Machine, instruction: dis.Instruction) -> None:
    machine.options = _value(machine.stack.pop())
    machine.call(instruction.argval)


def _names(machine: _Machine, instruction: dis.Instruction) -> None:
    machine.options = machine.constants[instruction.arg or 0]


def _binary_subscr(machine: _Machine, instruction: dis.Instruction) -> None:
    machine.push(Item(*machine.pop(2)))


def _binary_op(machine: _Machine, instruction: dis.Instruction) -> None:
    _binary(machine, instruction.argrepr)


def _binary(machine: _Machine, operator: str) -> None:
    if operator.endswith("="):
        raise UnreadableError("changes a value in place")
    machine.push(Binary(operator, *machine.pop(2)))


def _operator(operator: str) -> Callable[[_Machine, dis.Instruction], None]:
    return lambda machine, instruction: _binary(machine, operator)


def _compare(machine: _Machine, instruction: dis.Instruction) -> None:
    # 3.13 spells "bool(==)" where the outcome is all that is wanted.
    machine.push(Binary(str(instruction.argval), *machine.pop(2)))


def _negatable(positive: str, negative: str) -> Callable[[_Machine, dis.Instruction], None]:
    def step(machine: _Machine, instruction: dis.Instruction) -> None:
        machine.push(Binary(negative if instruction.arg else positive, *machine.pop(2)))

    return step


def _pop_jump(wanted: bool, none: bool = False) -> Callable[[_Machine, dis.Instruction], None]:
    """Jumps if a condition is as wanted; with `none`, if it is as wanted that a value is None."""

    def step(machine: _Machine, instruction: dis.Instruction) -> None:
        condition = machine.stack.pop()
        if none:
            condition = Binary("is", condition, _None)
        if machine.holds(condition) is wanted:
            machine.jump(instruction)

    return step


def _jump_or_pop(wanted: bool) -> Callable[[_Machine, dis.Instruction], None]:
    def step(machine: _Machine, instruction: dis.Instruction) -> None:
        if machine.holds(machine.stack[-1]) is wanted:
            machine.jump(instruction)
        else:
            machine.stack.pop()

    return step


def _jump(machine: _Machine, instruction: dis.Instruction) -> None:
    machine.jump(instruction)


def _pop_top(machine: _Machine, instruction: dis.Instruction) -> None:
    machine.stack.pop()


def _copy(machine: _Machine, instruction: dis.Instruction) -> None:
    machine.stack.append(machine.stack[-(instruction.arg or 1)])


def _build(kind: type) -> Callable[[_Machine, dis.Instruction], None]:
    def step(machine: _Machine, instruction: dis.Instruction) -> None:
        machine.push(Display(kind, tuple(machine.pop(instruction.argval))))

    return step


def _build_map(machine: _Machine, instruction: dis.Instruction) -> None:
    items = machine.pop(2 * instruction.argval)
    _mapping(machine, list(map(_value, items[::2])), items[1::2])


def _build_const_key_map(machine: _Machine, instruction: dis.Instruction) -> None:
    names = _value(machine.stack.pop())
    _mapping(machine, names, machine.pop(instruction.argval))


def _mapping(machine: _Machine, names: Any, items: list[Expression]) -> None:
    if not {type(name) for name in names} <= {str, int} or len(set(names)) < len(names):
        raise UnreadableError("makes a dict with names that are not constants, or the same")
    machine.push(Mapping(tuple(names), tuple(items)))


def _format_value(machine: _Machine, instruction: dis.Instruction) -> None:
    if instruction.arg:
        raise UnreadableError("formats a value")
    machine.push(Text((machine.stack.pop(),)))


def _build_string(machine: _Machine, instruction: dis.Instruction) -> None:
    machine.push(Text(tuple(machine.pop(instruction.argval))))


def _rot_two(machine: _Machine, instruction: dis.Instruction) -> None:
    machine.stack.insert(-1, machine.stack.pop())


def _rot_three(machine: _Machine, instruction: dis.Instruction) -> None:
    machine.stack.insert(-2, machine.stack.pop())


def _swap(machine: _Machine, instruction: dis.Instruction) -> None:
    stack, depth = machine.stack, instruction.argval
    stack[-1], stack[-depth] = stack[-depth], stack[-1]


def _return_value(machine: _Machine, instruction: dis.Instruction) -> Expression:
    return machine.stack.pop()


_BRANCHES: tuple[tuple[str, bool, bool], ...] = (
    ("TRUE", True, False),
    ("FALSE", False, False),
    ("NONE", True, True),
    ("NOT_NONE", False, True),
)

_STEPS: dict[str, Callable[[_Machine, dis.Instruction], Expression | None]] = {
    "BINARY_ADD": _operator("+"),
    "BINARY_MODULO": _operator("%"),
    "BINARY_OP": _binary_op,
    "BINARY_SUBSCR": _binary_subscr,
    "BINARY_SUBTRACT": _operator("-"),
    "BINARY_TRUE_DIVIDE": _operator("/"),
    "BUILD_CONST_KEY_MAP": _build_const_key_map,
    "BUILD_LIST": _build(list),
    "BUILD_MAP": _build_map,
    "BUILD_STRING": _build_string,
    "BUILD_TUPLE": _build(tuple),
    "CACHE": _nothing,
    "CALL": _call,
    "CALL_FUNCTION": _call,
    "CALL_FUNCTION_KW": _call_with_names,
    "CALL_KW": _call_with_names,
    "CALL_METHOD": _call,
    "COMPARE_OP": _compare,
    "CONTAINS_OP": _negatable("in", "not in"),
    "COPY": _copy,
    "COPY_FREE_VARS": _nothing,
    "DUP_TOP": _copy,
    "EXTENDED_ARG": _nothing,
    "FORMAT_SIMPLE": _format_value,
    "FORMAT_VALUE": _format_value,
    "IS_OP": _negatable("is", "is not"),
    "JUMP_FORWARD": _jump,
    "JUMP_IF_FALSE_OR_POP": _jump_or_pop(False),
    "JUMP_IF_TRUE_OR_POP": _jump_or_pop(True),
    "KW_NAMES": _names,
    "LOAD_ATTR": _load_attr,
    "LOAD_CONST": _load_const,
    "LOAD_DEREF": _load_name,
    "LOAD_FAST": _load_fast,
    "LOAD_FAST_LOAD_FAST": _load_fast,
    "LOAD_GLOBAL": _load_name,
    "LOAD_METHOD": _load_attr,
    "NOP": _nothing,
    "POP_TOP": _pop_top,
    "PRECALL": _nothing,
    "PUSH_NULL": _nothing,
    "RESUME": _nothing,
    "RETURN_CONST": _return_const,
    "RETURN_VALUE": _return_value,
    "ROT_THREE": _rot_three,
    "ROT_TWO": _rot_two,
    "STORE_FAST": _store_fast,
    "STORE_FAST_LOAD_FAST": _store_fast_load_fast,
    "STORE_FAST_STORE_FAST": _store_fast,
    "SWAP": _swap,
    "TO_BOOL": _nothing,
    **{
        f"{jump}_IF_{name}": _pop_jump(wanted, none)
        for jump in ("POP_JUMP", "POP_JUMP_FORWARD")
        for name, wanted, none in _BRANCHES
    },
}
