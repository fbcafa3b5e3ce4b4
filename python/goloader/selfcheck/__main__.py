"""python -m goloader.selfcheck: how the libraries that are installed behave, tried now.

A line a behaviour: its name, the variant that holds or "differs", milliseconds, and the digest that was found.
"""

from __future__ import annotations

import time
from contextlib import suppress

from . import libraries, names, tried
from .behaviour import digest


def main() -> None:
    print(*map(libraries.version, libraries.imported()), sep=", ")
    for name in names():
        begun = time.perf_counter()
        both = tried(name)
        spent = time.perf_counter() - begun
        if both is None:
            continue
        behaviour, found = both
        seen = ""
        with suppress(Exception):
            seen = str(digest(behaviour.make())) if behaviour.make else ""
        print(f"{name:40} {'differs' if found is None else found!s:16} {spent * 1e3:7.1f} ms {seen}")


if __name__ == "__main__":
    main()
