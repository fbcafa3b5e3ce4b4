"""Lines of a file shared out among workers, an IterableDataset for language models"""

import itertools

import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

DATA = "multi30k"


class LineStream(IterableDataset):
    def __init__(self, path, max_length=32):
        self.path = path
        self.max_length = max_length

    def encode(self, line):
        ids = [hash_word(word) for word in line.split()][: self.max_length]
        return ids + [0] * (self.max_length - len(ids))

    def __iter__(self):
        worker_info = get_worker_info()
        start, step = (0, 1) if worker_info is None else (worker_info.id, worker_info.num_workers)
        with open(self.path, encoding="utf-8") as f:
            for line in itertools.islice(f, start, None, step):
                ids = torch.tensor(self.encode(line), dtype=torch.long)
                yield {"input_ids": ids, "attention_mask": (ids != 0).long(), "labels": ids.clone()}


def hash_word(word):
    value = 7
    for char in word:
        value = (value * 31 + ord(char)) % 30000
    return value + 1


def train_loader(root):
    return DataLoader(LineStream(root / "train.en"), batch_size=32, num_workers=2)
