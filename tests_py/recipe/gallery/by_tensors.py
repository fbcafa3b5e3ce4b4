"""More of the gallery: datasets that decode to tensors, and v2's transforms of tensors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from classes import MEAN, STD, Case, Files
from PIL import Image
from torchvision import transforms as v1
from torchvision import tv_tensors
from torchvision.io import ImageReadMode, decode_image, read_file, read_image
from torchvision.transforms import v2

warnings.filterwarnings("ignore", "The image decoding and encoding")

NORM = [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
TRAIN = [v2.RandomResizedCrop(32, antialias=True), v2.RandomHorizontalFlip(), *NORM]
VAL = [v2.Resize(36), v2.CenterCrop(32), *NORM]


class Decoded(Files):
    def __getitem__(self, i: int) -> Any:
        return self.transform(decode_image(self.path(i), ImageReadMode.RGB)), i


class ReadFile(Files):
    def __getitem__(self, i: int) -> Any:
        return self.transform(tv_tensors.Image(decode_image(read_file(self.path(i)), mode="RGB"))), i


class ReadImage(Files):
    def __getitem__(self, i: int) -> Any:
        return {"image": self.transform(read_image(self.path(i))), "label": i}


class ReadGrey(Files):
    def __getitem__(self, i: int) -> Any:
        return self.transform(read_image(self.path(i, "grey")))


class Pair(Files):
    """A photo and its mask, which v2 moves together."""

    def __getitem__(self, i: int) -> Any:
        image = tv_tensors.Image(Image.open(self.path(i)).convert("RGB"))
        mask = tv_tensors.Mask(torch.from_numpy(np.array(Image.open(self.path(i, "masks", "png")))))
        return self.transform(image, mask)


def case(kind: type[Files], *transforms: Any, state: str = "native") -> Case:
    return Case(lambda root: kind(root, v2.Compose(list(transforms))), state)


CASES: dict[str, Case] = {
    "decode_image + v2, train": case(Decoded, *TRAIN),
    "decode_image + v2, val": case(Decoded, *VAL),
    "decode_image of bytes + v2": case(ReadFile, *TRAIN),
    "read_image + v2, bicubic": case(ReadImage, v2.Resize((32, 30), v2.InterpolationMode.BICUBIC), *NORM),
    "read_image, bytes": case(ReadImage, v2.Resize((32, 30))),
    "read_image, grey": case(ReadGrey, v2.Resize((32, 30)), v2.ToDtype(torch.float32, scale=True)),
    "v2, ToImage first, train": case(Files, v2.ToImage(), *TRAIN),
    "v2, ToImage first, val": case(Files, v2.ToImage(), *VAL, v2.ToPureTensor()),
    "v2, PIL first": case(Files, v2.RandomResizedCrop(32), v2.ToImage(), *NORM),
    "v2, image and mask": case(Pair, *TRAIN),
    "v2, blurred": case(
        Files, v2.RandomResizedCrop(32), v2.GaussianBlur((3, 7)), v2.ToImage(), v2.GaussianBlur(9, (0.1, 2.0)), *NORM
    ),
    "v2, colours of tensors": case(Files, v2.ToImage(), v2.ColorJitter(0.4, 0.4), v2.CenterCrop(32)),
    "read_image + v2, colours": case(ReadImage, v2.RandomResizedCrop(32), v2.ColorJitter(0.4, 0.4, 0.4, 0.1), *NORM),
    "read_image + v2, turned": case(
        ReadImage,
        v2.Resize((32, 30)),
        v2.RandomRotation(20),
        v2.RandomAffine(9, (0.1, 0.1), (0.8, 1.2), 5, v2.InterpolationMode.BILINEAR, fill=7),
        v2.RandomPerspective(0.3, 0.9),
    ),
    "PILToTensor + v1, turned": case(
        Files,
        v1.PILToTensor(),
        v1.RandomRotation(20, fill=[1, 2, 3]),
        v1.RandomPerspective(0.3, 0.9),
        v1.CenterCrop(32),
    ),
    "v2, random colours of tensors": case(
        Files,
        v2.ToImage(),
        v2.RandomResizedCrop(32),
        v2.RandomAdjustSharpness(1.7),
        v2.RandomAutocontrast(),
        v2.RandomEqualize(),
        v2.RandomPosterize(3),
        v2.RandomSolarize(101.5),
        v2.RandomInvert(),
        v2.Grayscale(),
    ),
}
