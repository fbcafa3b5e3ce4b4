"""numpy: arrays of images, and of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import switch
from ..array import StandInArray, become_real, of_stand_in, record_function
from ..call import attempt
from ..image import StandInImage
from .front import Make


def hooks() -> tuple[()]:
    """numpy's functions are builtins."""
    return ()


def fronts() -> tuple[tuple[Any, str, Make], ...]:
    """What stands in front of numpy's functions."""
    return (
        (np, "array", _maker("array", lambda array: False)),
        (np, "asarray", _maker("asarray", lambda array: True)),
        (np, "asanyarray", _maker("asanyarray", lambda array: True)),
        (
            np,
            "ascontiguousarray",
            _maker("ascontiguousarray", lambda array: array.layout_.is_contiguous and array.ndim > 0),
        ),
    )


def _maker(name: str, passes_on: Callable[[StandInArray], bool]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """passes_on says whether the function gives an array back as it is, if the dtype is right."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def front(*arguments: Any, **options: Any) -> Any:
            if switch.current() is None or not arguments:
                return original(*arguments, **options)
            source = arguments[0]
            if type(source) is StandInImage:
                made = attempt(_of_image, (name, original, *arguments), options)
                if made is not None:
                    return made
            elif type(source) is StandInArray:
                made = attempt(_of_array, (name, original, passes_on, *arguments), options)
                if made is not None:
                    return made
                arguments = (become_real(source, f"numpy.{name}"), *arguments[1:])
            return original(*arguments, **options)

        return front

    return make


def _of_image(name: str, original: Callable[..., Any], image: StandInImage, dtype: Any = None, **options: Any) -> Any:
    if options.pop("copy", True) is not True or options:
        return None
    wanted = _dtype(dtype)
    if dtype is not None and wanted is None:
        return None
    return of_stand_in(image, (name, wanted), lambda each: original(each, wanted))


def _of_array(
    name: str,
    original: Callable[..., Any],
    passes_on: Callable[[StandInArray], bool],
    array: StandInArray,
    dtype: Any = None,
    **options: Any,
) -> Any:
    if options.pop("copy", True) is not True or options:
        return None
    wanted = _dtype(dtype)
    if dtype is not None and wanted is None:
        return None
    if wanted in (None, array.dtype) and passes_on(array):
        return array
    return record_function(name, original, (array,), dtype=wanted)


def _dtype(dtype: Any) -> Any:
    try:
        return None if dtype is None else np.dtype(dtype)
    except TypeError:
        return None
