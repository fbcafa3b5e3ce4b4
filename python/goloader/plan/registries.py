"""What libraries keep in tables that some of their functions look into: what is called from there has no name."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from types import FunctionType
from typing import Any

NOTHING: Any = object()


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
