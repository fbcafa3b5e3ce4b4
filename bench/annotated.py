"""Cases of against_torch.py: photos with what is annotated about them, a mask or boxes."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torchvision.transforms as T
from PIL import Image
from torch.utils.data import Dataset, default_collate
from torchvision import datasets, tv_tensors
from torchvision.transforms import v2

from bench import photos
from bench.augmented import TAIL
from bench.cases import case
from bench.own_classes import PHOTOS

annotated_case = functools.partial(case, group="Photos with annotations, torchvision's datasets", batch_size=64)
BOX = """<object><name>cat</name>
<bndbox><xmin>{}</xmin><ymin>{}</ymin><xmax>{}</xmax><ymax>{}</ymax></bndbox></object>"""


def files() -> list[str]:
    return [path for path, _ in datasets.ImageFolder(photos.ensure_photos(PHOTOS)).samples]


def without_files(kind: Any, **attributes: Any) -> Any:
    """A dataset of torchvision's as its constructor leaves it: the files it would download are the bench's photos."""
    dataset = kind.__new__(kind)
    datasets.VisionDataset.__init__(dataset, "", transforms=attributes.pop("transforms"))
    vars(dataset).update(attributes)
    return dataset


@annotated_case("VOCSegmentation, wrapped for v2: crop and flip of image and mask", target=3)
def masks(scratch: Path) -> Dataset[Any]:
    images, made = files(), []
    for number, path in enumerate(images):
        with Image.open(path) as image:
            blocks = np.random.default_rng(number).integers(0, 21, (6, 8), np.uint8)
            mask = Image.fromarray(blocks).resize(image.size, Image.Resampling.NEAREST)
        mask.putpalette(list(range(256)) * 3)
        made.append(str(scratch / f"{number}.png"))
        mask.save(made[-1])
    to_float = v2.ToDtype({tv_tensors.Image: torch.float32, "others": None}, scale=True)
    steps = [v2.RandomResizedCrop(224), v2.RandomHorizontalFlip(), v2.ToImage(), to_float]
    voc = without_files(datasets.VOCSegmentation, images=images, targets=made, transforms=v2.Compose(steps))
    wrapped: Dataset[Any] = datasets.wrap_dataset_for_transforms_v2(voc)
    return wrapped


def lists(samples: list[Any]) -> Any:
    """As people collate boxes: images stacked, annotations listed."""
    images, annotations = zip(*samples, strict=True)
    return default_collate(list(images)), list(annotations)


@annotated_case("VOCDetection: Resize((224, 224)), annotations as they are", target=2, collate_fn=lists)
def boxes(scratch: Path) -> Dataset[Any]:
    images, made = files(), []
    for number in range(len(images)):
        corners = np.random.default_rng(number).integers(0, 300, (4, 4)).tolist()
        made.append(str(scratch / f"{number}.xml"))
        Path(made[-1]).write_text("<annotation>" + "".join(BOX.format(*box) for box in corners) + "</annotation>")
    image = T.Compose([T.Resize((224, 224)), *TAIL])
    standard: Any = datasets.vision.StandardTransform(image, None)
    voc: Dataset[Any] = without_files(datasets.VOCDetection, images=images, targets=made, transforms=standard)
    return voc
