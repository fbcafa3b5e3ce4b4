"""Paired crops by OpenCV from files read as bytes, BasicSR's ESRGAN"""

import os
import random

import cv2
import numpy as np
import torch
from torch.utils import data as data

DATA = "div2k"


def imfrombytes(content, float32=False):
    img_np = np.frombuffer(content, np.uint8)
    img = cv2.imdecode(img_np, cv2.IMREAD_COLOR)
    if float32:
        img = img.astype(np.float32) / 255.0
    return img


def paired_random_crop(img_gt, img_lq, gt_patch_size, scale):
    h_lq, w_lq, _ = img_lq.shape
    h_gt, w_gt, _ = img_gt.shape
    lq_patch_size = gt_patch_size // scale
    if h_gt != h_lq * scale or w_gt != w_lq * scale:
        raise ValueError("Scale mismatches.")
    top = random.randint(0, h_lq - lq_patch_size)
    left = random.randint(0, w_lq - lq_patch_size)
    img_lq = img_lq[top : top + lq_patch_size, left : left + lq_patch_size, ...]
    top_gt, left_gt = int(top * scale), int(left * scale)
    img_gt = img_gt[top_gt : top_gt + gt_patch_size, left_gt : left_gt + gt_patch_size, ...]
    return img_gt, img_lq


def augment(imgs, hflip=True, rotation=True):
    hflip = hflip and random.random() < 0.5
    vflip = rotation and random.random() < 0.5
    rot90 = rotation and random.random() < 0.5

    def _augment(img):
        if hflip:  # horizontal
            cv2.flip(img, 1, img)
        if vflip:  # vertical
            cv2.flip(img, 0, img)
        if rot90:
            img = img.transpose(1, 0, 2)
        return img

    return [_augment(img) for img in imgs]


def img2tensor(imgs, bgr2rgb=True, float32=True):
    def _totensor(img, bgr2rgb, float32):
        if img.shape[2] == 3 and bgr2rgb:
            if img.dtype == "float64":
                img = img.astype("float32")
            img = cv2.cvtColor(img, cv2.COLOR_BGR2RGB)
        img = torch.from_numpy(img.transpose(2, 0, 1))
        if float32:
            img = img.float()
        return img

    return [_totensor(img, bgr2rgb, float32) for img in imgs]


class PairedImageDataset(data.Dataset):
    def __init__(self, opt):
        super(PairedImageDataset, self).__init__()
        self.opt = opt
        self.gt_folder, self.lq_folder = opt["dataroot_gt"], opt["dataroot_lq"]
        self.paths = [
            {"lq_path": os.path.join(self.lq_folder, name), "gt_path": os.path.join(self.gt_folder, name)}
            for name in sorted(os.listdir(self.gt_folder))
        ]

    def __getitem__(self, index):
        scale = self.opt["scale"]
        gt_path = self.paths[index]["gt_path"]
        with open(gt_path, "rb") as f:
            img_bytes = f.read()
        img_gt = imfrombytes(img_bytes, float32=True)
        lq_path = self.paths[index]["lq_path"]
        with open(lq_path, "rb") as f:
            img_bytes = f.read()
        img_lq = imfrombytes(img_bytes, float32=True)

        if self.opt["phase"] == "train":
            gt_size = self.opt["gt_size"]
            img_gt, img_lq = paired_random_crop(img_gt, img_lq, gt_size, scale)
            img_gt, img_lq = augment([img_gt, img_lq], self.opt["use_hflip"], self.opt["use_rot"])

        img_gt, img_lq = img2tensor([img_gt, img_lq], bgr2rgb=True, float32=True)
        return {"lq": img_lq, "gt": img_gt, "lq_path": lq_path, "gt_path": gt_path}

    def __len__(self):
        return len(self.paths)


def worker_init_fn(worker_id):
    worker_seed = 2 * 0 + worker_id + 10
    np.random.seed(worker_seed)
    random.seed(worker_seed)


def train_loader(root):
    opt = {"dataroot_gt": str(root / "HR"), "dataroot_lq": str(root / "LR"), "scale": 4, "phase": "train"}
    opt.update(gt_size=128, use_hflip=True, use_rot=True)
    return data.DataLoader(
        PairedImageDataset(opt),
        batch_size=16,
        shuffle=True,
        num_workers=2,
        drop_last=True,
        pin_memory=True,
        worker_init_fn=worker_init_fn,
        persistent_workers=True,
    )
