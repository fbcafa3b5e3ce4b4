"""Random chains of operations, with touches in between, give what they give without stand-ins."""

from __future__ import annotations

import os
import random
from typing import Any

import numpy as np
import pytest
import torch
import torchvision.transforms as T
import torchvision.transforms.functional as F
from PIL import Image, ImageDraw, ImageEnhance, ImageFilter, ImageOps
from torchvision.transforms import v2

from goloader.doors.recipe import hooks
from goloader.doors.recipe.fetch import finish
from goloader.doors.recipe.native import CoreNative
from goloader.doors.recipe.session import Session
from goloader.doors.recipe.switch import recording
from goloader.doors.recipe.workshop import Workshop
from goloader.doors.same import difference

ENHANCERS = (ImageEnhance.Brightness, ImageEnhance.Contrast, ImageEnhance.Color, ImageEnhance.Sharpness)
CHAINS = int(os.environ.get("GOLOADER_FUZZ_CHAINS", "400"))


def image_step(r: random.Random, image: Any) -> Any:
    width, height = image.size
    x, y = r.randint(-6, width - 1), r.randint(-6, height - 1)
    filters = list(F.InterpolationMode)[:6]
    return r.choice(
        [
            lambda: image.convert(r.choice(["RGB", "L", "RGB", "RGBA", "P", "YCbCr", "YCbCr"])),
            lambda: image.resize((r.randint(1, 60), r.randint(1, 60)), r.choice([None, 0, 1, 2, 3, 4, 5])),
            lambda: image.crop((x, y, x + r.randint(1, width), y + r.randint(1, height))),
            lambda: image.crop((x + 0.4, y + 0.6, x + 9.5, y + 7.5)),
            lambda: image.transpose(Image.Transpose(r.randint(0, 6))),
            lambda: image.copy(),
            lambda: r.choice(image.split()),
            lambda: image.getchannel(r.choice([0, 1, "R", "L", "Y", "Cr", 3, -1, True])),
            lambda: image.rotate(r.choice([0, 90, 33])),
            lambda: ImageOps.mirror(image),
            lambda: ImageOps.expand(image, r.randint(0, 5), r.choice([0, 0, 3])),
            lambda: F.hflip(image),
            lambda: F.vflip(image),
            lambda: F.resize(image, [r.randint(1, 50)], r.choice(filters)),
            lambda: F.resize(image, [r.randint(1, 50), r.randint(1, 50)], r.choice(filters)),
            lambda: F.center_crop(image, [r.randint(1, 60), r.randint(1, 60)]),
            lambda: F.resized_crop(image, max(y, 0), max(x, 0), r.randint(1, 30), r.randint(1, 30), [17, 18]),
            lambda: F.pad(image, r.choice([2, [1, 4], [1, 2, 3, 4]]), r.choice([0, 9, (1, 2, 3), 2.7, [4]])),
            lambda: F.pad(image, [3, 1, 2, 5], padding_mode=r.choice(["edge", "reflect", "symmetric"])),
            lambda: F.rgb_to_grayscale(image, r.choice([1, 3])),
            lambda: F.five_crop(image, [9, 9])[r.randint(0, 4)],
            lambda: T.RandomResizedCrop(r.randint(1, 40))(image),
            lambda: T.RandomCrop(20, pad_if_needed=True)(image),
            lambda: image.filter(r.choice([ImageFilter.MedianFilter, ImageFilter.MinFilter(3)])),
            lambda: image.filter(r.choice([ImageFilter.RankFilter(3, r.randint(0, 8)), ImageFilter.ModeFilter(3)])),
            lambda: image.filter(ImageFilter.MedianFilter(r.choice([3, 5, True, 3.0, 1]))),
            lambda: image.filter(ImageFilter.GaussianBlur),
            lambda: image.filter(r.choice([ImageFilter.SHARPEN, ImageFilter.BLUR, ImageFilter.EMBOSS()])),
            lambda: image.filter(ImageFilter.Kernel((3, 3), [r.uniform(-1, 2) for _ in range(9)], r.choice([None, 2]))),
            lambda: image.filter(ImageFilter.GaussianBlur(r.choice([0, 0.3, 2, -1.5, 40.5, (0, 1.5), (2, 0.1), "2"]))),
            lambda: F.gaussian_blur(image, r.choice([3, [5, 9], [1, 3], [33, 5]]), r.choice([None, 1.5, [0.2, 3.0]])),
            lambda: image.filter(ImageFilter.BoxBlur(r.choice([0, 1, 2.5, 100, (3, 0), [1, 2], -1]))),
            lambda: r.choice([F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_sharpness])(
                image, r.choice([0, 1, 0.3, 1.7])
            ),
            lambda: r.choice(ENHANCERS)(image).enhance(r.choice([0.5, 1.25, -0.5, np.float64(1.5), 2])),
            lambda: r.choice(ENHANCERS)(image).degenerate,
            lambda: F.adjust_hue(image, r.uniform(-0.5, 0.5)),
            lambda: v2.RandomPhotometricDistort(p=0.7)(image),
            lambda: v2.functional.permute_channels(image, r.choice([[2, 0, 1], [0, 1, 2], (1, 0, 2), [0], [-1, 0, 1]])),
            lambda: F.adjust_gamma(image, r.uniform(0.5, 2)),
            lambda: r.choice([ImageOps.autocontrast, ImageOps.equalize, ImageOps.invert, F.equalize])(image),
            lambda: ImageOps.autocontrast(image, r.choice([0, 2])),
            lambda: r.choice([F.posterize, ImageOps.posterize])(image, r.randint(1, 8)),
            lambda: r.choice([F.solarize, ImageOps.solarize])(image, r.choice([0, 128, 77.5, 300])),
            lambda: image.point(lambda v: v // 2 + r.randint(0, 1)),
            lambda: image.point([(3 * v) % 400 for v in range(256)] * len(image.getbands())),
            lambda: image.point([0] * 256, "1"),
            lambda: image.rotate(
                r.uniform(-180, 180), r.choice([0, 2, 3]), r.choice([0, 1]), fillcolor=r.choice([None, 9])
            ),
            lambda: F.rotate(image, r.choice([90, 180, 270, 12.5]), F.InterpolationMode.BILINEAR, fill=[7]),
            lambda: F.affine(image, r.uniform(-90, 90), [x, y], r.uniform(0.5, 2), [r.uniform(-30, 30), 3], fill=5),
            lambda: F.perspective(image, [[0, 0], [20, 0], [20, 20], [0, 20]], [[1, 2], [19, 0], [16, 21], [3, 18]]),
            lambda: image.transform((20, 30), Image.Transform.AFFINE, [1, 0.1, x, 0, 1, y], 0, fillcolor=(1, 2, 3)),
            lambda: image.transform((20, 30), Image.Transform.EXTENT, (0, 0, 10, 10)),
            lambda: T.TrivialAugmentWide()(image),
            lambda: T.AutoAugment(r.choice(list(T.AutoAugmentPolicy)))(image),
        ]
    )()


def touch(r: random.Random, image: Any) -> Any:
    return r.choice(
        [
            lambda: (image.size, image.mode, image.width, image.format),
            lambda: image.getpixel((0, 0)),
            lambda: np.asarray(image).sum(),
            lambda: image.load() and None,
            lambda: image.putpixel((0, 0), 5 if len(image.getbands()) == 1 else (5,) * len(image.getbands())),
            lambda: ImageDraw.Draw(image).line((0, 0, 5, 5), fill=3),
            lambda: image.thumbnail((30, 31)),
            lambda: sorted(image.info),
            lambda: image.tobytes()[:20],
            lambda: len(image.histogram()),
        ]
    )()


def tensor_step(r: random.Random, x: Any) -> Any:
    mean = [0.4] * r.choice([1, x.shape[0]])
    return r.choice(
        [
            lambda: F.normalize(x, mean, [0.3, 0.2, 0.1][: len(mean)]),
            lambda: F.normalize(x, mean, [0.5] * len(mean), inplace=True),
            lambda: F.convert_image_dtype(x, r.choice([torch.float32, torch.float64, torch.uint8])),
            lambda: x * r.choice([2, 0.5]),
            lambda: 1 - x,
            lambda: (x - 0.5) / 0.25,
            lambda: x.to(r.choice([torch.float32, torch.float64, torch.int64])),
            lambda: x.float(),
            lambda: x[:, ::2],
            lambda: x.clone(),
            lambda: x.clamp(0, 1),
            lambda: x.mul_(2),
            lambda: torch.stack([x, x])[0],
            lambda: x.contiguous(),
        ]
    )()


def chain(path: str, seed: int) -> Any:
    """Results and errors of a chain of steps on several images and tensors."""
    r = random.Random(seed)
    torch.manual_seed(seed)
    images: list[Any] = [Image.open(path)]
    if r.random() < 0.8:
        images.append(images[0].convert("RGB"))
    tensors: list[Any] = []
    said: list[Any] = []
    for _ in range(r.randint(1, 9)):
        image = images[r.randrange(len(images))] if r.random() < 0.3 else images[-1]
        try:
            kind = r.random()
            if kind < 0.6 or (not tensors and kind < 0.7):
                images.append(image_step(r, image))
            elif kind < 0.7:
                tensors.append(tensor_step(r, tensors[r.randrange(len(tensors))]))
            elif kind < 0.9:
                tensors.append(r.choice([F.to_tensor, F.pil_to_tensor])(image))
            else:
                said.append(touch(r, image))
        except Exception as error:
            said.append(type(error).__name__)
        said.append((images[-1].size, images[-1].mode, [(x.shape, x.dtype) for x in tensors]))
    batch = [torch.stack([x, x]) for x in tensors]
    return images, tensors, batch, said, torch.rand(1).item()


@pytest.mark.slow  # many seconds
@pytest.mark.timeout(600)
def test_random_chains(files: list[str]) -> None:
    native = CoreNative(Workshop().core(), workers=2)
    hooks.hold()
    real = made = 0
    try:
        for number in range(CHAINS):
            path = files[number % len(files)]
            want = chain(path, number)
            session = Session(native if number % 2 else None)
            with recording(session):
                got = chain(path, number)
            held = [got]
            del got
            made += sum(finish(session, held, native.run).values())
            got = held[0]
            real += len(session.reasons)
            session.clear()
            assert difference(want[1:], got[1:]) is None, f"chain {number} on {path}"
            for one, other in zip(want[0], got[0], strict=True):
                assert (one.mode, one.size, one.tobytes()) == (other.mode, other.size, other.tobytes()), f"{number}"
                assert type(one).__name__ == type(other).__name__
    finally:
        hooks.release()
        native.close()
    # Both ways are well used.
    assert made > CHAINS / 2 and real > CHAINS / 2
