"""What is found out about a function, and what is asked about what it calls."""

from __future__ import annotations

from dataclasses import dataclass
from types import FunctionType
from typing import Any

from .expressions import Expression


@dataclass(frozen=True)
class Reading:
    """What a function does for an index.

    result      what it returns
    evaluated   whatever it evaluates on the way, in this order; the same objects as in result, loose and conditions.
                With `draws` there are Branches among them, and loose are functions that were read through, and what
                loops go over
    loose       what it evaluates besides, and never uses
    again       of calls, what is gone through, unpacked or given to others more than once
    conditions  those that decide which way it goes, and how they came out
    extents     what it loops over, and how much that is: a length, or the names in a dict
    places      where each expression was evaluated first: "file.py:12"
    imports     names of modules that it imports
    asserted    conditions that `decide` cannot tell, and how they come out unless it raises an error, as those of an
                assert: whoever goes by what it returns has to see to them
    """

    result: Expression
    evaluated: tuple[Any, ...]
    loose: tuple[Expression, ...]
    again: tuple[Expression, ...]
    conditions: tuple[tuple[Expression, bool], ...]
    extents: tuple[tuple[Expression, Any], ...]
    places: dict[Expression, str]
    imports: tuple[str, ...] = ()
    asserted: tuple[tuple[Expression, bool], ...] = ()


@dataclass(frozen=True)
class Choice:
    """What a call draws of a list of things that code calls, or looks into.

    items    of the list; () for the places themselves
    kind     list, if it gives a list; Several for an array
    count    how many are drawn; None for one, by itself
    weights  of the items, each with those before it; () if all are drawn alike
    orders   all are drawn, each once
    of       the list that is put into this order
    """

    items: tuple[Expression, ...]
    kind: type = list
    count: int | None = None
    weights: tuple[float, ...] = ()
    orders: bool = False
    of: Expression | None = None


class Shuffled:
    """The kind of an array that is put into another order."""


class Several:
    """The kind of a Display that is an array of objects: it can be gone through, and little else."""


@dataclass(frozen=True)
class Callee:
    """A function whose code is to be read for an expression, what it is called, and what it is called with.

    defaults  what its last arguments are that are not given, of a function that was made within
    """

    function: FunctionType
    called: Expression
    arguments: tuple[Expression, ...]
    options: tuple[tuple[str, Expression], ...] = ()
    defaults: tuple[Expression, ...] = ()


def extent_of(value: Any) -> Any:
    """How much a loop goes over; None for what is no list, tuple or dict."""
    if type(value) is dict:
        return tuple(value)
    return len(value) if type(value) in (list, tuple) else None
