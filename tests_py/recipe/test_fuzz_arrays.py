"""Random chains of operations on arrays and tensors that share memory give what they give without stand-ins."""

from __future__ import annotations

import os
import random
from typing import Any

import numpy as np
import pytest
import torch
import torchvision.transforms.functional as F
from PIL import Image

from goloader.doors.recipe import hooks
from goloader.doors.recipe.fetch import finish
from goloader.doors.recipe.native import CoreNative
from goloader.doors.recipe.session import Session
from goloader.doors.recipe.switch import recording
from goloader.doors.recipe.workshop import Workshop
from goloader.doors.same import difference

CHAINS = int(os.environ.get("GOLOADER_FUZZ_CHAINS", "600"))

FLOATS = np.array([0.5, 0.25, 0.125], np.float32)


def opened(r: random.Random, path: str) -> Any:
    image = Image.open(path).convert(r.choice(["RGB", "RGB", "L"]))
    if r.random() < 0.4:
        image = image.crop((2, 1, 2 + r.randint(1, 12), 1 + r.randint(1, 9)))
    make = r.choice([np.array, np.asarray, np.array, F.to_tensor, F.pil_to_tensor])
    if make is np.array and r.random() < 0.3:
        return np.array(image, dtype=r.choice([np.float32, np.int64, np.float64, np.uint8]))
    return make(image)


def key(r: random.Random, shape: tuple[int, ...], tensor: bool) -> Any:
    """An index of integers, slices, None and ..."""
    parts: list[Any] = []
    for length in shape[: r.randint(0, len(shape))]:
        low, high = sorted((r.randint(0, length), r.randint(0, length)))
        slices = [slice(None), slice(low, high), slice(low, None), slice(None, -1), slice(None, None, 2)]
        if not tensor:
            slices += [slice(None, None, -1), slice(None, None, -1)]
        parts.append(r.choice([*slices, r.randint(-length, length)]))
    if r.random() < 0.3:
        parts.insert(r.randint(0, len(parts)), None)
    if r.random() < 0.3:
        parts.insert(r.randint(0, len(parts)), ...)
    return tuple(parts) if len(parts) != 1 else parts[0]


def view(r: random.Random, x: Any) -> Any:
    order = r.sample(range(x.ndim), x.ndim)
    if isinstance(x, torch.Tensor):
        return r.choice(
            [
                lambda: x.permute(order),
                lambda: x[key(r, tuple(x.shape), True)],
                lambda: x.transpose(0, -1),
                lambda: x.unsqueeze(r.randint(0, x.ndim)),
                lambda: x.squeeze(),
                lambda: x.movedim(0, -1),
                lambda: x.detach(),
                lambda: x.numpy(),
                lambda: x.view(1, *x.shape),
                lambda: x.reshape(-1),
            ]
        )()
    return r.choice(
        [
            lambda: x.transpose(order),
            lambda: np.transpose(x, order),
            lambda: x.T,
            lambda: x[key(r, x.shape, False)],
            lambda: np.flip(x, r.randrange(x.ndim)),
            lambda: np.fliplr(x),
            lambda: np.moveaxis(x, 0, -1),
            lambda: np.rollaxis(x, r.randrange(x.ndim), r.randint(0, x.ndim)),
            lambda: np.expand_dims(x, r.randint(-1, x.ndim)),
            lambda: np.squeeze(x),
            lambda: x.swapaxes(0, -1),
            lambda: torch.from_numpy(x),
            lambda: torch.as_tensor(x),
            lambda: np.asarray(x),
            lambda: x.reshape(-1),
        ]
    )()


def operand(r: random.Random, x: Any) -> Any:
    plain = [2, 0.5, 255, True, -3]
    if isinstance(x, torch.Tensor):
        constants = [torch.tensor(0.5), torch.from_numpy(FLOATS).view(3, 1, 1), torch.ones(1, 1)]
    else:
        constants = [np.float32(0.5), np.float64(3), FLOATS, FLOATS[:, None, None], [1, 2, 3], np.uint8(7), np.zeros(2)]
    return r.choice([*plain, *constants, x])


def copied(r: random.Random, x: Any) -> Any:
    other = operand(r, x)
    if isinstance(x, torch.Tensor):
        return r.choice(
            [
                lambda: x + other,
                lambda: x - other,
                lambda: x * other,
                lambda: x / other,
                lambda: 1 - x,
                lambda: -x,
                lambda: x.float(),
                lambda: x.to(r.choice([torch.float32, torch.float64, torch.int64, torch.uint8, torch.bool])),
                lambda: x.clone(),
                lambda: x.contiguous(),
                lambda: x.flip(r.randrange(x.ndim)),
                lambda: x.clamp(1, 100),
                lambda: torch.where(x > 3, x, 0),
                lambda: x == 7,
                lambda: x.masked_fill(x < 9, 1),
                lambda: torch.stack([x, x]),
                lambda: torch.stack([x, x.clone()])[1],
                lambda: torch.cat([x[None], x[None]]),
                lambda: F.normalize(x, [0.5], [0.2]),
                lambda: x.sum(0),
                lambda: torch.tensor(x.numpy()),
            ]
        )()
    return r.choice(
        [
            lambda: x + other,
            lambda: x - other,
            lambda: x * other,
            lambda: x / other,
            lambda: other - x,
            lambda: x // 3,
            lambda: -x,
            lambda: x.astype(r.choice([np.float32, np.float64, np.int64, np.uint8, bool])),
            lambda: x.astype(np.float32, copy=False),
            lambda: x.copy(),
            lambda: np.array(x),
            lambda: np.ascontiguousarray(x),
            lambda: np.ascontiguousarray(x, dtype=np.float32),
            lambda: np.clip(x, 3, 200),
            lambda: np.where(x > 7, x, 1),
            lambda: (x == 7) | (x < 3),
            lambda: np.stack([x, x]),
            lambda: torch.tensor(x),
            lambda: torch.as_tensor(x, dtype=torch.float32),
            lambda: F.to_tensor(x),
            lambda: np.sqrt(np.abs(x)),
            lambda: x.mean(axis=0),
            lambda: np.array(Image.fromarray(x).resize((9, 7))),
        ]
    )()


def write(r: random.Random, x: Any) -> Any:
    other = operand(r, x)
    if isinstance(x, torch.Tensor):
        return r.choice(
            [
                lambda: x.mul_(2),
                lambda: x.add_(other),
                lambda: x.sub_(other),
                lambda: x.div_(other),
                lambda: x.__setitem__(x > 7, 1),
                lambda: x.masked_fill_(x < 9, 3),
                lambda: x.__setitem__((0, 0), 5),
                lambda: x.clamp_(1, 99),
                lambda: F.normalize(x, [0.5], [0.2], inplace=True),
                lambda: x.__itruediv__(2),
                lambda: x.fill_(3),
            ]
        )()
    return r.choice(
        [
            lambda: x.__iadd__(other),
            lambda: x.__isub__(other),
            lambda: x.__imul__(other),
            lambda: x.__itruediv__(other),
            lambda: x.__setitem__(x > 7, 1),
            lambda: x.__setitem__((x > 7) & (x < 30), -1),
            lambda: x.__setitem__((0, 0), 5),
            lambda: np.add(x, other, out=x),
            lambda: x.fill(3),
            lambda: x.sort(axis=0),
        ]
    )()


def look(r: random.Random, x: Any) -> Any:
    if isinstance(x, torch.Tensor):
        return r.choice([lambda: x.sum().item(), lambda: x.is_contiguous(), lambda: x.tolist(), lambda: len(x)])()
    return r.choice(
        [lambda: x.sum(), lambda: x.flags.c_contiguous, lambda: x.tolist(), lambda: len(x), lambda: x.strides]
    )()


def chain(path: str, seed: int) -> Any:
    """What a chain of steps on arrays and tensors leaves, and what it said on the way."""
    r = random.Random(seed)
    values: list[Any] = [opened(r, path)]
    said: list[Any] = []
    for _ in range(r.randint(1, 10)):
        x = values[r.randrange(len(values))] if r.random() < 0.4 else values[-1]
        step = r.choices([view, copied, write, look], [5, 5, 2, 0.7])[0]
        try:
            made = step(r, x)
        except Exception as error:
            said.append(type(error).__name__)
            continue
        if step is look:
            said.append(made)
        elif isinstance(made, (np.ndarray, torch.Tensor)) and made.ndim and made.ndim < 7:
            values.append(made)
        said.append((values[-1].shape, str(values[-1].dtype)))
    tensors = [x for x in values if isinstance(x, torch.Tensor)]
    if tensors and r.random() < 0.5:
        values.append(torch.stack([tensors[-1], tensors[-1]]))
    return values, said


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_random_chains_of_arrays(files: list[str]) -> None:
    real = made = 0
    hooks.hold()
    try:
        native = CoreNative(Workshop().core(), workers=1)
        for number in range(CHAINS):
            path = files[number % 8]
            want = chain(path, number)
            session = Session(native if number % 2 else None)
            with recording(session):
                held = [chain(path, number)]
            made += sum(finish(session, held, native.run).values())
            real += len(session.reasons)
            session.clear()
            assert difference(want, held[0]) is None, f"chain {number} on {path}"
        native.close()
    finally:
        hooks.release()
    assert made > CHAINS / 2 and real > CHAINS / 4
