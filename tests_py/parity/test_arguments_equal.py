"""Calls with arguments as few people give them: those that Go does not take are refused, and the others are torch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset
from twins import Program, check, check_code, loader_of

from goloader.plan.collates.own import compiler

# A rule that is wrong shows in no batch where a trial finds it: it is told of.
pytestmark = pytest.mark.filterwarnings(
    "ignore::RuntimeWarning", "ignore::UserWarning", "ignore::DeprecationWarning", "error:.*when Go makes it"
)
COUNT = 7

# Of x, of numpy's or torch's.
OF_BOTH = (
    "x.sum(i % 2)", "x.mean(0, keepdims=i % 2 == 0)", "x.std(0.0)", "x.max(0)[0]", "x.argmax(1)",
    "x.reshape(i % 2 + 1, -1)", "x & 3", "x | x", "x ^ 1.5", "x % -2", "x // 2", "x // 0", "1 / x", "3 // x", "~x",
    "x + True",
    "x * self.odd[i]", "x + self.odd[i]", "x < self.odd[i]", "x[0, 0] * self.odd[i]", "x[0, 0] / 3", "x[0, 0] // 2",
    "x.clip(0, i)", "x.clip(1, 0)", "x.clip(-0.5, 0.3)", "x.clip(0, np.float64(0.3))",
)  # fmt: skip
OF_NUMPYS = (
    "x.sum(0, np.float64)", "x.sum(axis=())", "x.sum(axis=np.int64(0))", "x.sum(axis=True)", "x.sum(where=self.mask)",
    "x.max(initial=5)", "x.mean(0, None, None, True)", "x.mean(dtype=np.float64)", "x.std(ddof=True)",
    "x.std(ddof=0.5)",
    "x.std(0, None, None, 1)", "x.var(axis=(0, -1))", "np.linalg.norm(x)", "np.linalg.norm(x, axis=0)",
    "np.linalg.norm(x, axis=(0, 1))", "np.linalg.norm(x, 1, 0)", "np.linalg.norm(x, np.inf, 0)",
    "np.linalg.norm(x, 2.0, 1)", "np.linalg.norm(x, ord=None, axis=1)", "np.sum([x, x], 0)", "np.sqrt(x[0, 0])",
    "np.clip(x, np.nan, 1)", "np.clip(x, self.w, 3)", "np.clip(x, None, 1)", "x.astype(np.int32, casting='unsafe')",
    "x.copy(order='F')", "np.array(x, order='F')", "np.array(x, ndmin=4)", "x.flatten('F')",
    "x.reshape(4, 3, order='F')",
    "np.stack([x, x], i % 2)", "np.concatenate([x, x], axis=None)", "np.concatenate([x, x], dtype=np.float64)",
    "np.where(x, 1, 0)", "np.where(i > 3, x, 0)", "np.add(x, x, dtype=np.float64)", "x * 1e300",
    "x + np.float32(1e38) * 4",
    "np.array([x[0, 0], i])", "np.array([x[0, 0], True])", "np.array([x[0, 0], x[0, 1]], np.float32)",
    "np.float32(self.odd[i])", "np.array([self.odd[i], 1.5], np.float32)", "np.array([i, 2], np.uint8)",
    "(x + self.objects[i])", "x * self.object",
)  # fmt: skip
OF_TORCHS = (
    "x.sum(())", "x.sum([0])", "x.sum(0, dtype=torch.float64)", "x.std(0, False, True)", "x.std(False)",
    "x.std(0, correction=0)", "x.std(correction=2)", "x.max(x * 2)", "x.amax((0, 1))", "x.argmax(dim=None)",
    "torch.std_mean(x)", "x.clamp(min=torch.zeros(4))", "x.clamp(min=float('nan'))", "x.to('cpu', torch.float64)",
    "x.to(torch.zeros(1, dtype=torch.int64))", "x.type('torch.FloatTensor')", "x.view(torch.int32)",
    "x.unsqueeze(i % 2)",
    "torch.stack([x, x], i % 2)", "torch.cat([x, x], dim=i % 2)", "torch.where(x > 0)",
    "torch.where(x > 0, x, self.w[0])",
    "torch.where(x > 0, x, self.odd[i])", "torch.where(x > 0, 1.0, 0)", "x.masked_fill(x > 0, i)",
    "x.masked_fill(x > 0, 2.7)", "x.masked_fill(x > 0, True)", "x.masked_fill(x > 0, torch.tensor(3))",
    "torch.add(x, 1, alpha=2)", "torch.sub(x, x, alpha=3)", "torch.div(x, 2, rounding_mode='floor')", "x == True",
    "F.one_hot(x.long().abs(), i + 9)", "F.one_hot(x.long().abs(), num_classes=10)", "torch.tensor([i, True])",
    "torch.tensor([x[0, 0], i])", "torch.tensor([x[0, 0], 0.5])", "torch.tensor([self.odd[i]], dtype=torch.float32)",
    "torch.LongTensor([i, 2.5])", "torch.FloatTensor([self.odd[i]])", "torch.IntTensor(x)",
)  # fmt: skip


class Strange:
    """What numpy does with it is its own code's."""

    def __radd__(self, other: Any) -> float:
        return 0.5

    __rmul__ = __radd__


class Data(Dataset[Any]):
    def __init__(self) -> None:
        noise = np.random.default_rng(0)
        floats = noise.normal(size=(COUNT, 3, 4)).astype(np.float32)
        self.arrays = {"float": floats, "int": noise.integers(-9, 9, floats.shape), "bool": floats > 0}
        for name, array in self.arrays.items():
            setattr(self, f"numpy_{name}", array)
            setattr(self, f"torch_{name}", torch.from_numpy(array.copy()))
        self.w, self.mask = noise.normal(size=4), np.array([True, False, True, True])
        # By way of a double these are other numbers of float32.
        self.odd = [2**60 + 2**36 + 1 + k * 2**40 for k in range(COUNT)]
        self.objects = np.array([1, Strange(), 2.5, 3, 4, 5, 6], dtype=object)
        self.object = np.array([Strange(), 1, 2, 3], dtype=object)

    def __len__(self) -> int:
        return COUNT


@pytest.mark.parametrize(
    ("library", "form"),
    [
        *(("numpy", form) for form in (*OF_BOTH, *OF_NUMPYS)),
        *(("torch", form) for form in (*OF_BOTH, *OF_TORCHS)),
    ],
)
def test_arguments_of_calls_in_a_class(library: str, form: str) -> None:
    names = {"np": np, "torch": torch, "F": F}
    for name in ("float", "int", "bool"):
        source = f"def __getitem__(self, i):\n    x = self.{library}_{name}[i]\n    return {form}\n"
        check_code(source, names, lambda get: type("Made", (Data,), {"__getitem__": get})(), None)


class Samples(Dataset[Any]):
    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, i: int) -> Any:
        return torch.arange(6.0).view(2, 3) * i, torch.arange(i % 3 + 1), 300 * i - 900, i / 3, [i] * (i % 4)


COLLATES = (
    "torch.stack([s[0] for s in b], 1)", "torch.stack([s[0] for s in b], dim=-1)", "torch.cat([s[0] for s in b], 1)",
    "torch.cat([s[0] for s in b], dim=-2)", "torch.cat([s[0] for s in b], dim=0)",
    "torch.stack(tensors=[s[0] for s in b])",
    "pad_sequence([s[1] for s in b], False)", "pad_sequence([s[1] for s in b], True, 7)",
    "pad_sequence([s[1] for s in b], batch_first=len(b) > 2)", "pad_sequence([s[1] for s in b], 1)",
    "pad_sequence([s[1] for s in b], True, True)", "pad_sequence([s[1] for s in b], True, 0.5)",
    "pad_sequence([s[1] for s in b], True, float('nan'))", "pad_sequence([s[1] for s in b], True, padding_side='left')",
    "pad_sequence([s[1].float() for s in b], True, -0.5)", "pad_sequence([s[0] for s in b], True)",
    "torch.tensor([s[2] for s in b], dtype=torch.uint8)", "torch.tensor([s[2] for s in b], dtype=torch.int16)",
    "torch.tensor([s[2] for s in b], dtype=torch.bool)", "torch.tensor([s[2] for s in b], requires_grad=True)",
    "torch.tensor([s[3] for s in b], dtype=torch.int64)", "torch.tensor([s[3] for s in b], dtype=torch.float16)",
    "torch.tensor([s[2] for s in b], device='cpu')", "torch.tensor([s[2] for s in b], pin_memory=False)",
    "torch.as_tensor([s[2] for s in b], dtype=torch.float32)", "torch.LongTensor([s[3] for s in b])",
    "torch.tensor([s[4] for s in b])", "torch.tensor([len(s[4]) for s in b], dtype=torch.int8)",
    "np.array([s[2] for s in b], np.float32)", "np.array([s[2] for s in b], ndmin=2)", "np.stack([s[0] for s in b])",
    "torch.stack([s[0] for s in b]).sum(0)", "torch.stack([s[0] for s in b]).permute(2, 0, 1)",
    "torch.stack([s[0] for s in b]).to(torch.float64, copy=True)", "torch.stack([s[0] for s in b]).view(-1)",
    "torch.stack([s[0][:, 1:] for s in b])", "torch.stack([s[0][0] for s in b])", "torch.stack([s[0].T for s in b])",
    "torch.stack([F.pad(s[1], (0, 4 - len(s[1]))) for s in b])",
    "torch.stack([F.pad(s[1], (1, 3 - len(s[1]))) for s in b])",
    "torch.stack([F.pad(s[1], (0, 4 - len(s[1])), 'constant', 5) for s in b])",
    "torch.stack([F.pad(s[1], (0, 4 - len(s[1])), value=2.5) for s in b])",
    "torch.stack([F.pad(s[1], (0, 2 - len(s[1]))) for s in b])", "torch.cat([s[1] for s in b][:2])",
    "[s[1] for s in b][::-1]", "torch.stack([b[0][0], b[-1][0]])", "torch.stack([s[0] for s in reversed(b)])",
)  # fmt: skip


@pytest.mark.parametrize("form", COLLATES)
def test_arguments_of_calls_in_a_collate_fn(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "PAYS_FROM", dict.fromkeys(compiler.PAYS_FROM, 0))
    names: dict[str, Any] = {"np": np, "torch": torch, "F": F, "pad_sequence": pad_sequence}
    collate = eval(f"lambda b: {form}", names)
    arguments = loader_of(Samples(), batch_size=3, collate_fn=lambda: collate)
    check(Program(arguments, epochs=1), native=None)
