"""Functions of the user's that nobody reads through, and that are called as they are, one sample after the other.

    def numericalize(self, text):
        return [self.stoi.get(token, self.stoi["<UNK>"]) for token in self.tokenize(text)]

torch calls such a function in a worker process, in the middle of a sample. Here it is called in the process of the
loader, before the batch is made. That must make no difference: its code may use what plan.harmless lists, and what
objects of the user's have, which is nothing but texts and numbers in lists and dicts; and it changes nothing that it
has not made itself.

What code looks up by a name is looked for in all objects of the user's that it may come to: whatever has it counts.
"""

from __future__ import annotations

import builtins
import collections
import dis
import inspect
import math
import re
import string
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from operator import is_, itemgetter
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Generic

import numpy as np
import torch

from ...bytecode import UnreadableError
from ...trust.harmless import (
    BUILTINS,
    FUNCTIONS,
    LIBRARIES,
    MAKERS,
    NAMES,
    PLAIN,
    REACHING,
    SAME,
    Changes,
    codes_of,
    steps_of,
)
from ...trust.look import derives, has, in_class, is_a, members, own, parents
from ...trust.originals import module_of
from .code import function_in, getitem_of, is_of_library, is_plain, state_of, variable
from .sources import FLOATS, INTS, TEXTS, Sources

# Methods of texts and of regular expressions, which change nothing.
TEXT_NAMES = {
    "capitalize", "casefold", "count", "decode", "encode", "endswith", "find", "findall", "fullmatch", "group",
    "groups", "isalnum", "isalpha", "isdigit", "islower", "isspace", "isupper", "join", "lower", "lstrip", "match",
    "partition", "removeprefix", "removesuffix", "replace", "rfind", "rpartition", "rsplit", "rstrip", "search",
    "splitlines", "startswith", "strip", "sub", "swapcase", "title", "unescape", "upper", "zfill",
}  # fmt: skip
_NAMES = {
    *NAMES, *TEXT_NAMES, "add", "arange", "ascii_letters", "ascii_lowercase", "clear", "digits", "discard", "pattern",
    "pop", "punctuation", "remove", "reverse", "setdefault",
}  # fmt: skip
_LIBRARIES = {*LIBRARIES, "html", "re", "string", "unicodedata"}
_FUNCTIONS = (
    *(each for each in FUNCTIONS if each is not type),
    abs, bytes, chr, divmod, frozenset, ord, round, slice, torch.arange, re.sub, re.split, re.findall, re.match,
    re.search, re.fullmatch,
)  # fmt: skip
_PLAIN = {*PLAIN, bytes, re.Pattern}
# What has attributes that code may mean by a name.
_KNOWN = (
    torch, np, torch.Tensor, np.ndarray, math, re, string, collections, str, bytes, list, dict, set, tuple, int, float,
    re.Pattern,
)  # fmt: skip
# Of methods that Python calls without their being named, those that it does not call for an object that is there.
_BEFORE = {"__init__", "__init_subclass__", "__new__", "__class_getitem__", "__set_name__"}
_REFUSED = (*REACHING, "BEFORE_WITH", "LOAD_BUILD_CLASS", "LOAD_SPECIAL", "LOAD_SUPER",
            "SETUP_WITH", "BINARY_MATRIX", "BINARY_POWER", "INPLACE_MATRIX", "INPLACE_POWER")  # fmt: skip
# Sums of matrices depend on threads, and powers on how many numbers are reckoned at once.
_REFUSED_SIGNS = {"@", "@=", "**", "**="}

# Of lists and dicts that code looks into: their items, all in all. They are looked through for each batch.
_ITEMS_MAX = 200_000
_FIXED = {type(None), bool, bytes, *TEXTS, *INTS, *FLOATS}
# Objects that are looked at.
_THINGS_MAX = 200


class Pure:
    """What a function of the user's can come to. Raises UnreadableError where that is more than is listed.

    receiver  the object whose method it is, if it is one
    given     other objects that it is called with, where they are no texts and numbers
    """

    # Attributes and methods by their names, modules, and what has attributes that code may mean by a name.
    names, libraries = frozenset(_NAMES), frozenset(_LIBRARIES)
    known: tuple[Any, ...] = _KNOWN
    # What code calls by these names gives something of its own.
    makers: frozenset[str] = frozenset()

    def __init__(self, function: FunctionType, receiver: Any = None, given: Sequence[Any] = ()) -> None:
        self._functions: dict[tuple[FunctionType, bool], tuple[Any, ...]] = {}
        self._meant: list[tuple[FunctionType, str, Any]] = []
        self._owners: dict[int, Any] = {}
        self._names: set[str] = set()
        self._of_receivers: set[str] = set()  # names of attributes of the object whose method asks for them
        self._found: dict[tuple[int, str], tuple[Any, Any]] = {}
        self._held: dict[int, Any] = {}
        if receiver is not None:
            self._owns(receiver)
        self._follow(function, receiver is not None)
        for each in given:
            self._look(each, "an argument")
        self._look_up_all()
        held = self._held
        self._state = Sources(lambda: [*held.values()])

    def unchanged(self) -> bool:
        try:
            return (
                all(variable(function, name) is value for function, name, value in self._meant)
                and all(map(is_, chain(*map(state_of, self.functions)), chain(*self._functions.values())))
                and all(_of(owner, name) is found for (_, name), (owner, found) in self._found.items())
                and self._state.stands()
            )
        except UnreadableError:
            return False

    @property
    def functions(self) -> Iterator[FunctionType]:
        return (function for function, _ in self._functions)

    def _follow(self, function: FunctionType, is_method: bool = False) -> None:
        """What a function's code uses."""
        if (function, is_method) in self._functions:
            return
        if is_of_library(function.__globals__.get("__name__")) or len(self._functions) > _THINGS_MAX:
            raise UnreadableError(f"calls {function.__qualname__}")
        self._functions[function, is_method] = state_of(function)
        for each in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self._look(each, function.__qualname__)
        receiver = _receiver(function.__code__) if is_method else ""
        for code in codes_of(function.__code__):
            if code.co_name != "<genexpr>" and code.co_flags & inspect.CO_GENERATOR:
                raise UnreadableError(f"makes a generator by {function.__qualname__}")
            if Changes(code, keeping=True, makers=self.makers).found:
                raise UnreadableError(f"may change something by {function.__qualname__}")
            before = None
            for each in dis.get_instructions(code):
                if each.opname in ("LOAD_ATTR", "LOAD_METHOD") and _loads(before, receiver):
                    self._of_receivers.add(each.argval)
                else:
                    self._read(function, code, each)
                before = each
        if is_method and not _only_looked_into(function.__code__):
            self._look(self._receiver_of(function), function.__qualname__)

    def _read(self, function: FunctionType, code: CodeType, each: dis.Instruction) -> None:
        kind, name = each.opname, each.argval
        if kind in ("LOAD_GLOBAL", "LOAD_NAME") or (kind == "LOAD_DEREF" and name in function.__code__.co_freevars):
            value = variable(function, name)
            self._check_maker(value, name)
            self._meant.append((function, name, value))
            self._look(value, name)
        elif kind in ("LOAD_ATTR", "LOAD_METHOD"):
            self._names.add(name)
        elif (
            (kind == "STORE_DEREF" and name in function.__code__.co_freevars)
            or (kind == "BINARY_OP" and each.argrepr in _REFUSED_SIGNS)
            or (kind.startswith(_REFUSED) and not (kind == "YIELD_VALUE" and code.co_name == "<genexpr>"))
        ):
            raise UnreadableError(f"does more than is listed ({kind}) in {function.__qualname__}")

    def _receiver_of(self, function: FunctionType) -> Any:
        """An object that has a function as its method, and hands itself on."""
        for owner in self._owners.values():
            for kind in parents(type(owner)):
                if any(function_in(each) is function for each in members(kind).values()):
                    return owner
        raise UnreadableError(f"calls {function.__qualname__}")

    def _look(self, value: Any, name: str) -> None:
        """A value that code has by a name, and may do anything with that is listed."""
        kind = type(value)
        if kind in _PLAIN or any(value is each for each in _FUNCTIONS):
            return
        if kind is ModuleType and value.__name__.partition(".")[0] in self.libraries:
            return
        if is_a(value, type):
            error = derives(value, Exception) and any(value is each for each in vars(builtins).values())
            number = derives(value, np.generic) and module_of(value) == "numpy"
            if error or number:
                return
        elif kind is FunctionType and name not in (*MAKERS, *BUILTINS):
            self._follow(value)
            return
        elif kind is MethodType and type(value.__func__) is FunctionType:
            self._look(value.__self__, name)
            self._follow(value.__func__, is_method=True)
            return
        elif self._is_data(value):
            self._hold(value, name)
            return
        elif is_plain(value) and all(map(_is_users, parents(kind))):
            self._owns(value)
            # Anything may be done with it, by methods that are not named.
            for base in parents(kind):
                for called, found in members(base).items():
                    if called.startswith("__") and called not in _BEFORE and type(found) is FunctionType:
                        self._follow(found, is_method=True)
            return
        raise UnreadableError(f"uses {name}")

    def _owns(self, value: Any) -> None:
        if not is_plain(value) or len(self._owners) > _THINGS_MAX:
            raise UnreadableError(f"uses a {type(value).__qualname__}")
        self._owners[id(value)] = value

    def _hold(self, value: Any, name: str) -> None:
        """Data that stays from call to call."""
        if id(value) not in self._held:
            self._held[id(value)] = value
            self._check_data(value, name)

    def _is_data(self, value: Any) -> bool:
        """Whether it is looked into, and nothing else."""
        return type(value) in _WHOLES

    def _check_data(self, value: Any, name: str) -> None:
        if _count(value, _ITEMS_MAX) < 0:
            raise UnreadableError(f"uses {name}, which holds more than texts and numbers")

    def _look_up_all(self) -> None:
        """What all objects have by the names that code uses."""
        asked: set[tuple[int, str]] = set()
        while more := {(owner, name) for owner in self._owners for name in self._names | self._of_receivers} - asked:
            asked |= more
            for owner, name in sorted(more, key=itemgetter(1)):
                self._look_up(self._owners[owner], name)
        had = {name for _, name in self._found}
        for name in sorted(self._names - self.names):  # the same one is told each time
            if name not in had or any(has(each, name) for each in self.known):
                raise UnreadableError(f"uses .{name}")
        if lacking := self._of_receivers - had:
            raise UnreadableError(f"uses .{min(lacking)}")

    def _check_maker(self, value: Any, name: str) -> None:
        """Raises UnreadableError for another thing that goes by the name of what gives something of its own."""
        if name in self.makers and not self._is_maker(value):
            raise UnreadableError(f"uses {name}, a name of several things")

    def _is_maker(self, value: Any) -> bool:
        return False

    def _look_up(self, owner: Any, name: str) -> None:
        found = _of(owner, name)
        if found is _NOTHING:
            return
        self._check_maker(found, name)
        self._found[id(owner), name] = owner, found
        hides = name in (*MAKERS, *BUILTINS, *SAME)
        if hides and type(found) not in _PLAIN and not self._is_data(found):  # what it gives would pass for new
            raise UnreadableError(f"uses .{name}")
        if name in own(owner):
            if in_class(type(in_class(type(owner), name)), "__set__") is not None:
                raise UnreadableError(f"uses .{name}, which is computed")
            self._look(found, name)
        elif type(function_in(found)) is FunctionType:
            self._follow(function_in(found), is_method=type(found) is not staticmethod)
        elif in_class(type(found), "__get__") is not None:
            raise UnreadableError(f"uses .{name}, which is computed")
        else:
            self._look(found, name)


_WHOLES = (list, tuple, dict, OrderedDict, set, frozenset)
_NOTHING = object()


def _of(owner: Any, name: str) -> Any:
    """What an object, or its class, has by a name."""
    if name in own(owner):
        return own(owner)[name]
    found = in_class(type(owner), name)
    return _NOTHING if found is None else found


def _is_users(kind: type) -> bool:
    return kind is object or kind is Generic or not is_of_library(module_of(kind))


def _count(value: Any, most: int) -> int:
    """How many texts and numbers there are in a list or dict, and in those in it; -1 for more, or for other things."""
    kinds = set(map(type, value)) | (set(map(type, value.values())) if isinstance(value, dict) else set())
    count = len(value)
    if not kinds <= {*_FIXED, *_WHOLES}:
        return -1
    if kinds & {*_WHOLES}:
        for each in chain(value, value.values() if isinstance(value, dict) else ()):
            if type(each) in _WHOLES:
                inner = _count(each, most - count)
                if inner < 0:
                    return -1
                count += inner
    return count if count <= most else -1


def _receiver(code: CodeType) -> str:
    """What a method calls its object, by which it means nothing else; "" if there is no such name."""
    name = code.co_varnames[0] if code.co_argcount else ""
    stores = any(
        each.opname.startswith(("STORE_", "DELETE_")) and name in _names_of(each)
        for inner in codes_of(code)
        for each in dis.get_instructions(inner)
    )
    return "" if stores else name


def _loads(step: dis.Instruction | None, name: str) -> bool:
    """Whether an instruction loads a variable of a function, as the last one if it loads several."""
    if step is None or not name or not ("LOAD_FAST" in step.opname or step.opname == "LOAD_DEREF"):
        return False
    return bool(_names_of(step)[-1] == name)


def _names_of(step: dis.Instruction) -> tuple[Any, ...]:
    return step.argval if type(step.argval) is tuple else (step.argval,)


def _only_looked_into(code: CodeType) -> bool:
    """Whether all that a method does with its object is to take attributes of it."""
    name = code.co_varnames[0] if code.co_argcount else ""
    for each in codes_of(code):
        steps = [step for step in dis.get_instructions(each) if step.opname not in ("CACHE", "EXTENDED_ARG", "NOP")]
        for step, follow in pairwise(steps):
            names = _names_of(step)
            loads = "LOAD_FAST" in step.opname or step.opname in ("LOAD_DEREF", "LOAD_CLASSDEREF")
            if not loads or name not in names:
                continue
            if names[-1] != name or name in names[:-1] or follow.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
                return False
    return True


def looks_up_index(dataset: Any) -> bool:
    """Whether all that `__getitem__` does with the index is to take items of lists and arrays, for which any integer
    will do."""
    code = getitem_of(dataset).__code__
    steps, data = steps_of(code), (list, tuple, np.ndarray, torch.Tensor)
    if code.co_argcount != 2 or code.co_varnames[1] in code.co_cellvars:
        return False
    for at, (_, name) in enumerate(steps):
        if name != code.co_varnames[1]:
            continue
        if at < 2:
            return False
        (loads, whose), (_, attribute), _, (takes, _) = steps[at - 2 : at + 2]
        if not loads.startswith("LOAD_") or whose != _receiver(code) or takes != "BINARY_SUBSCR":
            return False
        if type(own(dataset).get(attribute)) not in data:
            return False
    return True
