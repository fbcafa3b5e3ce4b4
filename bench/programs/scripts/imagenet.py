"""Classification of a folder, pytorch/examples imagenet"""

import os

import torch
from torchvision import datasets, transforms

DATA = "folder"


def train_loader(root):
    traindir = os.path.join(root, "train")
    normalize = transforms.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225])
    train_dataset = datasets.ImageFolder(
        traindir,
        transforms.Compose(
            [
                transforms.RandomResizedCrop(224),
                transforms.RandomHorizontalFlip(),
                transforms.ToTensor(),
                normalize,
            ]
        ),
    )
    return torch.utils.data.DataLoader(
        train_dataset, batch_size=256, shuffle=True, num_workers=2, pin_memory=True, sampler=None
    )
