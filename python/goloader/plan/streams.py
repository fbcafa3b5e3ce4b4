"""Pipelines of shards, goloader's and webdataset's, lowered stage by stage to what the core's streams do.

`read` knows a pipeline by its stages, each of which has to be its library's own. What goes into batches are elements:
images, whose transforms are lowered, and columns of numbers, texts, JSON and bytes, which Python only puts together.
"""

from __future__ import annotations

import dis
import inspect
import itertools
import os
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from types import BuiltinFunctionType, CodeType, FunctionType
from typing import Any

from .. import webdataset as own
from ..adapters.torch import worker_info
from .paths import is_url
from .pipeline import Column, Draws, Image, Pipeline, Stage
from .refusal import RefusalError, granted
from .transforms.lowered import Lowered
from .trust.harmless import REACHING, codes_of
from .trust.look import name_of
from .trust.originals import is_original

# Files that are decoded without the library's help, by the last part of their suffix.
_NUMBERS = frozenset(("cls", "cls2", "index", "inx", "id"))
_TEXTS = frozenset(("txt", "text", "transcript"))
_JSON = frozenset(("json", "jsn"))
# Of those that webdataset decodes with others'.
_OTHERS = frozenset(["pkl", "pickle", "pyd", "pth", "ten", "tb", "mp", "msg", "npy", "npz", "cbor", "gz"])

# Stages that each sample goes through for itself.
_OF_SAMPLES = ("decode", "map", "map_dict", "map_tuple", "rename", "to_tuple")

# Handlers that raise, and those that go on.
_RAISE, _GO_ON = "reraise_exception", ("ignore_and_continue", "warn_and_continue")


def _refuse(what: str, why: str) -> RefusalError:
    return RefusalError("source", what, why, "STREAM_STAGE")


@dataclass(frozen=True)
class Element:
    """Something of each sample.

    of         suffixes of its file, of which the first counts that a sample has; "__key__" or "__url__"
    decoded    the image handler's spec, "" if files are decoded without one, or None if they are not
    endings    of files that the handler takes
    functions  that it is given to then
    """

    of: tuple[str, ...]
    decoded: str | None = None
    endings: frozenset[str] = own.IMAGES
    functions: tuple[Any, ...] = ()

    @property
    def kinds(self) -> set[str]:
        """What its files are decoded to."""
        return {self._kind(suffix) for suffix in self.of}

    def _kind(self, suffix: str) -> str:
        last = suffix.rpartition(".")[2]
        if suffix.startswith("__"):
            return "text"
        if self.decoded is None:
            return "bytes"
        if self.decoded and last in self.endings:
            return "image"
        if last in _NUMBERS:
            return "int"
        if last in _TEXTS | _JSON:
            return "text" if last in _TEXTS else "json"
        if last in _OTHERS:
            raise _refuse(f".{suffix}", "only Python decodes such files")
        return "bytes"


# ---- stages by their names


def _name(stage: Any) -> str:
    """Which stage it is, if it is its library's own; "" for any other."""
    if type(stage) is own.Stage:
        return _OWN.get(stage.f, "")
    if type(stage) in (own.Resampled, own.detshuffle):
        return type(stage).__name__.lower()
    if type(stage) is FunctionType:
        return _OWN.get(stage, "") or _foreign(stage)
    theirs = sys.modules.get("webdataset")
    if theirs is None:
        return ""
    kinds = {
        theirs.filters.FilterFunction: "",
        theirs.shardlists.SimpleShardList: "shard_list",
        theirs.shardlists.ResampledShards: "resampled",
        theirs.filters.detshuffle: "detshuffle",
        theirs.cache.StreamingOpen: "open",
    }
    name = kinds.get(type(stage))
    if name == "":
        return "islice" if stage.f is itertools.islice else _foreign(stage.f)
    if name is None or not all(is_original(getattr(type(stage), each), "webdataset") for each in _METHODS[name]):
        return ""
    return name


def _theirs(name: str) -> Any:
    """Something of webdataset's; None while nobody imported it."""
    library = sys.modules.get("webdataset")
    return None if library is None else attrgetter(name)(library)


_METHODS = {"shard_list": ("__iter__",), "resampled": ("__iter__",), "detshuffle": ("run",), "open": ("__call__",)}

_OWN_NAMES = (
    "batched check_empty map map_dict map_tuple rename samples_of select shard_list shuffle single_node_only "
    "split_by_node split_by_worker to_tuple unbatched"
)
_OWN: dict[Any, str] = {own.islice: "islice", **{getattr(own, name): name for name in _OWN_NAMES.split()}}
_FOREIGN_NAMES = (
    "filters._batched compat.check_empty filters._decode filters._map filters._map_dict filters._map_tuple "
    "filters._rename filters._select filters._shuffle filters._to_tuple filters._unbatched "
    "shardlists.single_node_only shardlists.split_by_node shardlists.split_by_worker "
    "tariterators.tarfile_samples tariterators.tar_file_expander tariterators.group_by_keys"
)
_FOREIGN = {f"webdataset.{name}": name.rpartition(".")[2].lstrip("_") for name in _FOREIGN_NAMES.split()}


def _foreign(function: Any) -> str:
    name = _FOREIGN.get(f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', '')}", "")
    return name if name and is_original(function, "webdataset") else ""


def _arguments(stage: Any) -> dict[str, Any]:
    if not hasattr(stage, "f") or stage.f is own.shard_list:
        return {}
    if stage.f is itertools.islice:
        return {"args": stage.args}
    try:
        bound = inspect.signature(stage.f).bind(None, *stage.args, **stage.kw)
    except TypeError as error:
        raise _refuse(_title(stage), str(error)) from None
    bound.apply_defaults()
    return dict(itertools.islice(bound.arguments.items(), 1, None))


def _title(stage: Any) -> str:
    name = _name(stage)
    if name:
        return name
    function = getattr(stage, "f", stage)
    return name_of(function)


# ---- lowering


class _Reader:
    """Reads the stages of a pipeline, one after the other."""

    def __init__(self, dataset: Any, lanes: int) -> None:
        self.dataset, self.lanes = dataset, lanes
        self.urls: list[str] = []
        self.resampled: tuple[Draws, int, bool] | None = None
        self.shard_stages: list[Stage] = []
        self.stages: list[Stage] = []
        self.opened = self.grouped = self.not_empty = False
        self.batch, self.partial = 0, True
        self.spec: str | None = None
        self.endings = own.IMAGES
        self.made: dict[str, Element] = {}  # entries that are not files by their suffix
        self.gone: set[str] = set()
        self.closed = False  # samples have no entries but those that were made
        self.entries: list[Element] | None = None  # of tuples
        self.fallible = False  # a stage may leave samples out
        self.rows: list[tuple[str, str]] = []

    def read(self) -> Pipeline:
        dataset = self.dataset
        for stage in dataset.pipeline:
            name = _name(stage)
            if not name:
                raise _refuse(_title(stage), "this stage is not known")
            if self.batch:
                raise _refuse(name, "it comes after batched")
            read = getattr(self, f"_{name}", None)
            if read is None:
                raise _refuse(name, "Python runs this stage")
            arguments = _arguments(stage)
            read(stage, **arguments)
        if not self.grouped:
            raise _refuse(type(dataset).__qualname__, "it does not read samples of archives")
        rounds, limit = dataset.repetitions, dataset.nsamples
        if type(rounds) is not int or type(limit) is not int or rounds < 1:
            raise _refuse("repeat", "its numbers are not ints")
        limit = limit if rounds != 1 and limit > 0 else -1
        if self.lanes == 0 and rounds > 1 and any(draws.kind == "each" for draws in self._all_draws()):
            raise _refuse("with_epoch", "in each round, shards are drawn by another seed, which the dataset counts")
        keys, elements = self._elements()
        return self._pipeline(rounds, limit, keys, elements)

    def _all_draws(self) -> Iterator[Draws]:
        for stage in (*self.shard_stages, *self.stages):
            if stage.draws is not None:
                yield stage.draws
        if self.resampled is not None and self.resampled[2]:
            yield Draws("each")

    def _elements(self) -> tuple[tuple[str, ...] | None, list[Element]]:
        if self.entries is not None:
            return None, self.entries
        if not self.closed:
            raise _refuse("samples", "they are dicts of all files: to_tuple or to_dict says which")
        return tuple(self.made), list(self.made.values())

    def _pipeline(self, rounds: int, limit: int, keys: tuple[str, ...] | None, elements: Sequence[Element]) -> Pipeline:
        images: list[Image] = []
        columns: list[Column] = []
        places: list[tuple[bool, int]] = []
        for element in elements:
            kinds = element.kinds
            if len(kinds) > 1:
                raise _refuse(";".join(element.of), "its files are decoded in several ways")
            kind = kinds.pop()
            if kind == "image":
                images.append(Image(element.of, _lowered(element)))
                places.append((True, len(images) - 1))
                continue
            functions = tuple(each for each in element.functions if each is not int or kind != "bytes")
            if kind == "bytes" and element.functions == (int,):
                kind = "int"
            if kind == "int" and functions:
                kind = "text"
                functions = (int, *functions)
            for function in functions:
                if function is not int and not reckons(function):
                    raise _refuse(name_of(function), "only Python can run it on a field that is not an image")
            if functions and self.fallible:
                raise _refuse("map_tuple", "a handler continues if one of its functions fails")
            columns.append(Column(kind, element.of, functions))
            places.append((False, len(columns) - 1))
        if not images:
            raise _refuse(type(self.dataset).__qualname__, "its samples have no images")
        if self.batch and self.partial is None:
            raise _refuse("batched", "its arguments")
        return Pipeline(
            name=type(self.dataset).__qualname__,
            urls=tuple(self.urls),
            resampled=self.resampled,
            shard_stages=tuple(self.shard_stages),
            stages=tuple(self.stages),
            not_empty=self.not_empty,
            rounds=rounds,
            limit=limit,
            batch=self.batch,
            partial=self.partial,
            keys=keys,
            images=tuple(images),
            columns=tuple(columns),
            places=tuple(number if image else len(images) + number for image, number in places),
            rows=tuple(self.rows),
            dataset=self.dataset,
        )

    # shards

    def _shard_list(self, stage: Any) -> None:
        if not isinstance(stage, own.Stage) and stage.seed is not None:
            raise _refuse("SimpleShardList", "it shuffles by itself")
        self._shards(list(stage.args[0] if isinstance(stage, own.Stage) else stage.urls))

    def _shards(self, urls: list[Any]) -> None:
        for url in urls:
            if type(url) is not str:
                raise _refuse(repr(url), "names of shards are not str")
            scheme = url.partition(":")[0] if ":" in url else ""
            known = is_url(url) or scheme in ("", "pipe") or url.startswith("/")
            # What webdataset and the core cut off a name, as parts of a URL.
            parts = "#" if is_url(url) else "#?;" if type(self.dataset).__module__ != own.__name__ else ""
            known = known and url.isprintable() and (scheme == "pipe" or not any(sign in url for sign in parts))
            compressed = url.endswith((".bz2", ".xz", ".tbz2", ".txz"))
            foreign = not isinstance(self.dataset, own.WebDataset) and (
                (is_url(url) and scheme not in ("http", "https"))
                or url.endswith(".zst")
                or "GOPEN_REWRITE" in os.environ
                or url == "-"
            )
            if not known or compressed or foreign:
                raise _refuse(url, "only its library reads such a shard")
        if self.urls:
            raise _refuse("shards", "there are two lists of them")
        self.urls = urls

    def _resampled(self, stage: Any) -> None:
        seed, count = stage.seed, getattr(stage, "nshards", sys.maxsize)
        made = seed is not None
        if not isinstance(stage, own.Resampled):
            made = bool(stage.deterministic)
            if stage.worker_seed is not _theirs("utils.pytorch_worker_seed"):
                raise _refuse("ResampledShards", "it has a worker_seed of its own")
        if made and (type(seed) is not int or not 0 <= seed < 1 << 60):
            raise _refuse("resampled", f"its seed is {seed!r}")
        self._shards(list(stage.urls))
        self.resampled = Draws("seed" if made else "none", seed if made else None, stage), count, made

    def _split(self, kind: str) -> None:
        if self.opened:
            raise _refuse(f"split_by_{kind}", "it splits samples, not shards")
        if "WORKER" in os.environ or "NUM_WORKERS" in os.environ:
            raise _refuse(f"split_by_{kind}", "the environment says which worker it is")
        self.shard_stages.append(Stage(kind))

    def _split_by_node(self, stage: Any, group: Any = None) -> None:
        if group is not None:
            raise _refuse("split_by_node", "it has a group")
        self._split("node")

    def _single_node_only(self, stage: Any, group: Any = None) -> None:
        if worker_info()[1] > 1:
            raise _refuse("single_node_only", "there are several ranks")

    def _split_by_worker(self, stage: Any) -> None:
        self._split("worker")

    def _shuffle(
        self, stage: Any, bufsize: Any, initial: Any, rng: Any = None, seed: Any = None, handler: Any = None
    ) -> None:
        if rng is not None and (type(rng) is not random.Random or self.lanes == 0):
            raise _refuse("shuffle", "it draws from a generator that others may use")
        kind = "none" if seed is None and rng is None else "seed" if rng is None else "rng"
        self._shuffled(bufsize, initial, Draws(kind, seed if rng is None else rng))

    def _detshuffle(self, stage: Any) -> None:
        if type(stage.seed) is not int or type(stage.epoch) is not int or stage.seed < 0 or stage.epoch < -1:
            raise _refuse("detshuffle", f"its seed is {stage.seed!r}")
        self._shuffled(stage.bufsize, stage.initial, Draws("each", stage.seed, stage))

    def _shuffled(self, size: Any, initial: Any, draws: Draws) -> None:
        if not isinstance(size, int) or not isinstance(initial, int) or size < 0 or initial < 0:
            raise _refuse("shuffle", f"its sizes are {size!r} and {initial!r}")
        if self.spec is not None:
            raise _refuse("shuffle", "it shuffles decoded samples; Go shuffles before decode, with less memory")
        if self.fallible:
            raise _refuse("shuffle", "a stage before it may leave samples out")
        made = Stage("shuffle", (int(size), int(initial)), draws)
        (self.stages if self.opened else self.shard_stages).append(made)
        if size > 0:
            self.rows.append((f"shuffle({int(size)})", "" if self.opened else "of shards"))

    # archives

    def _samples_of(self, stage: Any, handler: Any) -> None:
        self._open(stage, handler)
        self.grouped = True

    def _open(self, stage: Any, handler: Any = None) -> None:
        if not self.urls or self.opened:
            raise _refuse("archives", "there is no list of shards before them")
        self._handled(stage.handler if handler is None else handler)
        self.opened = True

    def _tar_file_expander(
        self, stage: Any, handler: Any, select_files: Any = None, rename_files: Any = None, eof_value: Any = None
    ) -> None:
        if select_files is not None or rename_files is not None or eof_value != {}:
            raise _refuse("tar_file_expander", "it selects or renames files")
        self._handled(handler)

    def _group_by_keys(
        self, stage: Any, keys: Any, lcase: Any = True, suffixes: Any = None, handler: Any = None
    ) -> None:
        if keys is not _theirs("tariterators.base_plus_ext") or lcase is not True or suffixes is not None:
            raise _refuse("group_by_keys", "it groups files in another way")
        self._handled(handler)
        self.grouped = True

    def _tarfile_samples(self, stage: Any, handler: Any, select_files: Any = None, rename_files: Any = None) -> None:
        if select_files is not None or rename_files is not None:
            raise _refuse("tarfile_to_samples", "it selects or renames files")
        self._open(stage, handler)
        self.grouped = True

    def _check_empty(self, stage: Any) -> None:
        if self.stages or self.fallible or self.entries is not None:
            raise _refuse("check_empty", "it counts the samples of other stages")
        self.not_empty = True

    def _handled(self, handler: Any) -> None:
        name = getattr(handler, "__name__", "")
        original = is_original(handler, "goloader", "webdataset") and name in (_RAISE, *_GO_ON)
        if not original and not _goes_on(handler):
            raise _refuse(name_of(handler), "this handler may do more than continue")
        if (name != _RAISE or not original) and self.grouped:  # else it goes on with the next shard
            self.fallible = True

    # samples

    def _islice(self, stage: Any, args: tuple[Any, ...]) -> None:
        if not all(each is None or type(each) is int for each in args) or not 1 <= len(args) <= 3:
            raise _refuse("slice", f"its arguments are {args}")
        cut = slice(*args)
        start, step = cut.start or 0, 1 if cut.step is None else cut.step
        if self.fallible and self.spec is not None:
            raise _refuse("slice", "a stage before it may leave samples out")
        if start < 0 or step < 1 or (cut.stop is not None and cut.stop < 0):
            raise _refuse("slice", f"its arguments are {args}")
        made = Stage("slice", (start, -1 if cut.stop is None else cut.stop, step))
        (self.stages if self.opened else self.shard_stages).append(made)
        self.rows.append((f"slice{args}", ""))

    def _decode(self, stage: Any, args: tuple[Any, ...] = (), handler: Any = None, **options: Any) -> None:
        if any(options.get("kw", {}).values()):
            raise _refuse("decode", "its options")
        made = _theirs("autodecode.imagehandler")
        self._decoded([made(each) if isinstance(each, str) else each for each in args], handler)

    def _map(self, stage: Any, f: Any, handler: Any) -> None:
        if type(f) is own.Decoder:
            basic, pre = own._basic, []
        elif type(f) is _theirs("autodecode.Decoder"):
            basic, pre = _theirs("autodecode.basichandlers"), [_theirs("autodecode.gzfilter")]
            if not is_original(basic, "webdataset") or not is_original(type(f).decode1, "webdataset"):
                raise _refuse("decode", "webdataset's functions were replaced")
        else:
            raise _refuse(name_of(f), "only Python can run this function")
        handlers = list(f.handlers)
        if f.only is not None or f.partial or handlers[-1:] != [basic] or handlers[: len(pre)] != pre:
            raise _refuse("decode", "its arguments pre, post, only or partial")
        self._decoded(handlers[len(pre) : -1], handler)

    def _decoded(self, handlers: list[Any], handler: Any) -> None:
        if self.spec is not None or self.entries is not None:
            raise _refuse("decode", "it comes a second time, or after to_tuple")
        spec = ""
        for each in handlers:
            foreign = type(each) is _theirs("autodecode.ImageHandler")
            if not (foreign or type(each) is own.ImageHandler) or spec:
                raise _refuse(name_of(each), "only Python can run this decoder")
            if foreign and not is_original(type(each).__call__, "webdataset"):
                raise _refuse("decode", "webdataset's functions were replaced")
            spec, self.endings = each.imagespec, frozenset(each.extensions)
        if spec and spec not in ("pil", "pilrgb", "torchrgb", "torch", "torchrgb8"):
            raise _refuse(f'decode("{spec}")', "only RGB images for PIL or torch are known")
        self._handled(handler)
        self.spec = spec
        for name, each in self.made.items():
            # What was renamed is decoded by its new name.
            if Element((name,), spec, self.endings).kinds != {"bytes"}:
                made = Element(each.of, spec, self.endings)
                if made.kinds != Element((name,), spec, self.endings).kinds:
                    raise _refuse("decode", f"{';'.join(each.of)} is decoded as {name}")
                self.made[name] = replace(made, functions=each.functions)
        self.rows.append((f"decode({spec!r})" if spec else "decode()", ""))

    def _entry(self, keys: Any) -> Element:
        """An entry of samples, by one key or several of which the first counts."""
        keys = tuple(keys.split(";")) if isinstance(keys, str) else tuple(keys)
        if any(type(key) is not str for key in keys) or not keys:
            raise _refuse(repr(keys), "keys are not str")
        known = [key for key in keys if key in self.made]
        if known and len(keys) > 1:
            raise _refuse(";".join(keys), "one of these keys was renamed")
        if known:
            return self.made[known[0]]
        if self.closed or self.gone.intersection(keys):
            raise _refuse(";".join(keys), "samples have no such key")
        if any(key.startswith("__") for key in keys) and (len(keys) > 1 or keys[0] not in ("__key__", "__url__")):
            raise _refuse(";".join(keys), "what this key holds")
        if any(key != key.lower() for key in keys):
            raise _refuse(";".join(keys), "suffixes are lowercase")
        return Element(keys, self.spec, self.endings)

    def _rename(self, stage: Any, handler: Any, keep: Any, kw: Mapping[str, Any] | None = None) -> None:
        self._dicts("rename")
        self._handled(handler)
        made = {new: self._entry(old) for new, old in (kw or {}).items()}
        gone = {key for old in (kw or {}).values() for key in (old.split(";") if isinstance(old, str) else old)}
        self.made = made if not keep else {k: v for k, v in self.made.items() if k not in gone} | made
        self.closed = self.closed or not keep
        self.gone |= gone - set(self.made)

    def _dicts(self, name: str) -> None:
        if self.entries is not None:
            raise _refuse(name, "samples are tuples")

    def _map_dict(self, stage: Any, handler: Any, kw: Mapping[str, Any] | None = None) -> None:
        self._dicts("map_dict")
        self._handled(handler)
        for key, function in (kw or {}).items():
            entry = self._entry((key,))
            self.made[key] = replace(entry, functions=(*entry.functions, function))

    def _to_tuple(
        self,
        stage: Any,
        args: tuple[Any, ...] = (),
        handler: Any = None,
        missing_is_error: Any = True,
        none_is_error: Any = None,
    ) -> None:
        self._dicts("to_tuple")
        if missing_is_error is not True or none_is_error not in (None, True):
            raise _refuse("to_tuple", "samples may lack entries")
        self._handled(handler)
        if len(args) == 1 and isinstance(args[0], str) and " " in args[0]:
            args = tuple(args[0].split())
        self.entries = [self._entry(keys) for keys in args]

    def _map_tuple(self, stage: Any, args: tuple[Any, ...] = (), handler: Any = None) -> None:
        if self.entries is None:
            raise _refuse("map_tuple", "samples are dicts")
        self._handled(handler)
        for number, function in enumerate(args[: len(self.entries)]):
            if function is not None and not _is_identity(function):
                entry = self.entries[number]
                self.entries[number] = replace(entry, functions=(*entry.functions, function))

    def _batched(self, stage: Any, batchsize: Any, collation_fn: Any, partial: Any) -> None:
        known = own.default_collation_fn, _theirs("filters.default_collation_fn")
        if collation_fn is None or collation_fn not in known or not is_original(collation_fn, "goloader", "webdataset"):
            raise _refuse("batched", "its collation_fn is not webdataset's")
        if type(batchsize) is not int or batchsize < 1:
            raise _refuse("batched", f"its size is {batchsize!r}")
        self.batch, self.partial = batchsize, bool(partial)
        self.rows.append((f"batched({batchsize})", ""))


def read(dataset: Any, lanes: int) -> Pipeline:
    """A pipeline; `lanes` is a loader's num_workers. Raises RefusalError."""
    return _Reader(dataset, lanes).read()


def rest(pipeline: Pipeline) -> list[Any]:
    """The stages that each sample goes through behind its shard, as the dataset has them."""
    return [stage for stage in pipeline.dataset.pipeline if _name(stage) in _OF_SAMPLES]


def handler(pipeline: Pipeline, shards: bool) -> Any:
    """What the first stage of samples, or of archives, does with errors."""
    for stage in pipeline.dataset.pipeline:
        if (_name(stage) in _OF_SAMPLES) != shards and _name(stage):
            found = getattr(stage, "handler", None) or _arguments(stage).get("handler")
            if found is not None:
                return found
    return own.reraise_exception


def _lowered(element: Element) -> Lowered:
    """What becomes of an image."""
    import torchvision.transforms as T

    from .transforms import torchvision as transforms

    functions = list(element.functions)
    if element.decoded in ("torchrgb", "torch"):
        functions.insert(0, T.ToTensor())
    elif element.decoded == "torchrgb8":
        functions.insert(0, T.PILToTensor())
    if not functions:
        raise RefusalError("transform", "images", "nothing makes tensors of them", "NO_TENSOR")
    return granted(transforms.lower(functions[0] if len(functions) == 1 else T.Compose(functions)))


# ---- functions of what is no image


def _goes_on(handler: Any) -> bool:
    """Whether a handler of the user's own says True to every error."""
    if type(handler) is not FunctionType or handler.__code__.co_argcount != 1:
        return False
    operations = list(dis.get_instructions(handler.__code__))
    ends = [at for at, each in enumerate(operations) if each.opname in ("RETURN_VALUE", "RETURN_CONST")]
    said = [operations[at] if operations[at].opname == "RETURN_CONST" else operations[at - 1] for at in ends]
    constants = ("RETURN_CONST", "LOAD_CONST")
    return bool(ends) and all(each.opname in constants and each.argval is True for each in said)


def _is_identity(function: Any) -> bool:
    """True of `lambda x: x`, however it is written."""
    if type(function) is not FunctionType or function.__code__.co_argcount != 1 or function.__closure__:
        return False
    return function.__code__.co_code == _IDENTITY and function.__code__.co_flags == _PLAIN


def _identity(x: Any) -> Any:
    return x


_IDENTITY, _PLAIN = _identity.__code__.co_code, _identity.__code__.co_flags

# What a function may call by name, of texts and what json.loads gives.
_BUILTINS = (int, float, str, len, bool, abs, min, max, round)
# Operations that reach beyond a function's own values.
_REACHING = (*REACHING, "LOAD_BUILD_CLASS", "SEND")


def reckons(function: Any) -> bool:
    """Whether a function does nothing but reckon with a text, or with what JSON holds, and some builtins."""
    if function in _BUILTINS and type(function) in (type, BuiltinFunctionType):
        return True
    if type(function) is not FunctionType or function.__closure__ or function.__defaults__ or function.__kwdefaults__:
        return False
    codes = codes_of(function.__code__)
    return function.__code__.co_argcount == 1 and all(_reckons(code, function.__globals__) for code in codes)


def _reckons(code: CodeType, scope: Mapping[str, Any]) -> bool:
    builtins = scope.get("__builtins__", {})
    known = builtins if isinstance(builtins, Mapping) else vars(builtins)
    for operation in dis.get_instructions(code):
        if operation.opname.startswith(_REACHING):
            return False
        if operation.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            value = scope.get(operation.argval, known.get(operation.argval))
            if not any(value is each for each in _BUILTINS):
                return False
    return True
