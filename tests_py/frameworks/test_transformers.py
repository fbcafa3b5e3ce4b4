"""transformers' Trainer: makes its loaders itself, with a sampler, collator and worker_init_fn of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
