"""Anchors, positives and negatives of MNIST, siamese-triplet"""

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset
from torchvision import transforms
from torchvision.datasets import MNIST

DATA = "mnist"


class TripletMNIST(Dataset):
    def __init__(self, mnist_dataset):
        self.mnist_dataset = mnist_dataset
        self.train = self.mnist_dataset.train
        self.transform = self.mnist_dataset.transform

        self.train_labels = self.mnist_dataset.targets
        self.train_data = self.mnist_dataset.data
        self.labels_set = set(self.train_labels.numpy())
        self.label_to_indices = {label: np.where(self.train_labels.numpy() == label)[0] for label in self.labels_set}

    def __getitem__(self, index):
        img1, label1 = self.train_data[index], self.train_labels[index].item()
        positive_index = index
        while positive_index == index:
            positive_index = np.random.choice(self.label_to_indices[label1])
        negative_label = np.random.choice(list(self.labels_set - set([label1])))
        negative_index = np.random.choice(self.label_to_indices[negative_label])
        img2 = self.train_data[positive_index]
        img3 = self.train_data[negative_index]

        img1 = Image.fromarray(img1.numpy(), mode="L")
        img2 = Image.fromarray(img2.numpy(), mode="L")
        img3 = Image.fromarray(img3.numpy(), mode="L")
        if self.transform is not None:
            img1 = self.transform(img1)
            img2 = self.transform(img2)
            img3 = self.transform(img3)
        return (img1, img2, img3), []

    def __len__(self):
        return len(self.mnist_dataset)


def train_loader(root):
    mean, std = 0.1307, 0.3081
    train_dataset = MNIST(
        root,
        train=True,
        download=True,
        transform=transforms.Compose([transforms.ToTensor(), transforms.Normalize((mean,), (std,))]),
    )
    kwargs = {"num_workers": 1, "pin_memory": True}
    return torch.utils.data.DataLoader(TripletMNIST(train_dataset), batch_size=128, shuffle=True, **kwargs)
