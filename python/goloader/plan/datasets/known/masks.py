"""Datasets of torchvision's whose target is an image file as well: a mask, for segmentation.

That their code opens an image and its mask, and does no more than to transform them, is read from its bytecode. The
masks of a dataset have to be of one mode with one 8-bit plane, for which all their headers are asked; others are left
to door 2, where each file is looked at when it is opened. Before the transforms may stand torchvision's wrapper for v2,
which makes a tv_tensors.Mask of each.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal

import numpy as np

from ...bytecode import Attribute, Call, Constant, Display, Expression, UnreadableError
from ...bytecode import Part as Unpacked
from ...paths import Files
from ...refusal import RefusalError, SourceRefusal, TransformRefusal
from ...transforms.lowered import Lowered
from ...transforms.targets import lower_apart, lower_together
from ...trust.look import is_a, parents
from ...trust.originals import is_original
from ...trust.watch import Watch
from ..own.code import ERRORS, OwnCode
from ..own.columns import Columns
from ..own.sources import PATHS
from ..reads.images import UNREADABLE, mode_of, opens
from ..samples import PairPart
from ..tree import Column, Indices, Node, name_of
from .image_folders import check_open, open_rgb

# Datasets that the wrapper makes one mask of each target of: classes of torchvision.datasets, by their names, and for
# which of its settings.
_WRAPPED: dict[str, tuple[str, tuple[str, ...]]] = {
    "VOCSegmentation": ("", ()),
    "OxfordIIITPet": ("_target_types", ("segmentation",)),
    "Cityscapes": ("target_type", ("semantic",)),
}


@dataclass(frozen=True)
class _Opened:
    """The image of a file.

    path    of it
    mode    that it is converted to; "file" if it stays as it is
    begun   the call that opens it
    calls   of its transforms, one after the other
    place   which of two images it is that the last of these takes together; None if it takes no other
    """

    path: Expression
    mode: str
    begun: Expression
    calls: tuple[Call, ...] = ()
    place: int | None = None


Pair = tuple[_Opened, _Opened]


def pair_of(own: OwnCode) -> Pair | None:
    """The image and the mask of a sample, if code of torchvision's does no more than to open and transform these."""
    match own.reading.result:
        case Display(items=(first, second), kind=kind) if kind is tuple and own.is_of_torchvision:
            pass
        case _:
            return None
    image, mask = _opened(own, first), _opened(own, second)
    if image is None or mask is None or own.asks_index or own.reading.asserted:
        return None
    if (image.mode, mask.mode) != ("RGB", "file") or (image.place, mask.place) not in ((None, None), (0, 1)):
        return None
    if image.calls and own.when(mask.begun) > own.when(image.calls[0]):
        return None
    in_turn = not mask.calls or not image.calls or image.place == 0
    return (image, mask) if in_turn or own.when(image.calls[-1]) < own.when(mask.calls[0]) else None


def _opened(own: OwnCode, given: Expression) -> _Opened | None:
    """The image that is given; None if it is something else."""
    match given:
        case Unpacked(owner=Call(arguments=(first, second), options=()) as call, number=place, count=2):
            both = _opened(own, first), _opened(own, second)
            opened = both[place]
            if both[0] and both[1] and opened is not None and not both[0].calls and not both[1].calls:
                return replace(opened, calls=(call,), place=place)
        case Call(function=Attribute(owner=inner, name="convert"), arguments=(Constant(value="RGB"),), options=()):
            opened = _opened(own, inner)
            if opened is not None and opened.mode == "file" and not opened.calls:
                return replace(opened, mode="RGB")
        case Call(function=function, arguments=(inner,), options=()):
            called = own.if_seen(function)
            if opens(called):
                own.means(function)
                return _Opened(inner, "file", given) if called is sys.modules["PIL.Image"].open else None
            opened = _opened(own, inner)
            if opened is not None and called is not None:
                return replace(opened, calls=(*opened.calls, given))
    return None


class Masks(Node):
    """A dataset of images and masks.

    Its length is that of the attributes, whatever `__len__` says: that is what `__getitem__` goes by.
    """

    note = "its __getitem__ only opens files and transforms images: read from its bytecode"
    structure = (0, 1)

    def __init__(self, own: OwnCode, pair: Pair | None, wrapper: Any = None) -> None:
        """`wrapper` is torchvision's for v2, if it stands before the dataset."""
        self.dataset = own.dataset if wrapper is None else wrapper
        self._own, self._wrapper, self._watch = own, wrapper, Watch[Lowered]()
        try:
            if pair is None:
                raise UnreadableError("transforms other things together than an image and its mask")
            self._images = pair
            self._columns = Columns(own, [*(each.path for each in pair), *own.reading.loose])
            calls = [call for each in pair for call in each.calls]
            if calls and not self._columns.fails_before(calls):
                raise UnreadableError("looks the index up when random numbers may have been drawn", calls[0])
            self.length = self._columns.length
            # What is not understood shows in the first sample. Nobody wants to wait for all at each epoch then.
            self._paths(range(min(self.length, 1)))
            paths = self._paths(range(self.length))
            self._columns.keep()
            self._mode = common_mode(name_of(self.dataset), paths[1::2])
            files = self._files(paths)
        except UnreadableError as error:
            raise own.unread(error) from None
        except ERRORS as error:
            raise own.refusal(f"{type(error).__name__} where it takes paths: {error}") from None
        self.negatives = self._columns.negatives
        samples = list(zip(paths[::2], paths[1::2], strict=True))
        self.part = PairPart(self.dataset, samples, files, self._lowered(), open_rgb)
        self.columns = (Column((self.part,), PairPart),)

    def _paths(self, at: Sequence[int]) -> list[Any]:
        """Of the image and the mask of each of these samples. Raises UnreadableError, and what the code would raise."""
        images, masks, *_ = self._columns.work_out(at)
        for opened, paths in zip(self._images, (images, masks), strict=True):
            for kind in set(map(type, paths)) - {*PATHS, bytes}:
                raise UnreadableError(f"opens a {kind.__qualname__}", opened.path)
        return [*chain.from_iterable(zip(images, masks, strict=True))]

    def _files(self, paths: Sequence[Any]) -> Files:
        try:
            return Files.of(paths, ())
        except RefusalError as refused:
            raise UnreadableError(f"gives paths of which {refused.refusal.why}") from None

    def _lowered(self) -> Lowered:
        """What becomes of an image, RGB, and its mask. Raises RefusalError."""
        image, mask = ([self._own.value(call.function) for call in opened.calls] for opened in self._images)
        inside = None
        if self._wrapper is not None:
            check_wrapper(self._wrapper, self._own.dataset)
            inside = vars(self._wrapper)["transforms"]

        def lower() -> Lowered:
            check_open()
            if self._wrapper is not None:
                return lower_wrapped(inside, self._mode)
            if self._images[0].place is not None:
                return lower_together(image[0], self._mode, self._mode)
            return lower_apart(_composed(image), _composed(mask), self._mode, self._mode)

        return self._watch.found(lower, [inside, *image, *mask])

    def unchanged(self, dataset: Any, at: Indices | None) -> bool:
        inner = dataset if self._wrapper is None else wrapped(dataset)
        if dataset is not self.dataset or not self._own.unchanged(inner):
            return False
        try:
            same = self._columns.stands(at) or self._same_files(at)
            return same and self._lowered() == self.part.lowered
        except (UnreadableError, RefusalError, *ERRORS):
            return False

    def _same_files(self, at: Indices | None) -> bool:
        """Whether paths are those of the part."""
        files, ours = self._files(self._paths(range(self.length) if at is None else at.tolist())), self.part.files
        if at is None:
            return files == ours
        numbers = (at[:, None] * 2 + np.arange(2)).reshape(-1).tolist()
        return all(files.name(place) == ours.name(file) for place, file in enumerate(numbers))


def _composed(transforms: list[Any]) -> Any:
    if len(transforms) < 2:
        return transforms[0] if transforms else None
    from torchvision.transforms import Compose

    return Compose(transforms)


def wrapped(dataset: Any) -> Any:
    """The dataset that torchvision's wrapper for v2 stands before, if its targets may be masks; None for all others."""
    wrapper = _wrapper()
    inner = vars(dataset).get("_dataset") if wrapper is not None and is_a(dataset, wrapper) else None
    return inner if _base(inner).__name__ in _WRAPPED else None


def _base(dataset: Any) -> type:
    """The class of torchvision's by which its wrapper knows a dataset."""
    module = sys.modules.get("torchvision.tv_tensors._dataset_wrapper")
    factories = getattr(module, "WRAPPER_FACTORIES", {})
    return next((kind for kind in parents(type(dataset)) if kind in factories), object)


def _wrapper() -> Any:
    """None while nobody imported it."""
    module = sys.modules.get("torchvision.tv_tensors._dataset_wrapper")
    return getattr(module, "VisionDatasetTVTensorWrapper", None)


def check_wrapper(dataset: Any, inner: Any) -> None:
    """Raise RefusalError unless `dataset` is torchvision's wrapper around `inner`, and makes a Mask of its targets."""
    wrapper, name = _wrapper(), name_of(dataset)
    own = set(vars(type(dataset))) - {"__module__", "__doc__", "__annotations__"}
    if type(dataset).__bases__ != (wrapper, type(inner)) or any(not each.startswith("__") for each in own):
        raise SourceRefusal(name, "its class is not that of torchvision's wrapper", "WRAPPED")
    for method in ("__getitem__", "__len__"):
        if method in own or method in vars(dataset) or not is_original(getattr(wrapper, method), "torchvision"):
            raise SourceRefusal(name, f"its {method} was replaced", "FUNCTION_REPLACED")
    factories = sys.modules["torchvision.tv_tensors._dataset_wrapper"].WRAPPER_FACTORIES
    base, function = _base(inner), vars(dataset)["_wrapper"]
    factory = factories.get(base)
    if not is_original(factory, "torchvision") or function.__code__ not in factory.__code__.co_consts:
        raise SourceRefusal(name, "it is wrapped by a function that is not torchvision's", "WRAPPED")
    setting, values = _WRAPPED[base.__name__]
    if setting and tuple(getattr(inner, setting)) != values:
        raise SourceRefusal(name, "its targets are not wrapped as one mask", "WRAPPED")
    if inner.transforms is not None or "transforms" not in vars(dataset):
        raise SourceRefusal(name, "the wrapped dataset transforms its samples", "WRAPPED")


def lower_wrapped(transforms: Any, mode: str) -> Lowered:
    """What a wrapper's `transforms` make of an image, RGB, and its mask. Raises RefusalError."""
    if transforms is None:
        return lower_apart(None, None, "Mask", mode)
    standard = sys.modules["torchvision.datasets.vision"].StandardTransform
    if type(transforms) is not standard:
        return lower_together(transforms, "Mask", mode)
    if not is_original(standard.__call__, "torchvision"):
        raise TransformRefusal("StandardTransform", "its __call__ was replaced", "FUNCTION_REPLACED")
    return lower_apart(transforms.transform, transforms.target_transform, "Mask", mode)


# A header costs 10 us, or a round trip where files are far away.
_READERS = 16
_CHUNK = 256

# Share of masks that only Pillow reads from which torch's worker processes are faster than one Pillow here.
_FOREIGN_SHARE_MAX = 0.05


def common_mode(name: str, paths: Sequence[Any]) -> Literal["P", "L"]:
    """The mode of all these files, but for those that cannot be read, whose errors are the dataset's to raise."""
    chunks = [paths[begin : begin + _CHUNK] for begin in range(0, len(paths), _CHUNK)]
    with ThreadPoolExecutor(_READERS) as pool:
        found = sum(pool.map(lambda chunk: Counter(map(mode_of, chunk)), chunks), Counter[tuple[str, bool]]())
    found.pop(UNREADABLE, None)
    modes = sorted({mode for mode, _ in found})
    if modes not in (["P"], ["L"]):
        why = f"its masks are of modes {', '.join(modes)}, not all P or all L" if modes else "no mask of it can be read"
        raise SourceRefusal(name, why, "MASKS")
    foreign = found[modes[0], False] / found.total()
    if foreign > _FOREIGN_SHARE_MAX:
        raise SourceRefusal(
            name, f"only Pillow reads {foreign:.0%} of its masks; torch's workers do in parallel", "FOREIGN_FILES"
        )
    return "P" if modes == ["P"] else "L"
