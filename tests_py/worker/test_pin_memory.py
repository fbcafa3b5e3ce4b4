"""pin_memory=True with an accelerator: torch's thread, torch's rules, and slots that are free once they were copied.

There is an accelerator as far as torch's loader looks; what it pins is a copy in ordinary memory.
"""

from __future__ import annotations

import gc
import threading
import warnings
from typing import Any

import accelerator
import pytest
import torch
from samples import COLLATES, SAMPLES, Mapped, image, see
from torch.utils import data

import goloader
from goloader.doors.worker import iterator as iterators

PINNED: set[int] = set()


@pytest.fixture(autouse=True)
def with_accelerator(monkeypatch: pytest.MonkeyPatch) -> None:
    def pin(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.layout is not torch.strided or tensor.is_nested or tensor.is_quantized:
            raise NotImplementedError(f"no pinned memory for {tensor.layout}")
        copy = tensor.detach().clone()
        PINNED.add(threading.get_ident())
        return copy

    accelerator.pretend(monkeypatch, pin)


class Bagged:
    """A batch of one's own, as torch's documentation has it."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor, self.pins = tensor, 0

    def pin_memory(self) -> Bagged:
        if int(self.tensor[0, 0, 0]) == 4:
            raise OSError("no page-locked memory left")
        self.tensor, self.pins = self.tensor.pin_memory(), self.pins + 1
        return self


def bagged(samples: list[Any]) -> Any:
    return {"bag": Bagged(torch.stack([image(int(i)) for i in samples])), "text": "kept"}


def shown(batch: Any) -> Any:
    if isinstance(batch, dict) and isinstance(batch.get("bag"), Bagged):
        return see(batch["bag"].tensor), batch["bag"].pins, batch["text"]
    return see(batch)


def events(kind: type[data.DataLoader[Any]], epochs: int = 1, **arguments: Any) -> list[Any]:
    seen: list[Any] = []
    loader = kind(num_workers=2, pin_memory=True, **arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(epochs):
            iterator = iter(loader)
            while True:
                try:
                    seen.append(shown(next(iterator)))
                except StopIteration:
                    break
                except Exception as error:
                    seen.append((type(error).__name__, str(error).splitlines()[0], str(error).splitlines()[-1]))
    iterator._shutdown_workers()
    if kind is goloader.DataLoader:
        del iterator
        loader._iterator = None
        gc.collect()
        assert iterators.slots_of(loader).usage()["held"] == 0
    return seen


@pytest.mark.parametrize("name", ["tuple", "nested", "namedtuple", "user dict", "user list", "str", "bfloat16"])
def test_structures_are_pinned_as_torch_pins_them(name: str) -> None:
    assert name in SAMPLES
    arguments = {"dataset": Mapped(name), "batch_size": 4}
    assert events(goloader.DataLoader, **arguments) == events(data.DataLoader, **arguments)


@pytest.mark.parametrize("collate", [bagged, COLLATES["shared parts"], COLLATES["unusual"]])
def test_types_of_one_s_own_and_errors_are_torch_s(collate: Any) -> None:
    arguments = {"dataset": Mapped("int", 12), "batch_size": 4, "collate_fn": collate}
    theirs = events(data.DataLoader, **arguments)
    assert events(goloader.DataLoader, **arguments) == theirs
    if collate is not COLLATES["shared parts"]:
        assert any("in pin memory thread" in str(event) for event in theirs)


def test_persistent_workers() -> None:
    arguments = {"dataset": Mapped("tuple"), "batch_size": 4, "persistent_workers": True, "epochs": 3}
    assert events(goloader.DataLoader, **arguments) == events(data.DataLoader, **arguments)


def test_it_is_done_in_torch_s_thread_and_the_slot_is_free_before_the_user_asks() -> None:
    PINNED.clear()
    loader = goloader.DataLoader(Mapped("tensor", 8), batch_size=4, num_workers=1, pin_memory=True)
    iterator = iter(loader)
    batches = [next(iterator), next(iterator)]
    assert PINNED and threading.get_ident() not in PINNED
    with pytest.raises(StopIteration):
        next(iterator)
    assert iterators.slots_of(loader).usage()["held"] == 0
    assert torch.equal(torch.cat(batches), torch.stack([image(index) for index in range(8)]))
