"""Windows of tokens in a memory map, nanoGPT's data behind a Dataset"""

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

DATA = "tokens"


class TokenWindows(Dataset):
    def __init__(self, path, block_size):
        self.data = np.memmap(path, dtype=np.uint16, mode="r")
        self.block_size = block_size

    def __len__(self):
        return (len(self.data) - 1) // self.block_size

    def __getitem__(self, idx):
        i = idx * self.block_size
        x = torch.from_numpy((self.data[i : i + self.block_size]).astype(np.int64))
        y = torch.from_numpy((self.data[i + 1 : i + 1 + self.block_size]).astype(np.int64))
        return x, y


def train_loader(root):
    return DataLoader(
        TokenWindows(root / "train.bin", 256), batch_size=12, shuffle=True, num_workers=2, pin_memory=True
    )
