"""Datasets of torchvision's whose target is an image file as well: a mask, for segmentation.

The masks of a dataset have to be of one mode with one 8-bit plane, for which all their headers are asked; others are
left to door 2, where each file is looked at when it is opened. Before the transforms may stand torchvision's wrapper
for v2, which makes a tv_tensors.Mask of each.
"""

from __future__ import annotations

import io
import os
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

from ...needs import decoders
from ...paths import Member, Object
from ...refusal import SourceRefusal, TransformRefusal
from ...transforms.lowered import Lowered
from ...transforms.targets import lower_apart, lower_together
from ...trust.look import is_a, parents
from ...trust.originals import is_original
from ..tree import name_of

# Datasets that the wrapper makes one mask of each target of: classes of torchvision.datasets, by their names, and for
# which of its settings.
_WRAPPED: dict[str, tuple[str, tuple[str, ...]]] = {
    "VOCSegmentation": ("", ()),
    "OxfordIIITPet": ("_target_types", ("segmentation",)),
    "Cityscapes": ("target_type", ("semantic",)),
}


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


# The modes of PNG files with one 8-bit plane, by colour type and bits.
_MODES = {(0, 2): "L", (0, 4): "L", (0, 8): "L", (3, 1): "P", (3, 2): "P", (3, 4): "P", (3, 8): "P"}
_PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR"

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
    found.pop(_UNREADABLE, None)
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


_UNREADABLE = ("", False)


def mode_of(path: Any) -> tuple[str, bool]:
    """Pillow's mode of a file, and whether the core reads it; ("", False) for one that cannot be read."""
    from PIL import Image

    try:
        if type(path) in (Object, Member):
            with Image.open(io.BytesIO(path.read())) as image:
                return str(image.mode), str(image.format).lower() in decoders()
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
