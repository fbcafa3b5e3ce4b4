"""Inspects users' objects without running any of their code, whatever they are.

hasattr(), getattr(), isinstance() and == ask an object, and it may count, raise, import a library or wait: a lazy
module, a proxy, a Mock, a property, a metaclass. What is found here is found in the object's class and in its dict.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Collection, Mapping
from itertools import repeat
from types import BuiltinFunctionType, FunctionType, GetSetDescriptorType, MemberDescriptorType, MethodType
from typing import Any

_NOTHING = object()

# As type itself has them: a metaclass may give others.
_mro = vars(type)["__mro__"].__get__
_dict = vars(type)["__dict__"].__get__
_qualname = vars(type)["__qualname__"].__get__
_derives = vars(type)["__subclasscheck__"]


def is_a(thing: object, *kinds: type) -> bool:
    """isinstance(), by what the object is, and not by what its `__class__` says."""
    return derives(type(thing), *kinds)


def derives(kind: type, *bases: type) -> bool:
    """issubclass(), whatever a metaclass says."""
    return any(map(_derives, bases, repeat(kind)))


def parents(kind: type) -> tuple[type, ...]:
    """A class and those it is derived from."""
    found: tuple[type, ...] = _mro(kind)
    return found


def members(kind: type) -> Mapping[str, Any]:
    """What a class has of its own: vars(), whatever a metaclass says."""
    found: Mapping[str, Any] = _dict(kind)
    return found


def in_class(kind: type, name: str) -> Any:
    """What a class, or a base of it, has by that name; None for nothing. Runs no descriptor."""
    return in_classes(parents(kind), name)


def in_classes(kinds: tuple[type, ...], name: str) -> Any:
    """The same of several classes, in this order."""
    found = _first(kinds, name)
    return None if found is _NOTHING else found


def has(thing: object, name: str) -> bool:
    """True if an object or its class has something by that name, `__getattr__` left aside."""
    kind = type(thing)
    if issubclass(kind, type):
        return _found(thing, name) is not _NOTHING
    kinds = _mro(kind)
    return _first(kinds, name) is not _NOTHING or dict.__contains__(_own(kinds, thing), name)


def hiding(thing: object) -> list[str]:
    """Attributes of an object that hide such of its class."""
    own = dict.keys(_own(_mro(type(thing)), thing))
    return [name for each in map(_dict, _mro(type(thing))) for name in own & each.keys()]


def attribute(thing: object, name: str, default: Any = None) -> Any:
    """An attribute that is kept as it is, in the object or its class; the default for any that would be computed."""
    found = _found(thing, name)
    if found is None or found is _NOTHING:
        return default if found is _NOTHING else None
    return default if _first(_mro(type(found)), "__get__") is not _NOTHING else found


def own(thing: object) -> dict[str, Any]:
    """An object's own attributes; none of a class, or where somebody computes them."""
    return {} if issubclass(type(thing), type) else _own(_mro(type(thing)), thing)


def entries(thing: object) -> Any:
    """The dict of a transformers' BatchEncoding, which passes on what is asked of it by name; else the thing itself."""
    kind = type(thing)
    if _qualname(kind) != "BatchEncoding" or vars(sys.modules.get(_ENCODINGS, sys)).get("BatchEncoding") is not kind:
        return thing
    data = _own(_mro(kind), thing).get("data")
    return data if type(data) is dict else thing


_ENCODINGS = "transformers.tokenization_utils_base"


def attributes(thing: object) -> Collection[Any]:
    """The values of an object's own attributes; none of a class, or where somebody computes them."""
    return dict.values(_own(_mro(type(thing)), thing))


def _found(thing: object, name: str) -> Any:
    """inspect.getattr_static, which takes five times as long: loaders are looked at in each epoch."""
    kind = type(thing)
    if issubclass(kind, type):
        return inspect.getattr_static(thing, name, _NOTHING)
    kinds = _mro(kind)
    shared = _first(kinds, name)
    held = dict.get(_own(kinds, thing), name, _NOTHING)
    return shared if held is _NOTHING or (shared is not _NOTHING and _is_data_descriptor(type(shared))) else held


def _first(kinds: tuple[type, ...], name: str) -> Any:
    """What the first of several classes has that has something by that name, else _NOTHING."""
    for each in map(_dict, kinds):
        if name in each:
            return each[name]
    return _NOTHING


def _own(kinds: tuple[type, ...], thing: object) -> dict[str, Any]:
    """The dict of an object of such classes; an empty one of a class, where there is none, or somebody computes it."""
    place = _first(kinds, "__dict__")
    if type(place) not in (GetSetDescriptorType, MemberDescriptorType):
        return {}
    found = place.__get__(thing)
    return found if isinstance(found, dict) else {}


def _is_data_descriptor(kind: type) -> bool:
    return in_class(kind, "__get__") is not None and (
        in_class(kind, "__set__") is not None or in_class(kind, "__delete__") is not None
    )


def name_of(thing: object) -> str:
    """What to call a function, or an object of a class of its own."""
    if type(thing) in (FunctionType, BuiltinFunctionType, MethodType, type):
        return str(thing.__qualname__)  # type: ignore[attr-defined]
    return str(_qualname(type(thing)))
