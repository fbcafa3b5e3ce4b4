"""The plain state of a dataset and its collate_fn, noted and put back, so that a batch can be run twice.

Random generators are rng.py's matter.
"""

from __future__ import annotations

import copy
import operator
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from types import FunctionType
from typing import Any

import numpy as np
import torch
from PIL import Image

from .reach import of_function
from .rng import GENERATORS

__all__ = ["State"]

_OBJECTS_MAX = 2000
_DEPTH_MAX = 8
# Longer containers are tables that were read from a file, hardly a note of what was loaded.
_ITEMS_MAX = 100_000
_ITEMS_WALKED = 100
# Larger arrays and tensors are data, hardly a note of what was loaded.
_BYTES_MAX = 1 << 12
_SCALARS = (bool, int, float, str, bytes)
_MISSING = object()
_MAPPINGS = (dict, defaultdict, OrderedDict, Counter)
# What samples may be made from, if one leaves it to another.
_DATA = (*_SCALARS, list, tuple, set, deque, dict, np.ndarray, np.generic, torch.Tensor, Image.Image, *GENERATORS)


class State:
    """Attributes, containers and small arrays of some objects, and of what they, their classes and functions refer to.

    Only objects of torch's base classes and of the roots' own packages are looked into: what belongs to another library
    (a pool of threads, a database) looks after itself.
    """

    def __init__(self, *roots: Any) -> None:
        self._packages = {_package(root) for root in roots} - {"", "torch"}
        self._seen: set[int] = set()
        self._attributes: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self._containers: list[tuple[Any, Any]] = []
        self._arrays: list[tuple[Any, Any]] = []
        self._classes: dict[type, dict[str, Any]] = {}
        for root in roots:
            self._note(root, 0)
        self._seen.clear()

    def _note(self, value: Any, depth: int) -> None:
        if depth > _DEPTH_MAX or id(value) in self._seen or len(self._seen) >= _OBJECTS_MAX:
            return
        kind = type(value)
        items: Any
        if kind in (list, set, deque, *_MAPPINGS):
            if len(value) > _ITEMS_MAX:
                return
            self._containers.append((value, value.copy()))
            items = list(value.values() if kind in _MAPPINGS else value) if len(value) <= _ITEMS_WALKED else ()
        elif kind is tuple:
            items = value[:_ITEMS_WALKED]
        elif kind is FunctionType:
            items = list(of_function(value))
        elif self._owned(value):
            attributes = vars(value)
            self._attributes.append((attributes, dict(attributes)))
            items = [*attributes.values(), *self._shared(kind)]
        elif _is_own_array(value):
            self._arrays.append((value, copy.copy(value) if kind is np.ndarray else value.detach().clone()))
            items = ()
        else:
            return
        self._seen.add(id(value))
        for item in items:
            self._note(item, depth + 1)

    def _shared(self, kind: type) -> list[Any]:
        """Notes the numbers and texts of the roots' own classes, and gives what else objects of one share."""
        items: list[Any] = []
        for base in kind.__mro__:
            if _package(base) in self._packages and base not in self._classes:
                self._classes[base] = _plain(base)
                items.extend(vars(base).values())
        return items

    def _owned(self, value: Any) -> bool:
        if isinstance(value, (type, torch.Tensor)) or type(getattr(value, "__dict__", None)) is not dict:
            return False
        return isinstance(value, (torch.utils.data.Dataset, torch.nn.Module)) or _package(value) in self._packages

    def changed(self) -> str | None:
        """The name of a number or text among the attributes that is another now."""
        for attributes, known in self._attributes:
            for name, value in known.items():
                if type(value) in _SCALARS and _differs(value, attributes.get(name, _MISSING)):
                    return name
        return None

    def holds(self) -> bool:
        """Whether all is as it was, but for what was opened at first use: objects of libraries in place of None."""
        for attributes, known in self._attributes:
            for name in known.keys() | attributes.keys():
                before, now = known.get(name), attributes.get(name)
                if _differs(before, now) and (before is not None or isinstance(now, _DATA)):
                    return False
        if any(_plain(kind) != known for kind, known in self._classes.items()):
            return False
        arrays = all(bool((array == known).all()) for array, known in self._arrays)
        return arrays and all(_alike(container, known) for container, known in self._containers)

    def restore(self) -> None:
        """Puts all back, but for what was None or missing: files that are opened at first use stay open."""
        for attributes, known in self._attributes:
            for name, value in known.items():
                if value is not None or name not in attributes:
                    attributes[name] = value
        for kind, known in self._classes.items():
            now = _plain(kind)
            for name in now.keys() - known.keys():
                delattr(kind, name)
            for name, value in known.items():
                if _differs(now.get(name), value):
                    setattr(kind, name, value)
        for array, known in self._arrays:
            if not bool((array == known).all()):
                array[...] = known
        for container, known in self._containers:
            if _alike(container, known):
                continue
            kind = type(container)
            container.clear()
            if kind in _MAPPINGS:
                for key, value in known.items():
                    container[key] = value
            else:
                (container.update if kind is set else container.extend)(known)


def _plain(kind: type) -> dict[str, Any]:
    """The numbers and texts of a class."""
    return {name: value for name, value in vars(kind).items() if name[:2] != "__" and type(value) in _SCALARS}


def _is_own_array(value: Any) -> bool:
    """Whether it is a small array or tensor, whose memory is nobody else's."""
    if type(value) is np.ndarray:
        return (
            value.nbytes <= _BYTES_MAX and value.flags.owndata and value.flags.writeable and not value.dtype.hasobject
        )
    if type(value) is not torch.Tensor or value.layout != torch.strided or value.device.type != "cpu":
        return False
    return value.nbytes <= _BYTES_MAX and not value.requires_grad and not value.is_shared()


def _alike(container: Any, known: Any) -> bool:
    """Whether a container has the same objects in it."""
    if type(container) is set:
        return bool(container == known)
    if len(container) != len(known):
        return False
    if type(container) in _MAPPINGS:
        return all(container.get(key, _MISSING) is value for key, value in known.items())
    return all(map(operator.is_, container, known))


def _differs(one: Any, other: Any) -> bool:
    """Whether these are two objects, unless they are equal numbers or texts."""
    return one is not other and (type(one) is not type(other) or type(one) not in _SCALARS or one != other)


def _package(value: Any) -> str:
    """The top-level package of an object's class, or of a function; "" for the standard library's."""
    owner = value if hasattr(value, "__qualname__") else type(value)
    name = str(getattr(owner, "__module__", "")).partition(".")[0]
    return "" if name in sys.stdlib_module_names else name
