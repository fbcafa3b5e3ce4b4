"""python -m goloader.selfcheck: how the libraries that are installed behave, tried now.

A line a behaviour: its name, the variant that holds or "differs", milliseconds, and the digest that was found.
"""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from importlib import import_module

from . import _table, found_now, libraries, names
from .behaviour import digest


def main() -> None:
    for module in ("PIL.Image", "torch", "torchvision.transforms.v2", "torchvision.io", "cv2"):
        with suppress(Exception):  # whatever is wrong with it, it is not there
            import_module(module)
    print(*map(libraries.version, libraries.NAMES), sep=", ")
    for name in names():
        behaviour = _table(name)[name]
        if behaviour.module not in sys.modules:
            continue
        begun = time.perf_counter()
        found = found_now(behaviour)
        spent = time.perf_counter() - begun
        seen = ""
        with suppress(Exception):
            seen = str(digest(behaviour.make())) if behaviour.make else ""
        print(f"{name:40} {'differs' if found is None else found!s:16} {spent * 1e3:7.1f} ms {seen}")


if __name__ == "__main__":
    main()
