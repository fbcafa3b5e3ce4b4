"""A class of the user's own: its `__getitem__`, read from its bytecode, and what the names in it stand for now."""

from __future__ import annotations

import builtins
from types import FunctionType, GetSetDescriptorType, ModuleType
from typing import Any

import torch
from torch.utils.data import Dataset

from ..bytecode import Attribute, Binary, Call, Constant, Expression, Index, Item, Itself, Name, UnreadableError, read
from ..refusal import RefusalError
from ..transforms import is_original
from .tree import name_of

__all__ = ["OwnCode"]

_SCALARS = (type(None), bool, int, float, str, bytes)
_CONTAINERS = (list, tuple, dict, set, frozenset)

# What no index is that torch's samplers give.
_NO_INDEX = (torch.Tensor, slice, list, tuple)


class OwnCode:
    """What `dataset[index]` does, whatever the index. Nothing of the class is run.

    dataset  of a class that nobody knows
    kind     that class
    reading  of its __getitem__

    Raises RefusalError unless its code is understood and its attributes are looked up as usual.
    """

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset
        self.kind = type(dataset)
        self._function = _getitem(dataset)
        self._code = self._function.__code__
        self._meant: dict[Expression, Any] = {}
        try:
            self.reading = read(self._function, self._decide)
        except UnreadableError as error:
            raise refusal(dataset, f"__getitem__ {error}") from None

    def refusal(self, why: str) -> RefusalError:
        """To be raised where the class is not understood."""
        return refusal(self.dataset, why)

    def unchanged(self, dataset: Any) -> bool:
        """True if `dataset` is the same object, goes the same way, and what was meant is meant still."""
        if dataset is not self.dataset or type(dataset) is not self.kind:
            return False
        try:
            function = _getitem(dataset)
            return (
                function is self._function
                and function.__code__ is self._code
                and all(self._decide(condition) is outcome for condition, outcome in self.reading.conditions)
                and all(self.value(expression) is meant for expression, meant in self._meant.items())
            )
        except (RefusalError, UnreadableError):
            return False

    def means(self, expression: Expression) -> Any:
        """The function, class or other object that an expression stands for, and has to go on standing for."""
        meant = self._meant[expression] = self.value(expression)
        return meant

    def value(self, expression: Expression) -> Any:
        """What an expression without the index stands for now.

        Raises UnreadableError where that cannot be seen without running anything.
        """
        match expression:
            case Constant(value=value):
                return value
            case Name(name=name):
                return self._variable(name)
            case Attribute(owner=Itself(), name=name):
                return self._attribute(name)
            case Attribute(owner=owner, name=name):
                module = self.value(owner)
                if type(module) is ModuleType and name in vars(module):
                    return vars(module)[name]
            case Item(owner=owner, key=Constant(value=key)):
                whole = self.value(owner)
                if type(whole) is dict and key in whole:
                    return whole[key]
                if type(whole) in (list, tuple) and type(key) is int and -len(whole) <= key < len(whole):
                    return whole[key]
        raise UnreadableError(f"uses {expression}")

    def _variable(self, name: str) -> Any:
        function = self._function
        if name in function.__code__.co_freevars:
            cell = (function.__closure__ or ())[function.__code__.co_freevars.index(name)]
            try:
                return cell.cell_contents
            except ValueError:
                raise UnreadableError(f"uses {name}, which is not set") from None
        for scope in (function.__globals__, vars(builtins)):
            if name in scope:
                return scope[name]
        raise UnreadableError(f"uses {name}, which is not set")

    def _attribute(self, name: str) -> Any:
        shared = type(_in_class(self.kind, name))
        if hasattr(shared, "__set__") or hasattr(shared, "__delete__"):
            raise UnreadableError(f"uses its {name}, which is computed")
        if name not in vars(self.dataset):
            raise UnreadableError(f"uses {name}, and it has no attribute {name} of its own")
        return vars(self.dataset)[name]

    def _decide(self, condition: Expression) -> bool:
        """How a condition comes out. Raises UnreadableError where that depends on the index, or on code of others."""
        try:
            outcome = self._outcome(condition)
        except UnreadableError:
            outcome = None
        if outcome is None:
            raise UnreadableError(f"branches on {condition}")
        return outcome

    def _outcome(self, condition: Expression) -> bool | None:
        match condition:
            case Call(function=function, arguments=(Index(),)):
                if self.value(function) is torch.is_tensor:
                    return False
            case Call(function=function, arguments=(Index(), kinds)):
                if self.value(function) is isinstance and self.value(kinds) in _NO_INDEX:
                    return False
            case Binary(operator="is" | "is not" as operator, left=left, right=right):
                return (self.value(left) is self.value(right)) is (operator == "is")
            case Binary(operator="in" | "not in" as operator, left=left, right=right):
                one, whole = self.value(left), self.value(right)
                if type(one) is str and type(whole) in _CONTAINERS and set(map(type, whole)) <= {str}:
                    return (one in whole) is (operator == "in")
            case Binary(operator="==" | "!=" as operator, left=left, right=right):
                one, other = self.value(left), self.value(right)
                if type(one) in _SCALARS and type(other) in _SCALARS:
                    return (one == other) is (operator == "==")
            case _:
                return _truth(self.value(condition))
        return None


def _truth(value: Any) -> bool | None:
    """bool(value); None if code of others would have to say."""
    kind = type(value)
    if kind in (*_SCALARS, *_CONTAINERS):
        return bool(value)
    if isinstance(value, torch.nn.Module) and is_original(getattr(kind, "__len__", is_original), "torch", "goloader"):
        return bool(value)
    if _in_class(kind, "__bool__") is None and _in_class(kind, "__len__") is None:
        return True
    return None


def refusal(dataset: Any, why: str) -> RefusalError:
    """Why a class of the user's own is not lowered."""
    kind = type(dataset)
    return RefusalError(
        "source", name_of(dataset), f"goloader does not know {kind.__module__}.{kind.__qualname__}: {why}"
    )


def _in_class(kind: type, name: str) -> Any:
    """What a class, or a base of it, has by that name; None for nothing. Runs no descriptor."""
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)


def _getitem(dataset: Any) -> FunctionType:
    """The function that `dataset[index]` calls. Raises RefusalError unless attributes of it are looked up as usual."""
    kind = type(dataset)
    function = _in_class(kind, "__getitem__")
    if type(function) is not FunctionType:
        raise refusal(dataset, f"its __getitem__ is a {type(function).__name__}, not a plain function")
    plain = (
        _in_class(kind, "__getattribute__") is vars(object)["__getattribute__"]
        and _in_class(kind, "__getattr__") is _in_class(Dataset, "__getattr__")
        and type(_in_class(kind, "__dict__")) is GetSetDescriptorType
        and type(vars(dataset)) is dict
    )
    if not plain:
        raise refusal(dataset, "its class has a way of its own to look attributes up")
    if _in_class(kind, "__getitems__") is not None or "__getitems__" in vars(dataset):
        raise refusal(dataset, "it has __getitems__")
    return function
