"""What a function or class of a library would call on its way, and whether all of it is as the library ships it.

Read from bytecode: names are looked up where the code would look them up; an attribute of an object that nobody knows
is looked up in every class that the code may have made objects of. So more may be found than is ever called, never
less, but for what a library keeps in tables, of which those that matter are named here.
"""

from __future__ import annotations

import builtins
import functools
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from operator import attrgetter, contains, is_, itemgetter
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from ..refusal import SourceRefusal
from . import kept_calls
from .kept_calls import NOTHING, Found, all_registered, registered
from .look import members, parents
from .originals import (
    as_shipped,
    behind,
    bound_as_shipped,
    code_of,
    is_data,
    is_module,
    module_of,
    operations,
    unwrapped,
)

# Whose functions are read. Those of others are only looked at themselves.
_READ = {"PIL", "albucore", "albumentations", "imageio", "torchvision"}
_READ_MODULES = {
    "matplotlib.image", "matplotlib.pyplot", "skimage._shared.utils", "skimage.io._io",
    "skimage.io._plugins.imageio_plugin", "skimage.io.util", "torch.nn.modules.container", "torch.nn.modules.module",
}  # fmt: skip
# Methods that are called without being named.
_UNNAMED = (
    "__call__", "__enter__", "__exit__", "__getattr__", "__getattribute__", "__getitem__", "__init__", "__len__",
    "__new__", "__torch_function__",
)  # fmt: skip
# Those that a class without them may be given.
_NAMES_HOOKED = frozenset({"__call__", "__getattr__", "__getattribute__"})
_CODE, _DEFAULTS = attrgetter("__code__"), attrgetter("__defaults__")


class Calls:
    """All that some functions and classes may call.

    Nothing that is found there is ever called, or compared by rules of its own.

    searched  it was read from code, and is not kept on disk
    """

    searched = False

    def __init__(self, found: Found, replaced: str = "") -> None:
        self.found = found
        self.replaced = replaced
        functions = tuple(found.functions)
        self._codes = (functions, tuple(map(code_of, functions)))
        self._defaults = (functions, tuple(map(_DEFAULTS, functions)))
        # These can be changed in place; few functions have them.
        self._options = [
            (each, each.__kwdefaults__, {**each.__kwdefaults__}) for each in functions if each.__kwdefaults__
        ]
        # Modules, classes and tables: what they are called, and what is found in them.
        self._scopes: list[tuple[str, Mapping[Any, Any], dict[Any, Any]]] = [
            (_name_of(owner), _names_in(owner), {name: behind(was) for name, was in values.items()})
            for owner, values in found.scopes
        ]
        self._scopes += [("a table of functions", table, values) for table, values in all_registered(functions)]
        there = [
            (mapping, {name: was for name, was in values.items() if was is not NOTHING})
            for _, mapping, values in self._scopes
        ]
        # A name more than is needed, as itemgetter gives no tuple for one alone.
        self._names_there = [(itemgetter(*names, next(iter(names))), mapping) for mapping, names in there if names]
        self._values = [was for _, names in there if names for was in (*names.values(), next(iter(names.values())))]
        nowhere = [(mapping, name) for _, mapping, values in self._scopes for name in values if values[name] is NOTHING]
        self._nowhere = tuple(zip(*nowhere, strict=True)) or ((), ())

    def look(self) -> str:
        """What of it somebody has replaced, by its name; "" if all is as it was found. Some 100 us."""
        if self.replaced:
            return self.replaced
        if not self._are_bound():
            for of, mapping, values in self._scopes:
                for name, was in values.items():
                    if behind(mapping.get(name, NOTHING)) is not was:
                        return f"{of}.{name}"
        functions, codes = self._codes
        if not all(map(is_, map(_CODE, functions), codes)):  # those of our own hooks, perhaps
            for function, code in zip(functions, codes, strict=True):
                if code_of(function) is not code:
                    return _name_of(function)
        functions, defaults = self._defaults
        if not all(map(is_, map(_DEFAULTS, functions), defaults)):
            return next(
                _name_of(each) for each, was in zip(*self._defaults, strict=True) if each.__defaults__ is not was
            )
        for function, options, items in self._options:
            now = function.__kwdefaults__
            if now is not options or list(now) != list(items) or not all(map(is_, now.values(), items.values())):
                return _name_of(function)
        return ""

    def _are_bound(self) -> bool:
        """Whether all names stand for what they did."""
        now: list[Any] = []
        try:
            for names, mapping in self._names_there:
                now += names(mapping)
        except KeyError:
            return False
        return all(map(is_, now, self._values)) and not any(map(contains, *self._nowhere))


class _Search:
    """Follows names from roots to all that may be called, through the code that libraries' files have."""

    def __init__(self, roots: Iterable[tuple[Any, str]], classes: Iterable[type], names: Iterable[str]) -> None:
        # What each module or class has, by its id.
        self._bound: dict[int, tuple[Any, dict[str, Any]]] = {}
        self._functions: dict[FunctionType, None] = {}
        self._classes: dict[type, None] = {}
        self._names = dict.fromkeys((*_UNNAMED, *names))
        # What a class has, of its own and of its bases, and how many of the names were looked up in it.
        self._looked_up: dict[type, tuple[frozenset[str], int]] = {}
        self._work: list[FunctionType] = []
        self._missing: set[str] = set()
        self._plain: set[tuple[str, str]] = set()
        self.replaced = ""
        for owner, name in roots:
            self._find(owner, name)
        for kind in classes:
            self._reach(kind)
        while not self.replaced and (self._work or self._look_up()):
            if self._work:
                self._follow(self._work.pop())

    @property
    def found(self) -> Found:
        kinds = dict.fromkeys(base for kind in self._classes for base in _mro(kind))
        return Found([*self._bound.values()], [*self._functions], [*kinds], self._missing, self._plain)

    def _keep(self, owner: Any, name: str, value: Any) -> bool:
        """Notes what a name has to stand for; False if that was noted before."""
        values = self._bound.setdefault(id(owner), (owner, {}))[1]
        if name in values:
            return False
        values[name] = value
        return True

    def _find(self, owner: Any, name: str) -> None:
        """What a module or a class has by a name may be called."""
        if not is_module(owner):
            self._find_in(owner, name)
        elif name not in vars(owner) or is_data(vars(owner)[name]):
            self._plain.add((owner.__name__, name))
        elif self._keep(owner, name, vars(owner)[name]):
            self._check(owner, name, vars(owner)[name])

    def _find_in(self, kind: type, name: str) -> None:
        found = _lookup(kind, name)
        if found is None and name not in _NAMES_HOOKED:
            return
        for base in _mro(kind):
            value = _members(base).get(name, NOTHING)
            if value is not NOTHING and is_data(value):
                return
            if self._keep(base, name, value) and base is found:
                self._check(base, name, value)
            if base is found:
                return

    def _check(self, owner: Any, name: str, value: Any) -> None:
        if _is_shipped(owner, name, value):
            self._reach(value)
        else:
            self.replaced = self.replaced or f"{_name_of(owner)}.{name}"

    def _reach(self, value: Any) -> None:
        """Something may be called."""
        inner = unwrapped(value)
        if type(inner) is functools._lru_cache_wrapper:
            inner = vars(inner).get("__wrapped__")
        if type(inner) is FunctionType:
            if inner not in self._functions:
                self._functions[inner] = None
                if _is_read(str(inner.__globals__.get("__name__"))):
                    self._work.append(inner)
        elif issubclass(type(inner), type) and _is_read(module_of(inner)):
            self._classes[inner] = None

    def _look_up(self) -> bool:
        """Looks all names up in all classes; True if there is something new to be read, or to be looked up in."""
        names = tuple(self._names)
        for kind in tuple(self._classes):
            has, count = self._looked_up.get(kind) or (_NAMES_HOOKED.union(*map(_members, _mro(kind))), 0)
            self._looked_up[kind] = has, len(names)
            for name in names[count:]:
                if name in has:
                    self._find_in(kind, name)
        return bool(self._work) or len(self._looked_up) < len(self._classes)

    def _follow(self, function: FunctionType) -> None:
        uses = _uses(function)
        self._missing |= uses.missing
        self._plain |= uses.plain
        for owner, name in uses.found:
            self._find(owner, name)
        self._names.update(uses.names)
        for value in uses.closed_over:
            self._reach(value)
        for _, key, value in registered(function):
            for each in value if type(value) is tuple else (value,):
                if type(each) is FunctionType and not as_shipped(each):
                    self.replaced = self.replaced or f"what {_name_of(function)} calls for {key}"
                self._reach(each)


class _Uses(NamedTuple):
    """What the code of a function uses.

    found        names in modules and classes
    names        of attributes, of objects that nobody knows
    closed_over  what stands in its closure
    missing      modules that it imports, and nobody has yet
    plain        names that its module does not have, as they are Python's own
    """

    found: dict[tuple[Any, str], None]
    names: dict[str, None]
    closed_over: list[Any]
    missing: set[str]
    plain: set[tuple[str, str]]


@functools.cache
def _uses(function: FunctionType) -> _Uses:
    uses = _Uses({}, {}, [], set(), set())
    module = sys.modules[function.__globals__["__name__"]]
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    work: list[CodeType] = [code_of(function)]
    while work:
        code = work.pop()
        work += [each for each in code.co_consts if type(each) is CodeType]
        known = NOTHING
        for operation, argument, name in operations(code):
            before, known = known, NOTHING
            if operation in ("LOAD_GLOBAL", "LOAD_NAME"):
                before = module if name in vars(module) else builtins
                if before is builtins:
                    uses.plain.add((module.__name__, name))
            elif operation in ("LOAD_DEREF", "LOAD_CLASSDEREF"):
                known = _content(cells, code, argument)
                uses.closed_over.append(known)
                continue
            elif operation == "IMPORT_NAME":
                known = sys.modules.get(name, NOTHING)
                if known is NOTHING:
                    uses.missing.add(name)
                continue
            elif operation not in ("IMPORT_FROM", "LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"):
                continue
            if is_module(before):
                if name in vars(before):
                    uses.found[before, name] = None
                    known = vars(before)[name]
            elif issubclass(type(before), type) and _lookup(before, name) is not None:
                uses.found[before, name] = None
            else:
                uses.names[name] = None
    return uses


def _content(cells: dict[str, Any], code: CodeType, argument: int) -> Any:
    """What a cell of the function's own closure holds."""
    if sys.version_info >= (3, 11):
        inner = (name for name in code.co_cellvars if name not in code.co_varnames)
        names = (*code.co_varnames, *inner, *code.co_freevars)
    else:
        names = (*code.co_cellvars, *code.co_freevars)
    name = names[argument]
    try:
        return cells[name].cell_contents if name in cells else NOTHING
    except ValueError:  # it is empty
        return NOTHING


@functools.cache
def _mro(kind: type) -> tuple[type, ...]:
    """A class and its bases, as far as they are read."""
    return tuple(base for base in parents(kind) if _is_read(module_of(base)))


def _lookup(kind: type, name: str) -> type | None:
    """The class that has a name, of a class and its bases."""
    return next((base for base in _mro(kind) if name in _members(base)), None)


@functools.cache
def _members(kind: type) -> Mapping[str, Any]:
    # One object a class, which stays.
    return members(kind)


def _names_in(owner: Any) -> Mapping[str, Any]:
    """What a module or a class has, by its names."""
    return vars(owner) if is_module(owner) else _members(owner)


_shipped: dict[tuple[int, str], tuple[Any, ...]] = {}


def _is_shipped(owner: Any, name: str, value: Any) -> bool:
    """bound_as_shipped, remembered for as long as a function stays what it is."""
    inner = unwrapped(value)
    now = (
        owner,
        value,
        *((code_of(inner), inner.__defaults__, inner.__kwdefaults__) if type(inner) is FunctionType else ()),
    )
    known = _shipped.get((id(owner), name), ())
    if len(known) != len(now) or not all(map(is_, known, now)):
        if not bound_as_shipped(owner, name, value):
            return False
        _shipped[id(owner), name] = now
    return True


def _is_read(module: str) -> bool:
    return module.partition(".")[0] in _READ or module in _READ_MODULES


def _name_of(value: Any) -> str:
    if is_module(value):
        return str(value.__name__)
    return f"{value.__globals__['__name__'] if type(value) is FunctionType else module_of(value)}.{value.__qualname__}"


_known: dict[Any, Calls] = {}
_known_together: dict[Any, Calls] = {}


# What calls_of is asked for.
_Asked = tuple[tuple[tuple[Any, str], ...], tuple[type, ...], tuple[str, ...]]


class _Noting(threading.local):
    noted: list[_Asked] | None = None


_noting = _Noting()


@contextmanager
def noting() -> Iterator[list[_Asked]]:
    """Within it, what this thread asks of calls_of is noted, for calls_of_all."""
    before, _noting.noted = _noting.noted, []
    try:
        yield _noting.noted
    finally:
        _noting.noted = before


def calls_of_all(several: Iterable[_Asked]) -> Calls:
    """All that may be called by way of any of these: what several of them call is looked at but once."""
    key = tuple(dict.fromkeys(several))
    calls = _known_together.get(key)
    if calls is None:
        found, replaced = None if all(each in _known for each in key) else kept_calls.load(*key), ""
        if found is None:
            parts = [_calls_of(each) for each in key]
            found = kept_calls.together(part.found for part in parts)
            replaced = next((part.replaced for part in parts if part.replaced), "")
            # One file is read faster than one a part, and leaves room for those of other programs.
            if replaced:
                for each, part in zip(key, parts, strict=True):
                    _keep(part, each)
            elif any(part.searched for part in parts):
                kept_calls.store(found, *key)
        calls = Calls(found, replaced)
        if not replaced:
            _known_together[key] = calls
    return calls


def calls_of(roots: tuple[tuple[Any, str], ...], classes: tuple[type, ...] = (), names: tuple[str, ...] = ()) -> Calls:
    """All that may be called by way of these.

    roots           (a module or class, a name in it)
    classes, names  objects of these classes, and what of them is called besides what is called without being named
    """
    asked = roots, classes, names
    if _noting.noted is not None:
        _noting.noted.append(asked)
    calls = _calls_of(asked)
    _keep(calls, asked)
    return calls


def _calls_of(asked: _Asked) -> Calls:
    """As calls_of, kept in this process alone."""
    calls = _known.get(asked)
    if calls is None:
        found = kept_calls.load(asked)
        if found is not None:
            calls = Calls(found)
        else:
            search = _Search(*asked)
            calls = Calls(search.found, search.replaced)
            calls.searched = True
        if calls.replaced:
            _uses.cache_clear()  # what was read leads to the replacement, which may be gone next time
        else:
            _known[asked] = calls
    return calls


def _keep(calls: Calls, asked: _Asked) -> None:
    """Keeps on disk what was searched, and not kept so far."""
    if calls.searched and not calls.replaced:
        kept_calls.store(calls.found, asked)
        calls.searched = False


def check_calls(
    what: str, roots: tuple[tuple[Any, str], ...], classes: tuple[type, ...] = (), names: tuple[str, ...] = ()
) -> None:
    """Raises RefusalError if somebody replaced any of these calls, for a source of that name."""
    replaced = calls_of(roots, classes, names).look()
    if replaced:
        raise SourceRefusal(what, f"{replaced} was replaced", "FUNCTION_REPLACED")
