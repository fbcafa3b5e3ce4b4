"""Turns torch's objects into a plan: a run as data, which the core carries out.

`make(loader)` returns a Plan, or a Refusal that names the object which needs Python and the reason. `make_folder` and
`make_arrays` make plans without torch. Importing this package imports neither torch nor torchvision;
`goloader.plan.samplers` (index_batches) needs torch.
"""

from __future__ import annotations

import functools
import itertools
import json
import multiprocessing
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from .. import transforms as T
from ..arrays import FileArray
from ..arrays.file_array import NUMPY_DTYPES
from ..arrays.mapped import file_of
from ..seek_index import SeekIndex
from . import look
from .explain import Explanation, Row, number_of
from .lowered import VERSION, Lowered, lower_neutral
from .needs import DECODERS, RESIZES, Rules, check_pillow_plugins, decoders, max_pixels, require, rules, steps_of
from .paths import IMG_EXTENSIONS, Files
from .refusal import Refusal, RefusalError
from .row_layouts import STACKED
from .rows import DIMENSIONS_MAX, FIELDS_MAX, Array, Field, Pixels, View
from .structure import collated

if TYPE_CHECKING:
    from .collate import Collation
    from .datasets import Arrays, Images, Samples, Scripts
    from .datasets.script import ScriptPart
    from .finish import Finish
    from .own_collate import OwnCollate
    from .streams import Pipeline

__all__ = [
    "IMG_EXTENSIONS",
    "Explanation",
    "Lowered",
    "Plan",
    "Refusal",
    "Row",
    "explain",
    "make",
    "make_arrays",
    "make_folder",
    "make_places",
    "make_recipes",
]


@dataclass(frozen=True, eq=False)
class Plan:
    """A run as data.

    kind      where samples live: "folder" (image files), "pairs" (image files whose targets are image files), "pixels"
              (images in memory), "pixel_views" (each of them twice), "places" (images anywhere in memory, others for
              each batch), "array" (rows of arrays), "recipe" (batches bring theirs), "script" (samples of several
              images, files or in memory), or "stream" (samples of shards, one after the other)
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
    script    of kind "script"
    stream    of kind "stream"
    """

    kind: Literal["folder", "pairs", "pixels", "pixel_views", "places", "array", "recipe", "script", "stream"]
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
    collation: Collation | OwnCollate | None = None
    named_files: int = 0
    script: ScriptPart | None = None
    stream: Pipeline | None = None

    @property
    def count(self) -> int:
        """Samples of the source: a folder's files, an array's samples."""
        return sum(count for count, _ in self.parts)

    @property
    def random(self) -> bool:
        """True if a transform draws random numbers, or a script, which is not looked at for that."""
        if self.stream is not None:
            return any(image.lowered.random for image in self.stream.images)
        return self.script is not None or any(lowered is not None and lowered.random for _, lowered in self.parts)

    @property
    def after(self) -> Finish | None:
        """What Python does with a batch that Go made."""
        return None if self.collation is None else self.collation.after

    @property
    def dtypes(self) -> tuple[str, ...]:
        """torch's dtype of each tensor of a batch, in the core's order."""
        if self.script is not None:
            numbers = ({"int": "int64", "float": "float64"}[kind] for kind in self.script.numbers)
            return (*(image[0] for image in self.script.images), *numbers)
        target = "int64" if self.target is None else self.target[0]
        return tuple(dtype for field in self.fields for dtype in field.dtypes) or (self.dtype, target)

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...] | None:
        """The shape of one sample's part of each of them; None if it depends on the image, or on the batch."""
        if self.fields:
            shapes = [field.shapes for field in self.fields]
            return None if None in shapes else tuple(itertools.chain.from_iterable(filter(None, shapes)))
        if self.script is not None:
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
        if self.kind == "array":
            source["fields"] = [field.to_plan() for field in self.fields]
        else:
            assert self.rules is not None  # images have some
            pillow = {"pass_order": self.rules.pass_order, "max_pixels": max_pixels(), "decoders": decoders()}
            if self.kind not in ("recipe", "script", "stream"):
                output = {"dtype": self.dtype, "channels": self.channels}
            if self.kind != "recipe":
                rng = {"fma": self.rules.fma, "correctly_rounded_exp": self.rules.correctly_rounded_exp}
            if self.kind in ("folder", "pairs", "recipe", "script", "stream") and self.seek_index is not None:
                seek_index = self.seek_index.to_plan()
            if self.kind in ("recipe", "stream"):
                source["files"] = self.named_files
            elif self.files is not None and self.files.remote:
                source["remote"] = True
        parts = [
            {"count": count, "transforms": [], "table": ""} if lowered is None else lowered.to_plan(count)
            for count, lowered in self.parts
        ]
        if self.script is not None:
            parts = [{"count": len(self.script), "script": self.script.script}]
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

    def unchanged(self, loader: Any) -> bool:
        """True if make(loader) would give this plan again: asked at each epoch, since a loader can be changed."""
        if self.stream is not None:
            again = _make_stream(loader)
            return isinstance(again, Plan) and all(
                getattr(again, name) == getattr(self, name)
                for name in ("stream", "rules", "batched", "seek_index", "named_files")
            )
        return (
            self.samples is not None
            and _check_loader(loader) == self.collation
            and (self.rules is None or check_pillow_plugins() is None)
            and self.batched == loader._auto_collation
            and self.seek_index == _seek_index(loader)
            and self.samples.unchanged(loader.dataset)
        )

    def loads_the_same(self, loader: Any) -> bool:
        """True if a worker process of the loader would make this plan's batches, as things stand in it."""
        from . import collate

        return (
            self.samples is not None
            and self.samples.unchanged(loader.dataset)
            and (self.rules is None or check_pillow_plugins() is None)
            and collate.of(loader) == self.collation
        )


def make(loader: Any) -> Plan | Refusal:
    """The plan of a torch.utils.data.DataLoader, or the reason why torch's own path has to run."""
    if loader._dataset_kind == 1:
        return _make_stream(loader)
    collation = _check_loader(loader)
    if isinstance(collation, Refusal):
        return collation
    from . import datasets

    samples = datasets.lower(loader.dataset, lists=loader.num_workers > 0 or not collation.plain)
    if isinstance(samples, Refusal):
        return samples
    if collation.after is not None and not isinstance(samples, datasets.Images):
        return collation.after.why
    if isinstance(samples, datasets.Arrays):
        return _make_tensors(loader, samples, collation)
    if isinstance(samples, datasets.Scripts):
        return _make_scripts(loader, samples, collation)
    if not collation.plain and not collation.own:
        return Refusal("collate", collation.name, "it collates sequences, not images", "COLLATE_FIELDS")
    return _make_images(loader, cast("Images", samples), collation)


def _is_pipeline(dataset: Any) -> bool:
    """Whether a dataset is goloader's WebDataset, or one of webdataset's; neither is imported to tell that."""
    kind, known = type(dataset), []
    ours, theirs = sys.modules.get("goloader.webdataset"), sys.modules.get("webdataset")
    if ours is not None:
        known += [ours.WebDataset, ours._WithLength]
    if theirs is not None:
        known += [theirs.WebDataset, theirs.DataPipeline]
        if kind.__name__.endswith("_Length") and kind.__bases__[0] in known:
            return getattr(kind.__len__, "__qualname__", "") == "add_length_method.<locals>.length"
    return kind in known


def _make_stream(loader: Any) -> Plan | Refusal:
    """The plan of an IterableDataset, which is known if it is a pipeline of shards."""
    from torch.utils.data import get_worker_info

    dataset = loader.dataset
    if not _is_pipeline(dataset):
        return Refusal("source", type(dataset).__qualname__, "an IterableDataset runs its own code", "ITERABLE")
    from . import collate, streams

    if loader.worker_init_fn is not None and loader.num_workers > 0:
        return Refusal(
            "loader", "worker_init_fn", "the pipeline may draw from generators that worker_init_fn seeds", "INIT_FN"
        )
    if get_worker_info() is not None:
        return Refusal(
            "loader", type(loader).__name__, "it runs inside a worker process of another loader", "IN_WORKER"
        )
    collation = collate.of(loader)
    if isinstance(collation, Refusal):
        return collation
    if not collation.plain or collation.after is not None:
        return Refusal("collate", collation.name, "samples are more than an image and an int", "COLLATE_OWN")
    refusal = check_pillow_plugins()
    if refusal is not None:
        return refusal
    try:
        pipeline = streams.read(dataset, loader.num_workers)
        if loader._auto_collation == (pipeline.batch > 0):
            raise RefusalError(
                "collate", collation.name, "either the pipeline or the loader makes batches", "BATCH_SIZE_NONE"
            )
        if any(draws.kind == "rng" for draws in pipeline.draws) and loader.persistent_workers:
            raise RefusalError("source", "shuffle", "its generator goes on from epoch to epoch", "STREAM_STAGE")
        lowered = [image.lowered for image in pipeline.images]
        stays = loader.num_workers == 0 or (loader.persistent_workers and pipeline.limit >= 0)
        if pipeline.batch and stays and any(each.random for each in lowered):
            why = "as it gives a batch, it has drawn for a sample of the next one already"
            raise RefusalError("source", "batched", why, "STREAM_STAGE")
        if pipeline.fields > FIELDS_MAX:
            raise RefusalError("source", pipeline.name, f"a batch has more than {FIELDS_MAX} tensors", "FIELDS")
        if any(each.tensor != "Tensor" for each in lowered):
            raise RefusalError("transform", "tv_tensors", "batches would be of them", "NO_TENSOR")
        found = _rules(lowered, in_files=True)
    except RefusalError as refused:
        return refused.refusal
    shards = Row("source", f"{pipeline.name}, {number_of(len(pipeline.urls), 'shard')}", "Go")
    files, seek_index = pipeline.files(), _seek_index(loader)
    seek_index = replace(seek_index, path=None) if files and seek_index is not None else None
    return Plan(
        kind="stream",
        length=0,
        parts=(),
        rules=found,
        rows=(
            shards,
            *_seek_rows(seek_index),
            *(Row("stage", what, "Go", why) for what, why in pipeline.rows),
            *_transform_rows(lowered),
            *_column_rows(pipeline),
            Row("collate", collation.name, "Go"),
        ),
        batched=bool(loader._auto_collation),
        collation=collation,
        stream=pipeline,
        seek_index=seek_index,
        named_files=files,
    )


def _column_rows(pipeline: Pipeline) -> list[Row]:
    """A row for each column that Python puts together."""
    return [
        Row("column", ";".join(column.of), "Go")
        if column.kind == "int"
        else Row("column", ";".join(column.of), "Python", "of what Go read", "STREAM_COLUMN")
        for column in pipeline.columns
    ]


def _make_tensors(loader: Any, samples: Arrays, collation: Collation | OwnCollate) -> Plan | Refusal:
    if not loader._auto_collation:
        return Refusal("collate", "batch_size=None", "samples are views of the dataset's own memory", "BATCH_SIZE_NONE")
    if samples.in_lists and loader.num_workers == 0 and collation.plain:
        from .datasets import IN_LISTS

        return Refusal("source", type(loader.dataset).__qualname__, IN_LISTS, "IN_LISTS")
    if samples.channels_last and loader.num_workers == 0:  # in workers torch.stack is given memory to write to
        why = "its samples are in channels_last, and batches that are made without workers then are, too"
        return Refusal("source", type(loader.dataset).__qualname__, why, "TENSOR_LAYOUT")
    try:
        sample = _first(loader) if collation.own else None
        size = loader.batch_size if loader.num_workers == 0 else None
        fields, put = collation.lay(samples.fields, samples.structure, sample, size)
    except RefusalError as refused:
        return refused.refusal
    if sum(len(field.dtypes) for field in fields) > FIELDS_MAX:
        return Refusal(
            "source", type(loader.dataset).__qualname__, f"a batch has more than {FIELDS_MAX} tensors", "FIELDS"
        )
    return Plan(
        kind="array",
        length=samples.length,
        parts=((samples.length, None),),
        rules=None,
        rows=_rows(loader, samples, collation, [_arrays_row(loader, samples)]),
        fields=fields,
        collation=collation,
        put=put,
        samples=samples,
        seek_index=_seek_index(loader),
    )


def _first(loader: Any) -> Any:
    """A sample of what is lowered, which does nothing else when it is asked for one. Raises RefusalError."""
    try:
        return loader.dataset[0]
    except Exception as error:  # whatever it is, it comes again with the batch that has this sample
        raise RefusalError(
            "collate", look.name_of(loader.collate_fn), f"there is no sample: {error}", "COLLATE_OWN"
        ) from None


def _make_images(loader: Any, samples: Images, collation: Collation | OwnCollate) -> Plan | Refusal:
    refusal = check_pillow_plugins()
    if refusal is not None:
        return refusal
    whole = [part.lowered for part in samples.parts]
    targets = [lowered.target.lowered for lowered in whole if lowered.target is not None]
    first = whole[0]
    for each in (whole, targets):
        if len({(lowered.dtype, lowered.channels) for lowered in each}) > 1:
            return Refusal(
                "transform", "ConcatDataset", "its datasets make images of different dtypes or channels", "PARTS_DIFFER"
            )
    batched = bool(loader._auto_collation)
    what, why = ("", "") if batched else _why_not_alone(samples, whole + targets)
    if why:
        return Refusal("collate", what, why, "BATCH_SIZE_NONE")
    put: Callable[[Sequence[Any]], Any] = partial(collated, samples.structure)
    try:
        found = _rules(whole, in_files=not samples.in_memory)
        if collation.own:
            try:
                put = _put_images(samples, collation, targets)
            except RefusalError as refused:
                from .collate import finishing

                collation = finishing(loader, refused.refusal)
    except RefusalError as refused:
        return refused.refusal
    return Plan(
        kind=_KINDS[samples.in_memory, bool(targets)],
        length=samples.length,
        parts=tuple((len(part), part.lowered) for part in samples.parts),
        pixels=samples.pixels,
        labels=samples.labels,
        rules=found,
        rows=_rows(
            loader,
            samples,
            collation,
            [
                _source_row(_source_name(loader, samples), samples.foreign, samples.notes),
                *_cache_rows(samples.files),
                *([] if samples.in_memory else _seek_rows(_seek_index(loader))),
                *_transform_rows(whole),
            ],
        ),
        files=samples.files,
        put=put,
        dtype=first.dtype,
        channels=first.channels,
        size=_common_size(whole),
        target=(targets[0].dtype, targets[0].channels, _common_size(targets)) if targets else None,
        batched=batched,
        samples=samples,
        seek_index=_seek_index(loader),
        collation=collation,
    )


def _make_scripts(loader: Any, samples: Scripts, collation: Collation | OwnCollate) -> Plan | Refusal:
    part = samples.part
    refusal = check_pillow_plugins()
    if refusal is not None:
        return refusal
    if not loader._auto_collation:
        return Refusal("collate", "batch_size=None", "samples are more than an image and an int", "BATCH_SIZE_NONE")
    if not collation.plain:
        return Refusal("collate", collation.name, "samples are more than an image and an int", "COLLATE_OWN")
    if loader.rng is not None or getattr(loader, "on_error", "raise") != "raise":
        return Refusal("loader", "rng or on_error", "its code draws random numbers", "CODE_UNREAD")
    if part.generators & {"python", "numpy"} and loader.worker_init_fn is not None and loader.num_workers > 0:
        return Refusal(
            "loader", "worker_init_fn", "the code draws from generators that worker_init_fn may seed", "INIT_FN"
        )
    if len(part.images) + len(part.numbers) > FIELDS_MAX:
        return Refusal("source", type(loader.dataset).__qualname__, f"more than {FIELDS_MAX} tensors", "FIELDS")
    try:
        require("source", *(DECODERS if part.pixels is None else ()))
        require("transform", *part.needs)
        found = rules(part.needs)
    except RefusalError as refused:
        return refused.refusal
    return Plan(
        kind="script",
        length=samples.length,
        parts=((part.length, None),),
        pixels=() if part.pixels is None else (part.pixels,),
        labels=None if part.pixels is None else np.zeros(len(part.pixels.array), np.int64),
        rules=found,
        rows=_rows(
            loader,
            samples,
            collation,
            [
                _source_row(_source_name(loader, samples), 0.0, samples.notes),
                *([] if part.pixels is not None else _seek_rows(_seek_index(loader))),
                *(Row("transform", name, "Go") for name in part.names),
            ],
        ),
        files=part.files,
        put=partial(collated, samples.structure),
        samples=samples,
        seek_index=_seek_index(loader),
        collation=collation,
        script=part,
    )


def _why_not_alone(samples: Images, lowered: Sequence[Lowered]) -> tuple[str, str]:
    """What keeps the core from giving samples one by one, and why; ("", "") for nothing."""
    if not samples.pairs:
        return "batch_size=None", "samples are not pairs of an image and an int"
    for each in lowered:
        if each.tensor != "Tensor":
            return f"tv_tensors.{each.tensor}", "with batch_size=None samples keep their type"
        # A single channel's stride is anybody's choice, and torchvision's differs from numpy's.
        if not each.contiguous or each.channels == 1:
            return "batch_size=None", "samples keep the strides that their image had"
    return "", ""


def _put_images(
    samples: Images, collation: Collation | OwnCollate, targets: Sequence[Lowered]
) -> Callable[[Sequence[Any]], Any]:
    """What makes a batch of images and labels. Raises RefusalError where it is not known."""
    import torch

    whole = [part.lowered for part in samples.parts]
    if not samples.pairs or targets or _common_size(whole) is None or any(each.tensor != "Tensor" for each in whole):
        raise RefusalError(
            "collate", collation.name, "samples are more than an image of one size and an int", "COLLATE_OWN"
        )
    image = torch.empty((whole[0].channels, 1, 1), dtype=getattr(torch, whole[0].dtype))
    if not all(lowered.contiguous for lowered in whole):
        image = image.as_strided(image.shape, (1, image.numel(), image.numel()))
    return collation.lay((), samples.structure, (image, 0))[1]


# By whether a dataset's images are in memory, and whether each sample has two.
_KINDS: dict[tuple[bool, bool], Literal["folder", "pairs", "pixels", "pixel_views"]] = {
    (False, False): "folder",
    (False, True): "pairs",
    (True, False): "pixels",
    (True, True): "pixel_views",
}


def _rules(parts: Sequence[Lowered], *, in_files: bool, torch: bool = True) -> Rules:
    """The variants that hold here of what the parts need. Raises RefusalError if something else holds."""
    names = steps_of(parts)
    if not torch:
        names = [name for name in names if name.startswith("pillow.")]
    require("source", *(DECODERS if in_files else ()))
    require("transform", *names)
    return rules(names, torch=torch)


def _common_size(parts: Sequence[Lowered]) -> T.Size | None:
    sizes = {lowered.size for lowered in parts}
    return sizes.pop() if len(sizes) == 1 else None


def _seek_index(loader: Any) -> SeekIndex | None:
    return SeekIndex.of(getattr(loader, "seek_index", True))


def explain(loader: Any, plan: Plan | Refusal, images: Literal["Python", "trace", "Go"] = "Python") -> Explanation:
    """The rows of a plan; of a refusal, which stages keep the loader with torch, and why.

    images  what becomes of them without a plan: "Python" makes them, recording them is to be tried ("trace"), or "Go"
            makes them from what is recorded, so that no stage is at fault
    """
    if isinstance(plan, Plan):
        return plan.explanation
    from . import samplers

    sampler, _ = samplers.describe(loader) if loader._dataset_kind == 0 else ("none", "")
    transform = look.attribute(loader.dataset, "transform")
    what = {
        "source": look.name_of(loader.dataset),
        "transform": look.name_of(type(transform)) if transform is not None else "none",
        "sampler": sampler,
        "collate": look.name_of(loader.collate_fn),
    }
    how = "the loader runs as torch's" if images == "Python" else "Python runs it"
    rows = {stage: Row(stage, text, "Python", how) for stage, text in what.items()}
    blockers = [] if images == "Go" else [plan, *_others(loader, plan)]
    rows |= {each.stage: Row(each.stage, each.what, "Python", each.why, each.code) for each in blockers}
    return Explanation(sorted(rows.values(), key=lambda row: row.stage in what))


def _others(loader: Any, refusal: Refusal) -> list[Refusal]:
    """What would keep the loader from Go, were it not for a collate_fn, which is looked at first."""
    if refusal.stage != "collate":
        return []
    from . import datasets

    samples = datasets.lower(loader.dataset)
    return [samples] if isinstance(samples, Refusal) else []


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
        found = _rules([lowered], in_files=True, torch=False)
    except RefusalError as refused:
        raise RuntimeError(str(refused)) from None
    return Plan(
        kind="folder",
        length=len(files),
        parts=((len(files), lowered),),
        rules=found,
        rows=(
            _source_row(f"{number_of(len(files), 'file')} in {os.fspath(root)}", 1.0 - files.native_share()),
            *_seek_rows(seek_index),
            *_transform_rows([lowered]),
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
        found = _rules([lowered], in_files=layout is None)
    except RefusalError as refused:
        return refused.refusal
    return check_pillow_plugins() or Plan(
        kind="places",
        length=len(places),
        parts=((len(places), lowered),),
        rules=found,
        rows=tuple(_transform_rows([lowered])),
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


def _check_loader(loader: Any) -> Collation | OwnCollate | Refusal:
    """How the loader puts batches together, or reasons for torch's path that lie with the loader itself."""
    from torch.utils.data import IterableDataset, get_worker_info

    from . import collate

    if loader._dataset_kind != 0 or look.is_a(loader.dataset, IterableDataset):
        return Refusal("source", type(loader.dataset).__qualname__, "an IterableDataset runs its own code", "ITERABLE")
    if loader.worker_init_fn is not None and loader.num_workers > 0 and not _forks(loader):
        return Refusal("loader", "worker_init_fn", "only a forked process can show what it does to a worker", "INIT_FN")
    if get_worker_info() is not None:
        return Refusal(
            "loader", type(loader).__qualname__, "it runs inside a worker process of another loader", "IN_WORKER"
        )
    return collate.of(loader)


def _forks(loader: Any) -> bool:
    context = loader.multiprocessing_context or multiprocessing
    return not multiprocessing.current_process().daemon and context.get_start_method() == "fork"


def _rows(loader: Any, samples: Samples, collation: Collation | OwnCollate, stages: Sequence[Row]) -> tuple[Row, ...]:
    from . import samplers

    sampler, how = samplers.describe(loader)
    made = [Row("collate", collation.name, "Go", collation.note)]
    if collation.after is not None:
        how_finished = "goes on with Go's batch, in this process"
        made = [
            Row("collate", "default_collate", "Go"),
            Row("collate", collation.name, "Python", how_finished, "COLLATE_GOES_ON"),
        ]
    return Row("sampler", sampler, "Python", how), *stages, *made


def _source_name(loader: Any, samples: Samples) -> str:
    kind = type(loader.dataset).__qualname__
    over = "" if (kind,) == samples.kinds else f" over {', '.join(samples.kinds)}"
    return f"{kind}{over}, {number_of(samples.length, 'sample')}"


def _arrays_row(loader: Any, samples: Arrays) -> Row:
    fields = ", ".join(map(str, samples.fields))
    return Row("source", f"{_source_name(loader, samples)}: {fields}", "Go", "; ".join(samples.notes))


def _source_row(what: str, foreign: float, notes: Sequence[str] = ()) -> Row:
    pillow = f"{foreign:.1%} of the files are of kinds that only Pillow reads, one by one" if foreign else ""
    return Row("source", what, "Go", "; ".join(filter(None, (*notes, pillow))))


def _cache_rows(files: Files | None) -> list[Row]:
    if files is None or files.cache is None:
        return []
    return [Row("cache", str(files.cache), "Go", "files are kept as they are stored")]


def _seek_rows(seek_index: SeekIndex | None) -> list[Row]:
    if seek_index is None:
        return []
    return [Row("seek index", str(seek_index), "Go", "later epochs decode less of a JPEG around its crop")]


def _transform_rows(parts: Sequence[Lowered]) -> list[Row]:
    """A row for each transform of each different pipeline; its last row has the notes."""
    rows: list[Row] = []
    for names, notes in dict.fromkeys((lowered.names, lowered.notes) for lowered in parts):
        rows += [Row("transform", name, "Go") for name in names[:-1]]
        rows += [Row("transform", name, "Go", "; ".join(notes)) for name in names[-1:]]
    return rows
