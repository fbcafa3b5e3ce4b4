"""Samples with lists of ints that differ in length, held in memory: Go's batches are those of whoever pads them."""

# ruff: noqa: C408 - people write so

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils import data
from twins import Program, check, errors, loader_of

from goloader.plan.collates.own import compiler

datasets = pytest.importorskip("datasets", reason="datasets is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")
tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")

# A hang is a failure.
pytestmark = pytest.mark.timeout(120)

COUNT = 23
IGNORED = -100


@pytest.fixture(autouse=True)
def of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small batches are Python's, as it is faster; here they are ours all the same."""
    monkeypatch.setattr(compiler, "PAYS_FROM", dict.fromkeys(compiler.PAYS_FROM, 0))


def ids(seed: int = 0) -> list[list[int]]:
    draw = random.Random(seed)
    return [[draw.randint(0, 90) for _ in range(draw.randint(1, 13))] for _ in range(COUNT)]


def labels_of(rows: list[list[int]]) -> list[list[int]]:
    return [[IGNORED] * (len(row) // 2) + row[len(row) // 2 :] for row in rows]


def encodings() -> dict[str, list[list[int]]]:
    rows = ids()
    return {"input_ids": rows, "token_type_ids": [[0] * len(row) for row in rows], "attention_mask": labels_of(rows)}


class Encoded(data.Dataset[Any]):
    """What Hugging Face's documentation has for a dataset of one's own."""

    def __init__(self, encodings: Any, labels: Any) -> None:
        self.encodings, self.labels = encodings, labels

    def __getitem__(self, idx: int) -> Any:
        item = {key: torch.tensor(val[idx]) for key, val in self.encodings.items()}
        item["labels"] = torch.tensor(self.labels[idx])
        return item

    def __len__(self) -> int:
        return len(self.labels)


class EncodedLists(Encoded):
    def __getitem__(self, idx: int) -> Any:
        item = {key: val[idx] for key, val in self.encodings.items()}
        item["labels"] = self.labels[idx]
        return item


class Features(data.Dataset[Any]):
    def __init__(self, features: list[Any]) -> None:
        self.features = features

    def __len__(self) -> int:
        return len(self.features)

    def __getitem__(self, index: int) -> Any:
        return self.features[index]


class Supervised(data.Dataset[Any]):
    def __init__(self, rows: list[Any]) -> None:
        self.input_ids, self.labels = rows, labels_of(rows)

    def __len__(self) -> int:
        return len(self.input_ids)

    def __getitem__(self, i: int) -> Any:
        return dict(input_ids=self.input_ids[i], labels=self.labels[i])


class Pairs(Supervised):
    def __getitem__(self, i: int) -> Any:
        return self.input_ids[i], self.labels[i]


def padding() -> Any:
    words = {word: number for number, word in enumerate(["[PAD]", *(f"w{n}" for n in range(99))])}
    model = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="w1"))
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=model, pad_token="[PAD]")
    return transformers.DataCollatorWithPadding(tokenizer)


def sequences() -> Any:
    return transformers.DataCollatorForSeq2Seq(padding().tokenizer, label_pad_token_id=-7)


def features() -> list[Any]:
    return [dict(zip(encodings(), row, strict=True)) for row in zip(*encodings().values(), strict=True)]


NUMBERS = list(range(COUNT))


@pytest.mark.parametrize("num_workers", [0, 1, 3])
@pytest.mark.parametrize(
    ("dataset", "collate"),
    [
        (lambda: Encoded(encodings(), NUMBERS), padding),
        (lambda: Encoded(transformers.BatchEncoding(encodings()), NUMBERS), padding),
        (lambda: EncodedLists(encodings(), NUMBERS), padding),
        (lambda: EncodedLists(transformers.BatchEncoding(encodings()), NUMBERS), padding),
        (lambda: Features(features()), padding),
        (features, padding),
        (lambda: [{"input_ids": (*row,)} for row in ids()], None),
        (lambda: Supervised(ids()), sequences),
        (lambda: data.ConcatDataset([Supervised(ids(1)), Supervised(ids(2))]), sequences),
        (lambda: data.Subset(Supervised(ids()), [3, 2, 9, 9, 1]), sequences),
    ],
    ids=["tensors", "encoding", "lists", "lists of an encoding", "features", "list", "tuples", "labels", "joined",
         "some"],
)  # fmt: skip
def test_collators_pad_lists_in_memory(dataset: Callable[[], Any], collate: Any, num_workers: int) -> None:
    made = padding if collate is None else collate
    check(
        Program(loader_of(dataset, batch_size=4, shuffle=True, num_workers=num_workers, collate_fn=made)),
        native=collate is not None,
    )


def lists(batch: Any) -> Any:
    ids = [torch.tensor(each["input_ids"]) for each in batch]
    masks = [torch.ones_like(each) for each in ids]
    labels = [torch.tensor(each["labels"], dtype=torch.long) for each in batch]
    return {
        "input_ids": pad_sequence(ids, batch_first=True, padding_value=1),
        "attention_mask": pad_sequence(masks, batch_first=True),
        "labels": pad_sequence(labels, batch_first=True, padding_value=IGNORED),
    }


def pairs(batch: Any) -> Any:
    xs, ys = [torch.LongTensor(x) for x, _ in batch], [torch.tensor(y) for _, y in batch]
    nothing = pad_sequence([torch.zeros_like(y, dtype=torch.float32) for y in ys], padding_value=2.5)
    return pad_sequence(xs), pad_sequence(ys, batch_first=True), torch.tensor([len(x) for x, _ in batch]), nothing


@pytest.mark.parametrize("num_workers", [0, 1, 3])
@pytest.mark.parametrize("of", [lambda: Supervised(ids()), lambda: datasets.Dataset.from_list(list(Supervised(ids())))])
def test_collate_fns_pad_lists(of: Callable[[], Any], num_workers: int) -> None:
    for batch_size in (1, 4):
        arguments = loader_of(of, batch_size=batch_size, num_workers=num_workers, collate_fn=lambda: lists)
        check(Program(arguments))
    if num_workers < 3:
        check(Program(loader_of(lambda: Pairs(ids()), batch_size=1, num_workers=num_workers, collate_fn=lambda: pairs)))


def sizes(batch: Any) -> Any:
    return pad_sequence([torch.tensor(each["input_ids"]) for each in batch]), [
        each["input_ids"].size(0) for each in batch
    ]


def floats(batch: Any) -> Any:
    return pad_sequence([torch.tensor(each["input_ids"], dtype=torch.float16) for each in batch])


@pytest.mark.parametrize(
    ("of", "collate", "fails"),
    [
        (lambda: Supervised([[1], [], [2, 3], [4]]), lists, False),  # torch.tensor([]) is one of floats
        (lambda: Supervised(ids()), sizes, True),
        (lambda: Supervised(ids()), floats, False),
        (lambda: Supervised(ids()), None, True),
        (lambda: Features([{"input_ids": [1, 2.5]}, {"input_ids": [1]}]), lists, True),
    ],
    ids=["empty", "size", "dtype", "default", "mixed"],
)
def test_what_is_not_padded_is_pythons(of: Callable[[], Any], collate: Any, fails: bool) -> None:
    function = torch.utils.data.default_collate if collate is None else collate
    found = check(Program(loader_of(of, batch_size=4, collate_fn=lambda: function)), native=False)
    assert bool(errors(found)) == fails


def test_lists_that_change_are_read_anew() -> None:
    def change(epoch: int, loader: Any) -> None:
        encodings = loader.dataset.encodings
        if epoch == 1:
            encodings["input_ids"][3][0] = 77
        if epoch == 2:
            encodings.data = {name: rows[::-1] for name, rows in encodings.items()}
        if epoch == 3:
            for rows in encodings.values():
                rows[5] = [9, 8, 7]

    def fresh() -> Any:
        return Encoded(
            transformers.BatchEncoding({name: list(map(list, rows)) for name, rows in encodings().items()}), NUMBERS
        )

    check(Program(loader_of(fresh, batch_size=4, collate_fn=padding), epochs=4, before=change))
