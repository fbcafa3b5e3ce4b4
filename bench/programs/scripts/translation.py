"""Pairs of sentences padded in a batch, torch's tutorial of translation"""

from collections import Counter

import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

DATA = "multi30k"

PAD_IDX, BOS_IDX, EOS_IDX, UNK_IDX = 0, 1, 2, 3


def build_vocab(filepath):
    counter = Counter()
    with open(filepath, encoding="utf8") as f:
        for string_ in f:
            counter.update(string_.split())
    return {word: i + 4 for i, word in enumerate(counter)}


def data_process(filepaths, de_vocab, en_vocab):
    raw_de_iter = iter(open(filepaths[0], encoding="utf8"))
    raw_en_iter = iter(open(filepaths[1], encoding="utf8"))
    data = []
    for raw_de, raw_en in zip(raw_de_iter, raw_en_iter):
        de_tensor_ = torch.tensor([de_vocab.get(t, UNK_IDX) for t in raw_de.rstrip("\n").split()], dtype=torch.long)
        en_tensor_ = torch.tensor([en_vocab.get(t, UNK_IDX) for t in raw_en.rstrip("\n").split()], dtype=torch.long)
        data.append((de_tensor_, en_tensor_))
    return data


def generate_batch(data_batch):
    de_batch, en_batch = [], []
    for de_item, en_item in data_batch:
        de_batch.append(torch.cat([torch.tensor([BOS_IDX]), de_item, torch.tensor([EOS_IDX])], dim=0))
        en_batch.append(torch.cat([torch.tensor([BOS_IDX]), en_item, torch.tensor([EOS_IDX])], dim=0))
    de_batch = pad_sequence(de_batch, padding_value=PAD_IDX)
    en_batch = pad_sequence(en_batch, padding_value=PAD_IDX)
    return de_batch, en_batch


def train_loader(root):
    train_filepaths = [root / "train.de", root / "train.en"]
    de_vocab = build_vocab(train_filepaths[0])
    en_vocab = build_vocab(train_filepaths[1])
    train_data = data_process(train_filepaths, de_vocab, en_vocab)
    return DataLoader(train_data, batch_size=128, shuffle=True, collate_fn=generate_batch)
