"""What a search for calls found (calls.py), kept on disk for the next process.

There it is compared with what is there, name by name, and no library's code is read. Whatever stands for something
else, or has other code, a class that has other names, a library's file of another time or size: what was kept does not
count, and all is searched anew.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from enum import Enum
from operator import attrgetter
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np
import torch

from ...selfcheck import memory
from .look import parents
from .originals import behind, code_of, is_data, is_module, module_of, trust, unwrapped

NOTHING: Any = object()

# Raise it when a search finds other things, or they are told in another way.
_VERSION = 2
_KIND, _KEPT_MAX = "calls", 64
_DEPTH_MAX = 4

_CONSTANTS = {type(None), bool, int, float, complex, str, bytes, type(Ellipsis)}
# Their text says all of them.
_SAID = {torch.dtype, torch.device, type(np.dtype(np.uint8)), type(np.dtype(np.float32))}


class Found(NamedTuple):
    """What a search found.

    scopes     modules and classes, and what their names stand for: NOTHING for a name that is not there
    functions  that may be called
    classes    objects of which may be made; any name of theirs may matter
    missing    modules that would be imported, and were not yet
    plain      names of modules that stand for nothing, or for data
    """

    scopes: list[tuple[Any, dict[str, Any]]]
    functions: list[FunctionType]
    classes: list[type]
    missing: set[str]
    plain: set[tuple[str, str]]


def load(*asked: Any) -> Found | None:
    """What was kept of searches, each for some roots, classes and names, if it is right here."""
    named = _named(asked)
    kept = None if named is None else memory.find(_KIND, named)
    if kept is None:
        return None
    try:
        return _compared(kept)
    except (AttributeError, KeyError, LookupError, OSError, TypeError, ValueError):  # whatever the file holds
        return None


def store(found: Found, *asked: Any) -> None:
    """Keeps what searches found, if all of it can be told."""
    named = _named(asked)
    if named is None:
        return
    scopes = []
    for owner, names in found.scopes:
        place = _place(owner)
        told = {name: tell(value) for name, value in names.items()}
        if place is None or None in told.values():
            return
        scopes.append([*place, told])
    classes = [(_place(kind), _names_of(kind)) for kind in found.classes]
    if any(place is None for place, _ in classes):
        return
    modules = {str(place[0]) for place in scopes}
    modules |= {str(place[0]) for place, _ in classes if place is not None}
    modules |= {str(function.__globals__.get("__name__")) for function in found.functions if not _is_made(function)}
    with suppress(KeyError, OSError):
        kept = {
            "modules": {module: _file_of(module) for module in sorted(modules)},
            "scopes": scopes,
            "classes": [[*place, names] for place, names in classes if place is not None],
            "missing": sorted(found.missing),
            "plain": sorted(found.plain),
            "tables": _tables_of([*found.functions]),
        }
        memory.keep(_KIND, named, kept, _KEPT_MAX)


def together(several: Iterable[Found]) -> Found:
    """What all of several searches found."""
    scopes: dict[int, tuple[Any, dict[str, Any]]] = {}
    functions: dict[FunctionType, None] = {}
    classes: dict[type, None] = {}
    missing: set[str] = set()
    plain: set[tuple[str, str]] = set()
    for found in several:
        functions.update(dict.fromkeys(found.functions))
        classes.update(dict.fromkeys(found.classes))
        missing |= found.missing
        plain |= found.plain
        for owner, values in found.scopes:
            scopes.setdefault(id(owner), (owner, {}))[1].update(values)
    return Found([*scopes.values()], [*functions], [*classes], missing, plain)


def _named(several: Iterable[Any]) -> str | None:
    """What searches are kept under; None if they cannot be named."""
    told = []
    for roots, classes, names in several:
        places = [_place(owner) for owner, _ in roots] + [_place(kind) for kind in classes]
        if None in places:
            return None
        told.append((places, [name for _, name in roots], names))
    text = repr((_VERSION, sys.version, told))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _compared(kept: dict[str, Any]) -> Found | None:
    """What was kept, as it is here; None if something is otherwise."""
    if not kept["modules"].keys() <= sys.modules.keys():
        fill()
    if any(_file_of(module) != tuple(file) for module, file in kept["modules"].items()):
        return None
    if any(module in sys.modules for module in kept["missing"]):
        return None
    if not all(is_data(vars(sys.modules[module]).get(name)) for module, name in kept["plain"]):
        return None
    classes = []
    for module, qualname, names in kept["classes"]:
        kind = _at(module, qualname)
        if _names_of(kind) != names:
            return None
        classes.append(kind)
    scopes: list[tuple[Any, dict[str, Any]]] = []
    functions: dict[FunctionType, None] = {}
    for module, qualname, told in kept["scopes"]:
        owner = _at(module, qualname)
        values = {}
        for name, said in told.items():
            values[name] = value = vars(owner).get(name, NOTHING)
            if tell(value) != said:
                return None
            functions.update(dict.fromkeys(_functions_of(value)))
        scopes.append((owner, values))
    called = [*functions]
    if _tables_of(called) != kept["tables"]:
        return None
    for function in called:
        if not _is_made(function):
            trust(function)
    return Found(scopes, called, classes, set(kept["missing"]), {(module, name) for module, name in kept["plain"]})


# ---- places


def _place(owner: Any) -> tuple[str, str] | None:
    """Where a module or class is found: its module's name, and its own in there."""
    if is_module(owner):
        return (owner.__name__, "") if sys.modules.get(owner.__name__) is owner else None
    module, qualname = module_of(owner), _qualname(owner)
    try:
        return (module, qualname) if _at(module, qualname) is owner else None
    except (KeyError, TypeError):
        return None


def _at(module: str, qualname: str) -> Any:
    """Raises KeyError, or TypeError where there is nothing of that kind."""
    found: Any = sys.modules[module]
    for name in qualname.split(".") if qualname else ():
        found = vars(found)[name]
    return found


def _file_of(module: str) -> tuple[str, int, int]:
    """A module's file, with its size and time. Raises KeyError, OSError."""
    path = vars(sys.modules[module]).get("__file__")
    if type(path) is not str:
        return "", 0, 0
    about = os.stat(path)
    return path, about.st_size, about.st_mtime_ns


def _names_of(kind: type) -> str:
    """Digest of the names that a class has, and which of them are data; and of its bases."""
    names = sorted(f"{name}{'' if is_data(value) else '()'}" for name, value in vars(kind).items())
    return _digest("\0".join((*names, *(f"{module_of(base)}.{_qualname(base)}" for base in parents(kind)))))


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()


def _qualname(kind: type) -> str:
    return str(vars(type)["__qualname__"].__get__(kind))


def _tables_of(functions: list[FunctionType]) -> dict[str, str]:
    """What is in the tables that functions look into; functions from there are added to them.

    Raises ValueError where that cannot be told.
    """
    told = {}
    for function in functions:  # which grow
        for _, key, value in registered(function):
            name = f"{function.__globals__.get('__name__')}.{function.__code__.co_name} {key}"
            several = value if type(value) is tuple else (value,)
            texts = [tell(each) for each in several]
            if None in texts:
                raise ValueError(f"a table has {value!r}")
            told[name] = str(texts)
            for each in several:
                functions += (inner for inner in _functions_of(each) if inner not in functions)
    return told


def tell(value: Any, depth: int = 0) -> str | None:
    """What a name stands for, as a text that is another one for whatever does something else; None if nobody can say.

    Nothing that is looked at is called.
    """
    if value is NOTHING:
        return ""
    if depth > _DEPTH_MAX:
        return None
    value = behind(value)
    kind = type(value)
    if kind in (staticmethod, classmethod):
        return _of("method " + kind.__name__, [value.__func__], depth)
    if kind is property:
        return _of("property", [value.fget], depth)
    if kind is FunctionType:
        return _of_function(value, depth)
    if kind is MethodType:
        return _of("bound", [value.__func__], depth)
    if kind is functools.partial:
        return _of("partial", [value.func], depth)
    if kind is functools._lru_cache_wrapper:
        return _of("cached", [vars(value).get("__wrapped__")], depth)
    if kind is BuiltinFunctionType:
        return f"builtin {getattr(value, '__module__', '')}.{value.__name__}"
    if issubclass(kind, type):
        return f"class {module_of(value)}.{_qualname(value)}"
    if issubclass(kind, ModuleType):
        return f"module {vars(value).get('__name__')}"
    return f"a {module_of(kind)}.{_qualname(kind)}"


def _of(what: str, values: Iterable[Any], depth: int) -> str | None:
    told = [tell(value, depth + 1) for value in values]
    return None if None in told else f"{what} {told}"


def _of_function(function: FunctionType, depth: int) -> str | None:
    code = code_of(function)
    given = [_default(value) for value in function.__defaults__ or ()]
    options = {name: _default(value) for name, value in (function.__kwdefaults__ or {}).items()}
    cells: list[str | None] = []
    for cell in function.__closure__ or ():
        try:
            content = cell.cell_contents
        except ValueError:  # it is empty
            content = NOTHING
        cells.append("itself" if content is function else tell(content, depth + 1))
    if None in (*given, *options.values(), *cells):
        return None
    module = str(function.__globals__.get("__name__"))
    scope = module if vars(sys.modules.get(module, functools)) is function.__globals__ else "elsewhere"
    return f"function {scope}.{code.co_name} {_of_code(code)} {_digest(f'{given} {options} {cells}')}"


def _default(value: Any) -> str | None:
    """The text of what an argument is that is not given."""
    kind = type(value)
    if kind in _CONSTANTS or kind in _SAID:
        return f"{kind.__name__} {value!r}"
    if kind in (tuple, list):
        told = [_default(each) for each in value]
        return None if None in told else f"{kind.__name__} {told}"
    if issubclass(kind, Enum):
        return f"{module_of(kind)}.{_qualname(kind)}.{vars(value).get('_name_')}"
    if kind in (object, FunctionType, BuiltinFunctionType) or issubclass(kind, (type, ModuleType)):
        return tell(value, 1)
    return None


_ABOUT = attrgetter(
    *("co_name", "co_firstlineno", "co_flags", "co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_names"),
    *("co_varnames", "co_freevars", "co_cellvars", *(("co_exceptiontable",) if sys.version_info >= (3, 11) else ())),
)
# By their ids: code is kept as long as its functions are, and those are kept by whoever asks.
_codes: dict[int, tuple[CodeType, str]] = {}


def _of_code(code: CodeType) -> str:
    """Digest of all that code does, and not of where its file is."""
    known = _codes.get(id(code))
    if known is not None:
        return known[1]
    found, work = hashlib.blake2b(digest_size=12), [code]
    while work:
        each = work.pop()
        plain = []
        for constant in each.co_consts:
            if type(constant) is CodeType:
                work.append(constant)
            else:
                plain.append(sorted(map(repr, constant)) if type(constant) is frozenset else constant)
        found.update(each.co_code)
        found.update(repr((_ABOUT(each), plain)).encode(errors="surrogatepass"))
    _codes[id(code)] = code, found.hexdigest()
    return _codes[id(code)][1]


def _is_made(function: FunctionType) -> bool:
    """Whether Python itself wrote it, as it does for namedtuples and dataclasses."""
    return function.__code__.co_filename.startswith("<")


def _functions_of(value: Any) -> list[FunctionType]:
    """The function that a name stands for, and those that it closes over."""
    found, work = [], [value]
    while work:
        inner = unwrapped(behind(work.pop()))
        if type(inner) is functools._lru_cache_wrapper:
            inner = vars(inner).get("__wrapped__")
        if type(inner) is not FunctionType or inner in found:
            continue
        found.append(inner)
        for cell in inner.__closure__ or ():
            with suppress(ValueError):  # it is empty
                work.append(cell.cell_contents)
    return found


# ---- tables of libraries that some of their functions look into: what is called from there has no name


def fill() -> None:
    """Has Pillow load its usual formats, as its Image.open does when it is first called."""
    image: Any = sys.modules.get("PIL.Image")
    if image is not None:
        image.preinit()


def registered(function: FunctionType) -> Iterator[tuple[Mapping[Any, Any], Any, Any]]:
    """What a library keeps in tables that a function looks into: the table, a key, and what is there."""
    module = str(function.__globals__.get("__name__"))
    if module == "PIL.Image" and function.__name__ == "open":
        fill()
        image: Any = sys.modules[module]
        for table, names in ((image.OPEN, ("JPEG", "PNG")), (image.DECODERS, ("jpeg", "zip"))):
            for name in names:
                yield table, name, table.get(name, NOTHING)
    if module.startswith("torchvision.transforms.v2.functional."):
        utils = sys.modules.get("torchvision.transforms.v2.functional._utils")
        kernels = {} if utils is None else vars(utils).get("_KERNEL_REGISTRY", {}).get(function, {})
        for kind, kernel in kernels.items():
            yield kernels, kind, kernel


def all_registered(functions: Iterable[FunctionType]) -> list[tuple[Mapping[Any, Any], dict[Any, Any]]]:
    """The tables that any of these look into, and what is there."""
    found: dict[int, tuple[Mapping[Any, Any], dict[Any, Any]]] = {}
    for function in functions:
        for table, key, value in registered(function):
            found.setdefault(id(table), (table, {}))[1][key] = value
    return list(found.values())
