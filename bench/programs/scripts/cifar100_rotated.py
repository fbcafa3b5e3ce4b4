"""CIFAR100 with RandomRotation (weiaicunzai's)"""

import torchvision
import torchvision.transforms as transforms
from torch.utils.data import DataLoader

DATA = "cifar100"

CIFAR100_TRAIN_MEAN = (0.5070751592371323, 0.48654887331495095, 0.4409178433670343)
CIFAR100_TRAIN_STD = (0.2673342858792401, 0.2564384629170883, 0.27615047132568404)


def get_training_dataloader(root, mean, std, batch_size=16, num_workers=2, shuffle=True):
    transform_train = transforms.Compose(
        [
            transforms.RandomCrop(32, padding=4),
            transforms.RandomHorizontalFlip(),
            transforms.RandomRotation(15),
            transforms.ToTensor(),
            transforms.Normalize(mean, std),
        ]
    )
    cifar100_training = torchvision.datasets.CIFAR100(root=root, train=True, download=True, transform=transform_train)
    return DataLoader(cifar100_training, shuffle=shuffle, num_workers=num_workers, batch_size=batch_size)


def train_loader(root):
    return get_training_dataloader(root, CIFAR100_TRAIN_MEAN, CIFAR100_TRAIN_STD, num_workers=2, batch_size=128)
