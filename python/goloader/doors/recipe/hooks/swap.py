"""Puts a function in front of another by exchanging its code, so that every name that anybody gave it leads to ours."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from ....plan.trust.calls import Calls, calls_of
from ....plan.trust.originals import exchanged, unwrapped
from .. import switch
from ..as_user import as_user


class LeftAloneError(Exception):
    """Why nothing is put in front of a function."""


class Hook(NamedTuple):
    """What is to stand in front of a function.

    owner, name     the module or class, and the function's name there
    front           is called with the function, under another identity, and its arguments
    classes, names  what stand-ins do instead of objects of these classes: these methods
    """

    owner: Any
    name: str
    front: Callable[..., Any]
    classes: tuple[type, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The function's full name."""
        return f"{self.owner.__module__}.{self.owner.__qualname__}.{self.name}" if isinstance(self.owner, type) else (
            f"{self.owner.__name__}.{self.name}"
        )  # fmt: skip

    @property
    def calls(self) -> Calls:
        """All that the function calls, or what stands in front of it leaves out."""
        return calls_of(((self.owner, self.name),), self.classes, self.names)


class Swap:
    """A Python function of a library, and what stands in front of it while it is installed.

    Raises LeftAloneError if the library has no such function, or one that takes other arguments. Whether the user has
    replaced it, or anything that it calls, is the caller's to look at.
    """

    def __init__(self, hook: Hook) -> None:
        function = unwrapped(vars(hook.owner).get(hook.name))
        if function is None:
            raise LeftAloneError("this version has no such function")
        if type(function) is not FunctionType:
            raise LeftAloneError(f"it is a {type(function).__name__} in this version")
        self._function = function
        self._code: CodeType = function.__code__
        original = FunctionType(
            function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
        )
        original.__kwdefaults__ = function.__kwdefaults__

        @functools.wraps(original)
        def called(*arguments: Any, **options: Any) -> Any:
            return as_user(original, arguments, options)

        self._front = _front(function, hook.front, called)
        exchanged[id(self._front)] = self._code

    def install(self) -> None:
        """From now on callers of the function get the replacement, unless somebody else has changed it."""
        if self._function.__code__ is self._code:
            self._function.__code__ = self._front

    def undo(self) -> None:
        """Puts the function back as it was, unless somebody else has changed it meanwhile."""
        if self._function.__code__ is self._front:
            self._function.__code__ = self._code


def recorder(record: Callable[..., Any]) -> Callable[..., Any]:
    """A Hook's `front`: what `record` makes in a thread that records; what the function itself does where that is None.

    record  takes the function and its arguments
    """

    @functools.wraps(record)
    def front(original: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        made = None if switch.current() is None else record(original, *arguments, **options)
        return original(*arguments, **options) if made is None else made

    return front


_KEY, _ORIGINAL = "__goloader_replacement", "__goloader_original"


def _front(function: FunctionType, replacement: Callable[..., Any], original: Callable[..., Any]) -> CodeType:
    """Code with the function's own parameters and closure that calls the replacement; this and the original stand in it
    as constants.

    It says that it is at the function's place, so that whoever looks for the source finds the function's own.
    """
    declared, passed = [], []
    given: list[None] = []
    star = False
    options: dict[str, None] = {}
    for name, parameter in inspect.signature(function, follow_wrapped=False).parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            declared.append(f"*{name}")
            passed.append(f"*{name}")
            star = True
        elif parameter.kind is parameter.VAR_KEYWORD:
            declared.append(f"**{name}")
            passed.append(f"**{name}")
        elif parameter.kind is parameter.KEYWORD_ONLY:
            if not star:
                declared.append("*")
                star = True
            declared.append(name)
            passed.append(f"{name}={name}")
            options[name] = None
        else:
            declared.append(name)
            passed.append(name)
            given.append(None)
    try:
        inspect.signature(replacement).bind(original, *given, **options)
    except TypeError:
        raise LeftAloneError(f"it takes other arguments in this version: {', '.join(declared)}") from None
    # Code is exchanged only for such as has the same names of a closure.
    closed = ", ".join(function.__code__.co_freevars)
    text = f"def make({closed}):\n def {function.__name__}({', '.join(declared)}):\n"
    text += f"  {_KEY} = {_KEY!r}\n  {_ORIGINAL} = {_ORIGINAL!r}\n  if 0: {closed or 0}\n"
    text += f"  return {_KEY}({', '.join([_ORIGINAL, *passed])})\n"
    text += f" return {function.__name__}\n"
    scope: dict[str, Any] = {}
    exec(compile(text, function.__code__.co_filename, "exec"), scope)
    code: CodeType = scope["make"](*function.__code__.co_freevars).__code__
    put = {_KEY: replacement, _ORIGINAL: original}
    constants = tuple(put.get(each, each) for each in code.co_consts)
    return code.replace(co_consts=constants, co_firstlineno=function.__code__.co_firstlineno)
