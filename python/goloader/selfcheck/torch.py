"""torch's behaviours: what its generator draws, and what its kernels make of pixels."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from typing import Any

import numpy as np

from .behaviour import Behaviour, Late, digest, golden, numbers, picture
from .grid import sampled
from .resize import resized_floats

torch: Any = Late("torch")
_MODULE = "torch"

# The first words of a Mersenne Twister (MT19937) seeded with 5489, its authors' default seed.
_SEED = 5489
WORDS = (3499211612, 581869302, 3890346734, 3586334585, 545404204, 4161255391, 3922919429, 949333985)
_SHARES = [(word & 0xFFFFFF) * 2.0**-24 for word in WORDS]
_STATE_BYTES = 5056


def _seeded() -> Any:
    return torch.Generator().manual_seed(_SEED)


# ---- draws


def _generator() -> bool:
    return bool(_seeded().get_state().numel() == _STATE_BYTES)


def _rand() -> bool:
    return bool(torch.rand(len(WORDS), dtype=torch.float32, generator=_seeded(), device="cpu").tolist() == _SHARES)


def _randint() -> bool:
    generator = _seeded()
    return [int(torch.randint(0, 1000, (1,), generator=generator, device="cpu")) for _ in WORDS] == [
        word % 1000 for word in WORDS
    ]


def _bernoulli() -> bool:
    chances = torch.arange(100, dtype=torch.float32, device="cpu") / 99
    drawn = torch.rand(100, generator=_seeded(), device="cpu", dtype=torch.float32)
    return bool(torch.equal(torch.bernoulli(chances, generator=_seeded()), (drawn < chances).float()))


def _random() -> bool:
    made = torch.empty((), dtype=torch.int64, device="cpu").random_(generator=_seeded())
    return int(made) == (WORDS[0] << 32 | WORDS[1]) % 2**63


def _permutations() -> Iterator[Any]:
    generator = _seeded()
    for length in (4, 4, 4, 1, 19, 300):
        yield torch.randperm(length, generator=generator, device="cpu").tolist()


def _multinomial() -> Iterator[Any]:
    generator = _seeded()
    for weights in ([1.0], [0.5, 0.5], [0.25, 0.0, 0.75], [1 / 3] * 3, [0.02 * n for n in range(12)]):
        tensor = torch.tensor(weights, dtype=torch.float32, device="cpu")
        yield [int(torch.multinomial(tensor, 1, generator=generator)) for _ in range(20)]
    yield float(torch.rand(1, dtype=torch.float32, generator=generator, device="cpu"))


def _randn() -> str | None:
    """Which of torch's ways to make normal deviates it has here."""
    generator = _seeded()
    made = [torch.randn(count, dtype=torch.float32, generator=generator, device="cpu") for count in (16, 37, 4099)]
    return {2918744981: "avx2", 3840819954: "plain"}.get(digest(each.numpy() for each in made))


def _strided() -> Iterator[Any]:
    """What is drawn for a tensor whose channels are last in memory, of an even count."""
    generator = _seeded()
    for draw in ("normal_", "uniform_", "normal_"):
        made = torch.empty(6, 9, 3, dtype=torch.float32, device="cpu").permute(2, 0, 1)
        yield getattr(made, draw)(generator=generator).permute(1, 2, 0)


def _uniform() -> bool | None:
    """Whether uniform_ rounds once, not twice."""
    generator = _seeded()
    low, high = np.float32(0.08), np.float32(1.0)
    empty = [torch.empty(1, dtype=torch.float32, device="cpu") for _ in WORDS]
    got = np.array([each.uniform_(0.08, 1.0, generator=generator).item() for each in empty], np.float32)
    shares = np.array(_SHARES, np.float32)
    twice = shares * (high - low) + low
    # 48 bits of product and the sum fit a float64 closely enough: none of these lies near the middle of two float32.
    once = (shares.astype(np.float64) * np.float64(high - low) + np.float64(low)).astype(np.float32)
    return True if np.array_equal(got, once) else False if np.array_equal(got, twice) else None


# ---- arithmetic


def _fuses() -> bool | None:
    """Whether Tensor.add_ with alpha rounds once, not twice; None if some of its loops do and others do not."""
    numbers = np.random.default_rng(0)
    sums, others = (torch.from_numpy(numbers.integers(0, 256, 1 << 12).astype(np.float32)) for _ in range(2))
    sums.mul_(0.2989)
    twice = sums.numpy() + others.numpy() * np.float32(0.587)
    # Products of 8 and 24 bits fit a float64 exactly, and their sums too: no summand is smaller by more than 2^20.
    once = (sums.numpy().astype(np.float64) + others.numpy().astype(np.float64) * np.float64(np.float32(0.587))).astype(
        np.float32
    )
    found = set()
    for step in (1, 2, 3):
        for length in (1, 5, 8, 31, 1000):
            got = sums[::step][:length].clone().add_(others[::step][:length], alpha=0.587).numpy()
            found |= {
                fused
                for fused, want in ((False, twice), (True, once))
                if not np.array_equal(got, want[::step][:length])
            }
    return None if len(found) != 1 else not found.pop()


def _elementwise() -> bool:
    """Whether each function of a float32 tensor and another, or a number, is rounded once, by itself."""
    a, b = numbers(41, 25).astype(np.float32), numbers(41, 25)[::-1].astype(np.float32)
    c, d = np.float32(0.3), np.float32(-1.7)
    one, other = torch.from_numpy(a.copy()), torch.from_numpy(b.copy())
    made = [one + other, one - other, one * other, one / other, one + 0.3, one - 0.3, 0.3 - one, one * 0.3, one / -1.7]
    want = [a + b, a - b, a * b, a / b, a + c, a - c, c - a, a * c, a / d]
    made += torch.clamp(one, 0.2, 0.7), one.clamp(max=0.5)
    want += np.minimum(np.maximum(a, np.float32(0.2)), np.float32(0.7)), np.minimum(a, np.float32(0.5))
    return all(np.array_equal(each.numpy(), other) for each, other in zip(made, want, strict=True))


def _sums() -> Iterator[Any]:
    """Sums and means, of so few numbers that threads have no share in them."""
    for dtype in ("float32", "float64"):
        for shape in ((5,), (8,), (127,), (1000,), (5000,), (33, 40), (40, 3), (3, 40, 7), (70, 37)):
            tensor = torch.from_numpy(numbers(*shape).astype(dtype))
            yield from (tensor.sum(), tensor.sum(0), tensor.mean(-1))
            yield tensor.t().sum(0) if len(shape) == 2 else tensor.mean()


def _deviation() -> bool | None:
    """Whether the squares of several rows are added in one rounding."""
    made: list[Any] = []
    for dtype in ("float32", "float64"):
        for shape in ((7,), (1000,), (50, 7), (9, 40), (3, 20, 9)):
            tensor = torch.from_numpy(numbers(*shape).astype(dtype))
            made += [tensor.std(), tensor.var(unbiased=False), tensor.std(0), tensor.var(-1)]
    return {3796941697: False, 1527770633: True}.get(digest(made))


def _nearest() -> bool:
    """Whether the nearest neighbour is rounded as core/op/resample_axis.c does."""
    for length, out in ((7, 3), (100, 61), (61, 100), (641, 480), (33, 32), (5, 5), (1000, 7)):
        row = torch.arange(length, dtype=torch.float32, device="cpu").view(1, 1, 1, length)
        got = torch.nn.functional.interpolate(row, size=[1, out], mode="nearest").view(-1).numpy()
        scale = np.float32(length) / np.float32(out)
        want = np.minimum(np.floor(np.arange(out, dtype=np.float32) * scale), length - 1)
        if not np.array_equal(got, want):
            return False
    return True


# Channels, height, width, weights down and across.
_CONVOLUTIONS = (
    (3, 20, 19, 3, 3),
    (3, 33, 40, 9, 9),
    (3, 40, 70, 23, 23),
    (3, 18, 31, 1, 5),
    (1, 33, 40, 9, 9),
    (1, 30, 41, 5, 23),
)


def _convolved() -> Iterator[Any]:
    """oneDNN's sums are core/op/convolve.h's where the processor has a fused multiply-add: those of RGB, and those of
    one channel with more than 3 weights each way. On other processors than x86-64 its ways have not been looked at.
    """
    if platform.machine() not in ("x86_64", "AMD64"):
        return
    for channels, height, width, down, across in _CONVOLUTIONS:
        values = picture(width, height, channels).astype(np.float32)
        weights = np.arange(1, down * across + 1, dtype=np.float32) * np.float32(0.618034) % np.float32(1.0)
        yield torch.nn.functional.conv2d(
            torch.from_numpy(values.reshape(1, channels, height, width)),
            torch.from_numpy(weights.reshape(1, 1, down, across)).expand(channels, 1, down, across),
            groups=channels,
        )


def _convolved_by_axes() -> Iterator[Any]:
    """The same of one column of weights and one row, of numbers from 0 to 1 that become bytes again."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return
    for height, width, count in ((34, 34, 3), (40, 57, 9), (64, 70, 23), (60, 61, 31)):
        values = torch.from_numpy(picture(width, height, 3).transpose(2, 0, 1).copy()).float().div(255)
        weights = np.arange(1, count + 1, dtype=np.float32) * np.float32(0.618034) % np.float32(1.0)
        weights /= np.float32(count)
        for shape in ((3, 1, count, 1), (3, 1, 1, count)):
            repeated = torch.from_numpy(weights).repeat(3, 1).view(shape)
            values = torch.nn.functional.conv2d(values.unsqueeze(0), repeated, groups=3).squeeze(0)
        yield values
        yield values.mul(255).byte()


# How many products torch rounds before it adds them, by the vectors that it was compiled for; all, or none.
_GROUPS = (4, 8, 16, 1, 1 << 20)


def _resized_floats() -> int | None:
    """Which of the groups torch's resize has; core/op/torch_float.c says what they are of."""
    found = set(_GROUPS)
    for width, height, out in (
        (40, 9, 11),
        (9, 40, 7),
        (21, 64, 30),
        (100, 7, 3),
        (64, 12, 5),
        (8, 8, 20),
        (257, 3, 9),
    ):
        pixels = picture(width, height, 3).astype(np.float32) / np.float32(255) - np.float32(0.25)
        interleaved = pixels.transpose(2, 0, 1)
        values = np.ascontiguousarray(interleaved)
        sizes = (height, out), (out, width), (out, out + 4)
        for size in sizes:
            made = [
                torch.nn.functional.interpolate(
                    torch.from_numpy(laid).unsqueeze(0), size, mode="bilinear", align_corners=False, antialias=True
                )[0].numpy()
                for laid in (values, interleaved)
            ]
            for group in [*found]:
                across = resized_floats(values, size[1], group)
                down = resized_floats(across.swapaxes(1, 2), size[0], group).swapaxes(1, 2)
                if not all(np.array_equal(each, down) for each in made):
                    found.discard(group)
    return found.pop() if len(found) == 1 else None


_WAYS = (1, 0, 3, 2)  # bits of grid.py: most processors first
_MATRICES = (
    (0.97, 0.26, -1.7, -0.26, 0.97, 2.3),
    (0.53, -0.11, 0.0, 0.29, 1.37, 0.0),
    (-0.7, 0.71, 0.3, -0.71, -0.7, 0.1),
)


def _grids() -> int | None:
    """How torch adds where it samples tensors by an affine grid, as torchvision makes it."""
    found = set(_WAYS)
    for width, height in ((5, 4), (8, 8), (9, 8), (31, 23), (100, 67), (224, 160)):
        pixels = picture(width, height).transpose(2, 0, 1)
        base = torch.ones((1, height, width, 3), dtype=torch.float32, device="cpu")
        for axis, length in enumerate((width, height)):
            ends = (1.0 - length) * 0.5, (length - 1.0) * 0.5
            places = torch.linspace(*ends, steps=length, dtype=torch.float32, device="cpu")
            base[..., axis].copy_(places if axis == 0 else places.unsqueeze(-1))
        for matrix in _MATRICES:
            theta = torch.tensor(matrix, dtype=torch.float32, device="cpu").reshape(1, 2, 3)
            halves = torch.tensor([0.5 * width, 0.5 * height], dtype=torch.float32, device="cpu")
            grid = base.view(1, height * width, 3).bmm(theta.transpose(1, 2).div_(halves)).view(1, height, width, 2)
            values = torch.from_numpy(pixels).to(torch.float32).unsqueeze(0)
            for mode in ("nearest", "bilinear"):
                made = torch.nn.functional.grid_sample(values, grid, mode, "zeros", align_corners=False)[0].numpy()
                for fused in [*found]:
                    if not np.array_equal(made, sampled(pixels.astype(np.float32), matrix, mode == "bilinear", fused)):
                        found.discard(fused)
    return found.pop() if len(found) == 1 else None


BEHAVIOURS = {
    "torch.generator": Behaviour(_MODULE, "generator's state", _generator),
    "torch.rand": Behaviour(_MODULE, "rand", _rand),
    "torch.randint": Behaviour(_MODULE, "randint", _randint),
    "torch.bernoulli": Behaviour(_MODULE, "bernoulli", _bernoulli),
    "torch.random": Behaviour(_MODULE, "random_", _random),
    "torch.randperm": golden(_MODULE, "randperm", _permutations, 1378374720),
    "torch.multinomial": golden(_MODULE, "multinomial", _multinomial, 3490800335),
    "torch.randn": Behaviour(_MODULE, "randn", _randn, ("avx2", "plain")),
    "torch.strided": golden(_MODULE, "rand and randn in other orders", _strided, 116442222),
    "torch.uniform": Behaviour(_MODULE, "uniform_", _uniform, (True, False)),
    "torch.add": Behaviour(_MODULE, "sum with a multiple", _fuses, (True, False)),
    "torch.elementwise": Behaviour(_MODULE, "arithmetic of tensors", _elementwise),
    "torch.sum": golden(_MODULE, "sum of floats", _sums, 2544559268),
    "torch.deviation": Behaviour(_MODULE, "standard deviation", _deviation, (False, True)),
    "torch.resize.nearest": Behaviour(_MODULE, "nearest neighbour", _nearest),
    "torch.resize.float": Behaviour(_MODULE, "bilinear resize of floats", _resized_floats, _GROUPS),
    "torch.grid": Behaviour(_MODULE, "sampling by a grid", _grids, _WAYS),
    "torch.convolve": golden(_MODULE, "convolution of channels by themselves", _convolved, 2846933998),
    "torch.convolve.axes": golden(_MODULE, "convolution by one column or row", _convolved_by_axes, 2586706919),
}
