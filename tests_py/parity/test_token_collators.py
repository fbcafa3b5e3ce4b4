"""transformers' collators over rows of tokens: Go's batches are theirs, and what Go does not know Python does."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from twins import Program, check, errors, loader_of

import goloader

datasets = pytest.importorskip("datasets", reason="datasets is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")
tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")

# A hang is a failure.
pytestmark = [pytest.mark.timeout(120), pytest.mark.filterwarnings("ignore:Creating a tensor from a list of numpy")]

SPECIAL = ["[PAD]", "[UNK]", "[MASK]", "[CLS]", "[SEP]"]
LABELS: dict[str, Callable[[random.Random, int], Any]] = {
    "number": lambda random, _: {"label": random.randint(0, 3)},
    "float": lambda random, _: {"label": random.random()},
    "several": lambda random, _: {"labels": [random.random() for _ in range(3)]},
    "of tokens": lambda random, length: {"labels": [random.randint(-100, 3) for _ in range(length)]},
    "sequence": lambda random, _: {"labels": [random.randint(5, 90) for _ in range(random.randint(1, 9))]},
    "none": lambda random, _: {},
}


def tokenizer(side: str = "right", **options: Any) -> Any:
    words = {word: number for number, word in enumerate([*SPECIAL, *(f"w{n}" for n in range(90))])}
    model = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    names = dict(zip(("pad_token", "unk_token", "mask_token", "cls_token", "sep_token"), SPECIAL, strict=True))
    return transformers.PreTrainedTokenizerFast(tokenizer_object=model, padding_side=side, **{**names, **options})


def table(labels: str, seed: int = 0, *, mask: bool = True, even: int = 0, count: int = 23) -> Any:
    draw = random.Random(seed)
    rows = []
    for _ in range(count):
        length = even or draw.randint(1, 13)
        row: dict[str, Any] = {"input_ids": [draw.randint(0, 90) for _ in range(length)]}
        row |= LABELS[labels](draw, length)
        row["token_type_ids"] = [draw.randint(0, 1) for _ in range(length)]
        if mask:
            row["attention_mask"] = [1] * length
        rows.append(row)
    return datasets.Dataset.from_list(rows)


COLLATORS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "padding": ("number", lambda t: transformers.DataCollatorWithPadding(t)),
    "padding floats": ("float", lambda t: transformers.DataCollatorWithPadding(t, pad_to_multiple_of=8)),
    "padding several": ("several", lambda t: transformers.DataCollatorWithPadding(t)),
    "padding to a length": (
        "number",
        lambda t: transformers.DataCollatorWithPadding(t, padding="max_length", max_length=17, pad_to_multiple_of=4),
    ),
    "tokens": ("of tokens", lambda t: transformers.DataCollatorForTokenClassification(t, label_pad_token_id=-7)),
    "seq2seq": ("sequence", lambda t: transformers.DataCollatorForSeq2Seq(t, pad_to_multiple_of=4)),
    "seq2seq to a length": (
        "sequence", lambda t: transformers.DataCollatorForSeq2Seq(t, padding="max_length", max_length=15)
    ),
    "causal": ("none", lambda t: transformers.DataCollatorForLanguageModeling(t, mlm=False)),
    "masked": ("none", lambda t: transformers.DataCollatorForLanguageModeling(t, mlm_probability=0.4)),
}  # fmt: skip


@pytest.mark.parametrize("num_workers", [0, 1, 3])
@pytest.mark.parametrize("form", [None, "torch"])
@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("mask", [True, False])
@pytest.mark.parametrize("name", COLLATORS)
def test_batches_are_those_of_the_collator(
    name: str, mask: bool, side: str, form: str | None, num_workers: int
) -> None:
    labels, make = COLLATORS[name]
    whole = table(labels, seed=num_workers, mask=mask).with_format(form)
    collate = partial(make, tokenizer(side))
    check(Program(loader_of(whole, batch_size=4, shuffle=True, num_workers=num_workers, collate_fn=collate)))


def test_masks_are_drawn_where_persistent_workers_stand() -> None:
    make = partial(COLLATORS["masked"][1], tokenizer())
    arguments = {"batch_size": 4, "num_workers": 3, "persistent_workers": True, "collate_fn": make}
    check(Program(loader_of(table("none"), shuffle=True, **arguments), epochs=3, draw=True))


@pytest.mark.parametrize("collator", ["default_data_collator", "DefaultDataCollator", "partial"])
@pytest.mark.parametrize("form", [None, "torch", "numpy"])
@pytest.mark.parametrize("labels", ["number", "float", "several", "of tokens"])
def test_rows_of_one_length_are_stacked(labels: str, form: str | None, collator: str) -> None:
    def make() -> Any:
        if collator == "partial":
            return partial(transformers.default_data_collator, return_tensors="pt")
        found = getattr(transformers, collator)
        return found() if isinstance(found, type) else found

    whole = table(labels, even=6).with_format(form)
    # Of numpy's single floats torch makes what it makes of no other numbers.
    native = form != "numpy" or goloader.DataLoader(whole, collate_fn=make()).explain().native
    check(Program(loader_of(whole, batch_size=5, shuffle=True, collate_fn=make)), native=native)


def test_rows_that_differ_in_length_have_the_collators_own_error() -> None:
    for make in (
        lambda: transformers.default_data_collator,
        lambda: transformers.DataCollatorWithPadding(tokenizer(), padding=False),
    ):
        found = check(Program(loader_of(table("number"), batch_size=4, collate_fn=make)), native=False)
        assert errors(found)
    sequences = loader_of(
        table("sequence"), batch_size=4, collate_fn=lambda: transformers.DataCollatorWithPadding(tokenizer())
    )
    assert "padding=True" in str(errors(check(Program(sequences), native=False)))


class Own(transformers.DataCollatorWithPadding):
    def __call__(self, features: Any) -> Any:
        return super().__call__(features[::-1])


class PadsItself(transformers.PreTrainedTokenizerFast):
    def _pad(self, inputs: Any, *arguments: Any, **options: Any) -> Any:
        made = super()._pad(inputs, *arguments, **options)
        made["input_ids"] = [each + 1 for each in made["input_ids"]]
        return made


def replaced() -> Any:
    made = transformers.DataCollatorForTokenClassification(tokenizer())
    made.torch_call = lambda features: {"ids": torch.tensor([len(each["input_ids"]) for each in features])}
    return made


@pytest.mark.parametrize(
    "make",
    [
        lambda: Own(tokenizer()),
        replaced,
        lambda: transformers.DataCollatorWithPadding(PadsItself.from_pretrained(saved())),
        lambda: transformers.DataCollatorForLanguageModeling(tokenizer(), seed=3),
    ],
    ids=["subclass", "replaced", "tokenizer", "generator"],
)
def test_what_is_the_users_own_is_pythons(make: Callable[[], Any]) -> None:
    check(Program(loader_of(table("none"), batch_size=4, collate_fn=make)), native=False)


def saved() -> str:
    import tempfile

    folder = tempfile.mkdtemp()
    tokenizer().save_pretrained(folder)
    return folder


def test_a_tokenizer_that_changes_is_seen() -> None:
    def turn(epoch: int, loader: Any) -> None:
        loader.collate_fn.tokenizer.padding_side = ("right", "left")[epoch % 2]
        loader.collate_fn.pad_to_multiple_of = (None, 8)[epoch % 2]

    arguments = loader_of(
        table("number"), batch_size=4, collate_fn=lambda: transformers.DataCollatorWithPadding(tokenizer())
    )
    check(Program(arguments, epochs=4, before=turn))


class Shifts(torch.nn.Module):
    def prepare_decoder_input_ids_from_labels(self, labels: torch.Tensor) -> torch.Tensor:
        return labels.roll(1)


def test_decoder_inputs_are_those_of_the_model() -> None:
    config = transformers.T5Config(
        d_model=8, d_ff=8, d_kv=4, num_layers=1, num_heads=2, vocab_size=99, decoder_start_token_id=0
    )
    model = transformers.T5ForConditionalGeneration(config)
    for of, native in ((model, True), (Shifts(), False)):
        collate = partial(transformers.DataCollatorForSeq2Seq, tokenizer(), model=of)
        check(Program(loader_of(table("sequence"), batch_size=4, collate_fn=collate)), native=native)


def test_trainers_collator_leaves_columns_out() -> None:
    from transformers.trainer_utils import RemoveColumnsCollator

    def make() -> Any:
        return RemoveColumnsCollator(transformers.DataCollatorWithPadding(tokenizer()), ["input_ids", "label"])

    check(Program(loader_of(table("number"), batch_size=4, collate_fn=make)))


def test_explained() -> None:
    for name, where in (("padding", {"Go"}), ("masked", {"Go", "Python"})):
        labels, make = COLLATORS[name]
        loader = goloader.DataLoader(table(labels), batch_size=4, collate_fn=make(tokenizer()))
        assert {row.where for row in loader.explain() if row.stage == "collate"} == where
