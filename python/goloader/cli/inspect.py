"""python -m goloader inspect: what files of another library's hold."""

from __future__ import annotations

import argparse
import os
from typing import Any


def add(commands: Any) -> None:
    parser = commands.add(
        "inspect",
        _inspect,
        help="show what files of another library contain",
        description="Prints what goloader.open(PATH) finds: format, number of samples, fields and files.",
    )
    parser.add_argument("path", metavar="PATH", nargs="+", help="a folder or file, or several files")


def _inspect(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> int:
    from ..arrays import ArrayDataset
    from ..formats import open

    try:
        dataset = open(parsed.path, allow_unsafe_types=True)  # nothing is decoded
        if isinstance(dataset, ArrayDataset):
            kind, files, fields = "a table", sorted(dataset.paths), {str(n): each.text for n, each in dataset.named()}
        else:
            kind, files, fields = dataset.kind, dataset.files, dataset.fields
        size = sum(map(os.path.getsize, files))
    except (OSError, ValueError) as error:
        parser.error(str(error))
    print(f"{kind}: {len(dataset):,} samples, {size:,} bytes in {len(files):,} files")
    width = max(map(len, fields), default=0)
    for name, encoding in fields.items():
        print(f"  {name:<{width}}  {encoding}")
    return 0
