"""Transforms images of Ray Data's blocks in Go, in Ray's memory: docs/ray.md.

    import goloader.ray

    files = ray.data.read_binary_files("photos", include_paths=True)
    made = files.map_batches(goloader.ray.Transform(transform), batch_format="pyarrow")

columns.py  where the images of a column lie
engine.py   the core at work on them
"""

from __future__ import annotations

from .transform import Transform

__all__ = ["Transform"]
