"""A collate_fn of one's own, as people write it, over arrays, sequences and images: our batches are torch's."""

# ruff: noqa: B007, B905, C408, RUF005, RUF059 - people write so

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import one_hot
from torch.nn.utils.rnn import pad_sequence
from torch.utils import data
from torch.utils.data import TensorDataset, default_collate
from twins import Program, check, loader_of

# A hang is a failure.
pytestmark = pytest.mark.timeout(120)

COUNT = 23
PAD_IDX, BOS_IDX, EOS_IDX = 0, 2, 3
device = torch.device("cpu")


class Texts(data.Dataset[Any]):
    """Pairs of sentences, as numbers of words, and a label."""

    def __init__(self) -> None:
        noise = np.random.default_rng(0)
        self.source = [torch.from_numpy(noise.integers(4, 90, noise.integers(0, 12))) for _ in range(COUNT)]
        self.target = [torch.from_numpy(noise.integers(4, 90, noise.integers(1, 9))) for _ in range(COUNT)]
        self.labels = noise.integers(0, 4, COUNT).tolist()

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: int) -> Any:
        return self.source[index], self.target[index], self.labels[index]


class Named(Texts):
    """The same by names, with sequences of vectors."""

    def __init__(self) -> None:
        super().__init__()
        self.frames = [torch.rand(len(each) + 1, 5) for each in self.source]
        self.weights = np.random.default_rng(1).random(COUNT).tolist()

    def __getitem__(self, index: int) -> Any:
        return {
            "input_ids": self.source[index], "frames": self.frames[index], "label": self.labels[index],
            "weight": self.weights[index],
        }  # fmt: skip


class Rows(data.Dataset[Any]):
    """Arrays, all of one shape."""

    def __init__(self) -> None:
        self.x, self.y = np.random.default_rng(2).random((COUNT, 3, 4)).astype(np.float32), np.arange(COUNT) % 5
        self.names = np.arange(COUNT).tolist()

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: int) -> Any:
        return self.x[index], self.names[index]


def tensors() -> TensorDataset:
    return TensorDataset(torch.rand(COUNT, 2, 3), torch.arange(COUNT) % 7, torch.rand(COUNT).double())


# torch's tutorial of translation, and shorter ways to say the same


def generate_batch(data_batch: Any) -> Any:
    de_batch, en_batch = [], []
    for de_item, en_item, _ in data_batch:
        de_batch.append(torch.cat([torch.tensor([BOS_IDX]), de_item, torch.tensor([EOS_IDX])], dim=0))
        en_batch.append(torch.cat([torch.tensor([BOS_IDX]), en_item, torch.tensor([EOS_IDX])], dim=0))
    de_batch = pad_sequence(de_batch, padding_value=PAD_IDX)
    en_batch = pad_sequence(en_batch, padding_value=PAD_IDX)
    return de_batch, en_batch


def bag_of_tokens(batch: Any) -> Any:
    label_list, text_list, offsets = [], [], [0]
    for text, _, label in batch:
        label_list.append(label)
        text_list.append(text)
        offsets.append(text.size(0))
    label_list = torch.tensor(label_list, dtype=torch.int64)
    offsets = torch.tensor(offsets[:-1]).cumsum(dim=0)
    text_list = torch.cat(text_list)
    return label_list.to(device), text_list.to(device), offsets.to(device)


def zipped(batch: Any) -> Any:
    xs, ys, labels = zip(*batch)
    x_lens = torch.tensor([len(x) for x in xs])
    return pad_sequence(xs, batch_first=True, padding_value=1), x_lens, torch.LongTensor(labels)


def masked(batch: Any) -> Any:
    padded = pad_sequence([item[0] for item in batch], batch_first=True)
    mask = (padded != 0).long()
    return {"ids": padded, "mask": mask, "labels": torch.tensor([item[2] for item in batch])}


def by_index(batch: Any) -> Any:
    texts = [batch[i][1] for i in range(len(batch))]
    return pad_sequence(texts, True), [len(t) for t in texts]


def lengths_alone(batch: Any) -> Any:
    return torch.tensor([len(item[0]) for item in batch]), max([item[1].shape[0] for item in batch])


def enumerated(batch: Any) -> Any:
    out = []
    for i, item in enumerate(batch):
        out += [batch[i][1]]
    return torch.cat(out, 0), torch.cat(out)


class MyCollate:
    def __init__(self, pad_idx: int, batch_first: bool = False) -> None:
        self.pad_idx, self.batch_first = pad_idx, batch_first

    def padded(self, sequences: Any) -> torch.Tensor:
        return pad_sequence(sequences, batch_first=self.batch_first, padding_value=self.pad_idx)

    def __call__(self, batch: Any) -> Any:
        sources = [item[0] for item in batch]
        targets = [item[1] for item in batch]
        return self.padded(sources), self.padded(targets).t(), torch.as_tensor([item[2] - 1 for item in batch])


def closure(pad: int) -> Any:
    def collate(batch: Any) -> Any:
        ids = pad_sequence([torch.cat((b[0], torch.LongTensor([pad, EOS_IDX]))) for b in batch], padding_value=pad)
        return ids, (ids == pad).transpose(0, 1)

    return collate


def sums(batch: Any) -> Any:
    lengths = [x.numel() for x, _, _ in batch]
    return sum(lengths), np.cumsum([0] + lengths), tuple(lengths), sum(lengths) / 2


def twice(batch: Any) -> Any:
    one = pad_sequence([b[0] for b in batch])
    two = pad_sequence([b[0] for b in batch])
    other = one
    return one, two, other


# By names, as those who use Hugging Face's libraries


def features(batch: Any) -> Any:
    ids = pad_sequence([f["input_ids"] for f in batch], batch_first=True, padding_value=PAD_IDX)
    return dict(input_ids=ids, attention_mask=ids.ne(PAD_IDX), labels=torch.tensor([f["label"] for f in batch]))


def spectrograms(batch: Any) -> Any:
    frames = pad_sequence([b["frames"] for b in batch], batch_first=True).transpose(1, 2)
    n = torch.LongTensor([b["frames"].size(0) for b in batch])
    weights = torch.tensor([b["weight"] for b in batch], dtype=torch.float32)
    return frames, n, weights, [b["weight"] for b in batch]


def joined(batch: Any) -> Any:
    frames = torch.cat([sample["frames"] for sample in batch], dim=0)
    counts = torch.tensor([sample["frames"].shape[0] for sample in batch])
    return {"frames": frames, "offsets": torch.cumsum(counts, 0) - counts, "more": [{"n": counts}, ()]}


def floats(batch: Any) -> Any:
    return torch.tensor([b["weight"] for b in batch]), torch.FloatTensor([b["weight"] for b in batch]).unsqueeze(1)


# Samples of one shape


def stacked(batch: Any) -> Any:
    return torch.stack([item[0] for item in batch], dim=0), torch.tensor([item[1] for item in batch])


def stacked_zip(batch: Any) -> Any:
    images, targets, weights = tuple(zip(*batch))
    return torch.stack(images, 0), torch.stack(targets), list(map_(weights))


def map_(weights: Any) -> Any:
    return [float(w) for w in weights]


def every(batch: Any) -> Any:
    return [torch.stack(field) for field in zip(*batch)]


def default_first(batch: Any) -> Any:
    images, labels, weights = default_collate(batch)
    return images, one_hot(labels, 7).float(), weights * 2


def default_field(batch: Any) -> Any:
    return default_collate([item[0] for item in batch]), default_collate([b[1:][0] for b in batch])


def concatenated(batch: Any) -> Any:
    imgs = [item[0].unsqueeze(0) for item in batch]
    imgs = torch.cat(imgs, dim=0)
    return imgs, torch.tensor([y.item() for _, y, _ in batch]), torch.tensor([int(b[1]) for b in batch])


def reshaped(batch: Any) -> Any:
    x = torch.stack([b[0] for b in batch])
    return x.view(2, -1, 3), x.permute(0, 2, 1)[:, 1:]


def of_arrays(batch: Any) -> Any:
    x = np.stack([b[0] for b in batch])
    return x, torch.from_numpy(np.array([b[1] for b in batch])), torch.stack([torch.tensor(b[0]) for b in batch])


def of_numbers(batch: Any) -> Any:
    return default_collate(batch), [b[1] for b in batch], torch.stack([torch.tensor(b[1] + 1) for b in batch])


COLLATES: dict[str, tuple[Callable[[], Any], list[Any]]] = {
    "texts": (
        Texts,
        [
            generate_batch, bag_of_tokens, zipped, masked, by_index, lengths_alone, enumerated, MyCollate(1), sums,
            MyCollate(0, True), closure(5), twice, lambda batch: pad_sequence([x for x, y, z in batch]),
        ],
    ),
    "names": (Named, [features, spectrograms, joined, floats]),
    "tensors": (tensors, [stacked, stacked_zip, every, default_first, concatenated, reshaped]),
    "rows": (Rows, [of_arrays, of_numbers]),
}  # fmt: skip
CASES = [(name, number) for name, (_, collates) in COLLATES.items() for number in range(len(collates))]


@pytest.mark.parametrize("num_workers", [0, 1, 3])
@pytest.mark.parametrize(("name", "number"), CASES)
def test_as_people_write_them(name: str, number: int, num_workers: int) -> None:
    make, collates = COLLATES[name]
    collate = collates[number]
    program = loader_of(make(), batch_size=4, shuffle=True, num_workers=num_workers, collate_fn=lambda: collate)
    check(Program(program, draw=True))
