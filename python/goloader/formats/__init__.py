"""Reads files of other libraries in place: `goloader.open(path)`.

records.py  what all formats share: records with fields, and their dataset
mds.py      MosaicML Streaming
litdata.py  Lightning's LitData; encodings.py has what both share
ffcv.py     FFCV
lmdb.py     LMDB
tfrecord.py TensorFlow's records
megatron.py Megatron's tokens
table_rows.py  Parquet and Arrow with a transform; arrays/ reads them
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import Any

from ..arrays import ArrayDataset, open_arrays
from ..arrays.formats import is_table, tables_in
from ..datasets import Paths, expand
from ..plan.paths import is_url
from ..storage.lmdb import file_of
from . import megatron, tfrecord
from .ffcv import FFCV
from .litdata import LitData
from .lmdb import LMDB
from .mds import MDS
from .megatron import TokenSequences
from .records import RecordDataset, Records
from .table_rows import TransformedRows

__all__ = ["RecordDataset", "open"]

_open = open
_INDEX_MAX = 1 << 30


def open(
    path: Paths,
    transform: Callable[[Any], Any] | None = None,
    *,
    allow_unsafe_types: bool = False,
    columns: Sequence[str] | None = None,
) -> RecordDataset | TokenSequences | ArrayDataset:
    """Opens another library's files as a dataset. The files stay as they are.

        dataset = goloader.open("imagenet-mds")
        dataset[0]                                          # {"image": <PIL image>, "label": 7}
        dataset.images("image", "label", transform)         # (transform(image), 7), made in Go

    The dataset has a length and gives any sample by its index, so samplers, Subset, exact shuffles over all files and
    resume work as on a folder. Formats:

    MosaicML MDS  a folder with index.json and uncompressed shards; sample i is StreamingDataset's
    LitData       a folder with index.json and chunks that are neither compressed, encrypted nor made for its
                  TokensLoader; sample i is StreamingDataset's
    FFCV          a .beton file; a sample has the fields that were written, images as Pillow's
    TFRecord      uncompressed files of tf.train.Example with any suffix. A sample has its features by name: arrays of
                  float32 or int64, [values]; bytes, or a list of bytes if there is not exactly one
    LMDB          a file, or the folder of a data.mdb, with one value for each key: {"key": bytes, "value": bytes}, in
                  the order of the keys
    tables        Parquet and Arrow (.arrow, .feather): a file, several, or a folder of them. Gives an ArrayDataset of
                  the columns, as open_arrays has them: {"x": tensor, "text": str}
    Megatron      PREFIX.bin with PREFIX.idx: sample i is IndexedDataset's sequence, an array [length] of tokens;
                  windows(block_size) makes a TokenDataset of them

    path                a folder or file, or several files, with braces ("train-{00000..01023}-of-01024") or wildcards
    transform           called with the sample; its result is the sample
    allow_unsafe_types  unpickles pickled fields, which may run any code: only for files that you trust
    columns             of a table, the names of those that make a sample; None: all

    Raises ValueError for a path of another format, and for compressed or unsafe files; FileNotFoundError; OSError with
    file and byte for damaged files.
    """
    given = expand(path)
    if any(map(is_url, given)):
        raise ValueError(f"{given[0]}: files of other libraries are read on this machine only, not from remote stores")
    paths = list(map(os.path.abspath, given))
    tables = tables_in(paths[0]) if len(paths) == 1 and os.path.isdir(paths[0]) else paths
    if tables and os.path.isfile(tables[0]) and is_table(tables[0]):
        found: dict[str, Any] = open_arrays(tables, columns=columns)  # type: ignore[assignment]
        return ArrayDataset(**found) if transform is None else TransformedRows(found, transform)
    if columns is not None:
        raise ValueError(f"{paths[0]}: it is no table, so it has no columns")
    index = megatron.index_of(paths[0]) if len(paths) == 1 else None
    if index is not None:
        return TokenSequences(index, transform)
    return RecordDataset(_records(paths, allow_unsafe_types), transform)


def _records(paths: list[str], allow_unsafe_types: bool) -> Records:
    folder = paths[0] if len(paths) == 1 and os.path.isdir(paths[0]) else None
    database = file_of(paths[0]) if len(paths) == 1 else None
    if database is not None:
        return LMDB(database)
    if folder is None and len(paths) == 1 and paths[0].endswith(".beton"):
        return FFCV(paths[0])
    if folder is None and tfrecord.is_one(paths[0]):
        return tfrecord.TFRecord(paths)
    index = {} if folder is None else _index(os.path.join(folder, "index.json"))
    if folder is not None and "shards" in index:
        return MDS(folder, index, allow_unsafe_types)
    if folder is not None and "chunks" in index:
        return LitData(folder, index, allow_unsafe_types)
    raise ValueError(
        f"{', '.join(paths[:3])}: an unknown format (goloader.datasets.TarDataset reads tar archives, "
        "goloader.ArrayDataset arrays)"
    )


def _index(path: str) -> dict[str, Any]:
    """An index.json; empty where there is none. Raises OSError for one that is not what it should be."""
    try:
        with _open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size > _INDEX_MAX:
                raise OSError(f"{path}: more than {_INDEX_MAX} bytes")
            index: Any = json.loads(file.read())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise OSError(f"{path}: {error}") from error
    kinds = {key: index[key] for key in ("shards", "chunks") if key in index} if isinstance(index, dict) else {"": 0}
    if any(type(each) is not list or set(map(type, each)) - {dict} for each in kinds.values()):
        raise OSError(f"{path}: not lists of objects")
    return dict(index)
