"""Makes plans without torch: of image folders, arrays, images in memory and recipes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import transforms as T
from ..arrays import FileArray
from ..arrays.file_array import NUMPY_DTYPES
from ..arrays.mapped import file_of
from ..seek_index import SeekIndex
from . import Plan
from .explain import Row, number_of
from .needs import DECODERS, RESIZES, Rules, check_pillow_plugins, require, rules, steps_of
from .paths import Files
from .refusal import Refusal, RefusalError
from .rows import DIMENSIONS_MAX, Array, Field, View
from .transforms.lowered import Lowered, lower_neutral


def make_folder(
    root: str | os.PathLike[str],
    files: Files,
    transforms: Sequence[T.Geometry | T.ToArray | T.Normalize] = (),
    *,
    seek_index: SeekIndex | None = None,
) -> Plan:
    """The plan of an image folder without torch; the files are those below root.

    Without transforms images are [3, h, w] uint8.
    """
    lowered = lower_neutral(transforms)
    with suppress(ImportError):
        import PIL.Image  # noqa: F401 - whose pixels these are to be
    try:
        found = rules_of([lowered], in_files=True, torch=False)
    except RefusalError as refused:
        raise RuntimeError(str(refused)) from None
    return Plan(
        kind="folder",
        length=len(files),
        parts=((len(files), lowered),),
        rules=found,
        rows=(
            source_row(f"{number_of(len(files), 'file')} in {os.fspath(root)}", 1.0 - files.native_share()),
            *seek_rows(seek_index),
            *transform_rows([lowered]),
        ),
        files=files,
        dtype=lowered.dtype,
        channels=lowered.channels,
        size=lowered.size,
        seek_index=seek_index,
    )


def make_arrays(arrays: Mapping[str, NDArray[Any] | FileArray] | Sequence[NDArray[Any] | FileArray]) -> Plan:
    """The plan of arrays of equal length: sample i is row i of each. A sequence names them 0, 1, ...

    Rows are read from the arrays' own memory, however it is laid out, or from their files; an array in memory in
    another byte order is copied once.
    Raises ValueError for unequal lengths and TypeError for a dtype that the core does not have.
    """
    named = dict(arrays) if isinstance(arrays, Mapping) else {str(i): array for i, array in enumerate(arrays)}
    if not named:
        raise ValueError("at least one array is needed")
    rows: dict[str, NDArray[Any] | FileArray] = {}
    for name, array in named.items():
        if not isinstance(array, FileArray):
            array = np.asarray(array)
            array = (file_of(array) if array.dtype.isnative else None) or array
        dtype = array.dtype if isinstance(array, FileArray) else array.dtype.name
        if dtype not in NUMPY_DTYPES:
            raise TypeError(f"array {name!r} has dtype {dtype}, not one of {', '.join(NUMPY_DTYPES)}")
        if not 1 <= array.ndim <= DIMENSIONS_MAX:
            raise ValueError(f"array {name!r} has {array.ndim} dimensions, not 1 to {DIMENSIONS_MAX}")
        if isinstance(array, FileArray) and not array.numpy_dtype.isnative:
            raise TypeError(f"array {name!r} has another byte order: it would have to be copied")
        rows[name] = array if isinstance(array, FileArray) else np.asarray(array, array.dtype.newbyteorder("="))
    lengths = {name: len(array) for name, array in rows.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"arrays differ in length: {lengths}")
    count = next(iter(lengths.values()))
    dtypes = {name: np.dtype(array.dtype).name for name, array in rows.items()}
    what = ", ".join(f"{name}: {dtypes[name]}{list(array.shape)}" for name, array in rows.items())
    return Plan(
        kind="array",
        length=count,
        parts=((count, None),),
        rules=None,
        rows=(Row("source", what, "Go"),),
        fields=tuple(
            Field(dtypes[name], array.shape[1:], (Array.of(array),), views=(View((number,)),))
            for number, (name, array) in enumerate(rows.items())
        ),
    )


def make_places(lowered: Lowered, places: NDArray[Any], layout: str | None) -> Plan | Refusal:
    """The plan of images that the caller puts into `places`, or the reason why the core cannot make them here.

    places  [n] of _native.Place, to be written while no batch is outstanding
    layout  of images that are not encoded: "interleaved" [height, width, 3] or "flat" [height, width]
    """
    try:
        found = rules_of([lowered], in_files=layout is None)
    except RefusalError as refused:
        return refused.refusal
    return check_pillow_plugins() or Plan(
        kind="places",
        length=len(places),
        parts=((len(places), lowered),),
        rules=found,
        rows=tuple(transform_rows([lowered])),
        places=places,
        layout=layout,
        dtype=lowered.dtype,
        channels=lowered.channels,
        size=lowered.size,
    )


def make_recipes(named_files: int = 0, seek_index: SeekIndex | None = None) -> Plan | Refusal:
    """The plan whose batches bring their recipes along, or the reason why the core cannot carry out any here.

    What is remembered of `named_files` files is not kept between runs: their paths come and go with the batches.
    """
    try:
        require("source", *DECODERS)
        found = rules(RESIZES)
    except RefusalError as refused:
        return refused.refusal
    return check_pillow_plugins() or Plan(
        kind="recipe",
        length=0,
        parts=(),
        rules=found,
        rows=(),
        seek_index=None if seek_index is None else replace(seek_index, path=None),
        named_files=named_files,
    )


def rules_of(parts: Sequence[Lowered], *, in_files: bool, torch: bool = True) -> Rules:
    """The variants that hold here of what the parts need. Raises RefusalError if something else holds."""
    names = steps_of(parts)
    if not torch:
        names = [name for name in names if name.startswith("pillow.")]
    require("source", *(DECODERS if in_files else ()))
    require("transform", *names)
    return rules(names, torch=torch)


def common_size(parts: Sequence[Lowered]) -> T.Size | None:
    sizes = {lowered.size for lowered in parts}
    return sizes.pop() if len(sizes) == 1 else None


def source_row(what: str, foreign: float, notes: Sequence[str] = ()) -> Row:
    pillow = f"{foreign:.1%} of the files are of kinds that only Pillow reads, one by one" if foreign else ""
    return Row("source", what, "Go", "; ".join(filter(None, (*notes, pillow))))


def seek_rows(seek_index: SeekIndex | None) -> list[Row]:
    if seek_index is None:
        return []
    return [Row("seek index", str(seek_index), "Go", "later epochs decode less of a JPEG around its crop")]


def transform_rows(parts: Sequence[Lowered]) -> list[Row]:
    """A row for each transform of each different pipeline; its last row has the notes."""
    rows: list[Row] = []
    for names, notes in dict.fromkeys((lowered.names, lowered.notes) for lowered in parts):
        rows += [Row("transform", name, "Go") for name in names[:-1]]
        rows += [Row("transform", name, "Go", "; ".join(notes)) for name in names[-1:]]
    return rows
