"""What the user's code may reach beside the attributes of objects: by globals, closures, defaults and classes."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

from ...plan.datasets.own import is_of_library

__all__ = ["of_class", "of_function", "variables_set_by"]


class _Names(NamedTuple):
    """Of variables outside of some code, and of the functions within it: globals that it uses, and what it sets."""

    used: frozenset[str]
    set: frozenset[str]


@lru_cache(maxsize=4096)
def _names(code: CodeType) -> _Names:
    used: set[str] = set()
    changed: set[str] = set()
    for each in dis.get_instructions(code):
        if each.opname == "LOAD_GLOBAL":
            used.add(each.argval)
        elif each.opname in ("STORE_GLOBAL", "DELETE_GLOBAL") or (
            each.opname in ("STORE_DEREF", "DELETE_DEREF") and each.argval in code.co_freevars
        ):
            changed.add(each.argval)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            used |= _names(inner).used
            changed |= _names(inner).set - set(code.co_cellvars)
    return _Names(frozenset(used), frozenset(changed))


def variables_set_by(function: FunctionType) -> frozenset[str]:
    """The names of variables that a function of the user's sets outside of itself."""
    return frozenset() if is_of_library(function.__globals__.get("__name__")) else _names(function.__code__).set


def of_function(function: FunctionType) -> Iterator[Any]:
    """What a function uses besides its arguments; nothing for a library's."""
    if is_of_library(function.__globals__.get("__name__")):
        return
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not set yet
            continue
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    for name in _names(function.__code__).used:
        value = function.__globals__.get(name)
        if type(value) is not ModuleType:
            yield value
        elif not is_of_library(value.__name__):
            yield from (vars(value)[each] for each in function.__code__.co_names if each in vars(value))


def of_class(kind: type) -> Iterator[Any]:
    """What classes of the user's have: their functions, and whatever else all objects share."""
    for base in kind.__mro__:
        if is_of_library(base.__module__):
            continue
        for name, value in vars(base).items():
            if isinstance(value, (staticmethod, classmethod)):
                yield value.__func__
            elif isinstance(value, property):
                yield value.fget
            elif not name.startswith("__") or type(value) is FunctionType:
                yield value
