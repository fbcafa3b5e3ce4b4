"""One program, run once with torch's DataLoader and once with goloader's, from the same seed: what a user sees of both.

A run is a list of events: each batch with all its bits, each error, each end of an epoch, and, after every step, the
state of the process's generators and of the loader's own. `check` compares two such lists event by event.
"""

from __future__ import annotations

import itertools
import random
import warnings
from collections import UserDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np
import torch
from torch.utils import data

import goloader

# An epoch of a loader that never ends is a failure, not a stuck suite.
_STEPS_MAX = 500


@dataclass
class Program:
    """What is done with a loader.

    arguments  makes the loader's arguments: anew for each run, so that samplers and generators start alike
    epochs     how many
    leave      after how many steps each epoch is left; None for never
    draw       the user draws a random number after each step
    before     called before each epoch with its number and the loader: set_epoch, say
    """

    arguments: Callable[[], dict[str, Any]]
    epochs: int = 2
    leave: tuple[int | None, ...] = (None,)
    draw: bool = False
    before: Callable[[int, Any], None] = lambda epoch, loader: None
    seed: int = 0


def loader_of(dataset: Any, **arguments: Any) -> Callable[[], dict[str, Any]]:
    """Arguments of a loader; functions among them, and one that makes the dataset, are called for each run."""
    return lambda: {
        "dataset": dataset() if isinstance(dataset, FunctionType) else dataset,
        **{name: value() if callable(value) else value for name, value in arguments.items()},
    }


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(99)


def run(kind: type[data.DataLoader[Any]], program: Program) -> list[tuple[str, Any]]:
    """The events of a program with one kind of loader."""
    seed(program.seed)
    arguments = program.arguments()
    loader = kind(**arguments)
    generator = arguments.get("generator")
    events: list[tuple[str, Any]] = [("length", _length(loader))]
    for epoch, leave in zip(range(program.epochs), itertools.cycle(program.leave), strict=False):
        program.before(epoch, loader)
        try:
            iterator = iter(loader)
        except Exception as error:
            events.append(("error in iter", told(error)))
            continue
        events.append(("state", _states(generator)))
        for step in range(_STEPS_MAX):
            if step == leave:
                break
            try:
                events.append(("batch", bits(next(iterator))))
            except StopIteration:
                events.append(("end", step))
                break
            except Exception as error:
                events.append(("error", told(error)))
            events.append(("state", _states(generator)))
            if program.draw:
                torch.rand(1)
        else:
            raise AssertionError("the epoch does not end")
        del iterator
        events.append(("state", _states(generator)))
    # An error's traceback keeps its iterator alive until a collection, when torch's workers take seconds to join.
    if loader._iterator is not None and hasattr(loader._iterator, "_shutdown_workers"):
        loader._iterator._shutdown_workers()
    return events


def check(program: Program, *, native: bool | None = True) -> list[tuple[str, Any]]:
    """Both kinds of loader show the same. `native`: Go makes ours; None: it may. Returns the events."""
    seed(program.seed)
    loader: goloader.DataLoader[Any] = goloader.DataLoader(**program.arguments())
    explanation = loader.explain()
    assert native is None or explanation.native == native, explanation
    del loader
    ours = run(goloader.DataLoader, program)
    theirs = run(data.DataLoader, program)
    compare(ours, theirs)
    return theirs


def check_code(source: str, names: dict[str, Any], dataset_of: Callable[[Any], Any], sampler: Any) -> bool:
    """A dataset whose `__getitem__` is this code shows the same with both kinds, lowered or not; whether it was.

    dataset_of  makes it of that function; `names` are what the function finds around it
    """
    space: dict[str, Any] = {}
    exec(source, names, space)
    dataset = dataset_of(space["__getitem__"])
    native = goloader.DataLoader(dataset).explain().native
    try:
        check(Program(loader_of(dataset, batch_size=3, sampler=sampler), epochs=1), native=native)
    except AssertionError as error:
        raise AssertionError(source) from error
    return native


def compare(ours: list[tuple[str, Any]], theirs: list[tuple[str, Any]]) -> None:
    steps = [kind for kind, _ in theirs]
    for number, (got, want) in enumerate(zip(ours, theirs, strict=False)):
        before = sum(kind in ("batch", "error") for kind in steps[:number])
        where = f"event {number} of {len(steps)}, after {before} batches"
        assert got[0] == want[0], f"{where}: {_short(got)}, but torch has {_short(want)}"
        same = got[1] == want[1] or _stacked(got, want)
        assert same, f"{where}: another {want[0]}: {_difference(got, want)}"
    assert len(ours) == len(theirs)


def _stacked(got: tuple[str, Any], want: tuple[str, Any]) -> bool:
    """True for errors of samples that differ in shape: a worker of torch's may speak of its shared memory, by how many
    numbers they have, where ours is always torch.stack's (docs/differences.md)."""
    if want[0] != "error" or got[1][:2] != want[1][:2]:
        return False
    ends = "Trying to resize storage that is not resizable", "stack expects each tensor to be equal size"
    return all(end in event[1][2] for event, end in zip((want, got), ends, strict=True))


def bits(batch: Any) -> Any:
    """A batch as data that == compares: container types, and each tensor's type, dtype, shape, strides and bytes."""
    if isinstance(batch, torch.Tensor):
        raw = batch.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
        return type(batch).__name__, str(batch.dtype), tuple(batch.shape), batch.stride(), batch.requires_grad, raw
    if isinstance(batch, np.ndarray | np.generic):
        return type(batch).__name__, str(batch.dtype), batch.shape, batch.strides, batch.tobytes()
    if isinstance(batch, list | tuple):
        return type(batch).__name__, [bits(item) for item in batch]
    if isinstance(batch, dict | UserDict):
        return type(batch).__name__, [(name, bits(item)) for name, item in batch.items()]
    return type(batch).__name__, batch


def told(error: Exception) -> tuple[str, str, str]:
    """Class, first line and last line of an error: between these a worker's has a traceback, each loader's own."""
    lines = [line for line in str(error).splitlines() if not line.startswith("goloader: ")]
    return type(error).__name__, *((lines[0], lines[-1]) if lines else ("", ""))


def batches(events: list[tuple[str, Any]]) -> list[Any]:
    return [what for kind, what in events if kind == "batch"]


def errors(events: list[tuple[str, Any]]) -> list[Any]:
    return [what for kind, what in events if kind == "error"]


def seed(number: int) -> None:
    """Of the generators of this process."""
    torch.manual_seed(number)
    random.seed(number)
    np.random.seed(number % 2**32)


def _states(generator: torch.Generator | None) -> tuple[int, ...]:
    states = [torch.get_rng_state()] + ([] if generator is None else [generator.get_state()])
    words, *rest = np.random.get_state()[1:]
    numpy = words.tobytes(), *rest
    return *(hash(state.numpy().tobytes()) for state in states), hash(random.getstate()), hash(numpy)


def _length(loader: Any) -> Any:
    try:
        return len(loader)
    except Exception as error:
        return told(error)


def _short(event: tuple[str, Any]) -> str:
    return f"{event[0]} {event[1]}" if "error" in event[0] else event[0]


def _difference(got: tuple[str, Any], want: tuple[str, Any]) -> str:
    if want[0] != "batch":
        return f"{got[1]}, not {want[1]}"
    mine, theirs = _strip(got[1]), _strip(want[1])
    return f"{mine}, not {theirs}" if mine != theirs else f"bits of {theirs}"


def _strip(batch: Any) -> Any:
    """bits() without the bytes."""
    if isinstance(batch, tuple) and len(batch) == 6:
        return batch[:5]
    if isinstance(batch, list | tuple):
        return [_strip(item) for item in batch]
    return batch


def warned(action: Callable[[], Any]) -> list[tuple[str, str]]:
    """Classes and texts of the warnings of an action."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
    return [(warning.category.__name__, str(warning.message)) for warning in caught]


def changed(kind: type[data.DataLoader[Any]], make: Callable[[], Any], change: Any, **arguments: Any) -> Iterator[Any]:
    """Batches and errors of three epochs. The dataset is changed between them, and, without workers, amid one."""
    torch.manual_seed(0)
    dataset = make()
    loader = kind(dataset, **arguments)
    for epoch in range(3):
        iterator = iter(loader)
        for number in range(20):
            try:
                yield "batch", bits(next(iterator))
            except StopIteration:
                break
            except Exception as error:
                yield "error", told(error)
            if number == 1 and arguments["num_workers"] == 0:
                change(dataset, 10 * epoch + 1)
        del iterator
        change(dataset, 10 * epoch)
