"""WebDataset's shards, read from beginning to end: webdataset's fluent method names, without that package.

Each stage is a generator that does what webdataset's stage of the same name does (webdataset 1.0: filters,
tariterators, shardlists, autodecode, handlers), so Python can run it. goloader's DataLoader reads the stages instead
and has Go run those that it knows (plan/streams.py).
"""

from __future__ import annotations

import copy
import io
import itertools
import json
import os
import random
import re
import sys
import tarfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils import data

from . import _native, _streams
from ._errors import LibraryError
from ._streams import described
from .adapters.torch import worker_info
from .plan.paths import braces, is_url

__all__ = [
    "DecodingError",
    "WebDataset",
    "ignore_and_continue",
    "ignore_and_stop",
    "reraise_exception",
    "single_node_only",
    "split_by_node",
    "split_by_worker",
    "warn_and_continue",
    "warn_and_stop",
]

Handler = Callable[[Exception], Any]

# What Pillow opens, by webdataset's list of endings.
_IMAGES = (
    "blp bmp dib bufr cur pcx dcx dds ps eps fit fits fli flc ftc ftu gbr gif grib h5 hdf png apng jp2 j2k jpc jpf jpx "
    "j2c icns ico im iim tif tiff jfif jpe jpg jpeg mpg mpeg msp pcd pxr pbm pgm ppm pnm psd bw rgb rgba sgi ras tga "
    "icb vda vst webp wmf emf xbm xpm"
)
IMAGES = frozenset(_IMAGES.split())
# imagespec: library, whether pixels are floats from 0 to 1, mode
SPECS: dict[str, tuple[str, bool, str]] = {
    library + mode + ("" if floats else "8"): (name, floats, mode.upper())
    for library, name in (("", "numpy"), ("torch", "torch"))
    for mode in ("l", "rgb", "rgba")
    for floats in (False, True)
}
SPECS |= {"torch": ("torch", True, "RGB"), "pil": ("pil", False, "RGB")}
SPECS |= {f"pil{mode}": ("pil", False, mode.upper()) for mode in ("l", "rgb", "rgba")}


# ---- handlers


def reraise_exception(error: Exception) -> bool:
    """Raises the error."""
    raise error


def ignore_and_continue(error: Exception) -> bool:
    """Goes on with the next sample."""
    return True


def warn_and_continue(error: Exception) -> bool:
    """Warns, and goes on with the next sample."""
    warnings.warn(repr(error), stacklevel=2)
    return True


def ignore_and_stop(error: Exception) -> bool:
    """Ends the stream."""
    return False


def warn_and_stop(error: Exception) -> bool:
    """Warns, and ends the stream."""
    warnings.warn(repr(error), stacklevel=2)
    return False


# ---- shards


def split_by_node(urls: Iterable[Any]) -> Iterator[Any]:
    """Every nth shard, for n ranks."""
    rank, ranks, _, _ = worker_info()
    return itertools.islice(urls, rank, None, ranks)


def split_by_worker(urls: Iterable[Any]) -> Iterator[Any]:
    """Every nth shard, for n workers."""
    _, _, worker, workers = worker_info()
    return itertools.islice(urls, worker, None, workers)


def single_node_only(urls: Iterable[Any]) -> Iterator[Any]:
    """All shards, if there is one rank. Raises ValueError."""
    if worker_info()[1] > 1:
        raise ValueError("you need to add an explicit nodesplitter to your input pipeline for multi-node training")
    yield from urls


def shard_list(urls: Sequence[str]) -> Iterator[str]:
    """Shards as they are listed."""
    yield from urls


class Resampled:
    """Shards taken at random, without end; the same in each epoch of a process only with the same seed."""

    def __init__(self, urls: Sequence[str], seed: int | None) -> None:
        self.urls, self.seed, self.epoch = urls, seed, -1

    def __iter__(self) -> Iterator[str]:
        self.epoch += 1
        rng = random.Random(None if self.seed is None else made_seed(self.seed, self.epoch))
        while True:
            yield self.urls[rng.randint(0, len(self.urls) - 1)]


def made_seed(seed: int, epoch: int) -> int:
    """A seed for this rank, worker and epoch, as webdataset.utils.make_seed makes it."""
    rank, _, worker, _ = worker_info()
    made = 0
    for each in (rank * 1000 + worker, epoch, seed):
        made = (made * 31 + hash(each)) & 0x7FFFFFFF
    return made


# ---- archives


def samples_of(urls: Iterable[str], handler: Handler = reraise_exception) -> Iterator[dict[str, Any]]:
    """The samples of shards, as dicts of bytes."""
    for url in urls:
        iterator = _read(url)
        while True:
            try:
                sample = next(iterator)
            except StopIteration:
                break
            except Exception as error:
                if handler(error):
                    break
                return
            yield sample


def _read(url: str) -> Iterator[dict[str, Any]]:
    """A shard's samples, by goloader's library, or where there is none by tarfile."""
    try:
        library = _native.own_library()
    except LibraryError:
        return _read_tar(url)
    return _streams.samples(url, library)


_NAME = re.compile(r"^((?:.*/|)[^.]+)[.]([^/]*)$")


def _read_tar(url: str) -> Iterator[dict[str, Any]]:
    if is_url(url) or url.startswith("pipe:"):
        raise OSError(f"{url}: without goloader's library only files are read")
    sample: dict[str, Any] = {}
    with tarfile.open(url, mode="r|*") as archive:
        for member in archive:
            name = _NAME.match(member.name)
            if not member.isreg() or name is None or re.match(r"__[^/]*__($|/)", member.name):
                continue
            key, suffix = name[1], name[2].lower()
            if sample and key != sample["__key__"]:
                yield sample
                sample = {}
            if suffix in sample:
                raise OSError(f"{url}: {member.name}: duplicate file name in tar file {suffix}")
            content = archive.extractfile(member)
            file = {suffix: b"" if content is None else content.read()}
            sample = sample | file if sample else described(key, url, file)
    if sample:
        yield sample


def check_empty(samples: Iterable[Any]) -> Iterator[Any]:
    """Raises ValueError where there is not one sample."""
    empty = True
    for sample in samples:
        empty = False
        yield sample
    if empty:
        raise ValueError(EMPTY)


EMPTY = (
    "No samples found in dataset; perhaps you have fewer shards than workers.\n"
    "Turn off using empty_check=False in the WebDataset constructor."
)


# ---- stages


def shuffle(
    samples: Iterator[Any],
    bufsize: int = 1000,
    initial: int = 100,
    rng: random.Random | None = None,
    seed: Any = None,
    handler: Handler | None = None,
) -> Iterator[Any]:
    """Samples out of a buffer, one at random as one or two come in."""
    if seed is not None:
        rng = random.Random(seed)
    elif rng is None:
        rng = random.Random()
    held: list[Any] = []

    def pick() -> Any:
        place = rng.randint(0, len(held) - 1)
        held[place], held[-1] = held[-1], held[place]
        return held.pop()

    for sample in samples:
        held.append(sample)
        if len(held) < bufsize:
            held += itertools.islice(samples, 1)
        if len(held) >= min(initial, bufsize):
            yield pick()
    while held:
        yield pick()


class detshuffle:  # noqa: N801  # webdataset's name for it
    """A shuffle that is another one in each epoch of a process, and the same for the same seed."""

    def __init__(self, bufsize: int = 1000, initial: int = 100, seed: int = 0, epoch: int = -1) -> None:
        self.bufsize, self.initial, self.seed, self.epoch = bufsize, initial, seed, epoch

    def __call__(self, samples: Iterator[Any]) -> Iterator[Any]:
        self.epoch += 1
        return shuffle(samples, self.bufsize, self.initial, random.Random(self.seed + self.epoch))


_EpochShuffle = detshuffle


def handled(
    samples: Iterable[Any], function: Callable[[Any], Any], handler: Handler = reraise_exception
) -> Iterator[Any]:
    """What a function makes of each sample that it does not fail for."""
    for sample in samples:
        try:
            made = function(sample)
        except Exception as error:
            if handler(error):
                continue
            return
        yield made


def map(samples: Iterable[Any], f: Callable[[Any], Any], handler: Handler = reraise_exception) -> Iterator[Any]:
    """What a function makes of samples; None leaves one out."""

    def keyed(sample: Any) -> Any:
        made = f(sample)
        if isinstance(sample, dict) and isinstance(made, dict):
            made["__key__"] = sample.get("__key__")
        return made

    return (made for made in handled(samples, keyed, handler) if made is not None)


def map_dict(samples: Iterable[Any], handler: Handler = reraise_exception, **kw: Callable[[Any], Any]) -> Iterator[Any]:
    """Samples with what functions make of some of their entries."""

    def mapped(sample: dict[str, Any]) -> dict[str, Any]:
        for key, function in kw.items():
            sample[key] = function(sample[key])
        return sample

    return handled(samples, mapped, handler)


def map_tuple(samples: Iterable[Any], *args: Any, handler: Handler = reraise_exception) -> Iterator[Any]:
    """Tuples with what functions make of their first entries; None leaves one as it is."""

    def mapped(sample: tuple[Any, ...]) -> tuple[Any, ...]:
        made = [each if f is None else f(each) for f, each in zip(args, sample, strict=False)]
        return (*made, *sample[len(made) :])

    return handled(samples, mapped, handler)


def select(samples: Iterable[Any], predicate: Callable[[Any], Any]) -> Iterator[Any]:
    """The samples for which a function says so."""
    return (sample for sample in samples if predicate(sample))


def first_of(sample: Mapping[str, Any], keys: str | Sequence[str], missing_is_error: bool = True) -> Any:
    """The entry of the first of some keys ("jpg;png") that a sample has. Raises ValueError."""
    keys = keys.split(";") if isinstance(keys, str) else keys
    for key in keys:
        if key in sample:
            return sample[key]
    if missing_is_error:
        raise ValueError(f"didn't find {keys} in {list(sample)}")
    return None


def rename(samples: Iterable[Any], handler: Handler = reraise_exception, keep: bool = True, **kw: Any) -> Iterator[Any]:
    """Samples whose entries have other keys."""
    gone = {key for old in kw.values() for key in (old.split(";") if isinstance(old, str) else old)} if keep else None

    def renamed(sample: dict[str, Any]) -> dict[str, Any]:
        rest = {} if gone is None else {key: value for key, value in sample.items() if key not in gone}
        return rest | {new: first_of(sample, old) for new, old in kw.items()}

    return handled(samples, renamed, handler)


def to_tuple(
    samples: Iterable[Any],
    *args: Any,
    handler: Handler = reraise_exception,
    missing_is_error: bool = True,
    none_is_error: bool | None = None,
) -> Iterator[Any]:
    """Tuples of some entries of samples."""
    if len(args) == 1 and isinstance(args[0], str) and " " in args[0]:
        args = tuple(args[0].split())

    def entries(sample: dict[str, Any]) -> tuple[Any, ...]:
        made = tuple(first_of(sample, keys, missing_is_error) for keys in args)
        if (missing_is_error if none_is_error is None else none_is_error) and None in [
            None if each is None else 0 for each in made
        ]:
            raise ValueError(f"to_tuple {args} got {sample.keys()}")
        return made

    return handled(samples, entries, handler)


islice = itertools.islice


def default_collation_fn(samples: Sequence[Any]) -> Any:
    """A batch as webdataset makes it: tensors stacked, numbers as an array, all else in lists."""
    if isinstance(samples[0], dict):
        if any(each.keys() != samples[0].keys() for each in samples):
            raise AssertionError("keys don't match in different samples")
        return {key: combined([sample[key] for sample in samples]) for key in samples[0]}
    return tuple(combined(list(column)) for column in zip(*samples, strict=True))


def combined(values: list[Any]) -> Any:
    """The values of one entry, in a batch."""
    if isinstance(values[0], int | float):
        return np.array(values)
    if isinstance(values[0], torch.Tensor | np.ndarray):
        shapes = {value.shape for value in values}
        if len(shapes) > 1:
            raise AssertionError(f"all shapes must be equal in collation, got {shapes}")
        return torch.stack(values) if isinstance(values[0], torch.Tensor) else np.array(values)
    return values


def batched(
    samples: Iterable[Any],
    batchsize: int = 20,
    collation_fn: Callable[[list[Any]], Any] | None = default_collation_fn,
    partial: bool = True,
) -> Iterator[Any]:
    """Batches of samples."""
    held: list[Any] = []
    for sample in samples:
        if len(held) >= batchsize:  # it is made before the batch is given, as webdataset does it
            yield held if collation_fn is None else collation_fn(held)
            held = []
        held.append(sample)
    if len(held) == batchsize or (held and partial):
        yield held if collation_fn is None else collation_fn(held)


def unbatched(batches: Iterable[Any]) -> Iterator[Any]:
    """The samples of batches."""
    for batch in batches:
        if isinstance(batch, dict):
            for values in zip(*batch.values(), strict=True):
                yield dict(zip(batch, values, strict=True))
        else:
            yield from zip(*batch, strict=True)


# ---- decoding


class DecodingError(Exception):
    """A file of a sample cannot be decoded."""

    def __init__(self, url: Any = None, key: Any = None, k: Any = None, sample: Any = None) -> None:
        super().__init__(url, key, k)
        self.url, self.key, self.k, self.sample = url, key, k, sample


class ImageHandler:
    """Decodes images, as "pil", "torchrgb", "rgb8" and so on."""

    def __init__(self, imagespec: str, extensions: Iterable[str] = IMAGES) -> None:
        if imagespec not in SPECS:
            raise ValueError(f"Unknown imagespec: {imagespec}")
        self.imagespec, self.extensions = imagespec, set(extensions)

    def __call__(self, key: str, content: bytes) -> Any:
        from PIL import Image

        if key.rpartition(".")[2].lower() not in self.extensions:
            return None
        library, floats, mode = SPECS[self.imagespec]
        with io.BytesIO(content) as stream:
            opened = Image.open(stream)
            opened.load()
            image = opened.convert(mode)
        if library == "pil":
            return image
        pixels = np.asarray(image)
        if floats:
            pixels = pixels.astype(np.float32) / 255.0
        if library == "numpy":
            return pixels
        return torch.from_numpy((pixels.transpose(2, 0, 1) if pixels.ndim == 3 else pixels).copy())


def _loads_npy(content: bytes) -> Any:
    return np.load(io.BytesIO(content), allow_pickle=False)


_DECODERS: dict[str, Callable[[bytes], Any]] = {
    **dict.fromkeys(("txt", "text", "transcript"), lambda content: content.decode("utf-8")),
    **dict.fromkeys(("cls", "cls2", "index", "inx", "id"), int),
    **dict.fromkeys(("json", "jsn"), json.loads),
    "pth": lambda content: torch.load(io.BytesIO(content), map_location="cpu", weights_only=True),
    "npy": _loads_npy,
    "npz": lambda content: dict(_loads_npy(content)),
}


class Decoder:
    """Decodes the files of a sample by their suffixes: by handlers(key, bytes), None if it is not theirs, or as text,
    numbers, JSON and arrays. Nothing is unpickled."""

    def __init__(
        self,
        handlers: Sequence[Any],
        pre: Any = None,
        post: Any = None,
        only: str | Iterable[str] | None = None,
        partial: bool = False,
    ) -> None:
        self.only = None if only is None else set(only.split() if isinstance(only, str) else only)
        self.handlers = [*(pre or ()), *handlers, *((_basic,) if post is None else post)]
        self.partial = partial

    def __call__(self, sample: dict[str, Any]) -> dict[str, Any]:
        made = {}
        for key, content in sample.items():
            try:
                decoded = key[:2] != "__" and (self.only is None or key in self.only)
                if decoded and not (self.partial and not isinstance(content, bytes)):
                    assert isinstance(content, bytes), f"k,v = {key}, {content}"
                    content = self._decode(f".{key}", content)
                made[key] = content
            except Exception as error:
                raise DecodingError(sample.get("__url__"), sample.get("__key__"), key, sample) from error
        return made

    def _decode(self, key: str, content: bytes) -> Any:
        for handler in self.handlers:
            made = handler(key, content)
            if made is not None:
                return made
        return content


def _basic(key: str, content: bytes) -> Any:
    decoder = _DECODERS.get(key.rpartition(".")[2])
    return None if decoder is None else decoder(content)


# ---- the dataset


class Stage:
    """A stage: f(what comes, *args, **kw)."""

    def __init__(self, f: Callable[..., Any], *args: Any, **kw: Any) -> None:
        self.f, self.args, self.kw = f, args, kw

    def __call__(self, source: Any) -> Any:
        return self.f(source, *self.args, **self.kw)


def expand_urls(urls: str | Iterable[str]) -> list[str]:
    """Names of shards, with braces, `::` and ${WDS_...} written out."""
    if not isinstance(urls, str):
        return list(urls)
    return [
        path
        for url in urls.split("::")
        for path in braces(re.sub(r"\$\{(\w+)\}", lambda found: os.environ["WDS_" + found[1]], url))
    ]


class WebDataset(data.IterableDataset[Any]):
    """Samples of WebDataset's tar archives, as a stream: plain, gzip or zstd; files, URLs (docs/remote.md), or the
    output of a command ("pipe:aws s3 cp s3://bucket/0.tar -").

    urls           a name with braces ("train-{0000..0146}.tar"), several joined by "::", or a list of names
    shardshuffle   size of the buffer in which shards are shuffled; False or 0: no shuffle
    seed           of that shuffle, and of resampled shards
    resampled      takes shards at random, without end: use with_epoch()
    detshuffle     shuffles shards differently in each epoch
    nodesplitter   chooses the shards of a rank; split_by_node for several ranks
    workersplitter chooses the shards of a worker among these
    handler        called with the error of a shard that cannot be read: raises it, or returns whether to continue with
                   the next shard
    empty_check    raises ValueError for a stream without samples

    A sample is a dict: "__key__", "__url__" and the bytes of each file by suffix. Each method returns another dataset
    with one more stage. Methods, samples and order for a seed are webdataset's.
    """

    def __init__(
        self,
        urls: str | Iterable[str],
        handler: Handler = reraise_exception,
        *,
        resampled: bool = False,
        shardshuffle: int | bool = False,
        detshuffle: bool = False,
        nodesplitter: Callable[[Any], Any] | None = single_node_only,
        workersplitter: Callable[[Any], Any] | None = split_by_worker,
        empty_check: bool = True,
        seed: int | None = None,
    ) -> None:
        expanded = expand_urls(urls)
        if not expanded or not all(isinstance(url, str) for url in expanded):
            raise ValueError(f"no names of shards: {urls!r}")
        self.repetitions, self.nsamples = 1, -1
        self.pipeline: list[Any] = [Resampled(expanded, seed) if resampled else Stage(shard_list, expanded)]
        self.pipeline += [split for split in (nodesplitter, workersplitter) if split is not None]
        if shardshuffle:
            size = 100 if shardshuffle is True else shardshuffle
            shuffled = _EpochShuffle(size, seed=seed or 0) if detshuffle else Stage(shuffle, size, seed=seed)
            self.pipeline.append(shuffled)
        self.pipeline.append(Stage(samples_of, handler=handler))
        if empty_check:
            self.pipeline.append(check_empty)

    def __iter__(self) -> Iterator[Any]:
        rounds = self._rounds()
        return itertools.islice(rounds, self.nsamples) if self.repetitions != 1 and self.nsamples > 0 else rounds

    def _rounds(self) -> Iterator[Any]:
        for _ in range(self.repetitions):
            empty = True
            for sample in self.once():
                empty = False
                yield sample
            if empty:
                return

    def once(self) -> Iterator[Any]:
        """One round of the pipeline."""
        first = self.pipeline[0]
        source: Any = iter(first) if isinstance(first, Resampled) else first.f(*first.args)
        for stage in self.pipeline[1:]:
            source = iter(stage(source))
        return source  # type: ignore[no-any-return]

    def compose(self, *stages: Any) -> WebDataset:
        """Adds stages: functions of an iterator that return one."""
        made = copy.copy(self)
        made.pipeline = [*self.pipeline, *stages]
        return made

    def shuffle(self, size: int, **kw: Any) -> WebDataset:
        """Shuffles samples in a buffer of this size: initial=, seed= or rng=."""
        return self if size < 1 else self.compose(Stage(shuffle, size, **kw))

    def decode(
        self,
        *args: Any,
        pre: Any = None,
        post: Any = None,
        only: Any = None,
        partial: bool = False,
        handler: Handler = reraise_exception,
    ) -> WebDataset:
        """Decodes files by suffix: "pil", "torchrgb", ... for images, or functions of a key and bytes."""
        handlers = [ImageHandler(each) if isinstance(each, str) else each for each in args]
        return self.map(Decoder(handlers, pre, post, only, partial), handler=handler)

    def map(self, f: Callable[[Any], Any], handler: Handler = reraise_exception) -> WebDataset:
        """Replaces each sample by f(sample); None leaves it out."""
        return self.compose(Stage(map, f, handler=handler))

    def map_dict(self, handler: Handler = reraise_exception, **kw: Callable[[Any], Any]) -> WebDataset:
        """Replaces entries of samples by f(entry)."""
        return self.compose(Stage(map_dict, handler=handler, **kw))

    def map_tuple(self, *args: Any, handler: Handler = reraise_exception) -> WebDataset:
        """Replaces the first entries of tuples by f(entry); None keeps one as it is."""
        return self.compose(Stage(map_tuple, *args, handler=handler))

    def to_tuple(self, *args: Any, **kw: Any) -> WebDataset:
        """Makes tuples of entries: for each "jpg;png" the first that a sample has."""
        return self.compose(Stage(to_tuple, *args, **kw))

    def to_dict(self, **kw: str) -> WebDataset:
        """Keeps these entries only: image="jpg;png", label="cls"."""
        return self.compose(Stage(rename, keep=False, **kw))

    def rename(self, **kw: Any) -> WebDataset:
        """Renames entries: image="jpg;png". keep=False leaves out all others."""
        return self.compose(Stage(rename, **kw))

    def select(self, predicate: Callable[[Any], Any]) -> WebDataset:
        """Keeps the samples for which a function returns True."""
        return self.compose(Stage(select, predicate))

    def slice(self, *args: int) -> WebDataset:
        """Takes itertools.islice of the samples."""
        return self.compose(Stage(islice, *args))

    def batched(
        self,
        batchsize: int,
        collation_fn: Callable[[list[Any]], Any] | None = default_collation_fn,
        partial: bool = True,
    ) -> WebDataset:
        """Makes batches, for DataLoader(batch_size=None)."""
        return self.compose(Stage(batched, batchsize, collation_fn, partial))

    def unbatched(self) -> WebDataset:
        """Gives the samples of batches one by one."""
        return self.compose(Stage(unbatched))

    def repeat(self, nepochs: int = -1, nbatches: int = -1) -> WebDataset:
        """Repeats this many rounds, or forever, up to this many samples (batches, if they are batched)."""
        return self._repeated(nepochs if nepochs > 0 else sys.maxsize, nbatches)

    def with_epoch(self, nsamples: int = -1, nbatches: int = -1) -> WebDataset:
        """Makes epochs of this many samples (batches, if they are batched), in as many rounds as needed."""
        return self._repeated(sys.maxsize, max(nsamples, nbatches))

    def _repeated(self, rounds: int, nsamples: int) -> WebDataset:
        made = copy.copy(self)
        made.repetitions, made.nsamples = rounds, nsamples
        return made

    def with_length(self, n: int) -> WebDataset:
        """Adds a len(), without changing the epoch."""
        made = copy.copy(self)
        made.__class__ = _WithLength
        made.size = n  # type: ignore[attr-defined]
        return made


class _WithLength(WebDataset):
    size: int

    def __len__(self) -> int:
        return self.size
