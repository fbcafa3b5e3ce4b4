"""A GAN's real images, pytorch/examples dcgan"""

import torch
import torchvision.datasets as dset
import torchvision.transforms as transforms

DATA = "folder"


def train_loader(root):
    image_size = 64
    dataset = dset.ImageFolder(
        root=root,
        transform=transforms.Compose(
            [
                transforms.Resize(image_size),
                transforms.CenterCrop(image_size),
                transforms.ToTensor(),
                transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),
            ]
        ),
    )
    return torch.utils.data.DataLoader(dataset, batch_size=64, shuffle=True, num_workers=2)
