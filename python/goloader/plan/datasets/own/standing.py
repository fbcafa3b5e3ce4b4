"""What the code of a user's class was found to mean, for as long as all stands that this was found by.

It is asked before each batch, and to follow the code anew takes 50 us. Where that goes by names, and by attributes of
the dataset alone, it is remembered what these were: while they are the very same objects, the same would be found.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable
from itertools import chain, repeat
from operator import is_
from types import FunctionType, ModuleType
from typing import Any

from ...bytecode import (
    Attribute,
    Batch,
    Binary,
    Call,
    Constant,
    Expression,
    Index,
    Item,
    Itself,
    Name,
    Text,
    extent_of,
    own_parts,
    parts_of,
)
from ...trust.look import in_class, parents

_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: others cannot be changed
_CONSTANTS = (type(None), bool, int, float, str, bytes)
_ABSENT = object()
# Between two collections, so that what one has lost is not what the next one has got.
_GAP = (object(),)


class Classes:
    """A class and those that it inherits from, and what is in them."""

    def __init__(self, kind: type) -> None:
        self._kind, self._bases = kind, parents(kind)
        classes = [each for each in self._bases if each.__flags__ & _HEAP_TYPE]
        self._views = [view for each in classes for view in (vars(each).keys(), vars(each).values(), _GAP)]
        self._held = list(chain.from_iterable(self._views))

    def hold(self, kind: type) -> bool:
        """True if `kind` is that class, and all is in it that was. Raises RuntimeError where another thread changes
        it."""
        return (
            kind is self._kind
            and parents(kind) is self._bases
            and all(map(is_, chain.from_iterable(self._views), self._held))
        )


class Standing:
    """A dataset, and what expressions of its code stand for.

    values  of each of `expressions`, by its place among them

    Raises LookupError where they go by more than names and attributes of the dataset.
    """

    def __init__(
        self,
        dataset: Any,
        conditions: Iterable[Expression],
        expressions: Iterable[Expression],
        values: Iterable[Any],
        value: Callable[[Expression], Any],
        extents: Iterable[tuple[Expression, Any]],
    ) -> None:
        """`conditions` are what the code branches on; `values` what the expressions stand for now; `value` says it of
        any expression; `extents` are what the code loops over, and how much that is."""
        self.values = list(values)
        self._value = value
        # Lists and dicts, keys of theirs, and what is there.
        self._items: list[tuple[Any, Any, Any]] = []
        self._extents = [(value(whole), extent) for whole, extent in extents]
        self._dataset, self._kind = dataset, type(dataset)
        self._classes = Classes(self._kind)
        self._own: dict[str, Any] = vars(dataset)
        self._names: dict[str, None] = {"__getitems__": None}
        # Dicts of modules and functions, names in them, and what is there.
        self._variables: list[tuple[dict[str, Any], str, Any]] = []
        for expression in expressions:
            for part in parts_of(expression):
                self._note(part)
        for condition in conditions:
            self._note_condition(condition)
        self._attributes = list(map(self._own.get, self._names, repeat(_ABSENT)))
        del self._value  # a method of what has this

    def holds(self, dataset: Any) -> bool:
        """True if all is as it was. Nothing that is looked at is called, or compared by rules of its own."""
        try:
            return (
                dataset is self._dataset
                and self._classes.hold(type(dataset))
                and vars(dataset) is self._own
                and all(map(is_, map(self._own.get, self._names, repeat(_ABSENT)), self._attributes))
                and all(scope.get(name, _ABSENT) is value for scope, name, value in self._variables)
                and all(whole[key] is value for whole, key, value in self._items)
                and all(extent_of(whole) == extent for whole, extent in self._extents)
            )
        except (RuntimeError, LookupError):  # another thread changes a dict; an item is gone
            return False

    def _note(self, part: Expression) -> None:
        match part:
            case Constant() | Itself() | Index() | Batch():
                return
            case Name(name=name, function=function):
                self._note_name(function, name)
            case Attribute(owner=Itself(), name=name):
                shared = in_class(self._kind, name)
                if shared is not None and type(shared).__flags__ & _HEAP_TYPE:
                    raise LookupError(f"{part} may be computed")
                self._names[name] = None
            case Attribute(owner=Name(name=scope, function=function), name=name):
                module = self._note_name(function, scope)
                if type(module) is not ModuleType:
                    raise LookupError(f"{part} is not of a module")
                self._variables.append((vars(module), name, vars(module).get(name, _ABSENT)))
            case Item(owner=owner, key=Constant() | Item() as key_of):
                whole, key = self._value(owner), self._value(key_of)
                if type(whole) not in (dict, list, tuple):
                    raise LookupError(f"{part} is of a {type(whole).__qualname__}")
                self._items.append((whole, key, whole[key]))
            case _:
                raise LookupError(f"{part} is more than a name or attribute")

    def _note_name(self, function: FunctionType, name: str) -> Any:
        """What a variable of a module, or a builtin, is."""
        if name in function.__code__.co_freevars:
            raise LookupError(f"{name} is a variable of a function around")
        found: Any = _ABSENT
        for scope in (function.__globals__, vars(builtins)):
            if found is _ABSENT:
                found = scope.get(name, _ABSENT)
                self._variables.append((scope, name, found))
        return found

    def _note_condition(self, condition: Expression) -> None:
        """Notes what it goes by. How a list or an object comes out may change though it is the same one."""
        match condition:
            case Binary(operator="is" | "is not", left=left, right=right):
                sides = (left, right)
            case Binary(operator="==" | "!=", left=left, right=Constant()):
                self._note_told(left)
                return
            case Attribute(owner=Itself(), name=name):
                self._check_constant(name)
                sides = (condition, condition)
            case Call(function=function, arguments=(Index(), *rest), options=()):
                for part in chain(parts_of(function), *map(parts_of, rest)):
                    self._note(part)
                return
            case _:
                raise LookupError(f"{condition} is more than a name or attribute")
        for part in chain.from_iterable(map(parts_of, sides)):
            self._note(part)

    def _note_told(self, of: Expression) -> None:
        """Notes what a text or a number is, which code may make of others."""
        match of:
            case Binary() | Text():
                for part in own_parts(of):
                    self._note_told(part)
            case Attribute(owner=Itself(), name=name):
                self._check_constant(name)
                self._note(of)
            case Item() if type(self._value(of)) in _CONSTANTS:
                for part in parts_of(of):
                    self._note(part)
            case Constant():
                pass
            case _:
                raise LookupError(f"{of} is more than a name or attribute")

    def _check_constant(self, name: str) -> None:
        if type(self._own.get(name, _ABSENT)) not in _CONSTANTS:
            raise LookupError(f"{name} is no constant")
