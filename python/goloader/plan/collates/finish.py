"""A collate_fn that calls default_collate and goes on with its batch, for example to mix images.

    def collate_fn(batch):
        return mixup_or_cutmix(*default_collate(batch))

Go makes what default_collate gives there. The function runs as it is, with a list in place of the samples for which
default_collate gives Go's batch, once. So it must do nothing else with that list, which its bytecode shows: on no way
through it is the list loaded but as the one argument of default_collate, once, or of len().

Each worker process has a copy of what such a function uses; the process of the loader, where it runs now, has one for
all workers. So where there are any, the function must keep nothing from one batch to the next, which is seen from what
it can reach: code that assigns no attributes and no variables around it, and no generators, iterators and the like.
"""

from __future__ import annotations

import dis
import inspect
import random
import re
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch

from ...adapters.torch import collate, gives, instead
from ..bytecode import UnreadableError, check_python
from ..datasets.own.code import is_of_library, is_plain, variable
from ..refusal import Refusal, RefusalError
from ..trust.harmless import CHANGERS, codes_of
from ..trust.look import attributes, in_class, is_a, name_of, own, parents
from ..trust.originals import module_of, unwrapped
from .collation import check_on_error
from .mixing import Mixing


@dataclass(frozen=True, eq=False)
class Finish:
    """What a collate_fn does behind default_collate.

    why     it is not compiled
    ways    through the functions that are given the samples
    mixing  what it does, if that may be done in place
    """

    given: Callable[[list[Any]], Any]
    why: Refusal
    ways: tuple[_Way, ...]
    mixing: Mixing | None

    @classmethod
    def of(cls, given: Any, why: Refusal) -> Finish:
        """Raises UnreadableError unless it is known to do nothing else with the samples."""
        check_python()
        ways: list[_Way] = []
        _Way(*function_of(given), ways)
        if not gives():
            raise UnreadableError("goes on with what this torch's default_collate does not give")
        try:
            mixing = Mixing(given)
        except (RefusalError, UnreadableError):
            mixing = None
        return cls(given, why, tuple(ways), mixing)

    @property
    def codes(self) -> list[CodeType]:
        """Of the functions that are given the samples."""
        return [way.code for way in self.ways]

    def unchanged(self) -> bool:
        """True if what it is known by is what it was."""
        return all(way.unchanged() for way in self.ways)

    @property
    def mixes(self) -> bool:
        """Whether the core does all that there is to do with the images."""
        return self.mixing is not None and self.mixing.now() is not None

    def check(self, loader: Any) -> None:
        """Raises RefusalError where worker processes, or samples that are left out, would make a difference."""
        check_on_error(loader, self.given)
        if loader.num_workers > 0:
            for what, given in (("collate", self.given), ("loader", loader.worker_init_fn)):
                if given is not None and (kept := keeps(given)):
                    why = f"each worker process may keep something of its own for it: {kept}"
                    raise RefusalError(what, name_of(given), why, "COLLATE_KEEPS")

    def __call__(self, batch: Any, count: int) -> Any:
        """The batch of so many samples of which default_collate makes this one, which may change."""
        mixed = None if self.mixing is None else self.mixing.now()
        if mixed is not None:
            return mixed(batch)
        with instead(batch, count) as samples:
            return self.given(samples)


def function_of(given: Any) -> tuple[FunctionType, int, Any]:
    """The function that a collate_fn runs, which of its arguments the batch is, and the object whose method it is."""
    if type(given) is partial:
        function, at, owner = function_of(given.func)
        at += len(given.args)
        if function.__code__.co_varnames[at : at + 1] and function.__code__.co_varnames[at] in given.keywords:
            raise UnreadableError("has the batch twice")
        return function, at, owner
    if type(given) is FunctionType:
        return given, 0, None
    found = given.__func__ if type(given) is MethodType else in_class(type(given), "__call__")
    owner = given.__self__ if type(given) is MethodType else given
    if type(found) is not FunctionType or not is_plain(owner):
        raise UnreadableError("is no plain function, and no plain object with a __call__")
    return found, 1, owner


# Instructions that do nothing here, in one Python or another.
_NOTHING = {"CACHE", "COPY_FREE_VARS", "EXTENDED_ARG", "NOP", "NOT_TAKEN", "PRECALL", "PUSH_NULL", "RESUME"}
_CALLS = {"CALL", "CALL_FUNCTION", "CALL_METHOD"}
_ENDS = {"RAISE_VARARGS", "RERAISE", "RETURN_CONST", "RETURN_VALUE"}
_JUMPS = {*dis.hasjrel, *dis.hasjabs}
# With these a variable is found without being named.
_LOOKERS = {"dir", "eval", "exec", "locals", "vars"}


class _Way:
    """All ways through a function, as far as its argument is the batch: UnreadableError if it may be used otherwise."""

    def __init__(self, function: FunctionType, at: int, owner: Any, ways: list[_Way]) -> None:
        code = self.code = function.__code__
        self._function, self._owner, self._ways = function, owner, ways
        if at >= code.co_argcount or any(function is way._function for way in ways):
            raise UnreadableError("takes no batch")
        ways.append(self)
        self._called: list[tuple[int, list[str], Any]] = []
        self._name = code.co_varnames[at]
        of_its_own = code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR)
        if of_its_own or self._name in code.co_cellvars or _LOOKERS & {*code.co_names}:
            raise UnreadableError("may use the batch anywhere")
        self._steps = list(_steps(code))
        self._places = [offset for _, _, offset in self._steps]
        self._targets = {target for _, target, _ in self._steps if type(target) is _Target}
        self._caught = getattr(dis.Bytecode(code), "exception_entries", ())
        if not self._follow():
            raise UnreadableError("does not call default_collate")

    def unchanged(self) -> bool:
        """True if the code is what it was, and calls what it did."""
        try:
            return self._function.__code__ is self.code and all(
                self._value(at, names) is called for at, names, called in self._called
            )
        except UnreadableError:
            return False

    def _follow(self) -> bool:
        """Whether any way comes to default_collate."""
        work, seen, ever = [(0, False)], set(), False
        while work:
            at, collated = work.pop()
            if (at, collated) in seen:
                continue
            seen.add((at, collated))
            kind, argument, offset = self._steps[at]
            work += [(self._index(each.target), collated) for each in self._caught if each.start <= offset < each.end]
            if argument == self._name and kind.startswith(("STORE_FAST", "DELETE_FAST")):
                continue  # from here on it is something else
            if argument == self._name and "_FAST" in kind and self._collates(at):
                if collated:
                    raise UnreadableError("calls default_collate twice")
                collated = ever = True
            if type(argument) is _Target:
                work.append((self._index(argument), collated))
                if kind.startswith("SETUP_"):  # Python 3.10: what is caught there may come later
                    work.append((self._index(argument), True))
            if kind not in _ENDS and not kind.startswith(("JUMP_FORWARD", "JUMP_ABSOLUTE", "JUMP_BACKWARD")):
                work.append((at + 1, collated))
        return ever

    def _index(self, offset: int) -> int:
        return next(n for n, place in enumerate(self._places) if place >= offset)

    def _collates(self, at: int) -> bool:
        """Whether the batch, loaded here, is what default_collate is called with; it may be len(), too."""
        kind, number, _ = self._steps[at + 1]
        if kind not in _CALLS or number != 1:
            raise UnreadableError("does something else with the batch")
        begin = at - 1
        while self._steps[begin][0] in ("LOAD_ATTR", "LOAD_METHOD"):
            begin -= 1
        if self._targets.intersection(self._places[begin + 1 : at + 1]):
            raise UnreadableError("chooses what it calls")
        names = [name for _, name, _ in self._steps[begin + 1 : at]]
        called = self._value(begin, names)
        self._called.append((begin, names, called))
        if called is collate.default_collate:
            return True
        if type(called) is FunctionType and not is_of_library(called.__globals__.get("__name__")):
            _Way(called, 0, None, self._ways)
            return True
        if called is not len:
            raise UnreadableError("gives the batch to something else")
        return False

    def _value(self, at: int, names: Iterable[str]) -> Any:
        kind, name, _ = self._steps[at]
        if kind in ("LOAD_GLOBAL", "LOAD_DEREF"):
            value = variable(self._function, name)
        elif (
            kind.startswith("LOAD_FAST") and self._owner is not None and name == self._function.__code__.co_varnames[0]
        ):
            value = self._owner
        else:
            raise UnreadableError("calls what is not known")
        for name in names:
            if type(value) is not ModuleType and (not is_plain(value) or in_class(type(value), name) is not None):
                raise UnreadableError("calls what is computed")
            value = vars(value).get(name)
        return value


class _Target(int):
    """Where an instruction jumps to."""


def _steps(code: CodeType) -> Iterator[tuple[str, Any, int]]:
    """The instructions that do something: what, with what, and where. Of those that do two things, both."""
    for each in dis.get_instructions(code):
        if each.opname in _NOTHING:
            continue
        if type(each.argval) is tuple and "_FAST_" in each.opname:
            kinds = re.findall("(?:LOAD|STORE)_FAST", each.opname)
            yield from ((kind, name, each.offset) for kind, name in zip(kinds, each.argval, strict=True))
        else:
            yield each.opname, _Target(each.argval) if each.opcode in _JUMPS else each.argval, each.offset


# What is looked at, at most.
_THINGS_MAX = 2000

_PLAIN = {
    type(None), bool, int, float, complex, str, bytes, type(...), slice, range, torch.dtype, torch.device, torch.Size,
    CodeType,
}  # fmt: skip
_HOLDERS = (list, set, dict, OrderedDict, defaultdict, bytearray)
# Libraries' classes whose objects keep nothing as they are called.
_KEEP_NOTHING = (
    "timm.data.mixup", "torch.distributions.", "torch.nn.modules.container", "torchvision.transforms.",
)  # fmt: skip
# The generators of the process, which each worker seeds.
_PROCESS = (random._inst, np.random.mtrand._rand)

_STORES = {"DELETE_ATTR", "DELETE_GLOBAL", "STORE_ATTR", "STORE_GLOBAL"}
_STORES_AROUND = {"DELETE_DEREF", "STORE_DEREF"}
_CHANGES = {"DELETE_SUBSCR", "STORE_SLICE", "STORE_SUBSCR"}
# With these code may reach what it does not name.
_REACHERS = _LOOKERS | {"__dict__", "__setattr__", "getattr", "globals", "setattr"}
# Methods that are called without being named.
_UNNAMED = {
    "__add__", "__bool__", "__call__", "__contains__", "__enter__", "__exit__", "__getattr__", "__getitem__",
    "__iter__", "__len__", "__mul__", "__next__", "__radd__", "__rmul__", "__setitem__", "forward",
}  # fmt: skip


def keeps(given: Any) -> str:
    """What a function may keep from one call to the next; "" if it keeps nothing. None of it is run."""
    try:
        _Reach().follow(given)
    except _Keeps as kept:
        return str(kept)
    return ""


class _Keeps(Exception):
    pass


class _Reach:
    """All that a function can reach, by what its code and that of others it may call name."""

    def __init__(self) -> None:
        self._seen: dict[int, Any] = {}
        self._names = set(_UNNAMED)
        self._owners: list[Any] = []  # modules, classes and objects of the user's: of these what is named counts
        self._held = self._changes = ""

    def follow(self, given: Any) -> None:
        """Raises _Keeps."""
        work = [(given, True)]
        while work:
            while work:
                thing, named = work.pop()
                if id(thing) not in self._seen:
                    self._seen[id(thing)] = thing
                    work += self._next(thing, named)
                if len(self._seen) > _THINGS_MAX:
                    raise _Keeps("it reaches too many objects to inspect")
            found = [
                unwrapped(value)
                for owner in self._owners
                for name, value in (vars(owner) if isinstance(owner, type | ModuleType) else own(owner)).items()
                if name in self._names
            ]
            work = [(value, True) for value in found if id(value) not in self._seen]
        if self._held and self._changes:
            raise _Keeps(f"{self._changes} may change {self._held}")

    def _next(self, thing: Any, named: bool) -> list[tuple[Any, bool]]:
        """What a thing leads to, and whether code of the user's can get at that."""
        kind = type(thing)
        if kind in _PLAIN or is_a(thing, Enum, np.generic, np.dtype) or any(thing is each for each in _PROCESS):
            return []
        if kind is FunctionType:
            return [] if is_of_library(thing.__globals__.get("__name__")) else self._read(thing)
        if kind is MethodType:
            return [(thing.__self__, named), (thing.__func__, named)]
        if kind is partial:
            return [(each, named) for each in (thing.func, *thing.args, *thing.keywords.values())]
        if kind is BuiltinFunctionType or kind is type(np.add):
            owner = getattr(thing, "__self__", None)
            return [] if owner is None or type(owner) is ModuleType or isinstance(owner, type) else [(owner, named)]
        if kind is ModuleType:
            self._owners += [] if is_of_library(thing.__name__) else [thing]
            return []
        if issubclass(kind, type):
            self._owners += [each for each in parents(thing) if not is_of_library(module_of(each))]
            return []
        if kind in (tuple, frozenset):
            return [(each, named) for each in thing]
        if kind in (torch.Tensor, np.ndarray) or kind in _HOLDERS:
            self._held = self._held or (f"a {kind.__name__}" if named else "")
            inside = [*thing, *thing.values()] if isinstance(thing, dict) else thing if kind in (list, set) else ()
            return [(each, named) for each in inside if type(each) not in _PLAIN]
        if is_of_library(module_of(kind)):
            if not module_of(kind).startswith(_KEEP_NOTHING):
                raise _Keeps(f"it uses a {kind.__name__}")
            return [(each, False) for each in attributes(thing)]
        if not is_plain(thing):
            raise _Keeps(f"it uses a {kind.__name__}")
        known = {*parents(torch.nn.Module), *parents(torch.utils.data.Dataset)}
        for each in parents(kind):
            library = is_of_library(module_of(each)) and not module_of(each).startswith(_KEEP_NOTHING)
            if library and each not in known:
                raise _Keeps(f"it uses a {each.__name__}")
        self._owners.append(thing)
        # A module finds others by names in dicts of its own.
        modules = attributes(thing) if is_a(thing, torch.nn.Module) else ()
        return [(kind, named), *((each, False) for each in modules)]

    def _read(self, function: FunctionType) -> list[tuple[Any, bool]]:
        name = function.__qualname__
        found = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values(), *vars(function).values()]
        for cell in function.__closure__ or ():
            try:
                found.append(cell.cell_contents)
            except ValueError:
                raise _Keeps(f"{name} uses a variable that is not set") from None
        for code in codes_of(function.__code__):
            names = {*code.co_names}
            if names & _REACHERS:
                raise _Keeps(f"{name} calls {min(names & _REACHERS)}")
            for each in dis.get_instructions(code):
                around = each.opname in _STORES_AROUND and each.argval in function.__code__.co_freevars
                if each.opname in _STORES or around:
                    raise _Keeps(f"{name} assigns {each.argval}")
                in_place = each.opname.startswith("INPLACE_") or (
                    each.opname == "BINARY_OP" and each.argrepr.endswith("=")
                )
                if each.opname in _CHANGES or in_place:
                    self._changes = name
            options = {each for constant in code.co_consts if type(constant) is tuple for each in constant}
            changers = [each for each in names if each in CHANGERS or (each.endswith("_") and each[0] != "_")]
            if changers or "out" in options:
                self._changes = name
            self._names |= names
            found += [function.__globals__[each] for each in names if each in function.__globals__]
        return [(each, True) for each in found]
