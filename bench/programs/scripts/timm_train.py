"""RandAugment, RandomErasing and fast_collate, timm's own create_loader"""

import torch
from timm.data import create_dataset, create_loader

DATA = "folder"


def train_loader(root):
    dataset_train = create_dataset("", root=str(root / "train"), split="", is_training=True, batch_size=32)
    return create_loader(
        dataset_train,
        input_size=(3, 224, 224),
        batch_size=32,
        is_training=True,
        use_prefetcher=True,
        re_prob=0.25,
        re_mode="pixel",
        auto_augment="rand-m7-mstd0.5-inc1",  # at 9 it comes to posterize(0), which Pillow 13 refuses
        interpolation="random",
        num_workers=2,
        pin_memory=False,
        device=torch.device("cpu"),
        persistent_workers=True,
    )
