"""CIFAR10, the usual recipe (kuangliu's)"""

import torch
import torchvision
import torchvision.transforms as transforms

DATA = "cifar10"


def train_loader(root):
    transform_train = transforms.Compose(
        [
            transforms.RandomCrop(32, padding=4),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)),
        ]
    )
    trainset = torchvision.datasets.CIFAR10(root=root, train=True, download=True, transform=transform_train)
    return torch.utils.data.DataLoader(trainset, batch_size=128, shuffle=True, num_workers=2)
