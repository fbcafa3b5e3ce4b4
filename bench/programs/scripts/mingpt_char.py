"""Characters of a book, minGPT's chargpt"""

import os

import torch
from torch.utils.data import Dataset
from torch.utils.data.dataloader import DataLoader

DATA = "book"


class CharDataset(Dataset):
    def __init__(self, block_size, data):
        chars = sorted(list(set(data)))
        data_size, vocab_size = len(data), len(chars)
        print("data has %d characters, %d unique." % (data_size, vocab_size))

        self.stoi = {ch: i for i, ch in enumerate(chars)}
        self.itos = {i: ch for i, ch in enumerate(chars)}
        self.block_size = block_size
        self.vocab_size = vocab_size
        self.data = data

    def __len__(self):
        return len(self.data) - self.block_size

    def __getitem__(self, idx):
        chunk = self.data[idx : idx + self.block_size + 1]
        dix = [self.stoi[s] for s in chunk]
        x = torch.tensor(dix[:-1], dtype=torch.long)
        y = torch.tensor(dix[1:], dtype=torch.long)
        return x, y


def train_loader(root):
    text = open(os.path.join(root, "input.txt"), "r").read()
    train_dataset = CharDataset(128, text)
    return DataLoader(train_dataset, shuffle=True, pin_memory=True, batch_size=64, num_workers=2)
