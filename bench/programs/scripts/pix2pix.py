"""Pairs side by side in one file, pix2pix"""

import os
import random

import torch
import torchvision.transforms as transforms
from PIL import Image
from torch.utils.data import Dataset

DATA = "facades"


def get_params(load_size, crop_size, size):
    new_h = new_w = load_size
    x = random.randint(0, max(0, new_w - crop_size))
    y = random.randint(0, max(0, new_h - crop_size))
    flip = random.random() > 0.5
    return {"crop_pos": (x, y), "flip": flip}


def __crop(img, pos, size):
    ow, oh = img.size
    x1, y1 = pos
    tw = th = size
    if ow > tw or oh > th:
        return img.crop((x1, y1, x1 + tw, y1 + th))
    return img


def __flip(img, flip):
    if flip:
        return img.transpose(Image.FLIP_LEFT_RIGHT)
    return img


def get_transform(load_size, crop_size, params):
    transform_list = []
    transform_list.append(transforms.Resize([load_size, load_size], transforms.InterpolationMode.BICUBIC))
    transform_list.append(transforms.Lambda(lambda img: __crop(img, params["crop_pos"], crop_size)))
    if params["flip"]:
        transform_list.append(transforms.Lambda(lambda img: __flip(img, params["flip"])))
    transform_list += [transforms.ToTensor(), transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))]
    return transforms.Compose(transform_list)


class AlignedDataset(Dataset):
    def __init__(self, root):
        self.dir_AB = os.path.join(root, "train")
        self.AB_paths = sorted(os.path.join(self.dir_AB, name) for name in os.listdir(self.dir_AB))

    def __getitem__(self, index):
        AB_path = self.AB_paths[index]
        AB = Image.open(AB_path).convert("RGB")
        w, h = AB.size
        w2 = int(w / 2)
        A = AB.crop((0, 0, w2, h))
        B = AB.crop((w2, 0, w, h))
        transform_params = get_params(286, 256, A.size)
        A_transform = get_transform(286, 256, transform_params)
        B_transform = get_transform(286, 256, transform_params)
        A = A_transform(A)
        B = B_transform(B)
        return {"A": A, "B": B, "A_paths": AB_path, "B_paths": AB_path}

    def __len__(self):
        return len(self.AB_paths)


def train_loader(root):
    return torch.utils.data.DataLoader(AlignedDataset(root), batch_size=1, shuffle=True, num_workers=2)
