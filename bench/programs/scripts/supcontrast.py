"""Two crops of CIFAR10, SupContrast"""

import torch
from torchvision import datasets, transforms

DATA = "cifar10"


class TwoCropTransform:
    def __init__(self, transform):
        self.transform = transform

    def __call__(self, x):
        return [self.transform(x), self.transform(x)]


def train_loader(root):
    normalize = transforms.Normalize(mean=(0.4914, 0.4822, 0.4465), std=(0.2023, 0.1994, 0.2010))
    train_transform = transforms.Compose(
        [
            transforms.RandomResizedCrop(size=32, scale=(0.2, 1.0)),
            transforms.RandomHorizontalFlip(),
            transforms.RandomApply([transforms.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8),
            transforms.RandomGrayscale(p=0.2),
            transforms.ToTensor(),
            normalize,
        ]
    )
    train_dataset = datasets.CIFAR10(root=root, transform=TwoCropTransform(train_transform), train=True, download=True)
    train_sampler = None
    return torch.utils.data.DataLoader(
        train_dataset,
        batch_size=256,
        shuffle=(train_sampler is None),
        num_workers=2,
        pin_memory=True,
        sampler=train_sampler,
    )
