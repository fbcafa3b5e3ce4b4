"""Turns torch's objects into a plan: a run as data, which the core carries out.

    planner.py   plans of loaders; neutral.py, of what needs no torch
    explain.py   what runs where, and why: refusal.py, reasons.py; listing.py, line by line

    datasets/    where samples are; rows.py, paths.py and structure.py say what they are, row_layouts.py how rows lie
                 in a batch
    transforms/  what is done to images
    collates/    how samples become batches
    samplers.py  batches of indices
    streams.py   pipelines of shards, for pipeline.py

    bytecode/    users' code, read as expressions
    trust/       what of users' objects and libraries' code may be relied on
    needs.py     what installed libraries have to do (goloader.selfcheck)

Importing this package imports neither torch nor torchvision; `goloader.plan.samplers` (index_batches) needs torch.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from .. import transforms as T
from ..seek_index import SeekIndex
from .explain import Explanation, Row
from .needs import Rules, decoders, max_pixels
from .paths import Files
from .refusal import Refusal
from .row_layouts import STACKED
from .rows import Field, Pixels
from .transforms.lowered import VERSION, Lowered

if TYPE_CHECKING:
    from .collates.called import Called
    from .collates.collation import After, Collation
    from .collates.own import OwnCollate
    from .datasets import Samples
    from .datasets.script import ScriptPart
    from .pipeline import Pipeline

__all__ = [
    "Explanation", "Lowered", "Plan", "Refusal", "Row",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Plan:
    """A run as data.

    kind      where samples live: "folder" (image files), "pairs" (image files whose targets are image files), "places"
              (images anywhere in memory, others for each batch), "array" (rows of arrays), "recipe" (batches bring
              theirs), "script" (samples of several images, files or in memory), or "stream" (samples of shards, one
              after the other)
    length    samples of the dataset
    parts     (count, Lowered) of each stretch of rows with a transform of its own; one without Lowered for arrays
    files     of a folder, each once, however often or seldom the dataset lists them
    pixels    of each part, if they are in memory
    labels    of them, [images] int64
    places    where images are: [count] of _native.Place, and
    layout    how they lie there if they are not encoded
    fields    of an array source
    put       makes a batch of its columns, one for each field; an image is field 0, its target field 1
    dtype     of an image, torch's name; "" for arrays
    channels  of an image
    size      (height, width) of every image; None if it depends on the image
    target    (dtype, channels, size) of targets that are images; None for labels
    batched   False for batch_size=None: a batch is then one sample
    rows      what explain() says
    seek_index  how much of a folder's files is remembered; None for nothing
    collation   what the loader does with the samples of a batch; None without a loader
    named_files  about how many files batches of recipes, or of a stream, will name
    script    of kind "script", and
    scripts   of each part
    stream    of kind "stream"
    """

    kind: Literal["folder", "pairs", "places", "array", "recipe", "script", "stream"]
    length: int
    parts: tuple[tuple[int, Lowered | None], ...]
    rules: Rules | None
    rows: tuple[Row, ...]
    files: Files | None = None
    pixels: tuple[Pixels, ...] = ()
    labels: NDArray[np.int64] | None = None
    places: NDArray[Any] | None = None
    layout: str | None = None
    fields: tuple[Field, ...] = ()
    put: Callable[[Sequence[Any]], Any] = list
    dtype: str = ""
    channels: int = 0
    size: T.Size | None = None
    target: tuple[str, int, T.Size | None] | None = None
    batched: bool = True
    samples: Samples | None = None
    seek_index: SeekIndex | None = None
    collation: Collation | OwnCollate | Called | None = None
    named_files: int = 0
    script: ScriptPart | None = None
    scripts: tuple[dict[str, Any], ...] = ()
    stream: Pipeline | None = None

    @property
    def count(self) -> int:
        """Samples of the source: a folder's files, an array's samples."""
        return sum(count for count, _ in self.parts)

    @functools.cached_property
    def random(self) -> bool:
        """True if a transform draws random numbers, or a script, which is not looked at for that."""
        if self.stream is not None:
            return any(image.lowered.random for image in self.stream.images)
        return self.script is not None or any(lowered is not None and lowered.random for _, lowered in self.parts)

    @functools.cached_property
    def after(self) -> After | None:
        """What Python does with a batch that Go made."""
        return None if self.collation is None else self.collation.after

    @functools.cached_property
    def dtypes(self) -> tuple[str, ...]:
        """torch's dtype of each tensor of a batch, in the core's order."""
        if self.script is not None:
            numbers = ({"int": "int64", "float": "float64"}[kind] for kind in self.script.numbers)
            sizes = ["int64"] * (len(self.script.images) if self.script.apart else 0)
            return (*(image[0] for image in self.script.images), *numbers, *sizes)
        target = "int64" if self.target is None else self.target[0]
        return tuple(dtype for field in self.fields for dtype in field.dtypes) or (self.dtype, target)

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...] | None:
        """The shape of one sample's part of each of them; None if it depends on the image, or on the batch."""
        if self.fields and self.script is None:
            shapes = [field.shapes for field in self.fields]
            return None if None in shapes else tuple(itertools.chain.from_iterable(filter(None, shapes)))
        if self.script is not None:
            if self.fields:
                return (*(field.shape for field in self.fields), *(() for _ in self.script.numbers))
            known = [(channels, *size) for _, channels, size, _ in self.script.images if size is not None]
            several = len(known) == len(self.script.images)
            return (*known, *(() for _ in self.script.numbers)) if several else None
        if self.size is None or (self.target is not None and self.target[2] is None):
            return None
        target = () if self.target is None else (self.target[1], *(self.target[2] or ()))
        return (self.channels, *self.size), target

    def columns(self, tensors: list[Any]) -> list[Any]:
        """What the tensors of a batch, in the core's order, are for each field of the samples."""
        if self._plain:
            return tensors
        made: dict[int, Any] = {}
        left = iter(tensors)
        for field in self.fields:
            for view in field.views:
                own = list(itertools.islice(left, len(view.layout.dtypes(field.dtype))))
                made.update(zip(view.columns, view.layout.values(own), strict=True))
        return [made[number] for number in range(len(made))]

    @functools.cached_property
    def _plain(self) -> bool:
        """True if each tensor is a field."""
        views = [view for field in self.fields for view in field.views]
        return all(view.layout is STACKED and view.columns == (number,) for number, view in enumerate(views))

    @property
    def explanation(self) -> Explanation:
        """A line a stage."""
        return Explanation(self.rows)

    def to_json(self) -> bytes:
        """What gl_open takes, with Pillow's limit as it stands now."""
        source: dict[str, Any] = {"kind": self.kind}
        output = rng = pillow = seek_index = None
        if self.stream is not None:
            source = self.stream.to_plan()
        if self.kind == "array" or self.fields:
            source["fields"] = [field.to_plan() for field in self.fields]
        else:
            assert self.rules is not None  # images have some
            pillow = {"pass_order": self.rules.pass_order, "max_pixels": max_pixels(), "decoders": decoders()}
            if self.kind not in ("recipe", "script", "stream"):
                output = {"dtype": self.dtype, "channels": self.channels}
            if self.kind in ("folder", "pairs", "recipe", "script", "stream") and self.seek_index is not None:
                seek_index = self.seek_index.to_plan()
            if self.kind in ("recipe", "stream"):
                source["files"] = self.named_files
            elif self.files is not None and self.files.remote:
                source["remote"] = True
        if self.rules is not None and self.kind != "recipe":
            rng = {"fma": self.rules.fma, "correctly_rounded_exp": self.rules.correctly_rounded_exp}
        parts = [
            {"count": count, "transforms": [], "table": ""} if lowered is None else lowered.to_plan(count)
            for count, lowered in self.parts
        ]
        if self.script is not None:
            counts = (count for count, _ in self.parts)
            parts = [{"count": count, "script": each} for count, each in zip(counts, self.scripts, strict=True)]
        for part, pixels in zip(parts, self.pixels, strict=False):
            part["image"] = pixels.to_plan()
        if self.layout is not None:
            parts[0]["image"] = {"layout": self.layout}
        plan = {
            "version": VERSION,
            "source": source,
            "parts": parts,
            "output": output,
            "rng": rng,
            "pillow": pillow,
            "seek_index": seek_index,
        }
        if self.target is not None:
            plan["target"] = {"dtype": self.target[0], "channels": self.target[1]}
        return json.dumps(plan, allow_nan=False).encode()

    def resolve(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """What the core calls the samples of these indices, negative ones included.

        Raises IndexError if one is out of range; `dataset[i]` then has the error that users of torch would see.
        """
        assert self.samples is not None  # make() gives them
        return self.samples.resolve(indices)
