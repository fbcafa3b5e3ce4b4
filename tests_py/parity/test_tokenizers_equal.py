"""Classes that call a tokenizer (plan/datasets/own/tokenizers.py): its tokens are kept as long as it is the same."""

from __future__ import annotations

import html
import random
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, normalizers, pre_tokenizers
from tokenizers.models import BPE, WordLevel
from torch.utils import data
from transformers import (
    BertTokenizerFast,
    DataCollatorForSeq2Seq,
    DataCollatorForTokenClassification,
    DataCollatorWithPadding,
    PreTrainedTokenizerFast,
)
from twins import Program, check, loader_of

import goloader
from goloader.plan.datasets.own import kept

COUNT = 21
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefgh", *(f"##{letter}" for letter in "abcdefgh")]
TEXTS = ["".join(random.Random(n).choices("abcdefghi  ", k=3 + n)) for n in range(COUNT)]


@pytest.fixture(autouse=True)
def at_any_price(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "LOOK_MAX", 1e9)
    monkeypatch.setattr(kept, "SAMPLE_S_MIN", 0.0)
    monkeypatch.setattr(kept, "ALL_S_MAX", 0.0)
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")


@pytest.fixture
def bert(tmp_path: Path) -> Any:
    (tmp_path / "vocab.txt").write_text("\n".join(WORDS))
    return BertTokenizerFast(str(tmp_path / "vocab.txt"))


def core(dropout: float | None = None) -> Tokenizer:
    vocabulary = {word: n for n, word in enumerate(WORDS)}
    tokenizer = Tokenizer(WordLevel(vocabulary, "[UNK]") if dropout is None else BPE(vocabulary, [], dropout=dropout))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.enable_padding(length=12)
    tokenizer.enable_truncation(12)
    return tokenizer


class Base(data.Dataset[Any]):
    def __init__(self, tokenizer: Any) -> None:
        self.texts, self.labels, self.tokenizer = list(TEXTS), [n % 3 for n in range(COUNT)], tokenizer

    def __len__(self) -> int:
        return len(self.texts)


class Called(Base):
    def __getitem__(self, i: int) -> Any:
        text = " ".join(self.texts[i].split())
        encoding = self.tokenizer(text, max_length=16, truncation=True, padding="max_length", return_tensors="pt")
        return {
            "review": text,
            "input_ids": encoding["input_ids"].flatten(),
            "mask": encoding.attention_mask.squeeze(0),
            "targets": torch.tensor(self.labels[i], dtype=torch.long),
        }


class Pairs(Base):
    def __getitem__(self, i: int) -> Any:
        encoding = self.tokenizer(
            self.texts[i], self.texts[-i], padding="max_length", truncation="only_second", max_length=24
        )
        return {key: torch.tensor(value) for key, value in encoding.items()}, self.labels[i]


class Encoded(Base):
    def __getitem__(self, i: int) -> Any:
        ids = self.tokenizer.encode(self.texts[i], add_special_tokens=False)[:9]
        ids = [self.tokenizer.cls_token_id, *ids, self.tokenizer.sep_token_id]
        return np.array(ids + [self.tokenizer.pad_token_id] * (11 - len(ids))), float(self.labels[i])


class ByTokens(Base):
    def __getitem__(self, i: int) -> Any:
        tokens = ["[CLS]", *self.tokenizer.tokenize(self.texts[i])[:10], "[SEP]"]
        ids = self.tokenizer.convert_tokens_to_ids(tokens)
        return torch.tensor(ids + [0] * (12 - len(ids))), len(tokens)


class Cleaned(Base):
    """A method of its own, and variables that are set to something else first."""

    def encode(self, text: str) -> Any:
        text = html.unescape(unicodedata.normalize("NFKC", text)).lower()
        return self.tokenizer(text, padding="max_length", truncation=True, max_length=10, return_tensors="pt")

    def __getitem__(self, i: int) -> Any:
        encoding = self.encode(self.texts[i])
        labels = encoding["input_ids"].clone()
        labels[labels == self.tokenizer.pad_token_id] = -100
        encoding = {key: value.squeeze(0) for key, value in encoding.items()}
        encoding["labels"] = labels.squeeze(0)
        return encoding


class Labelled(Base):
    """Of each token the label of its word."""

    def __getitem__(self, i: int) -> Any:
        words = self.texts[i].split()
        encoding = self.tokenizer(words, is_split_into_words=True, truncation=True, padding="max_length", max_length=16)
        labels = [-100 if word is None else len(words[word]) for word in encoding.word_ids()]
        return torch.tensor(encoding["input_ids"]), torch.tensor(labels)


class OfCore(Base):
    def __getitem__(self, i: int) -> Any:
        encoding = self.tokenizer.encode(self.texts[i])
        return torch.tensor(encoding.ids), torch.tensor(encoding.attention_mask)


WITH_BERT = [Called, Pairs, Encoded, ByTokens, Cleaned, Labelled]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("kind", [*WITH_BERT, OfCore])
def test_batches_are_torch_s(kind: type[Base], workers: int, bert: Any) -> None:
    tokenizer = core() if kind is OfCore else bert
    arguments = loader_of(lambda: kind(tokenizer), batch_size=4, shuffle=True, num_workers=workers)
    check(Program(arguments, epochs=4), native=not workers)
    loader: goloader.DataLoader[Any] = goloader.DataLoader(**arguments())
    list(loader)
    assert loader.explain().native


class Lists(Base):
    def __getitem__(self, i: int) -> Any:
        encoding = self.tokenizer(self.texts[i], truncation=True, max_length=20)
        return {"input_ids": encoding["input_ids"], "attention_mask": encoding.attention_mask, "label": self.labels[i]}


class Batched(Base):
    """What the tokenizer gives, with labels in it."""

    def __getitem__(self, i: int) -> Any:
        encoding = self.tokenizer(self.texts[i], truncation=True, max_length=20)
        encoding["labels"] = [-100, *encoding["input_ids"][1:]]
        return encoding


class BatchedOnce(Batched):
    """As long as the longest, which comes late."""

    def __getitem__(self, i: int) -> Any:
        return super().__getitem__(i) if i != 9 else self.tokenizer(" ".join(self.texts))


COLLATORS: dict[str, tuple[type[Base], Callable[[Any], Any]]] = {
    "lists": (Lists, DataCollatorWithPadding),
    "multiples": (Lists, lambda bert: DataCollatorWithPadding(bert, pad_to_multiple_of=8)),
    "a length": (Lists, lambda bert: DataCollatorWithPadding(bert, padding="max_length", max_length=24)),
    "encodings": (Batched, DataCollatorForTokenClassification),
    "encodings to sequences": (Batched, DataCollatorForSeq2Seq),
    "another": (BatchedOnce, DataCollatorForTokenClassification),
}


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("what", COLLATORS)
def test_collators_of_tokens(what: str, workers: int, bert: Any) -> None:
    kind, collator = COLLATORS[what]
    arguments = loader_of(
        lambda: kind(bert), batch_size=4, shuffle=True, num_workers=workers, collate_fn=lambda: collator(bert)
    )
    known = what not in ("a length", "another")
    check(Program(arguments, epochs=3), native=None)
    loader: goloader.DataLoader[Any] = goloader.DataLoader(**arguments())
    for _ in range(2):
        with suppress(ValueError, KeyError):  # torch's error, too
            list(loader)
    assert loader.explain().native == known


def test_another_thing_by_the_name_of_a_tokenizer(bert: Any) -> None:
    class Inner:
        tokenizer = dict

    class Sets(Base):
        def __init__(self, tokenizer: Any) -> None:
            super().__init__(tokenizer)
            self.inner = Inner()

        def __getitem__(self, i: int) -> Any:
            found = self.inner.tokenizer()
            found["a"] = len(self.tokenizer(self.texts[i])["input_ids"])
            return found["a"]

    loader: goloader.DataLoader[Any] = goloader.DataLoader(Sets(bert), batch_size=4)
    assert not loader.explain().native and "a name of several things" in str(loader.explain())


def normalized(tokenizer: Any) -> None:
    of(tokenizer).normalizer = normalizers.Replace("a", "b")


def of(tokenizer: Any) -> Tokenizer:
    return tokenizer if type(tokenizer) is Tokenizer else tokenizer.backend_tokenizer


CHANGES: dict[str, Callable[[Any], Any]] = {
    "added tokens": lambda tokenizer: tokenizer.add_tokens(["ab", "cd"]),
    "another side": lambda tokenizer: setattr(tokenizer, "padding_side", "left"),
    "another token for padding": lambda tokenizer: setattr(tokenizer, "pad_token", "h"),
    "its normalizer": normalized,
    "its model": lambda tokenizer: setattr(
        of(tokenizer), "model", WordLevel({w: n for n, w in enumerate(WORDS[::-1])}, "[UNK]")
    ),
    "its method": lambda tokenizer: setattr(tokenizer, "encode", lambda text, **options: [7, 7]),
}
OF_CORE: dict[str, Callable[[Any], Any]] = {
    "added tokens": CHANGES["added tokens"],
    "its normalizer": normalized,
    "truncation": lambda tokenizer: tokenizer.enable_truncation(5),
    "padding": lambda tokenizer: tokenizer.enable_padding(length=14, pad_id=3),
}


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("epoch", [1, 2])
@pytest.mark.parametrize("what", CHANGES)
@pytest.mark.parametrize("kind", [Called, Encoded])
def test_changes_of_a_tokenizer_are_seen(kind: type[Base], what: str, epoch: int, workers: int, tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("\n".join(WORDS))

    def before(now: int, loader: Any) -> None:
        if now == epoch:
            CHANGES[what](loader.dataset.tokenizer)

    def made() -> Any:
        return kind(BertTokenizerFast(str(tmp_path / "vocab.txt")))

    check(Program(loader_of(made, batch_size=4, num_workers=workers), epochs=4, before=before), native=not workers)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("what", OF_CORE)
def test_changes_of_a_core_s_tokenizer_are_seen(what: str, workers: int) -> None:
    def before(now: int, loader: Any) -> None:
        if now == 2:
            OF_CORE[what](loader.dataset.tokenizer)

    arguments = loader_of(lambda: OfCore(core()), batch_size=4, num_workers=workers)
    check(Program(arguments, epochs=4, before=before), native=not workers)


class OwnTokenizer(PreTrainedTokenizerFast):
    """Of the user's own: it may remember something."""

    def encode(self, *arguments: Any, **options: Any) -> Any:
        self.calls = getattr(self, "calls", 0) + 1
        return [self.calls]


class OwnStep:
    def normalize(self, normalized: Any) -> None:
        normalized.append("a")


def draws(bert: Any) -> Any:
    return core(dropout=0.5)


def has_code(bert: Any) -> Any:
    tokenizer = core()
    tokenizer.normalizer = normalizers.Normalizer.custom(OwnStep())
    return tokenizer


def own(bert: Any) -> Any:
    return OwnTokenizer(tokenizer_object=core(), pad_token="[PAD]")


def patched(bert: Any) -> Any:
    bert.tokenize = lambda text: random.choices("abc", k=3)
    return bert


@pytest.mark.parametrize("made", [draws, has_code, own, patched])
def test_other_tokenizers_are_called_each_time(made: Callable[[Any], Any], bert: Any) -> None:
    kind = {own: Encoded, patched: ByTokens}.get(made, OfCore)
    loader: goloader.DataLoader[Any] = goloader.DataLoader(kind(made(bert)), batch_size=4)
    assert not loader.explain().native and "uses" in str(loader.explain())
