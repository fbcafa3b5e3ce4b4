"""Checks on this machine how the libraries behave whose work goloader does.

goloader reproduces the library versions that it was compared with. Whether the installed library behaves like them is
not derived from its version number. It is tried when first needed, on tiny inputs, and the result is kept on disk
(memory.py). An operation asks only for the behaviours that it reproduces.

    behaviour.py   a row of the tables
    pillow.py, torch.py, torchvision.py, opencv.py, numpy.py, scipy.py, soundfile.py, imageio.py, skimage.py,
    matplotlib.py  the tables
    resize.py      resizes, plainly written
    grid.py        and affine transforms of tensors
    pictures/      files of each kind for decoders
    sounds.py      the same for what reads WAV files
    readers.py     and for what reads images as arrays
    libraries.py   what a result depends on
    memory.py      the file
    __main__.py    python -m goloader.selfcheck: all behaviours, as they are here

A library that the program has not imported is not imported for this; what is not used cannot differ.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from typing import Any

from . import libraries, memory
from .behaviour import Behaviour

# What was found in this process, by name. Two threads that try the same thing find the same.
_found: dict[str, Any] = {}


def holds(*names: str) -> bool:
    """True if the libraries in use behave so."""
    return all(value(name) is not None for name in names)


def value(name: str) -> Any:
    """The variant of a behaviour that holds here (True where there is but one), or None."""
    if name not in _found:
        behaviour = _table(name)[name]
        if behaviour.module not in sys.modules:
            return behaviour.variants[0]
        _look(name, behaviour)
    return _found[name]


def differing(*names: str) -> tuple[str, str] | None:
    """The first library that behaves otherwise, with its version, and how: a sentence without its full stop."""
    for name in names:
        if not holds(name):
            return libraries.version(_library(name)), f"its {_table(name)[name].what} is not the one known"
    return None


def names() -> tuple[str, ...]:
    """All behaviours."""
    return tuple(name for library in libraries.NAMES for name in _table(library))


def tried(name: str) -> tuple[Behaviour, Any] | None:
    """A behaviour and the variant that holds now, whatever is remembered; None if its library is not imported."""
    behaviour = _table(name)[name]
    return (behaviour, found_now(behaviour)) if behaviour.module in sys.modules else None


def forget() -> None:
    """Has everything tried again, or read from disk."""
    _found.clear()
    _kept.cache_clear()


def _library(name: str) -> str:
    return name.partition(".")[0]


@cache
def _tables(library: str) -> dict[str, Behaviour]:
    table: dict[str, Behaviour] = import_module(f".{library}", __name__).BEHAVIOURS
    return table


def _table(name: str) -> dict[str, Behaviour]:
    return _tables(_library(name))


@cache
def _kept(library: str) -> dict[str, Any]:
    """What is remembered of a library."""
    return memory.load(libraries.stamp(library))


def _look(name: str, behaviour: Behaviour) -> None:
    """Only what holds is remembered: a program that replaces a library's functions spoils nothing for others."""
    library = _library(name)
    known = _kept(library).get(name)
    if known is None or known not in behaviour.variants:
        known = found_now(behaviour)
        if known is not None:
            memory.store(libraries.stamp(library), {name: known})
    _found[name] = known


def found_now(behaviour: Behaviour) -> Any:
    """The variant that holds, tried now; None if none does, or if the library has no such function."""
    try:
        found = behaviour.look()
    except Exception:  # whatever a library raises, it is not what is known
        return None
    return found if found in behaviour.variants else None
