"""Boxes from texts and batches of changing size, PyTorch-YOLOv3"""

import os
import random
import warnings

import numpy as np
import torch
import torch.nn.functional as F
import torchvision.transforms as transforms
from PIL import Image
from torch.utils.data import DataLoader, Dataset

DATA = "darknet"


def resize(image, size):
    image = F.interpolate(image.unsqueeze(0), size=size, mode="nearest").squeeze(0)
    return image


def pad_to_square(img, pad_value):
    c, h, w = img.shape
    dim_diff = np.abs(h - w)
    pad1, pad2 = dim_diff // 2, dim_diff - dim_diff // 2
    pad = (0, 0, pad1, pad2) if h <= w else (pad1, pad2, 0, 0)
    img = F.pad(img, pad, "constant", value=pad_value)
    return img, pad


class ListDataset(Dataset):
    def __init__(self, list_path, img_size=416, multiscale=True):
        root = os.path.dirname(list_path)
        with open(list_path, "r") as file:
            self.img_files = [os.path.join(root, line) for line in file.readlines()]
        self.label_files = []
        for path in self.img_files:
            image_dir = os.path.dirname(path)
            label_dir = "labels".join(image_dir.rsplit("images", 1))
            label_file = os.path.join(label_dir, os.path.basename(path))
            label_file = os.path.splitext(label_file)[0] + ".txt"
            self.label_files.append(label_file)
        self.img_size = img_size
        self.multiscale = multiscale
        self.min_size = self.img_size - 3 * 32
        self.max_size = self.img_size + 3 * 32
        self.batch_count = 0

    def __getitem__(self, index):
        try:
            img_path = self.img_files[index % len(self.img_files)].rstrip()
            img = np.array(Image.open(img_path).convert("RGB"), dtype=np.uint8)
        except Exception:
            print(f"Could not read image '{img_path}'.")
            return
        try:
            label_path = self.label_files[index % len(self.img_files)].rstrip()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                boxes = np.loadtxt(label_path).reshape(-1, 5)
        except Exception:
            print(f"Could not read label '{label_path}'.")
            return

        img = transforms.ToTensor()(img)
        _, h, w = img.shape
        img, pad = pad_to_square(img, 0)
        _, padded_h, padded_w = img.shape
        targets = torch.zeros((len(boxes), 6))
        bb = torch.from_numpy(boxes)
        x1 = w * (bb[:, 1] - bb[:, 3] / 2) + pad[0]
        y1 = h * (bb[:, 2] - bb[:, 4] / 2) + pad[2]
        x2 = w * (bb[:, 1] + bb[:, 3] / 2) + pad[1]
        y2 = h * (bb[:, 2] + bb[:, 4] / 2) + pad[3]
        bb[:, 1] = ((x1 + x2) / 2) / padded_w
        bb[:, 2] = ((y1 + y2) / 2) / padded_h
        bb[:, 3] *= w / padded_w
        bb[:, 4] *= h / padded_h
        targets[:, 1:] = bb
        if np.random.random() < 0.5:
            img = torch.flip(img, [-1])
            targets[:, 2] = 1 - targets[:, 2]
        return img_path, img, targets

    def collate_fn(self, batch):
        self.batch_count += 1
        batch = [data for data in batch if data is not None]
        paths, imgs, bb_targets = list(zip(*batch))
        if self.multiscale and self.batch_count % 10 == 0:
            self.img_size = random.choice(range(self.min_size, self.max_size + 1, 32))
        imgs = torch.stack([resize(img, self.img_size) for img in imgs])
        for i, boxes in enumerate(bb_targets):
            boxes[:, 0] = i
        bb_targets = torch.cat(bb_targets, 0)
        return paths, imgs, bb_targets

    def __len__(self):
        return len(self.img_files)


def worker_seed_set(worker_id):
    uint64_seed = torch.initial_seed()
    ss = np.random.SeedSequence([uint64_seed])
    np.random.seed(ss.generate_state(4))
    random.seed(uint64_seed)


def train_loader(root):
    dataset = ListDataset(str(root / "train.txt"), img_size=256, multiscale=True)
    return DataLoader(
        dataset,
        batch_size=8,
        shuffle=True,
        num_workers=2,
        pin_memory=True,
        collate_fn=dataset.collate_fn,
        worker_init_fn=worker_seed_set,
    )
