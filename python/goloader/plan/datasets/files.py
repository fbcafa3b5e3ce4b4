"""torchvision's datasets of image files with a label each: image folders, and those that keep a list of their own."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from typing import Any, Literal

from ...transforms import Grayscale
from .. import look
from ..calls import check_calls
from ..lowered import Lowered
from ..originals import is_original
from ..paths import Files, Member, Object
from ..refusal import RefusalError, SourceRefusal, TransformRefusal, granted
from ..transforms import lower as lower_transform
from ..watch import Watch
from .known import Known, check_paths
from .samples import Part
from .tree import Column, Indices, Node, check_class, copied, equal, equal_at, name_of


@dataclass(frozen=True)
class Kind(Known):
    """A class whose dataset[i] is (transform(image of a file), label).

    lists         attributes with an item a sample
    samples       (dataset, *lists) -> a (path, label) tuple a sample
    reads         attributes that `samples` reads besides
    loader        attribute with the function that opens a file; "" if the class has none
    mode          of an image without such a function: "RGB", "L", or "file": that of its file
    joint         transforms are called by way of its attribute `transforms`
    why_not       dataset -> why it is not lowered, or ""
    """

    lists: tuple[str, ...]
    samples: Callable[..., Sequence[tuple[Any, Any]]]
    reads: tuple[str, ...] = ()
    loader: str = "loader"
    mode: Literal["", "RGB", "L", "file"] = ""
    joint: bool = False
    why_not: Callable[[Any], str] = lambda dataset: ""


def _pairs(dataset: Any, samples: Any) -> Any:
    return samples


def _zipped(dataset: Any, files: Any, labels: Any) -> list[tuple[Any, Any]]:
    if len(files) != len(labels):
        raise SourceRefusal(name_of(dataset), f"it has {len(labels)} labels for {len(files)} files", "LABELS")
    return list(zip(files, labels, strict=True))


def _pet(dataset: Any, files: Any, labels: Any, binary: Any) -> list[tuple[Any, Any]]:
    return _zipped(dataset, files, binary if dataset._target_types == ["binary-category"] else labels)


def _why_not_pet(dataset: Any) -> str:
    one = dataset._target_types in (["category"], ["binary-category"])
    return "" if one else f"its targets are {', '.join(dataset._target_types) or 'none'}"


def _caltech(folder: str, name: str, dataset: Any, numbers: Any, labels: Any) -> list[tuple[Any, Any]]:
    folders = [os.path.join(dataset.root, folder, category) for category in dataset.categories]
    return [
        (os.path.join(folders[label], name.format(label=label + 1, number=number)), label)
        for number, label in _zipped(dataset, numbers, labels)
    ]


_caltech101 = partial(_caltech, "101_ObjectCategories", "image_{number:04d}.jpg")
_caltech256 = partial(_caltech, "256_ObjectCategories", "{label:03d}_{number:04d}.jpg")


def _why_not_caltech101(dataset: Any) -> str:
    if find_spec("scipy") is None:
        return "it imports scipy for each sample, which is not installed"
    return "" if dataset.target_type == ["category"] else f"its targets are {', '.join(dataset.target_type)}"


def _inaturalist(dataset: Any, index: Any) -> list[tuple[Any, Any]]:
    (target,) = dataset.target_type
    labels = [number if target == "full" else of[target] for number, of in enumerate(dataset.categories_map)]
    folders = [os.path.join(dataset.root, name) for name in dataset.all_categories]
    return [(os.path.join(folders[category], name), labels[category]) for category, name in index]


def _why_not_inaturalist(dataset: Any) -> str:
    return "" if len(dataset.target_type) == 1 else f"its targets are {', '.join(dataset.target_type) or 'none'}"


def _omniglot(dataset: Any, images: Any) -> list[tuple[Any, Any]]:
    folders = [os.path.join(dataset.target_folder, name) for name in dataset._characters]
    return [(os.path.join(folders[label], name), label) for name, label in images]


_FILES_AND_LABELS = ("_image_files", "_labels")

KINDS = (
    Kind("folder", "DatasetFolder", ("samples",), _pairs),  # ImageFolder, ImageNet, Country211 too
    Kind("eurosat", "EuroSAT", ("samples",), _pairs),
    Kind("caltech", "Caltech101", ("index", "y"), _caltech101, ("root", "categories", "target_type"), loader="",
         mode="file", why_not=_why_not_caltech101),
    Kind("caltech", "Caltech256", ("index", "y"), _caltech256, ("root", "categories"), loader="", mode="file"),
    Kind("clevr", "CLEVRClassification", _FILES_AND_LABELS, _zipped),
    Kind("dtd", "DTD", _FILES_AND_LABELS, _zipped),
    Kind("fgvc_aircraft", "FGVCAircraft", _FILES_AND_LABELS, _zipped),
    Kind("flowers102", "Flowers102", _FILES_AND_LABELS, _zipped),
    Kind("food101", "Food101", _FILES_AND_LABELS, _zipped),
    Kind("gtsrb", "GTSRB", ("_samples",), _pairs, loader="", mode="RGB"),
    Kind("imagenette", "Imagenette", ("_samples",), _pairs),
    Kind("inaturalist", "INaturalist", ("index",), _inaturalist,
         ("root", "all_categories", "categories_map", "target_type"), mode="file", why_not=_why_not_inaturalist),
    Kind("lfw", "LFWPeople", ("data", "targets"), _zipped, loader="_loader"),
    Kind("omniglot", "Omniglot", ("_flat_character_images",), _omniglot, ("target_folder", "_characters"), mode="L"),
    Kind("oxford_iiit_pet", "OxfordIIITPet", ("_images", "_labels", "_bin_labels"), _pet, ("_target_types",),
         loader="", mode="RGB", joint=True, why_not=_why_not_pet),
    Kind("places365", "Places365", ("imgs",), _pairs, joint=True),
    Kind("rendered_sst2", "RenderedSST2", ("_samples",), _pairs),
    Kind("stanford_cars", "StanfordCars", ("_samples",), _pairs),
    Kind("sun397", "SUN397", _FILES_AND_LABELS, _zipped),
)  # fmt: skip


def open_rgb(path: Any) -> Any:
    """The image of a file by Pillow, as the core wants it."""
    from PIL import Image

    return Image.open(path).convert("RGB")


def open_member(member: Member | Object) -> Any:
    """The image of a file in a tar archive, or in a remote store, by Pillow, in mode RGB."""
    return open_rgb(io.BytesIO(member.read()))


def _check_open() -> None:
    check_calls("Image.open", ((sys.modules["PIL.Image"], "open"),), (sys.modules["PIL.Image"].Image,), ("convert",))


def lower_of_mode(transform: Any, mode: str) -> Lowered:
    """What becomes of an image in mode RGB if a transform gets it in a mode: "RGB", "L", or "file", that of its file.

    Raises RefusalError.
    """
    _check_open()
    lowered = granted(lower_transform(transform, {"RGB": 3, "L": 1, "file": None}[mode]))
    return replace(lowered, steps=(Grayscale(1), *lowered.steps)) if mode == "L" else lowered


class ImageFiles(Node):
    """A dataset of image files."""

    structure = (0, 1)

    def __init__(self, dataset: Any, kind: Kind) -> None:
        self.dataset, self._kind = dataset, kind
        opener = self._check()
        samples = _samples(dataset, kind)
        try:
            made = Files.of_readable if opener is open_member else Files.of
            files = samples if isinstance(samples, Files) else made(samples)
        except OverflowError:
            raise SourceRefusal(name_of(dataset), "it has labels that do not fit an int64", "LABELS") from None
        # A copy of the dataset's own list is the copy to compare with, too: there may be millions in it.
        own = kind.samples is _pairs and type(getattr(dataset, kind.lists[0])) is list
        self._lists = (samples,) if own else tuple(copied(getattr(dataset, name)) for name in kind.lists)
        self._reads = tuple(copied(getattr(dataset, name)) for name in kind.reads)
        self.part = Part(dataset, samples, files, self._lowered(opener), opener)
        self._watch = Watch[Lowered]()
        self.length = len(samples)
        self.columns = (Column((self.part,), Part),)

    def _check(self) -> Callable[[Any], Any]:
        """What opens a file. Raises RefusalError unless dataset[i] is what its class was written to make of it."""
        dataset, kind = self.dataset, self._kind
        transforms = "transforms" if kind.joint else "transform"
        attributes = (*kind.lists, *kind.reads, transforms, *filter(None, [kind.loader]))
        check_class(dataset, kind.base, "torchvision", attributes)
        if _transforms(dataset, kind)[1] is not None:
            raise SourceRefusal(name_of(dataset), "it has a target_transform", "TARGET_TRANSFORM")
        self._check_options()
        return self._opener()

    def _check_options(self) -> None:
        why_not = self._kind.why_not(self.dataset)
        if why_not:
            raise SourceRefusal(name_of(self.dataset), why_not, "DATASET_OPTIONS")

    def _opener(self) -> Callable[[Any], Any]:
        """What opens a file, as the dataset does, but for the mode, which is RGB."""
        dataset, kind = self.dataset, self._kind
        loader: Any = getattr(dataset, kind.loader) if kind.loader else None
        if loader is None and kind.mode:
            return open_rgb
        known: Callable[[Any], Any] = loader
        if loader is open_member:
            _check_open()
            return known
        listed = getattr(dataset, kind.lists[0])
        if isinstance(listed, Files) and listed.remote:
            raise SourceRefusal(name_of(dataset), f"{look.name_of(loader)} cannot open URLs", "IMAGE_LOADER")
        folder = sys.modules["torchvision.datasets.folder"]
        if not any(loader is each for each in (folder.default_loader, folder.pil_loader)):
            raise SourceRefusal(
                name_of(dataset), f"its loader, {look.name_of(loader)}, is not torchvision's", "IMAGE_LOADER"
            )
        if loader is folder.default_loader:
            backend = sys.modules["torchvision"].get_image_backend()
            if backend != "PIL":
                raise SourceRefusal(name_of(dataset), f"torchvision's image backend is {backend}", "IMAGE_LOADER")
        check_calls(name_of(dataset), ((folder, loader.__name__),))
        return known

    def _lowered(self, opener: Callable[[Any], Any]) -> Lowered:
        """What becomes of an image in mode RGB."""
        transform, _ = _transforms(self.dataset, self._kind)
        return lower_of_mode(transform, self._kind.mode if opener is open_rgb else "RGB")

    def unchanged(self, dataset: Any, at: Indices | None) -> bool:
        if dataset is not self.dataset:
            return False
        transform = vars(dataset).get("transforms" if self._kind.joint else "transform")
        try:
            lowered = self._watch.found(lambda: self._lowered(self._check()), [transform], dataset)
            self._check_options()  # the lists among them may have changed
        except RefusalError:
            return False
        return (
            lowered == self.part.lowered
            and all(equal(getattr(dataset, name), was) for name, was in zip(self._kind.reads, self._reads, strict=True))
            and all(
                equal_at(getattr(dataset, name), was, at)
                for name, was in zip(self._kind.lists, self._lists, strict=True)
            )
        )


def _transforms(dataset: Any, kind: Kind) -> tuple[Any, Any]:
    """What is done to an image, and to its label."""
    if not kind.joint:
        return dataset.transform, dataset.target_transform
    if dataset.transforms is None:
        return None, None
    standard = sys.modules["torchvision.datasets.vision"].StandardTransform
    if type(dataset.transforms) is not standard or not is_original(standard.__call__, "torchvision"):
        raise TransformRefusal(
            type(dataset.transforms).__qualname__, "it takes image and label together", "TRANSFORM_JOINT"
        )
    return dataset.transforms.transform, dataset.transforms.target_transform


def _samples(dataset: Any, kind: Kind) -> Sequence[tuple[Any, int]]:
    """A copy of a dataset's list. Raises RefusalError if it holds anything but (path, int) tuples."""
    name = name_of(dataset)
    lists = [getattr(dataset, attribute) for attribute in kind.lists]
    if type(lists[0]) is Files:
        files: Files = lists[0]
        return files
    for attribute, values in zip(kind.lists, lists, strict=True):
        if type(values) not in (list, tuple):
            raise SourceRefusal(name, f"its {attribute} are a {type(values).__name__}, not a list", "FILE_LIST")
    try:
        samples: list[Any] = list(kind.samples(dataset, *lists))
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise SourceRefusal(name, f"{type(error).__name__} in its list of files: {error}", "FILE_LIST") from None
    # A tuple cannot change unseen, as a list within the list could.
    if set(map(type, samples)) - {tuple} or set(map(len, samples)) - {2}:
        raise SourceRefusal(name, "its samples are not all (path, label) tuples", "FILE_LIST")
    labels = {type(label) for _, label in samples} - {int}
    if labels:
        raise SourceRefusal(name, f"it has labels of type {labels.pop().__name__}, not int", "LABELS")
    check_paths(name, (path for path, _ in samples))
    return samples
