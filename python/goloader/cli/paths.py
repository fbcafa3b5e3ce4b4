"""What the paths of a command line are."""

from __future__ import annotations

import os
from collections.abc import Sequence

# In folders of other libraries, which have folders in them too.
_OF_LIBRARIES = "index.json", "data.mdb"


def are_archives(paths: Sequence[str]) -> bool:
    """True for tar archives, with braces and wildcards. Raises FileNotFoundError where these match nothing."""
    from ..datasets import expand

    return all(path.endswith(".tar") for path in expand(paths))


def is_image_folder(path: str) -> bool:
    """True for a folder with a folder for each class."""
    if not os.path.isdir(path) or any(os.path.exists(os.path.join(path, name)) for name in _OF_LIBRARIES):
        return False
    with os.scandir(path) as entries:
        return any(entry.is_dir() for entry in entries)
