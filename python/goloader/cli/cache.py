"""python -m goloader cache: what datasets keep on a disk (their argument cache=)."""

from __future__ import annotations

import argparse
import json
import os
import time
from typing import Any

# In the order of core/source/cache: List, Verify, Remove.
_WHAT = {"ls": "print how much is kept", "verify": "remove damaged files", "rm": "remove everything"}


def add(commands: Any) -> None:
    parser = commands.add(
        "cache",
        _cache,
        help="list, check or empty a dataset's cache on disk",
        description="; ".join(f"{name}: {what}" for name, what in _WHAT.items()) + ". Loaders may use it meanwhile.",
    )
    parser.add_argument("what", choices=_WHAT)
    parser.add_argument("path", metavar="PATH", nargs="+", help="a folder passed as cache=")


def _cache(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> int:
    from .. import _native
    from ..storage.remote import fetched

    lib = _native.library()
    for path in parsed.path:
        try:
            folder = os.fsencode(os.path.abspath(path))
            found = json.loads(fetched(lib, lib.gl_cache_look, folder, list(_WHAT).index(parsed.what)))
        except OSError as error:
            parser.error(str(error))
        told = f"{path}: {found['entries']:,} files, {found['bytes']:,} bytes"
        if parsed.what == "ls" and found["entries"]:
            told += f", used last at {time.strftime('%Y-%m-%d %H:%M', time.localtime(found['used_ns'] // 10**9))}"
        print(told if parsed.what == "ls" else f"{told}; {found['removed']:,} removed")
    return 0
