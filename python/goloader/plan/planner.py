"""Makes plans of torch's loaders, and says what of a loader runs where.

`make(loader)` returns a Plan, or a Refusal that names the object which needs Python and the reason.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from ..on_error import OnError
from ..seek_index import SeekIndex
from . import Plan, datasets, samplers
from .collates import choice
from .collates.called import Called
from .collates.collation import leaves_texts
from .collates.own import OwnCollate
from .collates.tokens import TokenCollate
from .explain import Explanation, Row, number_of
from .needs import DECODERS, check_pillow_plugins, require, rules
from .neutral import common_size, rules_of, seek_rows, source_row, transform_rows
from .paths import Files
from .refusal import Refusal, RefusalError, SourceRefusal, granted
from .rows import FIELDS_MAX
from .structure import collator, leaves, renumbered
from .transforms.lowered import Lowered
from .trust import look

if TYPE_CHECKING:
    from .collates.collation import After, Collation
    from .datasets import Arrays, Images, Samples, Scripts
    from .datasets.own.kept import Shared
    from .pipeline import Pipeline


def make(loader: Any) -> Plan | Refusal:
    """The plan of a torch.utils.data.DataLoader, or the reason why torch's own path has to run."""
    try:
        return _made(loader)
    except RefusalError as refused:
        return refused.refusal


def _made(loader: Any) -> Plan:
    """Raises RefusalError, as all that it calls."""
    if loader._dataset_kind == 1:
        return _make_stream(loader)
    collation = _check_loader(loader)
    if isinstance(collation, Refusal):
        return granted(collation)
    lists = loader.num_workers > 0 or not collation.plain
    workers, size, rows = loader.num_workers, loader.batch_size, collation.takes_lists
    shared = _shared(loader, collation)
    samples = granted(datasets.lower(loader.dataset, lists=lists, rows=rows, workers=workers, size=size, shared=shared))
    after = collation.after
    if isinstance(samples, datasets.Scripts):
        return _make_scripts(loader, samples, collation)
    if isinstance(samples, datasets.Arrays) and (after is None or isinstance(collation, TokenCollate)):
        return _make_tensors(loader, samples, collation)
    if after is not None and not isinstance(samples, datasets.Images):
        return granted(after.why)
    if isinstance(collation, Called):
        return granted(collation.why)
    if not collation.plain and not collation.own:
        raise RefusalError("collate", collation.name, "it collates sequences, not images", "COLLATE_FIELDS")
    return _make_images(loader, cast("Images", samples), collation)


def unchanged(plan: Plan, loader: Any) -> bool:
    """True if make(loader) would give this plan again: asked at each epoch, since a loader can be changed."""
    if plan.stream is not None:
        again = make(loader)
        return isinstance(again, Plan) and all(
            getattr(again, name) == getattr(plan, name)
            for name in ("stream", "rules", "batched", "seek_index", "named_files")
        )
    return (
        plan.samples is not None
        and _check_loader(loader) == plan.collation
        and (plan.rules is None or check_pillow_plugins() is None)
        and plan.batched == loader._auto_collation
        and plan.seek_index == _seek_index(loader)
        and plan.samples.unchanged(loader.dataset)
        and not plan.samples.outdated
        and (plan.after is None or plan.rows[-1] == _finished_row(plan.after))
    )


def loads_the_same(plan: Plan, loader: Any) -> bool:
    """True if a worker process of the loader would make this plan's batches, as things stand in it."""
    return (
        plan.samples is not None
        and plan.samples.unchanged(loader.dataset)
        and (plan.rules is None or check_pillow_plugins() is None)
        and choice.of(loader) == plan.collation
    )


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


def _make_stream(loader: Any) -> Plan:
    """The plan of an IterableDataset, which is known if it is a pipeline of shards."""
    from torch.utils.data import get_worker_info

    dataset = loader.dataset
    if not _is_pipeline(dataset):
        raise SourceRefusal(type(dataset).__qualname__, "an IterableDataset runs its own code", "ITERABLE")
    from . import streams

    if loader.worker_init_fn is not None and loader.num_workers > 0:
        raise RefusalError(
            "loader", "worker_init_fn", "the pipeline may draw from generators that worker_init_fn seeds", "INIT_FN"
        )
    if get_worker_info() is not None:
        raise RefusalError(
            "loader", type(loader).__name__, "it runs inside a worker process of another loader", "IN_WORKER"
        )
    collation = choice.of(loader)
    if isinstance(collation, Refusal):
        return granted(collation)
    if not collation.plain or collation.after is not None:
        raise RefusalError("collate", collation.name, "samples are more than an image and an int", "COLLATE_OWN")
    granted(check_pillow_plugins())
    pipeline = streams.read(dataset, loader.num_workers)
    if loader._auto_collation == (pipeline.batch > 0):
        raise RefusalError(
            "collate", collation.name, "either the pipeline or the loader makes batches", "BATCH_SIZE_NONE"
        )
    if any(draws.kind == "rng" for draws in pipeline.draws) and loader.persistent_workers:
        raise SourceRefusal("shuffle", "its generator goes on from epoch to epoch", "STREAM_STAGE")
    lowered = [image.lowered for image in pipeline.images]
    stays = loader.num_workers == 0 or (loader.persistent_workers and pipeline.limit >= 0)
    if pipeline.batch and stays and any(each.random for each in lowered):
        why = "as it gives a batch, it has drawn for a sample of the next one already"
        raise SourceRefusal("batched", why, "STREAM_STAGE")
    if pipeline.fields > FIELDS_MAX:
        raise SourceRefusal(pipeline.name, f"a batch has more than {FIELDS_MAX} tensors", "FIELDS")
    if any(each.tensor != "Tensor" for each in lowered):
        raise RefusalError("transform", "tv_tensors", "batches would be of them", "NO_TENSOR")
    found = rules_of(lowered, in_files=True)
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
            *seek_rows(seek_index),
            *(Row("stage", what, "Go", why) for what, why in pipeline.rows),
            *transform_rows(lowered),
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


def _make_tensors(loader: Any, samples: Arrays, collation: Collation | OwnCollate | Called) -> Plan:
    if not loader._auto_collation:
        why = "samples are views of the dataset's own memory"
        raise RefusalError("collate", "batch_size=None", why, "BATCH_SIZE_NONE")
    if samples.in_lists and loader.num_workers == 0 and collation.plain:
        raise SourceRefusal(type(loader.dataset).__qualname__, datasets.IN_LISTS, "IN_LISTS")
    if samples.channels_last and loader.num_workers == 0:  # in workers torch.stack is given memory to write to
        why = "its samples are in channels_last, and batches that are made without workers then are, too"
        raise SourceRefusal(type(loader.dataset).__qualname__, why, "TENSOR_LAYOUT")
    sent = loader.num_workers > 0
    size = None if sent or samples.makes_ahead else loader.batch_size
    sample = None if collation.plain else _first(loader)
    try:
        if samples.texts:
            _check_texts(collation)
        if isinstance(collation, OwnCollate) and samples.texts:
            fields, put = _lay_beside(samples, collation, sample, size)
        elif not isinstance(collation, Called):
            fields, put = collation.lay(samples.fields, samples.structure, sample, size)
    except RefusalError as refused:
        if not collation.own or refused.refusal.code != "COLLATE_OWN":
            raise
        collation = choice.calling(loader, refused.refusal)
    if isinstance(collation, Called):
        samples.check_apart(collation.why, sent=sent, changes=collation.changes)
        begun = time.thread_time()
        _first(loader)  # whose file is in memory now, as others of a set that is small
        collation.sample_s = time.thread_time() - begun
        fields, put = collation.lay(samples.fields, samples.structure, sample, sent=sent)
    if sum(len(field.dtypes) for field in fields) > FIELDS_MAX:
        raise SourceRefusal(type(loader.dataset).__qualname__, f"a batch has more than {FIELDS_MAX} tensors", "FIELDS")
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


def _lay_beside(samples: Arrays, collation: OwnCollate, sample: Any, size: int | None) -> Any:
    """The fields, and what makes the batch, of samples that have texts, too. Raises RefusalError."""
    numbers = leaves(samples.structure)
    order = sorted(numbers, key=lambda number: (number in samples.texts, number))
    among = {number: n for n, number in enumerate(order)}
    texts = {among[number]: number for number in samples.texts}
    laid = collation.lay(samples.fields, renumbered(samples.structure, among), sample, size, listed=texts)
    samples.places = {place: texts[number] for place, number in collation.listed.items()}
    return laid


def _check_texts(collation: Collation | OwnCollate | Called) -> None:
    """Raises RefusalError for what does not leave texts beside as they are."""
    if not (collation.plain or collation.own or isinstance(collation, Called)):
        raise RefusalError("collate", collation.name, "samples have texts, which Python puts beside", "COLLATE_FIELDS")
    if collation.plain and not leaves_texts():
        raise RefusalError("collate", collation.name, "default_collate_fn_map was changed for str", "COLLATE_OWN")


def _first(loader: Any) -> Any:
    """A sample of what is lowered, which does nothing else when it is asked for one. Raises RefusalError."""
    try:
        return loader.dataset[0]
    except Exception as error:  # whatever it is, it comes again with the batch that has this sample
        raise RefusalError(
            "collate", look.name_of(loader.collate_fn), f"there is no sample: {error}", "COLLATE_OWN"
        ) from None


def _make_images(loader: Any, samples: Images, collation: Collation | OwnCollate) -> Plan:
    granted(check_pillow_plugins())
    whole = [part.lowered for part in samples.parts]
    targets = [lowered.target.lowered for lowered in whole if lowered.target is not None]
    first = whole[0]
    for each in (whole, targets):
        if len({(lowered.dtype, lowered.channels) for lowered in each}) > 1:
            raise RefusalError(
                "transform", "ConcatDataset", "its datasets make images of different dtypes or channels", "PARTS_DIFFER"
            )
    batched = bool(loader._auto_collation)
    what, why = ("", "") if batched else _why_not_alone(whole, targets)
    if why:
        raise RefusalError("collate", what, why, "BATCH_SIZE_NONE")
    put: Callable[[Sequence[Any]], Any] = collator(samples.structure)
    found = rules_of(whole, in_files=True)
    if collation.own:
        try:
            put = _put_images(samples, collation, targets)
        except RefusalError as refused:
            collation = choice.finishing(loader, refused.refusal)
    return Plan(
        kind="pairs" if targets else "folder",
        length=samples.length,
        parts=tuple((len(part), part.lowered) for part in samples.parts),
        rules=found,
        rows=_rows(
            loader,
            samples,
            collation,
            [
                source_row(_source_name(loader, samples), samples.foreign, samples.notes),
                *_cache_rows(samples.files),
                *seek_rows(_seek_index(loader)),
                *transform_rows(whole),
            ],
        ),
        files=samples.files,
        put=put,
        dtype=first.dtype,
        channels=first.channels,
        size=common_size(whole),
        target=(targets[0].dtype, targets[0].channels, common_size(targets)) if targets else None,
        batched=batched,
        samples=samples,
        seek_index=_seek_index(loader),
        collation=collation,
    )


def _make_scripts(loader: Any, samples: Scripts, collation: Collation | OwnCollate | Called) -> Plan:
    part = samples.part
    if not part.fields:
        granted(check_pillow_plugins())
    if not (collation.plain or collation.own or isinstance(collation, Called)):
        raise RefusalError("collate", collation.name, "it collates sequences, not images", "COLLATE_FIELDS")
    if len(samples.parts) > 1 and not (collation.plain and loader._auto_collation):
        raise RefusalError("collate", collation.name, "it is given samples of several datasets' code", "COLLATE_OWN")
    if part.arrays and not collation.plain:
        raise RefusalError("collate", collation.name, "samples have images that are arrays of numpy's", "COLLATE_OWN")
    rng = getattr(loader, "rng", None)
    if rng is not None and (part.objects or part.seeds):
        why = "its code seeds generators, or draws from those of its own objects, which no sample seeds"
        raise RefusalError("loader", f"rng={rng!r}", why, "RNG_SAMPLE")
    if part.seeds and loader.num_workers == 0:
        why = "it seeds generators, which the program draws from as well"
        raise SourceRefusal(type(loader.dataset).__qualname__, why, "CODE_UNREAD")
    if collation.plain and samples.ragged:
        what = type(loader.dataset).__qualname__
        raise SourceRefusal(what, "it gives arrays or tensors that differ in length", "CODE_UNREAD")
    if len(part.images) + len(part.numbers) > FIELDS_MAX:
        raise SourceRefusal(type(loader.dataset).__qualname__, f"more than {FIELDS_MAX} tensors", "FIELDS")
    put: Callable[[Sequence[Any]], Any] = collator(samples.structure)
    samples.sent = loader.num_workers > 0
    if not loader._auto_collation:
        why = "samples have strides, or memory, that only their code gives them"
        samples.check_single(Refusal("collate", "batch_size=None", why, "BATCH_SIZE_NONE"), sent=samples.sent)
        put = samples.single
    require("source", *(DECODERS if part.files is not None else ()))
    require("transform", *part.needs)
    found = rules(part.needs)
    if isinstance(collation, OwnCollate):
        try:
            put = collation.lay((), samples.structure, samples.first(), listed=samples.listed_fields)[1]
            shared = Refusal("collate", collation.name, "samples share memory, in its lists", "COLLATE_OWN")
            samples.check_listed(shared, [*collation.listed.values()], sent=loader.num_workers > 0)
            samples.listed = True
        except RefusalError as refused:
            collation = _going_on(loader, refused.refusal)
    if isinstance(collation, Called):
        samples.check_apart(collation.why, sent=loader.num_workers > 0, changes=collation.changes)
        put = collation.put(samples.samples, sent=loader.num_workers > 0)
    if collation.after is not None and loader.num_workers > 0 and rng is None:
        samples.follow()
    return Plan(
        kind="script",
        length=samples.length,
        parts=tuple((len(each), None) for each in samples.parts),
        pixels=samples.pixels,
        labels=np.zeros(sum(len(each.array) for each in samples.pixels), np.int64) if samples.pixels else None,
        rules=found,
        rows=_rows(
            loader,
            samples,
            collation,
            [
                source_row(_source_name(loader, samples), samples.foreign, samples.notes),
                *([] if part.files is None else seek_rows(_seek_index(loader))),
                *(Row("transform", name, "Go") for name in part.names),
            ],
        ),
        files=part.files,
        fields=part.fields,
        put=put,
        samples=samples,
        seek_index=_seek_index(loader),
        collation=collation,
        batched=bool(loader._auto_collation),
        script=samples.part,
        scripts=samples.scripts,
    )


def _shared(loader: Any, collation: Collation | OwnCollate | Called) -> Shared:
    """How what torch's workers make may be kept, of an epoch that they make alone: where it is known of each of their
    batches which samples it has, and Go is to make those of later epochs."""
    known = (
        loader.num_workers > 0
        and loader.in_order
        and loader._auto_collation
        and not (loader.persistent_workers and loader.worker_init_fn is not None)
        and getattr(loader, "rng", None) is None
        and OnError.of(getattr(loader, "on_error", "raise")) is None
    )
    if (
        not known
        or isinstance(collation, Called)
        or not (collation.after is None or isinstance(collation, TokenCollate))
    ):
        return ""
    return "batches" if collation.plain else "samples"


def _going_on(loader: Any, why: Refusal) -> Collation | Called:
    """Who calls a collate_fn that is not compiled for samples of a script, for that `why`. Raises RefusalError."""
    with suppress(RefusalError):
        return choice.finishing(loader, why)
    return choice.calling(loader, why)


def _why_not_alone(lowered: Sequence[Lowered], targets: Sequence[Lowered]) -> tuple[str, str]:
    """What keeps the core from giving samples one by one, and why; ("", "") for nothing."""
    if targets:
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
    if targets or common_size(whole) is None or any(each.tensor != "Tensor" for each in whole):
        raise RefusalError(
            "collate", collation.name, "samples are more than an image of one size and an int", "COLLATE_OWN"
        )
    image = torch.empty((whole[0].channels, 1, 1), dtype=getattr(torch, whole[0].dtype))
    if not all(lowered.contiguous for lowered in whole):
        image = image.as_strided(image.shape, (1, image.numel(), image.numel()))
    return collation.lay((), samples.structure, (image, 0))[1]


def _seek_index(loader: Any) -> SeekIndex | None:
    return SeekIndex.of(getattr(loader, "seek_index", True))


def explain(loader: Any, plan: Plan | Refusal, images: Literal["Python", "trace", "Go"] = "Python") -> Explanation:
    """The rows of a plan; of a refusal, which stages keep the loader with torch, and why.

    images  what becomes of them without a plan: "Python" makes them, recording them is to be tried ("trace"), or "Go"
            makes them from what is recorded, so that no stage is at fault
    """
    if isinstance(plan, Plan):
        return plan.explanation
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
    samples = datasets.lower(loader.dataset)
    return [samples] if isinstance(samples, Refusal) else []


def _check_loader(loader: Any) -> Collation | OwnCollate | Called | Refusal:
    """How the loader puts batches together, or reasons for torch's path that lie with the loader itself."""
    from torch.utils.data import IterableDataset, get_worker_info

    if loader._dataset_kind != 0 or look.is_a(loader.dataset, IterableDataset):
        return Refusal("source", type(loader.dataset).__qualname__, "an IterableDataset runs its own code", "ITERABLE")
    if loader.worker_init_fn is not None and loader.num_workers > 0 and not _forks(loader):
        return Refusal("loader", "worker_init_fn", "only a forked process can show what it does to a worker", "INIT_FN")
    if get_worker_info() is not None:
        return Refusal(
            "loader", type(loader).__qualname__, "it runs inside a worker process of another loader", "IN_WORKER"
        )
    return choice.of(loader)


def _forks(loader: Any) -> bool:
    context = loader.multiprocessing_context or multiprocessing
    return not multiprocessing.current_process().daemon and context.get_start_method() == "fork"


def _rows(
    loader: Any, samples: Samples, collation: Collation | OwnCollate | Called, stages: Sequence[Row]
) -> tuple[Row, ...]:
    sampler, how = samplers.describe(loader)
    made = [Row("collate", collation.name, "Go", collation.note)]
    if isinstance(collation, Called):
        made = [Row("collate", collation.name, "Python", "it is given samples, in this process", "COLLATE_CALLED")]
    if collation.after is not None:
        first = "tokenizer.pad" if isinstance(collation, TokenCollate) else "default_collate"
        made = [Row("collate", first, "Go"), _finished_row(collation.after)]
    return Row("sampler", sampler, "Python", how), *stages, *made


def _finished_row(after: After) -> Row:
    """What a collate_fn does with Go's batch."""
    name = look.name_of(after.given)
    if after.mixes:
        return Row("collate", name, "Go", "it mixes the batch's images where they lie, by what torchvision draws")
    return Row("collate", name, "Python", "goes on with Go's batch, in this process", "COLLATE_GOES_ON")


def _source_name(loader: Any, samples: Samples) -> str:
    kind = type(loader.dataset).__qualname__
    over = "" if (kind,) == samples.kinds else f" over {', '.join(samples.kinds)}"
    return f"{kind}{over}, {number_of(samples.length, 'sample')}"


def _arrays_row(loader: Any, samples: Arrays) -> Row:
    fields = ", ".join([*map(str, samples.fields), *("text" for _ in samples.texts)])
    return Row("source", f"{_source_name(loader, samples)}: {fields}", "Go", "; ".join(samples.notes))


def _cache_rows(files: Files | None) -> list[Row]:
    if files is None or files.cache is None:
        return []
    if files.cache.options.hold == "decoded":
        return [Row("cache", str(files.cache), "Go", _DECODED)]
    return [Row("cache", str(files.cache), "Go", "files are kept as they are stored")]


_DECODED = "images are kept decoded, after the first steps if these are Resize, CenterCrop or Pad"
