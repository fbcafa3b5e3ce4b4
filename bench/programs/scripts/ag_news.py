"""News as bags of tokens with offsets, torch's tutorial of text classification"""

import csv
import re
from collections import Counter

import torch
from torch.utils.data import DataLoader

DATA = "news"

device = torch.device("cpu")


def tokenizer(line):
    return re.findall(r"[a-z]+", line.lower())


def train_loader(root):
    with open(root / "train.csv", newline="") as f:
        train_iter = [(int(label), title + " " + text) for label, title, text in csv.reader(f)]

    counter = Counter()
    for _, text in train_iter:
        counter.update(tokenizer(text))
    vocab = {word: i + 1 for i, (word, _) in enumerate(counter.most_common())}

    text_pipeline = lambda x: [vocab.get(token, 0) for token in tokenizer(x)]
    label_pipeline = lambda x: int(x) - 1

    def collate_batch(batch):
        label_list, text_list, offsets = [], [], [0]
        for _label, _text in batch:
            label_list.append(label_pipeline(_label))
            processed_text = torch.tensor(text_pipeline(_text), dtype=torch.int64)
            text_list.append(processed_text)
            offsets.append(processed_text.size(0))
        label_list = torch.tensor(label_list, dtype=torch.int64)
        offsets = torch.tensor(offsets[:-1]).cumsum(dim=0)
        text_list = torch.cat(text_list)
        return label_list.to(device), text_list.to(device), offsets.to(device)

    return DataLoader(train_iter, batch_size=64, shuffle=True, collate_fn=collate_batch)
