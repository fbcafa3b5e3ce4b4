"""Files of other libraries, read in place: `goloader.open(path)` says what they are.

records.py  what all have in common: records that lie in files, with fields in them; the dataset of these
kept.py     what it finds for images(), kept for the next start
mds.py      MosaicML Streaming
litdata.py  Lightning's LitData; encodings.py has what both store alike
ffcv.py     FFCV
lmdb.py     LMDB
tfrecord.py TensorFlow's records; crc.py has their checksum
megatron.py Megatron's tokens
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from ..datasets import Paths, expand
from ..plan.paths import is_url
from . import lmdb, megatron, tfrecord
from .ffcv import FFCV
from .litdata import LitData
from .lmdb import LMDB
from .mds import MDS
from .megatron import TokenSequences
from .records import RecordDataset, Records

__all__ = ["RecordDataset", "open"]

_open = open
_INDEX_MAX = 1 << 30


def open(
    path: Paths,
    transform: Callable[[Any], Any] | None = None,
    *,
    allow_unsafe_types: bool = False,
) -> RecordDataset | TokenSequences:
    """A dataset of the samples in another library's files, which stay as they are.

        dataset = goloader.open("imagenet-mds")
        dataset[0]                                          # {"image": <PIL image>, "label": 7}
        dataset.images("image", "label", transform)         # (transform(image), 7), made in Go

    It has a length and any sample can be had by its index, so that samplers, Subset, exact shuffles over all files and
    resume work as on a folder. What it takes for what:

    MosaicML MDS  a folder with its index.json and shards that are not compressed; sample i is StreamingDataset's
    LitData       a folder with its index.json and chunks, not compressed, encrypted or for its TokensLoader; sample i
                  is StreamingDataset's
    FFCV          a file that is called .beton; fields are what was written, images Pillow's
    TFRecord      files of tf.train.Example, not compressed, which end as they like. A sample has its features by name:
                  arrays of float32 or int64, [values], and bytes, or a list of them where there is not one
    LMDB          a file, or the folder of a data.mdb, with one value a key: {"key": bytes, "value": bytes}, in the
                  order of the keys
    Megatron      PREFIX.bin with PREFIX.idx: sample i is IndexedDataset's sequence, an array [length] of tokens;
                  windows(block_size) makes a TokenDataset of them

    path                of a folder or file, or of several files, with braces ("train-{00000..01023}-of-01024") or
                        wildcards
    transform           called with the sample; what it returns is the sample
    allow_unsafe_types  unpickles fields of pickles, which may run any code: only for files of one's own

    Raises ValueError for a path that is none of these, and for what is compressed or unsafe; FileNotFoundError; OSError
    that names file and byte for what is damaged.
    """
    given = expand(path)
    if any(map(is_url, given)):
        raise ValueError(f"{given[0]}: files of other libraries are read on this machine only, not from remote stores")
    paths = list(map(os.path.abspath, given))
    index = megatron.index_of(paths[0]) if len(paths) == 1 else None
    if index is not None:
        return TokenSequences(index, transform)
    return RecordDataset(_records(paths, allow_unsafe_types), transform)


def _records(paths: list[str], allow_unsafe_types: bool) -> Records:
    folder = paths[0] if len(paths) == 1 and os.path.isdir(paths[0]) else None
    database = lmdb.file_of(paths[0]) if len(paths) == 1 else None
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
