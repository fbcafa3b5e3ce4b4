"""Unpaired images of two domains, CycleGAN"""

import os
import random

import torch
import torchvision.transforms as transforms
from PIL import Image
from torch.utils import data

DATA = "domains"

IMG_EXTENSIONS = [".jpg", ".JPG", ".jpeg", ".JPEG", ".png", ".PNG", ".ppm", ".PPM", ".bmp", ".BMP", ".tif", ".tiff"]


class Options:
    preprocess = "resize_and_crop"
    load_size = 286
    crop_size = 256
    no_flip = False
    direction = "AtoB"
    input_nc = 3
    output_nc = 3
    serial_batches = False
    batch_size = 1
    num_threads = 2
    max_dataset_size = float("inf")


def is_image_file(filename):
    return any(filename.endswith(extension) for extension in IMG_EXTENSIONS)


def make_dataset(dir, max_dataset_size=float("inf")):
    images = []
    assert os.path.isdir(dir), "%s is not a valid directory" % dir
    for root, _, fnames in sorted(os.walk(dir)):
        for fname in fnames:
            if is_image_file(fname):
                path = os.path.join(root, fname)
                images.append(path)
    return images[: min(max_dataset_size, len(images))]


def get_transform(opt, grayscale=False, method=transforms.InterpolationMode.BICUBIC, convert=True):
    transform_list = []
    if grayscale:
        transform_list.append(transforms.Grayscale(1))
    if "resize" in opt.preprocess:
        osize = [opt.load_size, opt.load_size]
        transform_list.append(transforms.Resize(osize, method))
    if "crop" in opt.preprocess:
        transform_list.append(transforms.RandomCrop(opt.crop_size))
    if not opt.no_flip:
        transform_list.append(transforms.RandomHorizontalFlip())
    if convert:
        transform_list += [transforms.ToTensor()]
        if grayscale:
            transform_list += [transforms.Normalize((0.5,), (0.5,))]
        else:
            transform_list += [transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))]
    return transforms.Compose(transform_list)


class UnalignedDataset(data.Dataset):
    def __init__(self, opt, root):
        self.opt = opt
        self.root = root
        self.dir_A = os.path.join(root, "trainA")
        self.dir_B = os.path.join(root, "trainB")
        self.A_paths = sorted(make_dataset(self.dir_A, opt.max_dataset_size))
        self.B_paths = sorted(make_dataset(self.dir_B, opt.max_dataset_size))
        self.A_size = len(self.A_paths)
        self.B_size = len(self.B_paths)
        btoA = self.opt.direction == "BtoA"
        input_nc = self.opt.output_nc if btoA else self.opt.input_nc
        output_nc = self.opt.input_nc if btoA else self.opt.output_nc
        self.transform_A = get_transform(self.opt, grayscale=(input_nc == 1))
        self.transform_B = get_transform(self.opt, grayscale=(output_nc == 1))

    def __getitem__(self, index):
        A_path = self.A_paths[index % self.A_size]
        if self.opt.serial_batches:
            index_B = index % self.B_size
        else:
            index_B = random.randint(0, self.B_size - 1)
        B_path = self.B_paths[index_B]
        A_img = Image.open(A_path).convert("RGB")
        B_img = Image.open(B_path).convert("RGB")
        A = self.transform_A(A_img)
        B = self.transform_B(B_img)
        return {"A": A, "B": B, "A_paths": A_path, "B_paths": B_path}

    def __len__(self):
        return max(self.A_size, self.B_size)


class CustomDatasetDataLoader:
    def __init__(self, opt, root):
        self.opt = opt
        self.dataset = UnalignedDataset(opt, root)
        self.loader = torch.utils.data.DataLoader(
            self.dataset,
            batch_size=opt.batch_size,
            shuffle=not opt.serial_batches,
            num_workers=int(opt.num_threads),
        )

    def __len__(self):
        return min(len(self.dataset), self.opt.max_dataset_size)

    def __iter__(self):
        for i, batch in enumerate(self.loader):
            if i * self.opt.batch_size >= self.opt.max_dataset_size:
                break
            yield batch


def train_loader(root):
    return CustomDatasetDataLoader(Options(), root)
