"""Layouts of views against those of real arrays and tensors."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from goloader.doors.recipe.stand_ins.layout import Layout, indexed, viewed

Chosen = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]
ITEMS = 1 << 12


def key(chance: random.Random, shape: tuple[int, ...]) -> Any:
    """Integers, slices, None and ..., in a tuple or alone."""
    ends = [None, *range(-4, 5), np.int32(2)]
    parts: list[Any] = [
        chance.choice((slice(*chance.choices(ends, k=3)), slice(*chance.choices(ends, k=2)), chance.randint(-3, 3)))
        for _ in range(chance.randint(0, len(shape)))
    ]
    for extra in (None, ...):
        if chance.random() < 0.3:
            parts.insert(chance.randint(0, len(parts)), extra)
    return parts[0] if len(parts) == 1 else tuple(parts)


def of_numpy(chance: random.Random, shape: tuple[int, ...]) -> Chosen:
    ndim = len(shape)
    one, two = (chance.choice((int, np.int64))(chance.randint(-ndim - 1, ndim)) for _ in range(2))
    turns = {"k": chance.randint(-5, 5), "axes": tuple(chance.sample(range(-ndim, ndim), 2))}
    order = chance.sample(range(ndim), ndim)
    some: list[Chosen] = [
        (operator.getitem, (key(chance, shape),), {}),
        (np.transpose, (), {}),
        (np.transpose, (order,), {}),
        (np.ndarray.transpose, tuple(order), {}),
        (np.swapaxes, (one, two), {}),
        (np.moveaxis, (one, two), {}),
        (np.rollaxis, (one,), {"start": two}),
        (np.expand_dims, (one,), {}),
        (np.squeeze, chance.choice(((), (one,), (None,))), {}),
        (np.flip, chance.choice(((), (one,), ((0, -1),))), {}),
        (np.rot90, (), turns),
        (np.flipud, (), {}),
        (np.fliplr, (), {}),
    ]
    return chance.choice(some)


def of_torch(chance: random.Random, shape: tuple[int, ...]) -> Chosen:
    ndim = len(shape)
    one, two = (chance.randint(-ndim - 1, ndim) for _ in range(2))
    order = chance.sample(range(ndim), ndim)
    lengths = [length for length in shape if length > 1]
    lengths.insert(chance.randint(0, len(lengths)), 1)
    some: list[Chosen] = [
        (torch.Tensor.__getitem__, (key(chance, shape),), {}),
        (torch.Tensor.permute, tuple(order), {}),
        (torch.Tensor.permute, (order,), {}),
        (torch.Tensor.transpose, (one, two), {}),
        (torch.Tensor.movedim, (one, two), {}),
        (torch.Tensor.unsqueeze, (), {"dim": one}),
        (torch.Tensor.squeeze, chance.choice(((), (one,))), {}),
        (torch.Tensor.view, (torch.Size(lengths),), {}),
        (torch.Tensor.view, (-1, *lengths[1:]), {}),
        (torch.Tensor.detach, (), {}),
    ]
    return chance.choice(some)


def whole(chance: random.Random, backwards: bool) -> Layout:
    """One that lies anywhere in ITEMS."""
    shape = tuple(chance.choice((1, 1, 2, 3, 5)) for _ in range(chance.randint(2, 4)))
    step, strides = 1, [0] * len(shape)
    for place in chance.sample(range(len(shape)), len(shape)):
        strides[place] = step * (-1 if backwards and chance.random() < 0.3 else 1)
        step *= shape[place] + chance.choice((0, 0, 1))
    return Layout(shape, tuple(strides), ITEMS // 2)


def of_real(view: Any, layout: Layout, arguments: Any, options: Any, numpy: bool) -> Layout | None:
    if not numpy:
        made = view(torch.zeros(ITEMS).as_strided(*layout), *arguments, **options)
        return Layout(tuple(made.shape), made.stride(), made.storage_offset())
    memory = np.zeros(ITEMS, np.float32)
    array = np.ndarray(layout.shape, memory.dtype, memory, 4 * layout.offset, [4 * stride for stride in layout.strides])
    made = view(array, *arguments, **options)
    if type(made) is not np.ndarray:
        return None
    at = (made.__array_interface__["data"][0] - memory.ctypes.data) // 4
    return Layout(made.shape, tuple(stride // 4 for stride in made.strides), at)


@pytest.mark.parametrize("numpy", [True, False])
def test_a_view_lies_as_a_real_one(numpy: bool) -> None:
    seed = random.randrange(1 << 32)
    chance, found = random.Random(seed), 0
    for _ in range(3000):
        layout = whole(chance, numpy)
        view, arguments, options = (of_numpy if numpy else of_torch)(chance, layout.shape)
        told = viewed(view, layout, arguments, options, numpy=numpy)
        if view is torch.Tensor.__getitem__ and max(layout.shape) > 1:
            assert indexed(layout, *arguments, numpy=False) == told
        case = f"{view} of {layout} with {arguments}, {options}, seed {seed}"
        try:
            real = of_real(view, layout, arguments, options, numpy)
        except (ValueError, TypeError, IndexError, RuntimeError):
            assert told is None, case
        else:
            none = real is None or 0 in real.shape or (numpy and max(layout.shape) == 1)
            assert told == (None if none else real), case
            found += told is not None
    assert found > 1000


@pytest.mark.parametrize("given", [[0, 1], np.array([True, False, True]), True, 1.0, "x", torch.tensor(1)])
def test_what_is_no_view_is_none(given: Any) -> None:
    for numpy, view in ((True, operator.getitem), (False, torch.Tensor.__getitem__)):
        assert viewed(view, Layout((3, 2), (2, 1)), (given,), numpy=numpy) is None
