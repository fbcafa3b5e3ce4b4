"""numpy: arrays of images, and of arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .. import switch
from ..stand_ins.array import StandInArray, become_real, of_stand_in, record_function
from ..stand_ins.call import attempt
from ..stand_ins.image import StandInImage
from .front import Make


def fronts() -> tuple[tuple[Any, str, Make], ...]:
    """What stands in front of numpy's functions."""
    return tuple((np, name, partial(_front, name, passes_on)) for name, passes_on in _MAKERS.items())


# Functions that make an array, and whether they give one back as it is, if the dtype is right.
_MAKERS: dict[str, Callable[[StandInArray], bool]] = {
    "array": lambda array: False,
    "asarray": lambda array: True,
    "asanyarray": lambda array: True,
    "ascontiguousarray": lambda array: array.layout_.is_contiguous and array.ndim > 0,
}


def _front(name: str, passes_on: Callable[[StandInArray], bool], original: Callable[..., Any]) -> Callable[..., Any]:
    def front(*arguments: Any, **options: Any) -> Any:
        source = arguments[0] if arguments else None
        if type(source) not in (StandInImage, StandInArray) or switch.current() is None:
            return original(*arguments, **options)
        made = attempt(_recorded, (name, passes_on, original, *arguments), options)
        if made is not None:
            return made
        if type(source) is StandInArray:
            arguments = (become_real(source, f"numpy.{name}"), *arguments[1:])
        return original(*arguments, **options)

    return front


def _recorded(
    name: str,
    passes_on: Callable[[StandInArray], bool],
    original: Callable[..., Any],
    source: Any,
    dtype: Any = None,
    **options: Any,
) -> Any:
    try:
        wanted = None if dtype is None else np.dtype(dtype)
    except TypeError:
        return None
    if options.pop("copy", True) is not True or options:
        return None
    if type(source) is StandInImage:
        return of_stand_in(source, (name, wanted), lambda each: original(each, wanted))
    if wanted in (None, source.dtype) and passes_on(source):
        return source
    return record_function(name, original, (source,), dtype=wanted)
