"""Calls that a user's code makes with stand-ins among the arguments: how they reach our functions, and are recorded.

What our functions do not know, they answer with None; then the stand-ins become real, and the call is the library's.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from .. import switch
from .constant import Constant, constant
from .layout import Layout
from .mask import record_masked
from .value import Noted, Recorded, Value, View, fill, joined, record, write

Options = Mapping[str, Any]
_NONE: Options = {}


def attempt(function: Callable[..., Any], arguments: Sequence[Any], options: Options) -> Any:
    """What one of our functions says to a call; None as well if it does not take such arguments."""
    try:
        return function(*arguments, **options)
    except TypeError:
        if _takes(function, arguments, options):
            raise
        return None


def _takes(function: Callable[..., Any], arguments: Sequence[Any], options: Options) -> bool:
    try:
        inspect.signature(function).bind(*arguments, **options)
    except TypeError:
        return False
    return True


def by_place(
    parameters: Sequence[str], arguments: Sequence[Any], options: Options
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call whose parameters are called so: by place as far as they go, the others by keyword."""
    placed, left = list(arguments), dict(options)
    for name in parameters[len(placed) :]:
        if name not in left:
            break
        placed.append(left.pop(name))
    return tuple(placed), left


@dataclass(frozen=True)
class Recorder:
    """Records calls with stand-ins of one class.

    kind    the class, and `numpy` says whether they stand for arrays
    arrays  classes of constants that are spread over an array
    """

    kind: Any
    numpy: bool
    arrays: tuple[type, ...]

    def is_open(self, value: Any) -> bool:
        """A stand-in for which more can be recorded, in a thread that records."""
        return isinstance(value, self.kind) and value.memory.real is None and switch.current() is not None

    def view_of(self, stand_in: Any) -> View:
        """What it shows."""
        return stand_in.memory.value, stand_in.layout_, self.numpy

    def record(
        self, name: Hashable, function: Callable[..., Any], arguments: Sequence[Any], options: Options
    ) -> Recorded | None:
        """Records a function of each number by itself; None if it is none.

        name  of the function and all that is not among its arguments
        """
        noted = self._note(name, function, arguments, options)
        if noted is not None:
            return record(noted)
        if options or switch.current() is None:
            return None
        return record_masked(arguments, lambda given: self._note(name, function, given, {}))

    def write(
        self, name: Hashable, function: Callable[..., Any], arguments: Sequence[Any], options: Options = _NONE
    ) -> bool:
        """Records a function that writes into its first argument and returns it; False if it cannot be."""
        noted = self._note(name, function, arguments, options) if self.is_open(arguments[0]) else None
        return _written(arguments[0], None if noted is None else write(noted))

    def fill(self, stand_in: Any, layout: Layout, numbers: Any) -> bool:
        """Records that numbers, one or one a channel, are written all over a view of its memory; False if not."""
        noted = constant(numbers)
        view = stand_in.memory.value, layout, self.numpy
        return _written(stand_in, None if noted is None else fill(view, noted))

    def join(self, parts: Sequence[Any], function: Callable[[Sequence[Any]], Any], new: bool) -> Recorded | None:
        """As value.joined, of stand-ins that are open."""
        return joined(list(map(self.view_of, parts)), function, new)

    def _note(
        self, name: Hashable, function: Callable[..., Any], arguments: Sequence[Any], options: Options
    ) -> Noted | None:
        """A call; None if it cannot be noted, and where this thread does not record.

        arguments  may be noted already, as Constants
        """
        if switch.current() is None:
            return None
        views: list[View] = []
        # What functions make of numbers may depend on the type that tensors have if nothing is said.
        keys: list[Hashable] = [name, torch.get_default_dtype()]
        others: list[tuple[int, ...]] = []
        template: list[Any] = []
        for argument in arguments:
            if isinstance(argument, self.kind):
                if argument.memory.real is not None:
                    return None
                views.append(self.view_of(argument))
                keys.append("view")
                template.append(None)
                continue
            noted = argument if isinstance(argument, Constant) else constant(argument)
            if noted is None:
                return None
            keys.append(noted.key)
            template.append(noted)
            if isinstance(noted.value, self.arrays):
                others.append(noted.shape)
        for option, value in options.items():
            noted = constant(value)
            if noted is None or isinstance(noted.value, self.arrays):
                return None
            keys.append((option, noted.key))

        def run(*real: Any) -> Any:
            left = iter(real)
            return function(*(next(left) if each is None else each.value for each in template), **options)

        return Noted(tuple(keys), run, tuple(views), tuple(others)) if views else None


def _written(stand_in: Any, value: Value | None) -> bool:
    if value is not None:
        stand_in.memory.value = value
    return value is not None


def put(target: Any, key: Any, value: Any) -> Any:
    target[key] = value
    return target
