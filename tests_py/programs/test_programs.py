"""Programs in the manner of public repositories get torch's batches, and torch's random numbers, in each epoch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bench.programs import turns

Run = Callable[[tuple[str, ...]], dict[str, Any]]

# What a second of either loader is enough for: these run together.
SHORT = {
    "rows": (
        *("ag_news", "bert_classifier", "churn", "molecules", "ncf", "offline_rl", "prototypical", "replay"),
        *("speech_commands", "tabular_tensors", "text_stream", "translation", "gpt_memmap", "stock_lstm"),
    ),
    "images": ("detr", "esrgan", "imagenet", "mnist", "pix2pix", "pytorch_cifar", "triplets"),
}
REST = [name for name in turns.names() if not any(name in names for names in SHORT.values())]


def require_torch_s(names: tuple[str, ...], found: dict[str, Any]) -> None:
    for name in names:
        assert name in found, f"{name} failed: see what was printed"
        assert found[name]["batches"] > 0, name
        assert found[name]["equal"], f"{name}\n{found[name]['explained']['text']}"


@pytest.mark.parametrize("names", SHORT.values(), ids=SHORT)
def test_programs_get_torch_s_batches(names: tuple[str, ...], run: Run) -> None:
    require_torch_s(names, run(names))


@pytest.mark.parametrize("name", REST)
def test_a_longer_program_gets_torch_s_batches(name: str, run: Run) -> None:
    require_torch_s((name,), run((name,)))
