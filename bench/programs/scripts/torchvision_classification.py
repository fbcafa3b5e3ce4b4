"""Classification with TrivialAugment, RandomErasing and mixing, torchvision's references"""

import os

import torch
import torchvision
from torch.utils.data.dataloader import default_collate
from torchvision.transforms import v2
from torchvision.transforms.functional import InterpolationMode

DATA = "folder"


class ClassificationPresetTrain:
    def __init__(
        self,
        *,
        crop_size,
        mean=(0.485, 0.456, 0.406),
        std=(0.229, 0.224, 0.225),
        interpolation=InterpolationMode.BILINEAR,
        hflip_prob=0.5,
        auto_augment_policy=None,
        random_erase_prob=0.0,
    ):
        transforms = []
        transforms.append(v2.RandomResizedCrop(crop_size, interpolation=interpolation, antialias=True))
        if hflip_prob > 0:
            transforms.append(v2.RandomHorizontalFlip(hflip_prob))
        if auto_augment_policy == "ta_wide":
            transforms.append(v2.TrivialAugmentWide(interpolation=interpolation))
        transforms.append(v2.PILToTensor())
        transforms.extend([v2.ToDtype(torch.float, scale=True), v2.Normalize(mean=mean, std=std)])
        if random_erase_prob > 0:
            transforms.append(v2.RandomErasing(p=random_erase_prob))
        transforms.append(v2.ToPureTensor())
        self.transforms = v2.Compose(transforms)

    def __call__(self, img):
        return self.transforms(img)


def train_loader(root):
    dataset = torchvision.datasets.ImageFolder(
        os.path.join(root, "train"),
        ClassificationPresetTrain(crop_size=176, auto_augment_policy="ta_wide", random_erase_prob=0.1),
    )
    num_classes = len(dataset.classes)
    mixup_cutmix = v2.RandomChoice(
        [v2.MixUp(alpha=0.2, num_classes=num_classes), v2.CutMix(alpha=1.0, num_classes=num_classes)]
    )

    def collate_fn(batch):
        return mixup_cutmix(*default_collate(batch))

    return torch.utils.data.DataLoader(
        dataset,
        batch_size=32,
        sampler=torch.utils.data.RandomSampler(dataset),
        num_workers=2,
        pin_memory=True,
        collate_fn=collate_fn,
    )
