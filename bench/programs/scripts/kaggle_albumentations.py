"""A csv of photos with OpenCV and albumentations, a Kaggle notebook"""

import albumentations as A
import cv2
import pandas as pd
import torch
from albumentations.pytorch import ToTensorV2
from torch.utils.data import DataLoader, Dataset

DATA = "competition"


class CFG:
    size = 224
    batch_size = 32
    num_workers = 2
    seed = 42
    target_col = "label"


class TrainDataset(Dataset):
    def __init__(self, df, root, transform=None):
        self.df = df
        self.root = root
        self.file_names = df["image_id"].values
        self.labels = df[CFG.target_col].values
        self.transform = transform

    def __len__(self):
        return len(self.df)

    def __getitem__(self, idx):
        file_name = self.file_names[idx]
        file_path = f"{self.root}/train_images/{file_name}"
        image = cv2.imread(file_path)
        image = cv2.cvtColor(image, cv2.COLOR_BGR2RGB)
        if self.transform:
            augmented = self.transform(image=image)
            image = augmented["image"]
        label = torch.tensor(self.labels[idx]).long()
        return image, label


def get_transforms(*, data):
    if data == "train":
        return A.Compose(
            [
                A.RandomResizedCrop((CFG.size, CFG.size)),
                A.Transpose(p=0.5),
                A.HorizontalFlip(p=0.5),
                A.VerticalFlip(p=0.5),
                A.ShiftScaleRotate(p=0.5),
                A.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225]),
                ToTensorV2(),
            ],
            seed=CFG.seed,
        )
    elif data == "valid":
        return A.Compose(
            [
                A.Resize(CFG.size, CFG.size),
                A.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225]),
                ToTensorV2(),
            ]
        )


def train_loader(root):
    train = pd.read_csv(root / "train.csv")
    train_dataset = TrainDataset(train, root, transform=get_transforms(data="train"))
    return DataLoader(
        train_dataset,
        batch_size=CFG.batch_size,
        shuffle=True,
        num_workers=CFG.num_workers,
        pin_memory=True,
        drop_last=True,
    )
