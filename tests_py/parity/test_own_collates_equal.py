"""A collate_fn of one's own, as people write it, over arrays, sequences and images: our batches are torch's."""

# ruff: noqa: B007, B035, B905, C408, C417, RUF005, RUF059, SIM118 - people write so

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional
from torch.nn.functional import one_hot
from torch.nn.utils.rnn import pad_sequence
from torch.utils import data
from torch.utils.data import TensorDataset, default_collate
from torchvision import transforms as T
from torchvision.datasets import ImageFolder
from twins import Program, bits, check, errors, loader_of

import goloader
from goloader.plan.collates.own import compiler

SEED = int(os.environ.get("GOLOADER_FUZZ_SEED", "20261123"))
test_module = sys.modules[__name__]
COUNT = 23


@pytest.fixture(autouse=True)
def of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small batches are Python's, as it is faster; here they are ours all the same."""
    monkeypatch.setattr(compiler, "PAYS_FROM", dict.fromkeys(compiler.PAYS_FROM, 0))


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


class Dicts(data.Dataset[Any]):
    """Dicts of arrays, all of one shape."""

    def __init__(self) -> None:
        self.x, self.mask = torch.rand(COUNT, 3, 4), torch.rand(COUNT, 2) > 0.5
        self.labels = np.random.default_rng(3).integers(0, 9, COUNT)

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: int) -> Any:
        return {"x": self.x[index], "mask": self.mask[index], "label": int(self.labels[index])}


class Nested(Dicts):
    def __getitem__(self, index: int) -> Any:
        return {"image": self.x[index], "target": {"mask": self.mask[index], "label": int(self.labels[index])}}


class Lists(data.Dataset[Any]):
    """Tokens as a tokenizer gives them, with as many labels."""

    longer = 0

    def __init__(self) -> None:
        noise = np.random.default_rng(4)
        self.ids = [noise.integers(1, 90, noise.integers(1, 12)).tolist() for _ in range(COUNT)]
        self.labels = [noise.integers(0, 5, len(each) + self.longer).tolist() for each in self.ids]

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: int) -> Any:
        return {"input_ids": self.ids[index], "labels": self.labels[index]}


class LongerLabels(Lists):
    longer = 1


class Tokens(Lists):
    def __getitem__(self, index: int) -> Any:
        return {"input_ids": torch.tensor(self.ids[index]), "labels": torch.tensor(self.labels[index])}


class LongerTokens(Tokens):
    longer = 1


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
    places = range(len(batch))
    texts = [batch[i][1] for i in places]
    texts = [texts[i] for i in places]
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


# Loops over names, or anything else that is the same for all batches


def each_name(batch: Any) -> Any:
    ids, frames = tuple([instance[key] for instance in batch] for key in ("input_ids", "frames"))
    ids = pad_sequence(ids, batch_first=True, padding_value=PAD_IDX)
    return dict(ids=ids[:, :9], frames=torch.cat(frames), mask=ids.ne(PAD_IDX))


def by_names(batch: Any) -> Any:
    padded = {key: pad_sequence([b[key] for b in batch], True) for key in ("frames", "input_ids")}
    padded["label"] = torch.tensor([b["label"] for b in batch])
    other = padded
    other.update(count=7)
    return padded, other.pop("count"), other


def name_by_name(batch: Any) -> Any:
    out, lengths = {}, []
    for key in ["input_ids", "frames"]:
        rows = [b[key] for b in batch]
        lengths += [len(row) for row in rows]
        out[key] = pad_sequence(rows, padding_value=-1 if key == "frames" else 0)
        if key == "frames":
            continue
        out["mask"] = out[key] == 0
    return out


class Names:
    def __init__(self, *names: str) -> None:
        self.names = list(names)

    def __call__(self, batch: Any) -> Any:
        out = []
        for number, name in enumerate(self.names):
            out.append(torch.cat([b[name] for b in batch]) + number)
        return out


def counted(batch: Any) -> Any:
    ids = pad_sequence([b["input_ids"] for b in batch], True)
    shifts = []
    for n in range(3):
        shifts.append(ids + n)
    return shifts, [ids * n for n in (1, 2)], tuple(ids - n for n in range(2))


# Samples of one shape


def stacked(batch: Any) -> Any:
    return torch.stack([item[0] for item in batch], dim=0), torch.tensor([item[1] for item in batch])


def stacked_zip(batch: Any) -> Any:
    images, targets, weights = tuple(zip(*batch))
    return torch.stack(images, 0), torch.stack(targets), list(map_(weights))


def map_(weights: Any) -> Any:
    return [float(w) for w in weights]


def sorts(batch: Any) -> Any:
    batch = sorted(batch, key=lambda b: -int(b[1]))
    return torch.stack([b[0] for b in batch]), torch.tensor([b[1].item() for b in batch])


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


def as_tensors(batch: Any) -> Any:
    x = torch.stack([torch.from_numpy(b[0]) for b in batch])
    return {"x": x, "y": torch.tensor([b[1] for b in batch]), "all": torch.cat([torch.as_tensor(b[0]) for b in batch])}


def of_numbers(batch: Any) -> Any:
    return default_collate(batch), [b[1] for b in batch], torch.stack([torch.tensor(b[1] + 1) for b in batch])


def mask_of_places(batch: Any) -> Any:
    source, _, labels = zip(*batch)
    lengths = torch.LongTensor([s.size(0) for s in source])
    padded = pad_sequence(source, batch_first=True)
    return padded, torch.arange(padded.size(1))[None, :] < lengths[:, None], labels


def of_generators(batch: Any) -> Any:
    longest = max(len(source) for source, _, _ in batch)
    labels = list(label for _, _, label in batch)  # noqa: C400
    return torch.arange(longest), sum(label for _, _, label in batch), labels, tuple(b[2] + 1 for b in batch)


def by_numpy(batch: Any) -> Any:
    x = np.stack([b[0].numpy() for b in batch])
    y = np.array([b[1].item() for b in batch], dtype=np.int64)
    return torch.from_numpy(x), torch.from_numpy(y), x


# In another order, and by functions made within


def by_descending_length(batch: Any) -> Any:
    batch.sort(key=lambda item: len(item[0]), reverse=True)
    source, target, labels = zip(*batch)
    lengths = [len(each) for each in source]
    return pad_sequence(source, batch_first=True), pad_sequence(target), torch.tensor(labels), torch.tensor(lengths)


def by_length_and_place(batch: Any) -> Any:
    ordered = sorted(batch, key=lambda item: item[1].shape[0])
    return (
        torch.cat([x for x, _, _ in ordered]),
        [y for _, _, y in ordered],
        torch.stack([torch.tensor(b[2]) for b in ordered]),
    )


def by_label(batch: Any) -> Any:
    batch = sorted(batch, key=label_of, reverse=True)
    return (
        pad_sequence([b[0] for b in batch], padding_value=9),
        [len(b[1]) for b in batch],
        torch.tensor([b[2] for b in batch]),
    )


def label_of(item: Any) -> int:
    return int(item[2])


def merged(batch: Any) -> Any:
    def merge(sequences: Any) -> Any:
        lengths = [len(each) for each in sequences]
        padded = torch.zeros(len(sequences), max(lengths)).long()
        for i, each in enumerate(sequences):
            end = lengths[i]
            padded[i, :end] = each[:end]
        return padded, lengths

    batch.sort(key=lambda item: len(item[1]), reverse=True)
    source, target, _ = zip(*batch)
    return merge(source), merge(target)


def mapped(batch: Any) -> Any:
    source, target, labels = map(list, zip(*batch))
    lengths = torch.tensor(list(map(len, source)))
    firsts = list(map(lambda item: item[2] + 1, batch))
    return pad_sequence(source), max(map(len, target)), lengths, torch.tensor(labels), firsts


def within(batch: Any) -> Any:
    field = lambda n, value=0: pad_sequence([b[n] for b in batch], True, value)  # noqa: E731
    return field(0), field(1, -1)


def filled_with(batch: Any) -> Any:
    lengths = [len(x) for x, _, _ in batch]
    padded = torch.full((len(batch), max(lengths)), 7, dtype=torch.long)
    mask = torch.full((len(batch), max(lengths)), fill_value=False)
    for i, (x, _, _) in enumerate(batch):
        padded[i, : lengths[i]] = x
        mask[i, : lengths[i]] = True
    return padded, mask


def with_pad(batch: Any, pad_id: int = 1, *, names: Any = ("a",)) -> Any:
    source, _, labels = zip(*batch)
    return pad_sequence(source, padding_value=pad_id), torch.tensor(labels), names[0]


def pad_before(pad_id: int, batch: Any) -> Any:
    return with_pad(batch, pad_id)


# By the names that samples have


def of_keys(batch: Any) -> Any:
    return {
        key: torch.tensor([b[key] for b in batch]) if key == "label" else torch.stack([b[key] for b in batch])
        for key in batch[0]
    }


def of_each_key(batch: Any) -> Any:
    out = {}
    for key in batch[0].keys():
        if key in ("x", "mask"):
            out[key] = torch.stack([b[key] for b in batch])
        elif key != "label":
            out[key] = None
        else:
            out[key] = torch.tensor([b[key] for b in batch])
    return out


def of_kinds(batch: Any) -> Any:
    out = {}
    for key, value in batch[0].items():
        values = [b[key] for b in batch]
        if isinstance(value, torch.Tensor):
            out[key] = torch.stack(values)
        elif isinstance(values[0], (int, float)) and not torch.is_tensor(value):
            out[key] = torch.tensor(values)
    return out


def of_those_there(batch: Any) -> Any:
    batch = [item for item in batch if item is not None]
    keys = list(batch[0].keys())
    out = {key: [item[key] for item in batch] for key in keys if key not in {"label", "other"}}
    return default_collate(batch), [torch.stack(out[key]) for key in out]


def of_nested(batch: Any) -> Any:
    targets = {key: default_collate([b["target"][key] for b in batch]) for key in batch[0]["target"]}
    return torch.stack([b["image"] for b in batch]), targets


def of_fields(batch: Any) -> Any:
    return [torch.stack([b[n] for b in batch]) for n in range(len(batch[0]))]


class Features:
    def __init__(self, pad: int, most: int) -> None:
        self.pad, self.most = pad, most

    def __call__(self, features: Any) -> Any:
        batch = {}
        for key in features[0].keys():
            value = -100 if key == "labels" else self.pad
            rows = [torch.tensor(f[key]) if isinstance(f[key], list) else f[key] for f in features]
            batch[key] = pad_sequence(rows, batch_first=True, padding_value=value)[:, : self.most]
        return batch


# Lists and tensors that are made as long as the longest


def longest(batch: Any) -> Any:
    most = max([len(f["input_ids"]) for f in batch])
    ids = [f["input_ids"] + [0] * (most - len(f["input_ids"])) for f in batch]
    mask = [[1.0] * len(f["input_ids"]) + [0.0] * (most - len(f["input_ids"])) for f in batch]
    return torch.tensor(ids, dtype=torch.long), torch.tensor(mask, dtype=torch.float), torch.tensor(mask)


def in_a_loop(batch: Any) -> Any:
    most = max(len(f["input_ids"]) for f in batch)
    ids, labels, mask, masks = [], [], [], []
    for f in batch:
        rest = most - len(f["input_ids"])
        ids.append(f["input_ids"] + [3] * rest)
        labels.append(f["labels"] + rest * [-100])
        mask.append([True] * len(f["input_ids"]) + [False] * rest)
        masks.append(torch.tensor([1] * len(f["input_ids"]) + [0] * rest))
    return torch.LongTensor(ids), torch.tensor(labels), torch.tensor(mask), torch.stack(masks)


def padded_at_the_end(batch: Any) -> Any:
    most = max(len(b["input_ids"]) for b in batch)
    ids = torch.stack([functional.pad(b["input_ids"], (0, most - len(b["input_ids"])), value=5) for b in batch])
    labels = [functional.pad(b["labels"], (0, most - b["labels"].size(0)), "constant", -100) for b in batch]
    return ids, torch.stack(labels)


def zeros_at_the_end(batch: Any) -> Any:
    most = max(len(b["input_ids"]) for b in batch)
    labels = [
        torch.cat([b["labels"], torch.full((most - len(b["input_ids"]),), -100, dtype=torch.long)]) for b in batch
    ]
    ids = [torch.cat((b["input_ids"], torch.ones(most - len(b["input_ids"]), dtype=torch.long)), dim=0) for b in batch]
    return torch.stack(ids), torch.stack(labels)


def set_together(batch: Any) -> Any:
    most = max(f["input_ids"].size(0) for f in batch)
    ids = torch.full((len(batch), most), 9)
    labels = torch.full((len(batch), most), -100, dtype=torch.long)
    for i, f in enumerate(batch):
        n = f["input_ids"].size(0)
        ids[i, :n] = f["input_ids"]
        labels[i, :n] = f["labels"]
    return {"input_ids": ids, "labels": labels}


def zeros_in_front(batch: Any) -> Any:
    """As recommenders pad: to the left."""
    most = max(len(b["input_ids"]) for b in batch)
    ids, mask = [], []
    for b in batch:
        rest = most - len(b["input_ids"])
        ids.append([7] * rest + b["input_ids"])
        mask.append([0] * rest + [1] * len(b["input_ids"]))
    labels = [torch.tensor((most - len(b["input_ids"])) * [-100] + b["labels"], dtype=torch.long) for b in batch]
    return torch.tensor(ids), torch.tensor(mask), torch.stack(labels)


def tensors_in_front(batch: Any) -> Any:
    lengths = [b["input_ids"].size(0) for b in batch]
    most = max(lengths)
    ids = [torch.cat([torch.full((most - len(b["input_ids"]),), 7), b["input_ids"]]) for b in batch]
    labels = [torch.cat([torch.zeros((most - len(b["input_ids"]),), dtype=torch.long), b["labels"]]) for b in batch]
    return torch.stack(ids), torch.stack(labels), torch.tensor(lengths).min(), torch.tensor(lengths).max().item()


def of_longest_first(batch: Any) -> Any:
    batch.sort(key=lambda b: len(b["input_ids"]), reverse=True)
    most = len(batch[0]["input_ids"])
    ids = [torch.cat([b["input_ids"], torch.full((most - len(b["input_ids"]),), 1)]) for b in batch]
    return torch.stack(ids), torch.tensor([len(b["labels"]) for b in batch])


def of_those_that_are(batch: Any) -> Any:
    batch = list(filter(lambda each: each is not None, batch))
    return default_collate(batch)


COLLATES: dict[str, tuple[Callable[[], Any], list[Any]]] = {
    "texts": (
        Texts,
        [
            generate_batch, bag_of_tokens, zipped, masked, by_index, lengths_alone, enumerated, MyCollate(1), sums,
            MyCollate(0, True), closure(5), twice, mask_of_places, of_generators,
            lambda batch: pad_sequence([x for x, y, z in batch]), by_descending_length, by_length_and_place, by_label,
            merged, mapped, within, filled_with, partial(with_pad, pad_id=3), partial(with_pad, names=["b"]),
            partial(pad_before, 4),
        ],
    ),
    "names": (
        Named,
        [features, spectrograms, joined, floats, each_name, by_names, name_by_name, Names("frames"), counted],
    ),
    "tensors": (
        tensors,
        [
            stacked, stacked_zip, every, default_first, concatenated, reshaped, by_numpy, partial(stacked), sorts,
            of_fields, of_those_that_are,
        ],
    ),
    "dicts": (Dicts, [of_keys, of_each_key, of_kinds, of_those_there]),
    "nested": (Nested, [of_nested]),
    "lists": (Lists, [longest, in_a_loop, zeros_in_front, Features(0, 5)]),
    "tokens": (
        Tokens,
        [padded_at_the_end, zeros_at_the_end, tensors_in_front, of_longest_first, set_together, Features(1, 40)],
    ),
    # Of fields that are not as long as each other, which may fail.
    "longer lists": (LongerLabels, [longest, in_a_loop, zeros_in_front]),
    "longer tokens": (LongerTokens, [padded_at_the_end, zeros_at_the_end, tensors_in_front, set_together]),
    "rows": (Rows, [of_arrays, of_numbers, as_tensors]),
}  # fmt: skip
CASES = [(name, number) for name, (_, collates) in COLLATES.items() for number in range(len(collates))]


@pytest.mark.parametrize("num_workers", [0, 1, 3])
@pytest.mark.parametrize(("name", "number"), CASES)
def test_as_people_write_them(name: str, number: int, num_workers: int) -> None:
    make, collates = COLLATES[name]
    collate = collates[number]
    program = loader_of(make(), batch_size=4, shuffle=True, num_workers=num_workers, collate_fn=lambda: collate)
    check(Program(program, draw=True))


class Spoken(Tokens):
    """With what was said, and by whom."""

    def __init__(self) -> None:
        super().__init__()
        self.said = [f"{n} words" for n in range(COUNT)]

    def __getitem__(self, index: int) -> Any:
        ids, labels = torch.tensor(self.ids[index]), torch.tensor(self.labels[index])
        return self.said[index], {"by": self.said[index].upper(), "input_ids": ids, "labels": labels}


def said_and_read(batch: Any) -> Any:
    said, read = zip(*batch)
    ids = pad_sequence([each["input_ids"] for each in read], batch_first=True)
    return {"said": said, "ids": ids, "by": [each["by"] for each in read]}


def read_by(batch: Any) -> Any:
    batch.sort(key=lambda each: len(each[1]["labels"]), reverse=True)
    by, labels = [], []
    for _, read in batch:
        by.append(read["by"])
        labels.append(read["labels"])
    return torch.cat(labels), by, pad_sequence([read["input_ids"] for _, read in batch])


def nobody(batch: Any) -> Any:
    return pad_sequence([read["labels"] for _, read in batch])


@pytest.mark.parametrize("num_workers", [0, 1, 3])
@pytest.mark.parametrize("collate", [said_and_read, read_by, nobody])
def test_texts_beside(collate: Any, num_workers: int) -> None:
    options = {"batch_size": 4, "shuffle": True, "num_workers": num_workers, "collate_fn": lambda: collate}
    check(Program(loader_of(Spoken(), **options)))


@pytest.mark.parametrize("num_workers", [0, 1, 3])
def test_images(num_workers: int, kinds: Path) -> None:
    def by_name(examples: Any) -> Any:
        pixel_values = torch.stack([example[0] for example in examples])
        return {"pixel_values": pixel_values, "labels": torch.tensor([example[1] for example in examples])}

    def labels_too(batch: Any) -> Any:
        images, labels = zip(*batch)
        return torch.stack(images).permute(0, 2, 3, 1), one_hot(torch.tensor(labels), 9), list(labels)

    make = ImageFolder(kinds, T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToTensor()]))
    for collate in by_name, labels_too, default_first_two:
        made = loader_of(make, batch_size=4, shuffle=True, num_workers=num_workers, collate_fn=lambda: collate)  # noqa: B023
        check(Program(made, draw=True))
    # One by one, or in a way that only their number and size say.
    for collate in (lambda batch: tuple(zip(*batch))), (lambda batch: pad_sequence([b[0] for b in batch])):
        made = loader_of(make, batch_size=4, num_workers=num_workers, collate_fn=lambda: collate)  # noqa: B023
        check(Program(made, epochs=1), native=False)


def default_first_two(batch: Any) -> Any:
    images, labels = default_collate(batch)
    return images, labels + 1


# Tensors that a loop fills


def padded_by_hand(batch: Any) -> Any:
    longest = max([len(x) for x, _, _ in batch])
    texts, mask = torch.zeros(len(batch), longest, dtype=torch.long), torch.zeros((len(batch), longest))
    for i, (text, _, _) in enumerate(batch):
        texts[i, : len(text)] = text
        mask[i, : text.size(0)] = 1
    return texts, mask


def by_length(batch: Any) -> Any:
    """As NVIDIA's Tacotron 2 has it."""
    lengths, order = torch.sort(torch.LongTensor([len(x[1]) for x in batch]), dim=0, descending=True)
    texts = torch.LongTensor(len(batch), lengths[0])
    texts.zero_()
    for i in range(len(order)):
        text = batch[order[i]][1]
        texts[i, : text.size(0)] = text
    ends, output_lengths = torch.FloatTensor(len(batch), lengths[0]).fill_(-2), torch.LongTensor(len(batch))
    for i in range(len(order)):
        text = batch[order[i]][1]
        ends[i, text.size(0) - 1 :] = 3
        output_lengths[i] = text.shape[0]
    return texts, lengths, ends, output_lengths, order


def sorted_by_argsort(batch: Any) -> Any:
    order = torch.argsort(torch.tensor([x[0].size(0) for x in batch]))
    texts = torch.ones(len(batch), 40, dtype=torch.float64)
    for i in range(len(order)):
        texts[i, : batch[order[i]][0].size(0)] = batch[order[i]][0]
    return texts, torch.tensor([x[2] for x in batch])


def in_both_orders(batch: Any) -> Any:
    """Which stays with Python."""
    lengths, order = torch.sort(torch.tensor([len(x[1]) for x in batch]))
    first = torch.zeros(len(batch), lengths[-1], dtype=torch.long)
    for i in range(len(order)):
        first[i, : batch[order[i]][1].size(0)] = batch[order[i]][1]
    return first, pad_sequence([x[1] for x in batch], batch_first=True)


def vectors_by_hand(batch: Any) -> Any:
    longest = max([x["frames"].size(0) for x in batch])
    frames = torch.zeros(len(batch), longest, batch[0]["frames"].size(1))
    for i, sample in enumerate(batch):
        frames[i, : sample["frames"].size(0), :] = sample["frames"]
    return {"frames": frames, "weights": torch.tensor([x["weight"] for x in batch])}


def too_short(batch: Any) -> Any:
    """Of some batches this is an error."""
    texts = torch.zeros(len(batch), 9, dtype=torch.long)
    for i, (text, _, _) in enumerate(batch):
        texts[i, : len(text)] = text
    return texts


def padding_mask(lengths: Any, max_len: Any = None) -> Any:
    batch_size = lengths.numel()
    max_len = max_len or lengths.max_val()
    return (
        torch.arange(0, max_len, device=lengths.device).type_as(lengths).repeat(batch_size, 1).lt(lengths.unsqueeze(1))
    )


class OfSeries(data.Dataset[Any]):
    """As the multivariate time series transformer has them: series, labels, and numbers of numpy's."""

    def __init__(self, shortest: int, dtype: torch.dtype) -> None:
        lengths = np.random.default_rng(4).integers(shortest, 14, COUNT)
        self.series = [(9 * torch.randn(int(length), 3)).to(dtype) for length in lengths]
        self.labels, self.numbers = torch.arange(COUNT)[:, None] % 3, np.arange(100, 100 + COUNT)

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: int) -> Any:
        return self.series[index], self.labels[index], self.numbers[index]


class OfAtMost:
    def __init__(self, max_len: int) -> None:
        self.max_len, self.__name__ = max_len, f"at_most_{max_len}"

    def __call__(self, batch: Any) -> Any:
        max_len, batch_size = self.max_len, len(batch)
        features, labels, numbers = zip(*batch)
        lengths = [x.shape[0] for x in features]
        x = torch.zeros(batch_size, max_len, features[0].shape[-1])
        for i in range(batch_size):
            end = min(lengths[i], max_len)
            x[i, :end, :] = features[i][:end, :]
        mask = padding_mask(torch.tensor(lengths, dtype=torch.int16), max_len=max_len)
        return x, torch.stack(labels, dim=0), mask, numbers


class HeadsOf:
    """Their first items, by constants alone."""

    def __init__(self, count: int) -> None:
        self.count, self.__name__ = count, f"heads_{count}"

    def __call__(self, batch: Any) -> Any:
        texts = torch.zeros(len(batch), self.count, dtype=torch.long)
        lengths = []
        for i, (text, _, _) in enumerate(batch):
            text = text[: self.count]
            texts[i, : len(text)] = text
            lengths.append(text.size(0))
        return texts, torch.tensor(lengths)


def other_ends(batch: Any) -> Any:
    """Of some batches an error; which stays with Python."""
    x = torch.zeros(len(batch), 9, 3)
    for i, (series, _, _) in enumerate(batch):
        x[i, : min(len(series), 9)] = series[:8]
    return x


def ends_below(batch: Any) -> Any:
    """All items but two of each."""
    x = torch.zeros(len(batch), 20, 3)
    for i, (series, _, _) in enumerate(batch):
        end = min(len(series), -2)
        x[i, :end] = 1
        x[i, : len(series[:end])] = series[:end]
    return x


STAY = (in_both_orders, other_ends, ends_below)
FILLED: list[tuple[Callable[[], Any], Any]] = [
    *((Texts, each) for each in (padded_by_hand, by_length, sorted_by_argsort, in_both_orders, too_short)),
    (Named, vectors_by_hand),
    *(
        (partial(OfSeries, shortest, dtype), OfAtMost(most))
        for shortest, dtype, most in (
            (0, torch.float64, 7), (1, torch.float32, 7), (13, torch.float32, 9), (5, torch.float64, 13),
            (2, torch.float32, 30), (1, torch.int16, 1),
        )
    ),
    *((Texts, HeadsOf(count)) for count in (0, 5, 11)),
    *((partial(OfSeries, 3, torch.float32), each) for each in (other_ends, ends_below)),
]  # fmt: skip


@pytest.mark.parametrize("num_workers", [0, 1, 3])
@pytest.mark.parametrize(("make", "collate"), FILLED)
def test_tensors_that_a_loop_fills(make: Callable[[], Any], collate: Any, num_workers: int) -> None:
    for seed in range(3):
        size = random.Random(f"{SEED} {seed} {collate.__name__} {num_workers}").randrange(1, 8)
        program = loader_of(make(), batch_size=size, shuffle=True, num_workers=num_workers, collate_fn=lambda: collate)
        found = check(Program(program, draw=True, seed=seed), native=collate not in STAY)
        assert collate in (too_short, other_ends) or not errors(found)


# What stays with Python

CALLS: list[int] = []
NOISE = random.Random(3)


def draws(batch: Any) -> Any:
    mix = torch.rand(()).item()
    return torch.stack([x * mix for x, _, _ in batch]), mix


def permutes(batch: Any) -> Any:
    images = torch.stack([b[0] for b in batch])
    return images[torch.randperm(len(batch))]


def shuffles(batch: Any) -> Any:
    order = [b[1] for b in batch]
    NOISE.shuffle(order)
    return torch.stack(order)


def counts(batch: Any) -> Any:
    CALLS.append(len(batch))
    return torch.stack([b[0] for b in batch]), len(CALLS)


def keeps(batch: Any, kept: list[Any] = []) -> Any:  # noqa: B006 - people do
    kept.append(batch)
    return torch.stack([b[0] for b in kept[0]])


def writes(batch: Any) -> Any:
    batch[0][0].zero_()
    return torch.stack([b[0] for b in batch])


def changes(batch: Any) -> Any:
    batch.pop()
    return torch.stack([b[0] for b in batch]) if batch else None


def fails(batch: Any) -> Any:
    raise ValueError("no such batch")


def branches(batch: Any) -> Any:
    return torch.stack([b[0] for b in batch if b[1] > 2] or [batch[0][0]])


def sorts_late(batch: Any) -> Any:
    labels = [b[1].item() for b in batch]
    batch.sort(key=lambda b: float(b[2]))
    return torch.stack([b[0] for b in batch]), labels


def sorts_for_its_caller(batch: Any) -> Any:
    sorts_in_place(batch)
    return torch.stack([b[0] for b in batch])


def sorts_in_place(batch: Any) -> None:
    batch.sort(key=lambda b: float(b[2]))


def in_both_places(batch: Any) -> Any:
    ordered = sorted(batch, key=lambda b: float(b[2]))
    return torch.stack([b[0] for b in ordered]), torch.stack([b[1] for b in batch])


def by_the_first(batch: Any) -> Any:
    return torch.stack([b[0] for b in batch]) if batch[0][1] > 3 else None


def is_left_out(batch: Any) -> Any:
    xs = [b[0] for b in batch if b[1] is not batch[0][1]]
    return torch.stack(xs) if xs else None


def sets_meanwhile(batch: Any) -> Any:
    factor = 1
    scaled = lambda: torch.stack([b[0] for b in batch]) * factor  # noqa: E731
    factor = 2
    return scaled()


def grows_within(batch: Any) -> Any:
    kept: list[Any] = []
    list(map(lambda b: kept.append(b[0]), batch))
    return torch.stack(kept)


def prints(batch: Any) -> Any:
    print(len(batch))
    return torch.stack([b[0] for b in batch])


def again(batch: Any) -> Any:
    fields = zip(*batch)
    return [torch.stack(f) for f in fields], [torch.stack(f) for f in fields]


def again_in_a_list(batch: Any) -> Any:
    kept = (zip(*batch), 1)
    return [torch.stack(f) for f in kept[0]], [torch.stack(f) for f in kept[0]]


def again_in_a_loop(batch: Any) -> Any:
    labels = enumerate([b[1] for b in batch])
    return [len(list(labels)) for _ in batch]


def not_set(batch: Any) -> Any:
    texts = torch.LongTensor(len(batch), max([len(b[0]) for b in batch]))
    for i, (text, _, _) in enumerate(batch):
        texts[i, : len(text)] = text
    return [texts[i, : len(text)].sum() for i, (text, _, _) in enumerate(batch)]


def seen_meanwhile(batch: Any) -> Any:
    texts, sums = torch.zeros(len(batch), 40, dtype=torch.long), []
    for i, (text, _, _) in enumerate(batch):
        texts[i, : len(text)] = text
        sums.append(texts.sum())
    return texts, torch.stack(sums)


def seen_by_a_view(batch: Any) -> Any:
    texts = torch.zeros(len(batch), 40, dtype=torch.long)
    view = texts.t()
    for i, (text, _, _) in enumerate(batch):
        texts[i, : len(text)] = text
    return view


def spread_over_a_row(batch: Any) -> Any:
    """A row of one item goes into all."""
    texts = torch.zeros(len(batch), 40, dtype=torch.long)
    for i, (text, _, _) in enumerate(batch):
        texts[i, : len(text) + 1] = text[:1]
    return texts


def uninitialized(batch: Any) -> Any:
    return torch.LongTensor(max([len(b[0]) for b in batch])).zero_()


def one(batch: Any) -> Any:
    return batch[0][0]


def carried(batch: Any) -> Any:
    total, sums = 0, []
    for x, _, _ in batch:
        total += x.sum()
        sums.append(total)
    return torch.stack(sums)


def sums_floats(batch: Any) -> Any:
    """By one thread in a worker process, by several here: not the same float."""
    return torch.stack([x for x, _, _ in batch]).sum()


def a_class(batch: Any) -> Any:
    return Batch([b[1] for b in batch])


class Batch(list[Any]):
    pass


def nothing(batch: Any) -> Any:
    return None


def the_last_one(batch: Any) -> Any:
    return {"x": b[0] for b in batch}


def in_a_dict(batch: Any) -> Any:
    out = {}
    for x, y, _ in batch:
        out["x"] = x
        out[int(y)] = x
    return out


def until(batch: Any) -> Any:
    xs = [b[0] for b in batch]
    while len(xs) % 4:
        xs.append(xs[-1])
    return torch.stack(xs)


def twice_in_a_list(batch: Any) -> Any:
    return torch.stack([b[n] for n in (1, 2) for b in batch]), [b[n] for b in batch for n in (1, 2)]


def a_generator(batch: Any) -> Any:
    return str(type(y for _, y, _ in batch)), len(batch)


def a_generator_later(batch: Any) -> Any:
    numbers = (y.item() for _, y, _ in batch)
    batch = batch[:1]
    return max(numbers), len(batch)


def a_generator_of_two(batch: Any) -> Any:
    return max(y.item() + z.item() for _, y, _ in batch for _, _, z in batch)


def leaves_out(batch: Any) -> Any:
    return default_collate(list(filter(lambda each: each[1] > 3, batch)))


OTHERS = [
    leaves_out, draws, permutes, shuffles, counts, keeps, writes, changes, fails, branches, prints, again,
    again_in_a_list, sorts_late, sorts_for_its_caller, in_both_places, by_the_first, is_left_out, sets_meanwhile,
    grows_within, again_in_a_loop,
    not_set, seen_meanwhile, seen_by_a_view, spread_over_a_row, uninitialized, one, carried, sums_floats, a_class,
    nothing, the_last_one, in_a_dict, until, twice_in_a_list, a_generator, a_generator_later, a_generator_of_two,
    list, partial(one), lambda batch: batch,
]  # fmt: skip


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("collate", OTHERS, ids=lambda each: getattr(each, "__name__", "partial"))
def test_what_stays_with_python(collate: Any, num_workers: int) -> None:
    def arguments() -> dict[str, Any]:
        CALLS.clear()
        NOISE.seed(3)
        getattr(collate, "__defaults__", None) and collate.__defaults__[0].clear()
        torch.manual_seed(5)
        return {"dataset": tensors(), "batch_size": 4, "num_workers": num_workers, "collate_fn": collate}

    check(Program(arguments), native=False)


def as_long_as_the_first(batch: Any) -> Any:
    labels = pad_sequence([torch.tensor(b["labels"]) for b in batch])
    return [labels + n for n in range(len(batch[0]["input_ids"]))]


def each_of_the_first(batch: Any) -> Any:
    labels = pad_sequence([torch.tensor(b["labels"]) for b in batch])
    return [labels for _ in batch[0]["input_ids"]]


def if_the_first_has_labels(batch: Any) -> Any:
    labels = pad_sequence([torch.tensor(b["labels"]) for b in batch])
    return labels if batch[0]["labels"] else None


def if_it_is_in_the_first(batch: Any) -> Any:
    labels = pad_sequence([torch.tensor(b["labels"]) for b in batch])
    return labels if 3 in batch[0]["labels"] else None


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize(
    "collate", [as_long_as_the_first, each_of_the_first, if_the_first_has_labels, if_it_is_in_the_first]
)
def test_what_depends_on_the_first_sample(collate: Any, num_workers: int) -> None:
    arguments = loader_of(Lists(), batch_size=4, shuffle=True, num_workers=num_workers, collate_fn=lambda: collate)
    check(Program(arguments), native=False)


class Ordered(data.Dataset[Any]):
    """Arrays and tensors whose dimensions lie in an order of their own, and numbers."""

    def __init__(self) -> None:
        self.array = np.random.default_rng(0).random((COUNT, 4, 5, 3), np.float32)
        self.read = self.array.copy()
        self.read.flags.writeable = False
        self.frames = torch.rand(COUNT, 2, 4, 5, 3)
        self.number = torch.arange(COUNT) / 2
        self.complex = torch.arange(COUNT).to(torch.complex64)

    def __len__(self) -> int:
        return COUNT


ORDERED = {
    "an array": lambda self, index: self.array[index].transpose(2, 0, 1),
    "an array that nobody writes into": lambda self, index: self.read[index],
    "pixels": lambda self, index: torch.from_numpy(self.array[index]).permute(2, 0, 1),
    "frames": lambda self, index: self.frames[index].permute(0, 3, 1, 2),
    "a number": lambda self, index: self.number[index],
    "a complex number": lambda self, index: self.complex[index],
}


@pytest.mark.parametrize("num_workers", [0, 1])
@pytest.mark.parametrize(
    ("given", "source", "native"),
    [
        ("an array", "np.array([x for x in batch])", True),
        ("an array", "np.stack([x for x in batch])", False),
        ("an array", "torch.from_numpy(np.stack([x for x in batch]))", False),
        ("an array", "torch.stack([torch.from_numpy(x) for x in batch])", True),
        ("an array", "torch.cat([torch.as_tensor(x).unsqueeze(0) for x in batch])", True),
        ("an array that nobody writes into", "torch.stack([torch.tensor(x) for x in batch])", True),
        ("an array that nobody writes into", "torch.stack([torch.from_numpy(x) for x in batch])", False),  # it warns
        ("an array that nobody writes into", "torch.stack([torch.as_tensor(x) for x in batch])", False),
        ("pixels", "torch.stack([x for x in batch])", True),
        ("pixels", "default_collate([x for x in batch])", True),
        ("pixels", "torch.cat([x.unsqueeze(0) for x in batch])", True),
        ("frames", "torch.stack([x for x in batch])", False),
        ("frames", "torch.cat([x for x in batch])", False),
        ("frames", "default_collate([x for x in batch])", False),
        ("a number", "torch.tensor([x for x in batch])", True),
        ("a number", "torch.tensor([x for x in batch], dtype=torch.float64)", True),
        ("a number", "torch.tensor([x for x in batch], dtype=torch.long)", False),  # a TypeError; of floats it is none
        ("a number", "torch.tensor([x for x in batch], dtype=torch.bool)", False),
        ("a complex number", "torch.tensor([x for x in batch])", False),
        ("a complex number", "torch.tensor([x for x in batch], dtype=torch.float32)", False),
    ],
)
def test_orders_in_memory_and_what_torch_refuses(given: str, source: str, native: bool, num_workers: int) -> None:
    dataset = type("Own", (Ordered,), {"__getitem__": ORDERED[given]})()
    collate = eval(f"lambda batch: {source}")
    arguments = loader_of(dataset, batch_size=7, num_workers=num_workers, collate_fn=lambda: collate)
    check(Program(arguments, epochs=1), native=native)


@pytest.mark.parametrize("num_workers", [0, 2])
def test_an_error_of_a_batch_is_torch_s(num_workers: int) -> None:
    def unfit(batch: Any) -> Any:
        return torch.stack([b[0] for b in batch]).view(4, -1)

    made = loader_of(tensors(), batch_size=4, num_workers=num_workers, collate_fn=lambda: unfit)
    assert len(errors(check(Program(made)))) == 2


def test_each_tensor_is_one_of_its_own() -> None:
    """Who writes into one finds it in those that are the same tensor with torch, and in no others."""

    def collate(batch: Any) -> Any:
        x = torch.stack([b[0] for b in batch])
        y = torch.stack([b[0] for b in batch])
        mask = x > 0.5
        return x, y, x, mask, mask, x.flatten()

    for kind in data.DataLoader, goloader.DataLoader:
        dataset = tensors()
        for batch in kind(dataset, 4, collate_fn=collate):
            x, y, same, mask, mask_again, flat = batch
            assert same is x and mask_again is mask and y is not x
            x.zero_()
            assert torch.equal(flat, torch.zeros(x.numel())) and y.any()


def test_changes_in_mid_epoch() -> None:
    """What the names in a collate_fn stand for is looked up for each batch, without workers."""
    monkeypatch = pytest.MonkeyPatch()

    def replaced(collate: Any) -> None:
        monkeypatch.setattr(test_module, "PAD_IDX", 7)

    def attribute(collate: Any) -> None:
        collate.pad_idx = 9

    def code(collate: Any) -> None:
        monkeypatch.setattr(MyCollate, "padded", lambda self, sequences: pad_sequence(sequences, padding_value=4))

    def function(collate: Any) -> None:
        monkeypatch.setattr(torch, "tensor", lambda *arguments, **options: torch.zeros(1))

    def drawing(collate: Any) -> None:
        monkeypatch.setattr(MyCollate, "padded", lambda self, sequences: torch.rand(2))

    for change, make in (
        (replaced, lambda: features_of),
        (function, lambda: bag_of_tokens),
        (attribute, lambda: MyCollate(1)),
        (code, lambda: MyCollate(1)),
        (drawing, lambda: MyCollate(1)),
    ):
        both = []
        for kind in data.DataLoader, goloader.DataLoader:
            collate = make()
            torch.manual_seed(0)
            loader: Any = kind(Texts(), 3, collate_fn=collate, shuffle=True)
            if kind is goloader.DataLoader:
                assert loader.explain().native, change
            found = []
            for epoch in range(2):
                for number, batch in enumerate(loader):
                    found.append(bits(batch))
                    if (epoch, number) == (0, 2):
                        change(collate)
            monkeypatch.undo()
            both.append((found, torch.get_rng_state().tolist()))
        assert both[0] == both[1], change


@pytest.mark.parametrize("num_workers", [0, 2])
def test_the_default_dtype_of_floats(num_workers: int) -> None:
    """It is that of the moment, and with workers that of the epoch's beginning."""

    class Floats(data.Dataset[Any]):
        def __init__(self) -> None:
            self.values = [1 / (number + 3) for number in range(200)]

        def __len__(self) -> int:
            return 200

        def __getitem__(self, i: int) -> Any:
            return self.values[i]

    both = []
    for kind in data.DataLoader, goloader.DataLoader:
        loader: Any = kind(Floats(), 25, num_workers=num_workers, collate_fn=lambda batch: torch.tensor(list(batch)))
        found = []
        try:
            for epoch in range(3):
                torch.set_default_dtype((torch.float64, torch.float32)[epoch % 2])
                for number, batch in enumerate(loader):
                    found.append(bits(batch))
                    if number == num_workers:
                        torch.set_default_dtype((torch.float64, torch.float32)[1 - epoch % 2])
        finally:
            torch.set_default_dtype(torch.float32)
        if kind is goloader.DataLoader:
            assert loader.explain().native, loader.explain()
        both.append(found)
    assert both[0] == both[1]


def features_of(batch: Any) -> Any:
    return pad_sequence([b[0] for b in batch], True, PAD_IDX)


def test_it_says_what_runs_where() -> None:
    row = goloader.DataLoader(Texts(), 4, collate_fn=zipped).explain().rows[-1]
    assert (row.stage, row.what, row.where, row.why) == ("collate", "zipped", "Go", "compiled from its bytecode")
    (row,) = (each for each in goloader.DataLoader(tensors(), 4, collate_fn=in_both_places).explain().rows if each.code)
    assert row.code == "COLLATE_OWN" and "test_own_collates_equal.py:" in row.why, row


def test_small_batches_stay_with_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    for collate, dataset, size in (stacked, tensors(), 24), (zipped, Texts(), 96), (generate_batch, Texts(), 8):
        assert goloader.DataLoader(dataset, size, collate_fn=collate).explain().native
        small = goloader.DataLoader(dataset, size - 1, collate_fn=collate).explain()
        assert [row.code for row in small.rows if row.code == "SMALL_BATCHES"]
        assert goloader.DataLoader(dataset, 1, collate_fn=collate, num_workers=1).explain().native


# Random ones


@pytest.mark.slow  # many seconds
def test_random_collates() -> None:
    """A grammar writes them; what torch refuses, or is not compiled, is left out, but not too often."""
    chance = random.Random(SEED)
    dataset, native, tried = Named(), 0, 0
    for _ in range(40):
        source = collate_source(chance)
        space: dict[str, Any] = {"torch": torch, "pad_sequence": pad_sequence, "default_collate": default_collate}
        space |= {"np": np, "functional": functional}
        exec(compile(source, "collate", "exec"), space)
        collate = space["collate"]
        try:
            for first in range(0, COUNT, 5):
                collate([dataset[k] for k in range(first, min(first + 5, COUNT))])
        except Exception:  # it is no collate_fn
            continue
        loader = goloader.DataLoader(dataset, 5, collate_fn=collate)
        tried += 1
        lowered = loader.explain().native
        native += lowered
        workers = chance.choice([0, 0, 0, 2])
        made = loader_of(dataset, batch_size=5, shuffle=True, num_workers=workers, collate_fn=lambda: collate)  # noqa: B023
        try:
            check(Program(made, epochs=1), native=lowered)
        except AssertionError as error:
            raise AssertionError(source) from error
    assert native > tried / 2 > 5, (native, tried)


SEQUENCES = ('s["input_ids"]', 's["frames"]', 'torch.cat([torch.tensor([2]), s["input_ids"]])',
             'torch.cat((s["input_ids"], torch.LongTensor([3, 1])), dim=0)')  # fmt: skip
NUMBERS = (
    's["label"]', 's["weight"]', "len({})", "({}).size(0)", "({}).shape[0]", 's["label"] + 1', 'float(s["label"])',
    'int(s["weight"])', "2 - len({})", 's["weight"] * 0.5',
)  # fmt: skip
WHOLES = (
    "pad_sequence({})", "pad_sequence({}, batch_first=True)", "pad_sequence({}, True, padding_value=1)",
    "torch.cat({})",
    "torch.stack({})", "default_collate({})",
)  # fmt: skip
OF_NUMBERS = (
    "torch.tensor({})", "torch.tensor({}, dtype=torch.float32)", "torch.LongTensor({})", "np.array({})", "{}",
    "sum({})",
    "torch.tensor([0] + {}[:-1]).cumsum(0)", "max({})", "tuple({})", "torch.FloatTensor({})", "default_collate({})",
)  # fmt: skip
AFTER = (
    "{}", "({}) != 0", "({}).long()", "({}).float() * 2", "({}).unsqueeze(0)", "({}).transpose(0, 1)", "({})[:2]",
    "({}).flatten()", "({}).to(torch.float64)", "-({})", "({}).sum()", "({}).contiguous().tolist()",
)  # fmt: skip


_PADDED = """
    named, most = torch.full((len(batch), max(len(s["{0}"]) for s in batch){1}), 7, dtype=torch.{2}), 3
    for i, s in enumerate(batch):
        named[i, :len(s["{3}"])] = s["{0}"]
"""
_ENDED = """
    most = max([len(s["{0}"]) for s in batch])
    named = torch.stack([functional.pad(s["input_ids"], (0, most - len(s["{1}"])), value=4) for s in batch])
"""
BY_NAME = [
    lines.strip("\n").split("\n")
    for lines in (
        """
    named = {}
    for key in batch[0]:
        if key in ("input_ids", "frames"):
            named[key] = pad_sequence([s[key] for s in batch])
        elif key != "weight":
            named[key] = torch.tensor([s[key] for s in batch])
""",
        """
    keys = [key for key, value in batch[0].items() if not isinstance(value, torch.Tensor)]
    named = {key: default_collate([s[key] for s in batch]) for key in keys}
""",
        _PADDED.format("input_ids", "", "int64", "input_ids"),
        _PADDED.format("frames", ", 5", "float32", "frames"),
        _PADDED.format("input_ids", "", "int64", "frames"),
        _ENDED.format("input_ids", "input_ids"),
        _ENDED.format("frames", "frames"),
    )
]


def collate_source(chance: random.Random) -> str:
    lines, names = ["def collate(batch):"], []
    if chance.random() < 0.3:
        key = chance.choice(NUMBERS).format(chance.choice(SEQUENCES))
        options = f"key=lambda s: {key}, reverse={chance.random() < 0.5}"
        lines.append(f"    {chance.choice(['batch.sort({})', 'batch = sorted(batch, {})']).format(options)}")
    if chance.random() < 0.3:
        lines += chance.choice(BY_NAME)
        names.append("named")
    for number in range(chance.randrange(1, 5)):
        of_numbers = chance.random() < 0.5
        sequence = chance.choice(SEQUENCES)
        item = chance.choice(NUMBERS).format(sequence) if of_numbers else sequence
        way = chance.random()
        if way < 0.3:
            lines.append(f"    v{number} = [{item} for s in batch]")
        elif way < 0.5:
            lines.append(f"    v{number} = list(map(lambda s: {item}, batch))")
        elif way < 0.6:
            lines += [f"    def f{number}(s, other=batch):", f"        return {item}"]
            lines.append(f"    v{number} = [f{number}(b) for b in batch]")
        else:
            lines += [f"    v{number} = []", "    for s in batch:", f"        v{number}.append({item})"]
        whole = chance.choice(OF_NUMBERS if of_numbers else WHOLES).format(f"v{number}")
        lines.append(f"    w{number} = {whole if of_numbers else chance.choice(AFTER).format(whole)}")
        names.append(f"w{number}")
    if chance.random() < 0.4:
        names.append(chance.choice(names))
    pairs = ", ".join(f"{n!r}: {name}" for n, name in enumerate(names))
    given = ", ".join(names)
    lines.append(f"    return {chance.choice([f'[{given}]', f'({given},)', '{' + pairs + '}'])}")
    return "\n".join(lines)
