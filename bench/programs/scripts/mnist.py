"""Digits, pytorch/examples mnist"""

import torch
from torchvision import datasets, transforms

DATA = "mnist"


def train_loader(root):
    train_kwargs = {"batch_size": 64}
    transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])
    dataset1 = datasets.MNIST(root, train=True, download=True, transform=transform)
    return torch.utils.data.DataLoader(dataset1, **train_kwargs)
