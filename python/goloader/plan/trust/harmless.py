"""What code may use that is called elsewhere than torch would call it, and at another time: none of it draws random
numbers, asks in which process it is, or sums up numbers in an order that depends on threads."""

from __future__ import annotations

import dis
import inspect
import sys
from collections.abc import Collection, Iterator
from types import CodeType
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import default_collate
from torch.utils.data._utils.collate import default_convert

from ..bytecode import UnreadableError

# Attributes and methods by their names, whatever they are of: samples, and what is listed below, have no others.
NAMES = {
    "BoolTensor", "DoubleTensor", "FloatTensor", "IntTensor", "LongTensor", "Tensor", "_is_tracing", "append", "arange",
    "argsort", "array", "as_tensor", "asarray", "astype", "bool", "cat", "ceil", "clone", "concatenate", "contiguous",
    "contiguous_format", "copy", "cpu", "data", "dataloader", "default_collate", "detach", "device", "dim",
    "double", "dtype", "empty", "eq", "expand", "expand_dims", "extend", "flatten", "float", "float16", "float32",
    "float64", "from_numpy", "full", "full_like", "functional", "ge", "get", "gt", "half", "index", "insert", "int",
    "int16", "int32", "int64", "int8", "item", "items", "keys", "le", "long", "lt", "max", "memory_format", "min",
    "narrow", "ndim", "ne", "new", "new_full", "new_ones", "new_tensor", "new_zeros", "nn", "numel", "numpy", "ones",
    "ones_like", "pad", "pad_sequence", "permute", "repeat", "reshape", "rnn", "shape", "size", "sort", "split",
    "squeeze", "stack", "t", "tensor", "to", "tolist", "transpose", "type", "uint8", "unbind", "unsqueeze",
    "update", "utils", "values", "view", "zeros", "zeros_like",
}  # fmt: skip
# Methods that change what they are of, and nothing else.
IN_PLACE = {"copy_", "fill_", "zero_"}
LIBRARIES = ("torch", "numpy", "math", "collections", "typing")
FUNCTIONS = (
    all, any, bool, dict, enumerate, filter, float, int, isinstance, len, list, map, max, min, range, reversed, set,
    sorted, str, sum, tuple, type, zip, default_collate, default_convert, pad_sequence, torch.Tensor, np.ndarray,
    torch.stack, torch.cat, torch.tensor, torch.as_tensor, torch.from_numpy, torch.zeros, torch.ones, torch.full,
    torch.FloatTensor, torch.LongTensor, np.array, np.stack, np.asarray, np.concatenate,
)  # fmt: skip
PLAIN = (type(None), bool, int, float, str, torch.dtype, torch.memory_format)
# Instructions that keep something, or that run code which is not looked at.
REACHING = ("ASYNC", "DELETE_ATTR", "DELETE_GLOBAL", "IMPORT", "STORE_ATTR", "STORE_GLOBAL", "YIELD")


# What gives something of its own, whatever it is given; builtins that do; and methods that may give what they are of.
MAKERS = {
    "array", "astype", "cat", "clone", "concatenate", "convert_tokens_to_ids", "copy", "default_collate", "empty",
    "findall", "full", "full_like", "item", "new_full", "new_ones", "new_tensor", "new_zeros", "numel",
    "ones", "ones_like", "pad_sequence", "size", "split", "stack", "tensor", "zeros", "zeros_like",
}  # fmt: skip
BUILTINS = {"dict", "float", "int", "len", "list"}
SAME = {
    "contiguous", "double", "flatten", "float", "half", "int", "long", "numpy", "permute", "reshape", "squeeze", "t",
    "to", "transpose", "unsqueeze", "view",
}  # fmt: skip
_COMPREHENSIONS = {"<dictcomp>", "<listcomp>", "<setcomp>"}  # functions of their own before Python 3.12
_CALLS = {"CALL", "CALL_FUNCTION", "CALL_METHOD"}
_CALLS_BY_NAME = {"CALL_FUNCTION_KW", "CALL_KW"}
# What comes between what a call takes; PUSH_NULL comes behind what is called since Python 3.13.
_BETWEEN = {"CACHE", "EXTENDED_ARG", "KW_NAMES", "NOP", "PRECALL", "PUSH_NULL", "RESUME"}
# Methods that change what they are of.
CHANGERS = {
    "add", "append", "appendleft", "clear", "difference_update", "discard", "extend", "insert", "pop", "popitem",
    "remove", "resize", "reverse", "setdefault", "shuffle", "sort", "update",
}  # fmt: skip
# How many values an instruction that changes something takes above it.
_CHANGES = {"DELETE_SUBSCR": 1, "STORE_SUBSCR": 1, "STORE_SLICE": 2}


class _Step(NamedTuple):
    """An instruction, or a part of one that does two things.

    name    its argument
    effect  how many values more there are on the stack
    """

    offset: int
    kind: str
    name: Any
    effect: int
    is_target: bool


def _steps(code: CodeType) -> list[_Step]:
    steps = []
    for each in dis.get_instructions(code):
        if type(each.argval) is tuple and "_FAST_" in each.opname:  # two at once
            kinds = [kind for kind in each.opname.split("_") if kind in ("LOAD", "STORE")]
            for n, (kind, name) in enumerate(zip(kinds, each.argval, strict=True)):
                target = each.is_jump_target and n == 0
                steps.append(_Step(each.offset, f"{kind}_FAST", name, 1 if kind == "LOAD" else -1, target))
            continue
        kind = "BINARY_SUBSCR" if each.argrepr == "[]" else each.opname
        if kind.startswith("INPLACE_") or (kind == "BINARY_OP" and each.argrepr.endswith("=")):
            kind = "INPLACE"
        effect = dis.stack_effect(each.opcode, each.arg, jump=False)
        steps.append(_Step(each.offset, kind, each.argval, effect, each.is_jump_target))
    return steps


def _parts(steps: list[_Step]) -> list[list[_Step]]:
    """Steps with one step in place of each comprehension, and those of each comprehension: since Python 3.12 it is no
    function of its own, and puts variables back that it has used by the same names."""
    whole: list[_Step] = []
    parts, used, at = [whole], set(), 0
    put_back: set[int] = set()
    while at < len(steps):
        step = steps[at]
        if step.kind == "RERAISE":  # behind an error in a comprehension
            while whole and whole[-1].kind == "STORE_FAST" and whole[-1].name in used:
                whole.pop()
        if step.kind != "LOAD_FAST_AND_CLEAR":
            whole += [] if at in put_back else [step]
            at += 1
            continue
        loop = _place(steps, at, kind="FOR_ITER")
        names = [each.name for each in steps[at:loop] if each.kind == "LOAD_FAST_AND_CLEAR"]
        made = next(each.kind for each in steps[at:loop] if each.kind.startswith("BUILD_"))
        end = _place(steps, loop, offset=steps[loop].name)
        parts += _parts(steps[loop:end])
        whole.append(step._replace(kind=made, name=0, effect=0))
        for kind in ("END_FOR", "POP_ITER", *(("POP_TOP",) if sys.version_info[:2] == (3, 13) else ())):
            end += steps[end].kind == kind
        if steps[end].kind == "JUMP_FORWARD":  # over what follows an error
            end = _place(steps, end, offset=steps[end].name)
        end += steps[end].kind == "SWAP"
        behind = steps[: end + len(names) + 1]  # the last of these stores the list, perhaps
        put_back |= {_place(behind, end, kind="STORE_FAST", name=name) for name in names}
        used.update(names)
        at = end
    return parts


def _place(steps: list[_Step], begin: int, **wanted: Any) -> int:
    """Where a step like that is, from a place on."""
    for at in range(begin, len(steps)):
        if all(getattr(steps[at], name) == value for name, value in wanted.items()):
            return at
    raise UnreadableError("has a comprehension that a compiler would not make")


class Changes:
    """Whether code may change in place what it has not made itself: variables that are always set to what it makes are
    its own.

    keeping  there are lists and dicts that stay from call to call: of these methods count, and names as keys
    makers   names of what gives something of its own when it is called, beside MAKERS
    """

    def __init__(self, code: CodeType, *, keeping: bool = False, makers: Collection[str] = ()) -> None:
        self._keeping, self._makers = keeping, {*MAKERS, *makers}
        several = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
        given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + several]
        # Of these options one says what is written to, and the other may say that nothing is made.
        named = {each for constant in code.co_consts if type(constant) is tuple for each in constant}
        self.found = (
            bool(named & {"copy", "out"})
            or ("sort" in code.co_names and "key" not in named)
            or not all(self._keeps_all(part, given) for part in _parts(_steps(code)))
        )

    def _keeps_all(self, steps: list[_Step], given: tuple[str, ...]) -> bool:
        self._steps = [(each.kind, each.name, each.effect) for each in steps]
        self._targets = {at for at, each in enumerate(steps) if each.is_target}
        stores = [(at, name) for at, (kind, name, _) in enumerate(self._steps) if kind == "STORE_FAST"]
        self._own = {name for _, name in stores} - {*given}
        before: set[str] = set()
        while before != self._own:
            before = {*self._own}
            self._own -= {name for at, name in stores if not self._is_own(at - 1)}
        return all(map(self._keeps, range(len(steps))))

    def _keeps(self, at: int) -> bool:
        kind, name, _ = self._steps[at]
        end = at - 1
        if kind == "INPLACE":
            return self._is_own(self._begin(end) - 1)
        if self._keeping and kind in ("LOAD_ATTR", "LOAD_METHOD") and name in CHANGERS:
            return self._is_own(end)
        if kind in ("LOAD_ATTR", "LOAD_METHOD") and name in IN_PLACE:
            return self._is_own(end)
        if kind not in _CHANGES:
            return True
        key, name, _ = self._steps[self._last(end)]
        for _ in range(_CHANGES[kind]):
            end = self._begin(end) - 1
        if key == "LOAD_CONST" and type(name) is str and not self._keeping:  # nothing but a dict has such keys
            return True
        return self._is_own(end)

    def _swaps(self, at: int) -> bool:
        kind, name, _ = self._steps[at]
        return kind == "ROT_TWO" or (kind == "SWAP" and name == 2)

    def _last(self, at: int) -> int:
        while at > 0 and self._steps[at][0] in _BETWEEN:
            at -= 1
        return at

    def _begin(self, at: int) -> int:
        """Where what ends there begins; -1 where that is not known."""
        height = 0
        while at >= 0:
            kind, _, effect = self._steps[at]
            height += effect
            if "JUMP" in kind or kind == "FOR_ITER" or (at in self._targets and height != 1):
                return -1
            if height == 1:
                return at
            at -= 1
        return -1

    def _is_set_to_own(self, at: int, name: str) -> bool:
        """Whether a variable was last set to what is the code's own, where one way alone leads from there to here."""
        for before in range(at, 0, -1):
            if before in self._targets:
                return False
            if self._steps[before][:2] == ("STORE_FAST", name):
                return self._is_own(before - 1)
        return False

    def _is_own(self, at: int) -> bool:
        """Whether it is the code's own what ends there."""
        last = self._last(at)
        if last < 0 or self._targets.intersection(range(last + 1, at + 2)):  # one of two ways comes there
            return False
        at = last
        kind, name, _ = self._steps[at]
        if self._swaps(at):  # one, other = made, made too
            return self._is_own(self._begin(at - 1) - 1)
        if kind == "STORE_FAST" and self._swaps(at - 1):
            return self._is_own(at - 2)
        if kind == "STORE_FAST":  # the same, as compilers write it, or parts of something
            begin = self._begin(at - 1)
            unpacks = any(kind.startswith("UNPACK") for kind, _, _ in self._steps[max(0, begin) : at])
            return not unpacks and self._is_own(begin - 1)
        if kind.startswith("LOAD_FAST"):
            return name in self._own or self._is_set_to_own(at, name)
        if kind == "INPLACE":
            return self._is_own(self._begin(at - 1) - 1)
        if kind in _CALLS or kind in _CALLS_BY_NAME:
            end = self._last(at - 1)
            if kind in _CALLS_BY_NAME:
                end = self._last(self._begin(end) - 1)
            for _ in range(name):
                end = self._last(self._begin(end) - 1)
            if end < 0:
                return False
            kind, name, _ = self._steps[end]
            if kind == "GET_ITER":  # Python 3.11 has what a comprehension goes through in the place of an object
                end = self._last(self._begin(end) - 1)
                kind, name, _ = self._steps[end]
            if kind == "MAKE_FUNCTION":
                return any(
                    type(code) is CodeType and code.co_name in _COMPREHENSIONS
                    for _, code, _ in self._steps[end - 2 : end]
                )
            if kind in ("LOAD_GLOBAL", "LOAD_NAME") and name in BUILTINS:
                return True
            found = kind in ("LOAD_ATTR", "LOAD_GLOBAL", "LOAD_METHOD", "LOAD_NAME") and name in self._makers
            return found or (kind in ("LOAD_ATTR", "LOAD_METHOD") and name in SAME and self._is_own(end - 1))
        made = "LOAD_CONST", "LOAD_SMALL_INT", "BUILD_LIST", "BUILD_MAP", "COMPARE_OP"
        return kind in made or (kind.startswith("BINARY_") and kind not in ("BINARY_SLICE", "BINARY_SUBSCR"))


def steps_of(code: CodeType) -> list[tuple[str, Any]]:
    """The kinds of its instructions, and their arguments."""
    return [(each.kind, each.name) for each in _steps(code)]


def codes_of(code: CodeType) -> Iterator[CodeType]:
    """Of a function, and of those within it."""
    yield code
    for constant in code.co_consts:
        if type(constant) is CodeType:
            yield from codes_of(constant)
