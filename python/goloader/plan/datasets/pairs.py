"""torchvision's datasets of image files whose target is an image file as well: masks, for segmentation.

One shape serves all: a sample is a pair of files, and its transforms, apart or together, are lowered as those of two
images (targets.py). The masks of a dataset have to be of one mode with one 8-bit plane, for which all their headers
are asked; others are left to door 2, where each file is looked at when it is opened.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from ..lowered import Lowered
from ..needs import decoders
from ..originals import is_original
from ..paths import Files
from ..refusal import RefusalError, SourceRefusal, TransformRefusal
from ..targets import Kind as TargetKind
from ..targets import lower_apart, lower_together
from .files import open_rgb
from .known import Known, check_paths, nearest
from .samples import PairPart
from .tree import Column, Indices, Node, check_class, copied, equal, equal_at, name_of


@dataclass(frozen=True)
class Kind(Known):
    """A class whose dataset[i] is transforms(image of a file, in RGB; image of another, as it is).

    images   attribute with the paths of images
    targets  attribute with an item for each target
    path     item -> the path of the target
    reads    attributes that are read besides
    masks    dataset -> whether its targets are images
    wraps    the same, of what torchvision's wrapper for v2 makes a mask of
    property another name of `targets`, by which the class reads it; "" if there is none
    """

    images: str
    targets: str
    path: Callable[[Any], Any] = lambda item: item
    reads: tuple[str, ...] = ()
    masks: Callable[[Any], bool] = lambda dataset: True
    wraps: Callable[[Any], bool] = lambda dataset: True
    property: str = ""


def _one_of(dataset: Any, *types: str) -> bool:
    return len(dataset.target_type) == 1 and dataset.target_type[0] in types


_KINDS = (
    Kind("voc", "VOCSegmentation", "images", "targets", property="masks"),
    Kind("oxford_iiit_pet", "OxfordIIITPet", "_images", "_segs", reads=("_target_types",),
         masks=lambda dataset: list(dataset._target_types) == ["segmentation"]),
    Kind("cityscapes", "Cityscapes", "images", "targets", lambda item: item[0], ("target_type",),
         masks=lambda dataset: _one_of(dataset, "semantic", "instance", "color"),
         wraps=lambda dataset: _one_of(dataset, "semantic")),
)  # fmt: skip


def kind_of(dataset: Any) -> Kind | None:
    """Which of these classes `dataset` is of, if its targets are masks."""
    kind = nearest(dataset, _KINDS)
    return kind if kind is not None and kind.masks(_inner(dataset)) else None


def _wrapper() -> Any:
    """torchvision's wrapper for v2; None while nobody imported it."""
    module = sys.modules.get("torchvision.tv_tensors._dataset_wrapper")
    return getattr(module, "VisionDatasetTVTensorWrapper", None)


def _inner(dataset: Any) -> Any:
    """The dataset itself, if torchvision's wrapper stands before it."""
    wrapper = _wrapper()
    return vars(dataset).get("_dataset") if wrapper is not None and isinstance(dataset, wrapper) else dataset


class Pairs(Node):
    """A dataset of images and masks."""

    structure = (0, 1)

    def __init__(self, dataset: Any, kind: Kind) -> None:
        self.dataset, self._kind = dataset, kind
        self._inner = _inner(dataset)
        self._check()
        self._lists = tuple(_copy(getattr(self._inner, name)) for name in (kind.images, kind.targets))
        self._reads = tuple(copied(getattr(self._inner, name)) for name in kind.reads)
        samples = self._samples()
        self._mode = _common_mode(name_of(dataset), [path for _, path in samples])
        files = Files.of((path, 0) for pair in samples for path in pair)
        self.part = PairPart(dataset, samples, files, self._lowered(), open_rgb)
        self.length = len(samples)
        self.columns = (Column((self.part,), PairPart),)

    def _check(self) -> None:
        """Raise RefusalError unless dataset[i] is what its class was written to make of an index."""
        dataset, inner, kind = self.dataset, self._inner, self._kind
        if inner is not dataset:
            _check_wrapper(dataset, inner, kind)
        check_class(inner, kind.base, "torchvision", (kind.images, kind.targets, *kind.reads, "transforms"))
        if kind.property and getattr(type(inner), kind.property) is not getattr(kind.base, kind.property):
            raise SourceRefusal(name_of(dataset), f"its class overrides {kind.property}", "CLASS_OVERRIDES")

    def _samples(self) -> list[tuple[Any, Any]]:
        name = name_of(self.dataset)
        images, targets = self._lists
        if type(images) is not list or type(targets) is not list:
            raise SourceRefusal(name, "its images and targets are not lists", "FILE_LIST")
        if len(images) > len(targets):
            raise SourceRefusal(name, f"it has {len(targets)} targets for {len(images)} images", "LABELS")
        try:
            samples = [(image, self._kind.path(item)) for image, item in zip(images, targets, strict=False)]
        except (IndexError, KeyError, TypeError) as error:
            raise SourceRefusal(name, f"{type(error).__name__} in its list of targets: {error}", "FILE_LIST") from None
        check_paths(name, itertools.chain.from_iterable(samples))
        return samples

    def _lowered(self) -> Lowered:
        transforms = self.dataset.transforms
        kind: TargetKind = "Mask" if self._inner is not self.dataset else "P" if self._mode == "P" else "L"
        standard = sys.modules["torchvision.datasets.vision"].StandardTransform
        if transforms is None:
            return lower_apart(None, None, kind, self._mode)
        if type(transforms) is not standard:
            return lower_together(transforms, kind, self._mode)
        if not is_original(standard.__call__, "torchvision"):
            raise TransformRefusal("StandardTransform", "its __call__ was replaced", "FUNCTION_REPLACED")
        return lower_apart(transforms.transform, transforms.target_transform, kind, self._mode)

    def unchanged(self, dataset: Any, at: Indices | None) -> bool:
        if dataset is not self.dataset or _inner(dataset) is not self._inner:
            return False
        try:
            self._check()
            lowered = self._lowered()
        except RefusalError:
            return False
        lists = (getattr(self._inner, name) for name in (self._kind.images, self._kind.targets))
        return (
            lowered == self.part.lowered
            and all(
                equal(getattr(self._inner, name), was) for name, was in zip(self._kind.reads, self._reads, strict=True)
            )
            and all(equal_at(now, was, at) for now, was in zip(lists, self._lists, strict=True))
        )


def _copy(items: Any) -> Any:
    """A list and the lists in it."""
    return [list(item) if type(item) is list else item for item in items] if type(items) is list else items


def _check_wrapper(dataset: Any, inner: Any, kind: Kind) -> None:
    """Raise RefusalError unless `dataset` is torchvision's wrapper around `inner`, and makes a Mask of its targets."""
    wrapper, name = _wrapper(), name_of(dataset)
    own = set(vars(type(dataset))) - {"__module__", "__doc__", "__annotations__"}
    if type(dataset).__bases__ != (wrapper, type(inner)) or any(not each.startswith("__") for each in own):
        raise SourceRefusal(name, "its class is not that of torchvision's wrapper", "WRAPPED")
    for method in ("__getitem__", "__len__"):
        if method in own or method in vars(dataset) or not is_original(getattr(wrapper, method), "torchvision"):
            raise SourceRefusal(name, f"its {method} was replaced", "FUNCTION_REPLACED")
    factory = sys.modules["torchvision.tv_tensors._dataset_wrapper"].WRAPPER_FACTORIES.get(kind.base)
    function = vars(dataset)["_wrapper"]
    if not is_original(factory, "torchvision") or function.__code__ not in factory.__code__.co_consts:
        raise SourceRefusal(name, "it is wrapped by a function that is not torchvision's", "WRAPPED")
    if not kind.wraps(inner):
        raise SourceRefusal(name, "its targets are not wrapped as one mask", "WRAPPED")
    if inner.transforms is not None or "transforms" not in vars(dataset):
        raise SourceRefusal(name, "the wrapped dataset transforms its samples", "WRAPPED")


# The modes of PNG files with one 8-bit plane, by colour type and bits.
_MODES = {(0, 2): "L", (0, 4): "L", (0, 8): "L", (3, 1): "P", (3, 2): "P", (3, 4): "P", (3, 8): "P"}
_PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR"

# A header costs 10 us, or a round trip where files are far away.
_READERS = 16
_CHUNK = 256

# Share of masks that only Pillow reads from which torch's worker processes are faster than one Pillow here.
_FOREIGN_SHARE_MAX = 0.05


def _common_mode(name: str, paths: Sequence[Any]) -> str:
    """The mode of all these files, but for those that cannot be read, whose errors are the dataset's to raise."""
    chunks = [paths[begin : begin + _CHUNK] for begin in range(0, len(paths), _CHUNK)]
    with ThreadPoolExecutor(_READERS) as pool:
        found = sum(pool.map(lambda chunk: Counter(map(mode_of, chunk)), chunks), Counter[tuple[str, bool]]())
    found.pop(_UNREADABLE, None)
    modes = sorted({mode for mode, _ in found})
    if len(modes) != 1 or modes[0] not in ("P", "L"):
        why = f"its masks are of modes {', '.join(modes)}, not all P or all L" if modes else "no mask of it can be read"
        raise SourceRefusal(name, why, "MASKS")
    foreign = found[modes[0], False] / found.total()
    if foreign > _FOREIGN_SHARE_MAX:
        raise SourceRefusal(
            name, f"only Pillow reads {foreign:.0%} of its masks; torch's workers do in parallel", "FOREIGN_FILES"
        )
    return modes[0]


_UNREADABLE = ("", False)


def mode_of(path: Any) -> tuple[str, bool]:
    """Pillow's mode of a file, and whether the core reads it; ("", False) for one that cannot be read."""
    from PIL import Image

    try:
        number = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            head = os.pread(number, len(_PNG) + 13, 0)
        finally:
            os.close(number)
        if head.startswith(_PNG) and (head[25], head[24]) in _MODES:
            return _MODES[head[25], head[24]], True
        with Image.open(path) as image:
            return str(image.mode), str(image.format).lower() in decoders()
    except Exception:  # whatever it is, the dataset raises it
        return _UNREADABLE
