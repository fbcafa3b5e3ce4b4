"""matplotlib: its imread, which asks what Pillow's class of an image is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import matplotlib.image

from .. import switch
from ..files import header
from .swap import Hook


def hooks() -> tuple[Hook, ...]:
    return (Hook(matplotlib.image, "imread", _read),)


def _read(original: Any, fname: Any, format: Any) -> Any:
    session = switch.current()
    if session is None or (isinstance(fname, (str, Path)) and not _is_png(fname)):
        return original(fname, format)
    with switch.off():
        made = original(fname, format)
    session.became_real("matplotlib's imread of a PNG file, or of no path")
    return made


def _is_png(path: Any) -> bool:
    """Of which matplotlib makes floats."""
    probed = header.probe_path(os.fsencode(path))
    return probed is not None and probed.head.startswith(header.PNG)
