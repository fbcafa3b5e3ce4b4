"""torchvision's image folders, and goloader's own, whose files may be in archives or in a remote store."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ....transforms import Grayscale
from ...paths import Files, Member, Object
from ...refusal import RefusalError, SourceRefusal, granted
from ...transforms.lowered import Lowered
from ...transforms.torchvision import lower as lower_transform
from ...trust import look
from ...trust.calls import check_calls
from ...trust.look import is_a
from ...trust.watch import Watch
from ..samples import Part
from ..tree import Column, Indices, Node, check_class, copied, equal_at, name_of


def _base() -> Any:
    """The class of ImageFolder, ImageNet and Country211; None while nobody imported it."""
    return getattr(sys.modules.get("torchvision.datasets.folder"), "DatasetFolder", None)


def is_folder(dataset: Any) -> bool:
    """Whether `dataset` is an image folder, perhaps of a class of the user's."""
    base = _base()
    return base is not None and is_a(dataset, base)


def open_rgb(path: Any) -> Any:
    """The image of a file by Pillow, as the core wants it."""
    from PIL import Image

    return Image.open(path).convert("RGB")


def open_member(member: Member | Object) -> Any:
    """The image of a file in a tar archive, or in a remote store, by Pillow, in mode RGB."""
    return open_rgb(io.BytesIO(member.read()))


def check_open() -> None:
    """Raises RefusalError if somebody replaced what opens images."""
    check_calls("Image.open", ((sys.modules["PIL.Image"], "open"),), (sys.modules["PIL.Image"].Image,), ("convert",))


def lower_of_mode(transform: Any, mode: str) -> Lowered:
    """What becomes of an image in mode RGB if a transform gets it in a mode: "RGB", "L", or "file", that of its file.

    Raises RefusalError.
    """
    check_open()
    lowered = granted(lower_transform(transform, {"RGB": 3, "L": 1, "file": None}[mode]))
    return replace(lowered, steps=(Grayscale(1), *lowered.steps)) if mode == "L" else lowered


class ImageFiles(Node):
    """A folder of image files: dataset[i] is (transform(image of a file), label)."""

    structure = (0, 1)

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset
        opener = self._check()
        samples = _samples(dataset)
        try:
            made = Files.of_readable if opener is open_member else Files.of
            if isinstance(samples, Files):
                files = samples
            else:
                files = made([path for path, _ in samples], [label for _, label in samples])
        except OverflowError:
            raise SourceRefusal(name_of(dataset), "it has labels that do not fit an int64", "LABELS") from None
        # A copy of the dataset's own list is the copy to compare with, too: there may be millions in it.
        self._samples = samples if type(dataset.samples) is list else copied(dataset.samples)
        self.part = Part(dataset, samples, files, lower_of_mode(dataset.transform, "RGB"), opener)
        self._watch = Watch[Lowered]()
        self.length = len(samples)
        self.columns = (Column((self.part,), Part),)

    def _check(self) -> Callable[[Any], Any]:
        """What opens a file. Raises RefusalError unless dataset[i] is what its class was written to make of it."""
        dataset = self.dataset
        check_class(dataset, _base(), "torchvision", ("samples", "transform", "loader"))
        if dataset.target_transform is not None:
            raise SourceRefusal(name_of(dataset), "it has a target_transform", "TARGET_TRANSFORM")
        loader: Callable[[Any], Any] = dataset.loader
        if loader is open_member:
            check_open()
            return loader
        if isinstance(dataset.samples, Files) and dataset.samples.remote:
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
        return loader

    def _checked(self) -> Lowered:
        """What becomes of an image in mode RGB."""
        self._check()
        return lower_of_mode(self.dataset.transform, "RGB")

    def unchanged(self, dataset: Any, at: Indices | None) -> bool:
        if dataset is not self.dataset:
            return False
        try:
            lowered = self._watch.found(self._checked, [vars(dataset).get("transform")], dataset)
        except RefusalError:
            return False
        return lowered == self.part.lowered and equal_at(dataset.samples, self._samples, at)


def _samples(dataset: Any) -> Sequence[tuple[Any, int]]:
    """A copy of a dataset's list. Raises RefusalError if it holds anything but (path, int) tuples."""
    name, listed = name_of(dataset), dataset.samples
    if type(listed) is Files:
        files: Files = listed
        return files
    if type(listed) not in (list, tuple):
        raise SourceRefusal(name, f"its samples are a {type(listed).__name__}, not a list", "FILE_LIST")
    samples = list(listed)
    # A tuple cannot change unseen, as a list within the list could.
    if set(map(type, samples)) - {tuple} or set(map(len, samples)) - {2}:
        raise SourceRefusal(name, "its samples are not all (path, label) tuples", "FILE_LIST")
    labels = {type(label) for _, label in samples} - {int}
    if labels:
        raise SourceRefusal(name, f"it has labels of type {labels.pop().__name__}, not int", "LABELS")
    for kind in {type(path) for path, _ in samples}:
        if not issubclass(kind, str | bytes | os.PathLike):
            raise SourceRefusal(name, f"it has paths of type {kind.__name__}", "FILE_LIST")
    return samples
