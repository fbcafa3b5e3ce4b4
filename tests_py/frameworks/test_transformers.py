"""transformers' Trainer: makes its loaders itself, with a sampler, collator and worker_init_fn of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import training
from torch import nn

transformers = pytest.importorskip("transformers", reason="transformers is not installed")
pytest.importorskip("accelerate", reason="accelerate, which transformers' Trainer needs, is not installed")

pytestmark = pytest.mark.filterwarnings("ignore:'pin_memory' argument is set as true but no accelerator is found")


class Classifier(nn.Module):
    """The smallest vision transformer, with a record of what it is given."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.network = transformers.ViTForImageClassification(
            transformers.ViTConfig(
                hidden_size=8,
                num_hidden_layers=1,
                num_attention_heads=2,
                intermediate_size=8,
                image_size=training.SIZE,
                patch_size=8,
                num_labels=training.CLASSES,
            )
        )
        self.seen = training.Seen()

    def forward(self, pixel_values: torch.Tensor, labels: torch.Tensor) -> Any:
        out = self.network(pixel_values=pixel_values, labels=labels)
        self.seen.step([pixel_values, labels], out.loss)
        return out


def as_pixel_values(samples: list[Any]) -> dict[str, torch.Tensor]:
    images, labels = torch.utils.data.default_collate(samples)
    return {"pixel_values": images, "labels": labels}


class Watching(transformers.TrainerCallback):
    def __init__(self, seen: training.Seen) -> None:
        self.seen = seen

    def on_train_begin(self, *_: Any, train_dataloader: Any, **__: Any) -> None:
        self.seen.loaders.append(train_dataloader)

    def on_evaluate(self, *_: Any, eval_dataloader: Any, **__: Any) -> None:
        self.seen.loaders.append(eval_dataloader)


@pytest.mark.slow
@pytest.mark.parametrize("num_workers", [0, 2])
def test_training_and_evaluation_are_the_same(root: Path, tmp_path: Path, num_workers: int) -> None:
    def train() -> training.Seen:
        model = Classifier()
        transformers.Trainer(
            model,
            transformers.TrainingArguments(
                output_dir=str(tmp_path),
                num_train_epochs=2,
                per_device_train_batch_size=5,
                per_device_eval_batch_size=7,
                eval_strategy="epoch",
                save_strategy="no",
                remove_unused_columns=False,
                report_to=[],
                use_cpu=True,
                disable_tqdm=True,
                dataloader_num_workers=num_workers,
                dataloader_persistent_workers=num_workers > 0,
            ),
            data_collator=as_pixel_values,
            train_dataset=training.images(root),
            eval_dataset=training.images(root),
            callbacks=[Watching(model.seen)],
        ).train()
        return model.seen

    seen = training.same_with_both(train)
    assert len(seen.steps) == 2 * (6 + 4)
    for loader in seen.loaders:
        explained = loader.explain()
        assert "as_pixel_values" in str(explained) or "worker_init_fn" in str(explained)
        assert explained.native, "what is not lowered is traced"


# Of texts

SPECIAL = ("[PAD]", "[UNK]", "[MASK]")


def tokenizer() -> Any:
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    words = {word: number for number, word in enumerate([*SPECIAL, *(f"w{n}" for n in range(61))])}
    model = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    names = dict(zip(("pad_token", "unk_token", "mask_token"), SPECIAL, strict=True))
    return transformers.PreTrainedTokenizerFast(tokenizer_object=model, **names)


def texts(labels: str) -> dict[str, list[Any]]:
    """Columns of 26 tokenized texts, and their lengths."""
    noise = np.random.default_rng(0)
    rows = [noise.integers(3, 64, noise.integers(2, 11)).tolist() for _ in range(26)]
    columns: dict[str, list[Any]] = {"input_ids": rows, "attention_mask": [[1] * len(row) for row in rows]}
    if labels == "number":
        columns["label"] = [len(row) % 3 for row in rows]
    if labels == "tokens":
        columns["labels"] = [[token % 3 for token in row] for row in rows]
    return columns


class Encodings(torch.utils.data.Dataset[Any]):
    """A dataset in memory, as Hugging Face's documentation has it."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self.labels = columns.pop("label")
        self.encodings = columns

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> Any:
        item = {key: torch.tensor(value[index]) for key, value in self.encodings.items()}
        item["labels"] = torch.tensor(self.labels[index])
        return item


class Reader(nn.Module):
    """The smallest BERT with one of its heads."""

    def __init__(self, head: str) -> None:
        super().__init__()
        torch.manual_seed(1)
        config = transformers.BertConfig(
            vocab_size=64, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, num_labels=3
        )
        self.network = getattr(transformers, head)(config)
        self.seen = training.Seen()

    def forward(self, input_ids: Any, attention_mask: Any = None, labels: Any = None) -> Any:
        out = self.network(input_ids=input_ids, attention_mask=attention_mask, labels=labels)
        self.seen.step([input_ids, attention_mask, labels], out.loss)
        return out


def table(labels: str) -> Any:
    return pytest.importorskip("datasets", reason="datasets is not installed").Dataset.from_dict(texts(labels))


OF_TEXTS: dict[str, tuple[str, Callable[[], Any], Callable[[Any], Any]]] = {
    "sequences": (
        "BertForSequenceClassification", lambda: table("number"), lambda t: transformers.DataCollatorWithPadding(t)
    ),
    "own dataset": (
        "BertForSequenceClassification",
        lambda: Encodings(texts("number")),
        lambda t: transformers.DataCollatorWithPadding(t),
    ),
    "tokens": (
        "BertForTokenClassification",
        lambda: table("tokens"),
        lambda t: transformers.DataCollatorForTokenClassification(t),
    ),
    "masked": ("BertForMaskedLM", lambda: table(""), lambda t: transformers.DataCollatorForLanguageModeling(t)),
    "causal": (
        "BertLMHeadModel", lambda: table(""), lambda t: transformers.DataCollatorForLanguageModeling(t, mlm=False)
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("name", OF_TEXTS)
def test_training_on_texts_is_the_same_and_wholly_in_go(name: str, tmp_path: Path, num_workers: int) -> None:
    head, dataset, collator = OF_TEXTS[name]

    def train() -> training.Seen:
        model = Reader(head)
        whole = dataset()
        transformers.Trainer(
            model,
            transformers.TrainingArguments(
                output_dir=str(tmp_path),
                num_train_epochs=2,
                per_device_train_batch_size=5,
                per_device_eval_batch_size=7,
                eval_strategy="epoch",
                save_strategy="no",
                report_to=[],
                use_cpu=True,
                disable_tqdm=True,
                dataloader_num_workers=num_workers,
                dataloader_persistent_workers=num_workers > 0,
            ),
            data_collator=collator(tokenizer()),
            train_dataset=whole,
            eval_dataset=whole,
            callbacks=[Watching(model.seen)],
        ).train()
        return model.seen

    seen = training.same_with_both(train)
    assert len(seen.steps) == 2 * (6 + 4)
    for loader in seen.loaders:
        assert loader.explain().native, loader.explain()
