"""Encodings of a tokenizer as a dict of tensors, the fine-tuning guide of transformers"""

import csv

import torch
from torch.utils.data import DataLoader

DATA = "news"


def tokenizer(texts, max_length=128):
    vocab = {}
    encodings = {"input_ids": [], "token_type_ids": [], "attention_mask": []}
    for text in texts:
        ids = [101] + [vocab.setdefault(word, 1000 + len(vocab)) for word in text.split()][: max_length - 2] + [102]
        encodings["input_ids"].append(ids + [0] * (max_length - len(ids)))
        encodings["token_type_ids"].append([0] * max_length)
        encodings["attention_mask"].append([1] * len(ids) + [0] * (max_length - len(ids)))
    return encodings


class IMDbDataset(torch.utils.data.Dataset):
    def __init__(self, encodings, labels):
        self.encodings = encodings
        self.labels = labels

    def __getitem__(self, idx):
        item = {key: torch.tensor(val[idx]) for key, val in self.encodings.items()}
        item["labels"] = torch.tensor(self.labels[idx])
        return item

    def __len__(self):
        return len(self.labels)


def train_loader(root):
    with open(root / "train.csv", newline="") as f:
        rows = list(csv.reader(f))
    train_encodings = tokenizer([row[2] for row in rows])
    train_dataset = IMDbDataset(train_encodings, [int(row[0]) - 1 for row in rows])
    return DataLoader(train_dataset, batch_size=16, shuffle=True)
