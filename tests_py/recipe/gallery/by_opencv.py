"""More of the gallery: datasets that read images with OpenCV, and transforms of albumentations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import albumentations as A
import cv2
import numpy as np
import torch
from albumentations.pytorch import ToTensorV2
from classes import Case, Files
from PIL import Image

LAST = [A.Normalize(), ToTensorV2()]


def composed(*transforms: Any) -> Any:
    return A.Compose([*transforms, *LAST], seed=7)


class Read(Files):
    """cv2.imread, and a transform of albumentations."""

    convert: int | None = cv2.COLOR_BGR2RGB

    def __getitem__(self, i: int) -> Any:
        image = cv2.imread(self.path(i))
        if self.convert is not None:
            image = cv2.cvtColor(image, self.convert)
        return self.transform(image=image)["image"], i


class AsItIs(Read):
    convert = None


class InColour(Files):
    def __getitem__(self, i: int) -> Any:
        return {"image": self.transform(image=cv2.imread(self.path(i), cv2.IMREAD_COLOR_RGB))["image"], "label": i % 3}


class FromPillow(Files):
    def __getitem__(self, i: int) -> Any:
        return self.transform(image=np.array(Image.open(self.path(i)).convert("RGB")))["image"]


class FromBytes(Files):
    def __getitem__(self, i: int) -> Any:
        content = np.fromfile(self.path(i), np.uint8)
        return self.transform(image=cv2.imdecode(content, cv2.IMREAD_COLOR)[:, :, ::-1])["image"]


class Twice(Files):
    """One of two images has a transform that the core does not know."""

    def __getitem__(self, i: int) -> Any:
        image = cv2.imread(self.path(i), cv2.IMREAD_COLOR_RGB)
        return self.transform(image=image)["image"], self.transform(image=A.CLAHE(p=1)(image=image)["image"])["image"]


class Segmentation(Files):
    def __getitem__(self, i: int) -> Any:
        image = cv2.cvtColor(cv2.imread(self.path(i)), cv2.COLOR_BGR2RGB)
        mask = cv2.imread(self.path(i, "masks", "png"), cv2.IMREAD_UNCHANGED)
        made = self.transform(image=image, mask=mask)
        return made["image"], made["mask"].long()


class ByHand(Files):
    """No library of transforms."""

    def __getitem__(self, i: int) -> Any:
        image = cv2.imread(self.path(i))
        image = cv2.resize(image, (40, 36), interpolation=cv2.INTER_AREA)[2:34, 4:36]
        if np.random.rand() < 0.5:
            image = cv2.flip(image, 1)
        image = cv2.copyMakeBorder(image, 1, 1, 1, 1, cv2.BORDER_REFLECT_101)
        image = (image.astype(np.float32) / 255.0 - 0.5) / 0.25
        return torch.from_numpy(image.transpose(2, 0, 1)), i


class Grey(Files):
    def __getitem__(self, i: int) -> Any:
        image = cv2.cvtColor(cv2.imread(self.path(i)), cv2.COLOR_BGR2GRAY)
        image = cv2.resize(image, (28, 28))
        return torch.from_numpy(image)[None].float().div(255)


class Edges(Files):
    def __getitem__(self, i: int) -> Any:
        image = cv2.resize(cv2.imread(self.path(i)), (32, 32))
        return torch.from_numpy(cv2.Canny(image, 40, 120))


def case(kind: type[Files], *transforms: Any, state: str = "native") -> Case:
    def make(root: Path) -> Any:
        return kind(root, composed(*transforms))

    return Case(make, state)


class Boxes(Files):
    """Boxes and keypoints beside the image."""

    def __getitem__(self, i: int) -> Any:
        image = cv2.imread(self.path(i), cv2.IMREAD_COLOR_RGB)
        made = self.transform(image=image, bboxes=[[2, 3, 30, 34]], keypoints=[(5, 6)], labels=[i])
        boxes = np.array(made["bboxes"], np.float32).reshape(-1, 4)
        return made["image"], torch.from_numpy(boxes).sum(0), len(made["keypoints"])


def boxes(root: Path) -> Any:
    steps = [A.RandomSizedBBoxSafeCrop(32, 32), A.HorizontalFlip(), A.RandomBrightnessContrast(p=0.5), *LAST]
    return Boxes(
        root,
        A.Compose(
            steps,
            seed=7,
            bbox_params=A.BboxParams("pascal_voc", label_fields=["labels"]),
            keypoint_params=A.KeypointParams("xy"),
        ),
    )


TRAIN = (A.RandomResizedCrop((32, 32)), A.HorizontalFlip(p=0.5))

CASES: dict[str, Case] = {
    "OpenCV + albumentations, train": case(Read, *TRAIN),
    "OpenCV + albumentations, val": case(Read, A.SmallestMaxSize(36), A.CenterCrop(32, 32)),
    "OpenCV + albumentations, letterbox": case(Read, A.LongestMaxSize(32), A.PadIfNeeded(32, 32, fill=114)),
    "OpenCV + albumentations, BGR": case(AsItIs, *TRAIN),
    "OpenCV + albumentations, IMREAD_COLOR_RGB": case(InColour, A.Resize(32, 33, interpolation=cv2.INTER_AREA)),
    "OpenCV + albumentations, image and mask": case(Segmentation, *TRAIN, A.VerticalFlip()),
    "OpenCV + albumentations, quarter turns": case(Read, *TRAIN, A.RandomRotate90(), A.Transpose(), A.D4()),
    "OpenCV + albumentations, light": case(Read, *TRAIN, A.RandomBrightnessContrast(), A.RandomGamma(), A.RGBShift()),
    "OpenCV + albumentations, rotation": case(
        Read, *TRAIN, A.ShiftScaleRotate(), A.Rotate(), A.SafeRotate(), A.Resize(30, 30)
    ),
    "OpenCV + albumentations, hue": case(Read, *TRAIN, A.HueSaturationValue(p=0.7), A.ChannelShuffle()),
    "OpenCV + albumentations, heavy": case(
        Segmentation,
        *TRAIN,
        A.Affine(rotate=(-30, 30), scale=(0.8, 1.2), border_mode=cv2.BORDER_CONSTANT),
        A.RandomBrightnessContrast(),
        A.HueSaturationValue(),
    ),
    "OpenCV + albumentations, to grey": case(Read, *TRAIN, A.ToGray(), A.Solarize(), A.Posterize(), A.InvertImg()),
    "OpenCV + albumentations, boxes": Case(boxes),
    "OpenCV + albumentations, one is Python's": case(Twice, *TRAIN, state="partly"),
    "Pillow + albumentations": case(FromPillow, *TRAIN),
    "imdecode + albumentations": case(FromBytes, A.RandomCrop(30, 30), A.ToFloat(p=0)),
    "OpenCV by hand": Case(ByHand),
    "OpenCV, grey": Case(Grey),
    "OpenCV, edges": Case(Edges, "looked at"),
}
