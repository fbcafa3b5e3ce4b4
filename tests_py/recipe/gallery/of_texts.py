"""Texts: encoded beforehand or in __getitem__, of one length or padded by a collate_fn, with masks."""

import json
from collections import Counter

import numpy as np
import pandas as pd
import torch
from sampled import Sampled
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset

PAD, UNK, BOS, EOS = 0, 1, 2, 3


class Vocabulary:
    def __init__(self, freq_threshold=1):
        self.itos = {0: "<PAD>", 1: "<UNK>", 2: "<SOS>", 3: "<EOS>"}
        self.stoi = {"<PAD>": 0, "<UNK>": 1, "<SOS>": 2, "<EOS>": 3}
        self.freq_threshold = freq_threshold

    def __len__(self):
        return len(self.itos)

    @staticmethod
    def tokenizer_eng(text):
        return [tok.lower().strip(".") for tok in text.split(" ")]

    def build_vocabulary(self, sentences):
        counts = Counter(tok for s in sentences for tok in self.tokenizer_eng(s))
        for word, n in counts.items():
            if n >= self.freq_threshold:
                self.stoi[word] = len(self.itos)
                self.itos[self.stoi[word]] = word

    def numericalize(self, text):
        tokenized_text = self.tokenizer_eng(text)
        return [self.stoi[token] if token in self.stoi else self.stoi["<UNK>"] for token in tokenized_text]


class Reviews(Dataset):
    """Aladdin Persson's vocabulary, over a DataFrame."""

    def __init__(self, csv_file):
        self.df = pd.read_csv(csv_file)
        self.reviews = self.df["review"]
        self.targets = self.df["sentiment"]
        self.vocab = Vocabulary()
        self.vocab.build_vocabulary(self.reviews.tolist())

    def __len__(self):
        return len(self.df)

    def __getitem__(self, index):
        review = self.reviews[index]
        numericalized = [self.vocab.stoi["<SOS>"]]
        numericalized += self.vocab.numericalize(review)
        numericalized.append(self.vocab.stoi["<EOS>"])
        return torch.tensor(numericalized), 1 if self.targets[index] == "positive" else 0


class PadCollate:
    def __init__(self, pad_idx):
        self.pad_idx = pad_idx

    def __call__(self, batch):
        texts = [item[0] for item in batch]
        labels = torch.tensor([item[1] for item in batch])
        texts = pad_sequence(texts, batch_first=False, padding_value=self.pad_idx)
        return texts, labels


class Padded(Dataset):
    """Each to a length of its own making, in __getitem__, with a mask."""

    def __init__(self, texts, vocab, max_len=8):
        self.texts, self.vocab, self.max_len = texts, vocab, max_len

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, i):
        ids = [self.vocab.get(w, UNK) for w in self.texts[i].split()][: self.max_len]
        mask = [1] * len(ids) + [0] * (self.max_len - len(ids))
        ids = ids + [PAD] * (self.max_len - len(ids))
        return {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(mask)}


class Encodings(Dataset):
    """The Hugging Face guide's: a dict of lists."""

    def __init__(self, encodings, labels):
        self.encodings = encodings
        self.labels = labels

    def __getitem__(self, idx):
        item = {key: torch.tensor(val[idx]) for key, val in self.encodings.items()}
        item["labels"] = torch.tensor(self.labels[idx])
        return item

    def __len__(self):
        return len(self.labels)


class Jsonl(Dataset):
    def __init__(self, path):
        self.samples = [json.loads(line) for line in open(path)]

    def __getitem__(self, i):
        s = self.samples[i]
        return {"input_ids": s["input_ids"], "labels": s["labels"]}

    def __len__(self):
        return len(self.samples)


def collator(features):
    """Dicts of lists to the longest, as a tokenizer's pad() does."""
    longest = max(len(f["input_ids"]) for f in features)
    input_ids = [f["input_ids"] + [PAD] * (longest - len(f["input_ids"])) for f in features]
    attention_mask = [[1] * len(f["input_ids"]) + [0] * (longest - len(f["input_ids"])) for f in features]
    return {
        "input_ids": torch.tensor(input_ids),
        "attention_mask": torch.tensor(attention_mask),
        "labels": torch.tensor([f["labels"] for f in features]),
    }


class Tagging(Dataset):
    """Words and tags of each sentence, as tensors made in __init__."""

    def __init__(self, sentences, vocab):
        self.words = [torch.LongTensor([vocab.get(w, UNK) for w in s.split()]) for s in sentences]
        self.tags = [w % 5 for w in self.words]

    def __getitem__(self, i):
        return self.words[i], self.tags[i]

    def __len__(self):
        return len(self.words)


def tag_collate(batch):
    batch.sort(key=lambda pair: len(pair[0]), reverse=True)
    words, tags = zip(*batch)
    lengths = torch.tensor([len(w) for w in words])
    words = pad_sequence(words, batch_first=True)
    tags = pad_sequence(tags, batch_first=True, padding_value=-100)
    return words, tags, lengths


def tag_masked(batch):
    words, tags = zip(*batch)
    words = pad_sequence(words, batch_first=True, padding_value=PAD)
    tags = pad_sequence(tags, batch_first=True, padding_value=-100)
    return {"words": words, "tags": tags, "mask": (words != PAD).long()}


class Chars(Dataset):
    """karpathy's char dataset."""

    def __init__(self, data, block_size):
        chars = sorted(list(set(data)))
        self.stoi = {ch: i for i, ch in enumerate(chars)}
        self.block_size = block_size
        self.data = data

    def __len__(self):
        return len(self.data) - self.block_size

    def __getitem__(self, idx):
        chunk = self.data[idx : idx + self.block_size + 1]
        dix = [self.stoi[s] for s in chunk]
        return torch.tensor(dix[:-1], dtype=torch.long), torch.tensor(dix[1:], dtype=torch.long)


class NextWord(Dataset):
    """A flat list of ids cut into sequences."""

    def __init__(self, ids, seq_len=6):
        self.ids, self.seq_len = torch.tensor(ids), seq_len

    def __len__(self):
        return len(self.ids) - self.seq_len

    def __getitem__(self, i):
        return self.ids[i : i + self.seq_len], self.ids[i + 1 : i + self.seq_len + 1]


class Skipgrams(Dataset):
    """word2vec: a centre, a context word, and negatives from a table."""

    def __init__(self, ids, window=2, negatives=3):
        self.pairs = [(c, ids[j]) for i, c in enumerate(ids) for j in range(max(0, i - window), i) if j != i]
        self.table = np.random.default_rng(0).integers(0, 20, (len(self.pairs), negatives))

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        centre, context = self.pairs[i]
        return torch.tensor(centre), torch.tensor(context), torch.from_numpy(self.table[i])


def sentences(root):
    return [line.strip().split("|")[1] for line in open(root / "metadata.csv")]


def vocab_of(texts):
    return {w: i + 4 for i, w in enumerate(sorted({w for t in texts for w in t.split()}))}


def ids_of(root):
    texts = sentences(root)
    vocab = vocab_of(texts)
    return [vocab[w] for t in texts for w in t.split()]


def encodings(root):
    rng = np.random.default_rng(1)
    ids = rng.integers(0, 90, (40, 10))
    return Encodings({"input_ids": ids.tolist(), "attention_mask": (ids > 9).astype(int).tolist()}, list(range(40)))


def bag(root):
    """Raw texts in a list of tuples; all is done by the collate_fn, as in torch's tutorial."""
    texts = sentences(root)
    vocab = vocab_of(texts)
    text_pipeline = lambda x: [vocab.get(token, UNK) for token in x.split()]
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
        return label_list, text_list, offsets

    return [(1 + n % 4, text) for n, text in enumerate(texts)], {"collate_fn": collate_batch}


def nested_transforms(root):
    """Raw pairs of texts, with sequential transforms in the collate_fn, as torch's tutorial of translation."""
    texts = sentences(root)
    vocab = vocab_of(texts)

    def sequential_transforms(*transforms):
        def func(txt_input):
            for transform in transforms:
                txt_input = transform(txt_input)
            return txt_input

        return func

    def tensor_transform(token_ids):
        return torch.cat((torch.tensor([BOS]), torch.tensor(token_ids), torch.tensor([EOS])))

    text_transform = sequential_transforms(lambda s: s.split(), lambda ws: [vocab[w] for w in ws], tensor_transform)

    def collate_fn(batch):
        src_batch, tgt_batch = [], []
        for src_sample, tgt_sample in batch:
            src_batch.append(text_transform(src_sample.rstrip("\n")))
            tgt_batch.append(text_transform(tgt_sample.rstrip("\n")))
        src_batch = pad_sequence(src_batch, padding_value=PAD)
        tgt_batch = pad_sequence(tgt_batch, padding_value=PAD)
        return src_batch, tgt_batch

    return list(zip(texts, texts[::-1])), {"collate_fn": collate_fn}


CASES = {
    "vocabulary of a csv, padded": Sampled(
        lambda root: Reviews(root / "reviews.csv"), options={"collate_fn": PadCollate(PAD)}
    ),
    "words padded to a length": Sampled(lambda root: Padded(sentences(root), vocab_of(sentences(root)))),
    "encodings": Sampled(encodings),
    "jsonl, padded as tokenizers do": Sampled(
        lambda root: Jsonl(root / "qa.jsonl"), options={"collate_fn": collator}, state="Python"
    ),
    "tags, sorted by length": Sampled(
        lambda root: Tagging(sentences(root), vocab_of(sentences(root))),
        options={"collate_fn": tag_collate},
    ),
    "tags, masked": Sampled(
        lambda root: Tagging(sentences(root), vocab_of(sentences(root))), options={"collate_fn": tag_masked}
    ),
    "characters": Sampled(lambda root: Chars(" ".join(sentences(root)), 16)),
    "next words": Sampled(lambda root: NextWord(ids_of(root))),
    "skip-grams": Sampled(lambda root: Skipgrams(ids_of(root))),
    "bags of words": Sampled(bag, state="Python"),
    "translation, transforms in the collate_fn": Sampled(nested_transforms, state="Python"),
}
