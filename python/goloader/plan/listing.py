"""A dataset's own code beside what goloader makes of it, line by line: for `python -m goloader explain`."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from types import FunctionType
from typing import Any

from torch.utils.data import ConcatDataset, StackDataset, Subset

from .bytecode import Attribute, Display, Expression, Mapping, Name, parts_of
from .datasets.own.code import OwnCode, is_of_library
from .explain import Explanation
from .refusal import RefusalError
from .trust.look import in_class

_PLACE = re.compile(r"([^\s()/]+\.py):(\d+)")
_SOURCE_MAX, _NOTE_MAX = 72, 100


def listing(dataset: Any, explanation: Explanation) -> Iterator[str]:
    """Lines of a dataset's code, or of those that it is made of, each with where it runs and what it was read as."""
    told = _told(explanation)
    compiled = any(row.where == "Go" for row in explanation if row.stage == "source")
    for each in _leaves(dataset):
        kind = type(each)
        getitem = in_class(kind, "__getitem__")
        if type(getitem) is not FunctionType or is_of_library(kind.__module__):
            continue
        notes = told
        functions: Iterable[FunctionType] = [getitem]
        with suppress(RefusalError):  # a row of the explanation says why, and on which line
            own = OwnCode(each)
            functions = own.functions
            if compiled:
                notes = _read(own.reading.places.items()) | told
        for function in functions:
            yield from _function(function, notes)


def _leaves(dataset: Any) -> Iterator[Any]:
    """The datasets that torch's own ones stand around."""
    match dataset:
        case Subset():
            yield from _leaves(dataset.dataset)
        case ConcatDataset() | StackDataset():
            parts = dataset.datasets
            for each in parts.values() if isinstance(parts, dict) else parts:
                yield from _leaves(each)
        case _:
            yield dataset


def _told(explanation: Explanation) -> dict[str, str]:
    """What the rows say of lines, by "file.py:12"."""
    return {
        found.group(): f"{row.where}: {row.what if row.stage == 'trace' else row.why.rpartition('__getitem__ ')[2]}"
        for row in explanation
        for found in _PLACE.finditer(row.why)
    }


def _read(places: Iterable[tuple[Expression, str]]) -> dict[str, str]:
    """What each line was read as: the values that are no parts of others on it."""
    lines: dict[str, list[Expression]] = {}
    for expression, place in places:
        if not isinstance(expression, Attribute | Display | Mapping | Name):  # nothing is worked out
            lines.setdefault(place, []).append(expression)
    found = {}
    for place, values in lines.items():
        inner = {id(part) for value in values for part in parts_of(value) if part is not value}
        found[place] = "Go: " + "; ".join(str(value) for value in values if id(value) not in inner)
    return found


def _function(function: FunctionType, notes: dict[str, str]) -> Iterator[str]:
    file = os.path.basename(function.__code__.co_filename)
    try:
        source, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        return
    yield f"{function.__qualname__}, {file}:{first}"
    for number, line in enumerate(map(str.rstrip, source), first):
        note = notes.get(f"{file}:{number}", "")
        text = f"{number:>5}  {line}"
        yield f"{text:<{_SOURCE_MAX}}  {_short(note)}" if note else text


def _short(note: str) -> str:
    return note if len(note) <= _NOTE_MAX else note[: _NOTE_MAX - 3] + "..."
