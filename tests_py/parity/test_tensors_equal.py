"""TensorDataset, and StackDataset, ConcatDataset and Subset over it: rows gathered in Go are the batches of torch."""

from __future__ import annotations

import gc
import itertools
import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils import data
from torch.utils.data import ConcatDataset, StackDataset, Subset, TensorDataset, random_split
from twins import Program, bits, changed, check, compare, errors, generator, loader_of, run

import goloader
from goloader.plan.collates.collation import is_channels_last

WORKERS = pytest.mark.parametrize("num_workers", [0, 1, 2])

DTYPES = [
    torch.bool, torch.uint8, torch.int8, torch.uint16, torch.int16, torch.uint32, torch.int32, torch.uint64,
    torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex32, torch.complex64,
    torch.complex128, torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz,
    *(getattr(torch, name) for name in ("float8_e8m0fnu", "float4_e2m1fn_x2") if hasattr(torch, name)),
]  # fmt: skip


def noise(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    """Random bits of any dtype, NaNs included."""
    generator = torch.Generator().manual_seed(seed)
    count = torch.Size(shape).numel() * dtype.itemsize
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, generator=generator).bool()
    raw = torch.randint(0, 256, (count,), generator=generator, dtype=torch.uint8)
    return raw.view(dtype).reshape(shape)


def pair(length: int = 23, seed: int = 0) -> TensorDataset:
    return TensorDataset(noise(length, 3, 5, seed=seed), torch.arange(length) + 1000 * seed)


def layouts() -> dict[str, torch.Tensor]:
    """Nine rows each, however they lie in memory."""
    base = noise(9, 4, 6, 5)
    return {
        "contiguous": base,
        "channels_last": base.contiguous(memory_format=torch.channels_last),
        "transposed": base.transpose(1, 3),
        "rows innermost": noise(4, 6, 5, 9).permute(3, 0, 1, 2),
        "with gaps": noise(18, 8, 6, 10)[::2, 1::2, :, ::3],
        "expanded": noise(9, 1, 5).expand(9, 4, 5),
        "rows expanded": noise(1, 4).expand(9, 4),
        "overlapping": noise(60).as_strided((9, 3, 3), (2, 3, 1)),
        "at an offset": noise(100)[7:88].view(9, 9),
        "unaligned": noise(37, dtype=torch.uint8)[1:].view(9, 4).transpose(0, 1).t(),
        "extent 1": noise(9, 1, 5, 1).transpose(1, 3),
        "0-d rows": noise(9),
        "0-d rows with gaps": noise(9, 3)[:, 1],
        "empty rows": noise(9, 0, 3),
        "large": noise(9, 3, 90, 70),
        "frames innermost": noise(9, 4, 6, 3).transpose(1, 2),
        "seven dimensions": noise(9, 1, 2, 1, 3, 2, 2, dtype=torch.int16),
    }


@WORKERS
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype(dtype: torch.dtype, num_workers: int) -> None:
    dataset = TensorDataset(noise(11, 6, dtype=dtype), noise(11, dtype=dtype), noise(11, 0, 2, dtype=dtype))
    check(Program(loader_of(dataset, batch_size=4, shuffle=True, num_workers=num_workers), draw=True))


@pytest.mark.parametrize("name", layouts())
def test_every_layout(name: str) -> None:
    for num_workers, shuffle in (0, False), (0, True), (2, True):
        dataset = TensorDataset(layouts()[name], torch.arange(9))
        check(Program(loader_of(dataset, batch_size=4, shuffle=shuffle, num_workers=num_workers), epochs=1))


@pytest.mark.parametrize("gap", [1, 2])
@pytest.mark.parametrize("order", [(0, 1, 4, 2, 3), (0, 1, 5, 2, 3, 4), (0, 4, 3, 1, 2), (0, 2, 1, 4, 3)])
def test_rows_in_channels_last(order: tuple[int, ...], gap: int) -> None:
    """Without workers torch.stack keeps their order; in workers it writes to memory that it is given."""
    rows = noise(9, 3, 5, 2, 4, 2)[:, :, ::gap] if len(order) == 6 else noise(9, 3, 5, 2, 4)[..., ::gap]
    dataset = TensorDataset(rows.permute(order))
    plain = torch.stack([row for (row,) in dataset]).is_contiguous()
    for num_workers in 0, 2:
        arguments = loader_of(dataset, batch_size=4, num_workers=num_workers)
        check(Program(arguments, epochs=1), native=plain or num_workers > 0)


def test_which_tensors_torch_takes_for_channels_last() -> None:
    chance = random.Random(0)
    found = 0
    for _ in range(3000):
        extents = [chance.choice([1, 1, 2, 3, 4]) for _ in range(chance.choice([3, 4, 4, 5, 5, 6]))]
        order = list(range(len(extents)))
        if chance.random() < 0.5:
            order = [0, *order[2:], 1] if chance.random() < 0.5 else [0, order[-1], *order[1:-1]]
        else:
            chance.shuffle(order)
        rows = torch.zeros(extents).permute(order)
        for dimension in chance.choices(range(len(extents)), k=chance.choice([0, 0, 1, 2])):
            rows = (
                rows.narrow(dimension, 0, 1)
                if chance.random() < 0.3
                else rows.transpose(0, dimension)[::2].transpose(0, dimension)
            )
        if chance.random() < 0.1:
            rows = rows[..., :1].expand(*rows.shape[:-1], 3)
        made = [torch.stack([rows] * 2), torch.stack([rows]), torch.cat([rows] * 2)]
        if is_channels_last(rows.shape, rows.stride()):
            found += not all(map(torch.Tensor.is_contiguous, made))
        else:
            assert all(map(torch.Tensor.is_contiguous, made)), (rows.shape, rows.stride())
    assert found > 100


@WORKERS
@pytest.mark.parametrize("length", [0, 1, 2, 700])
def test_every_length(length: int, num_workers: int) -> None:
    # The largest has batches that workers gather, the others none.
    dataset = TensorDataset(noise(length, 1000), torch.arange(length))
    for drop_last in False, True:
        arguments = loader_of(dataset, batch_size=100, drop_last=drop_last, num_workers=num_workers)
        check(Program(arguments, leave=(None, 2), epochs=3))


def samplers() -> dict[str, Callable[[], dict[str, Any]]]:
    n = 23
    listed = [3, -1, 3, 22, -23, 0, 3]
    return {
        "random": lambda: {"shuffle": True, "generator": generator()},
        "replacement": lambda: {"sampler": data.RandomSampler(range(n), replacement=True, num_samples=50)},
        "weighted": lambda: {"sampler": data.WeightedRandomSampler([1.0, 5.0] * 11 + [2.0], 40)},
        "distributed": lambda: {"sampler": data.DistributedSampler(range(n), 3, 1)},
        "negative and repeated": lambda: {"sampler": listed},
        "tensors as indices": lambda: {"sampler": list(torch.tensor(listed))},
        "small ints": lambda: {"sampler": list(torch.tensor(listed, dtype=torch.int32))},
        "slices": lambda: {"sampler": [slice(0, 2), slice(2, 4)] * 3},
        "lists": lambda: {"sampler": [[1, 2], [5, -3]]},
        "bools": lambda: {"sampler": [True, True, True, True]},
        "batches of any kind": lambda: {"batch_sampler": [(1, 2), [3], range(4), torch.arange(3), {7, 8}]},
        "empty batch": lambda: {"batch_sampler": [[1], [], [2]]},
    }


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("name", samplers())
def test_every_kind_of_index(name: str, num_workers: int) -> None:
    def arguments() -> dict[str, Any]:
        chosen = samplers()[name]()
        batches = {} if "batch_sampler" in chosen else {"batch_size": 3}
        return {"dataset": pair(), "num_workers": num_workers, **batches, **chosen}

    check(Program(arguments))


@pytest.mark.parametrize("num_workers", [0, 2])
def test_errors_are_those_of_the_dataset(num_workers: int) -> None:
    for bad in 23, -24, 1 << 70, "x", None, 1.5:
        events = check(Program(loader_of(pair(), batch_size=2, sampler=[0, 1, 2, bad, 4, 5], num_workers=num_workers)))
        if bad is not None:  # indexing a tensor with None is allowed
            assert errors(events)
    for listed in [0, 1, 2, 23, 4], [0, -24, 5]:
        for nested in Subset(pair(), listed), Subset(Subset(pair(), listed), range(len(listed))):
            assert errors(check(Program(loader_of(nested, batch_size=2, num_workers=num_workers))))
        stack = StackDataset(a=Subset(pair(), listed), b=Subset(pair(), range(len(listed))))
        assert errors(check(Program(loader_of(stack, batch_size=2, num_workers=num_workers))))
    assert errors(check(Program(loader_of(Subset(pair(0), [0, 1]), batch_size=2, num_workers=num_workers))))


def trees() -> dict[str, Callable[[], Any]]:
    def parts(seed: int) -> list[Any]:
        return random_split(pair(20, seed), [0.5, 0.5], torch.Generator().manual_seed(seed))

    one = pair(20, 1)
    return {
        "stack tuple": lambda: StackDataset(pair(), TensorDataset(noise(23, 2))),
        "stack dict": lambda: StackDataset(x=pair(), y=TensorDataset(noise(23, 2))),
        "stack of stacks": lambda: StackDataset(StackDataset(a=pair()), StackDataset(pair(seed=2), pair(seed=3))),
        "stack of subsets": lambda: StackDataset(u=parts(1)[0], v=parts(2)[1], w=Subset(pair(), range(3, 13))),
        "concat": lambda: ConcatDataset([pair(5, 1), pair(1, 2), pair(0, 3), pair(17, 4)]),
        "concat of the same": lambda: ConcatDataset([one, Subset(one, [3, 1, -1]), one]),
        "concat of stacks": lambda: ConcatDataset([StackDataset(a=pair(5, k), b=pair(5, k + 1)) for k in range(3)]),
        "stack of concats": lambda: StackDataset(ConcatDataset(parts(3)), ConcatDataset(parts(4)), pair(20)),
        "subset": lambda: Subset(pair(), [5, 3, 3, -1, 22, 0]),
        "subset of all": lambda: Subset(ConcatDataset([StackDataset(a=part) for part in parts(5)]), range(19, 2, -3)),
        "split": lambda: parts(6)[1],
    }


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("name", trees())
def test_datasets_of_datasets(name: str, num_workers: int) -> None:
    arguments = loader_of(trees()[name](), batch_size=4, shuffle=True, num_workers=num_workers)
    check(Program(arguments, draw=True))


@given(choices=st.data())
@settings(max_examples=40)
def test_any_tree_gives_torchs_batches(choices: st.DataObject) -> None:
    leaves = [pair(7, 1), pair(7, 2), pair(4, 3)]

    def tree(depth: int) -> Any:
        kind = choices.draw(st.sampled_from(["leaf", "subset", "concat"] if depth else ["leaf"]))
        if kind == "leaf":
            return choices.draw(st.sampled_from(leaves))
        if kind == "concat":
            return ConcatDataset([tree(depth - 1) for _ in range(choices.draw(st.integers(1, 3)))])
        inner = tree(depth - 1)
        if not len(inner):
            return Subset(inner, [])
        places = st.integers(-len(inner), len(inner) - 1)
        return Subset(inner, choices.draw(st.lists(places, max_size=8)))

    made = tree(3)
    if choices.draw(st.booleans()):
        made = StackDataset(first=made, second=Subset(leaves[0], [k % 7 for k in range(len(made))]))
    check(Program(loader_of(made, batch_size=3), epochs=1))


# Changes by the user


def fill(dataset: Any, value: int) -> None:
    dataset.tensors[0][value % 7 :: 2] = value


def replace(dataset: Any, value: int) -> None:
    dataset.tensors = (torch.full((23, 2), float(value)), dataset.tensors[1])


def set_data(dataset: Any, value: int) -> None:
    dataset.tensors[0].data = torch.full((23, 3), float(value))


def resize(dataset: Any, value: int) -> None:
    dataset.tensors[0].resize_(100 + value, 3, 5)[23:] = value


def convert(dataset: Any, value: int) -> None:
    dataset.tensors = (dataset.tensors[0].to([torch.float64, torch.float16][value % 2]), dataset.tensors[1])


def learn(dataset: Any, value: int) -> None:
    dataset.tensors[0].requires_grad_(value % 2 == 0)


def shorten(dataset: Any, value: int) -> None:
    dataset.tensors = tuple(tensor[:-1] for tensor in dataset.tensors)


def override(dataset: Any, value: int) -> None:
    dataset.__getitems__ = lambda indices: [torch.tensor(value) for _ in indices]


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("change", [fill, replace, set_data, convert, learn, shorten, override])
def test_a_change_of_the_dataset_is_seen_when_torch_sees_it(change: Any, num_workers: int) -> None:
    for shuffle in False, True:
        arguments = {"batch_size": 5, "shuffle": shuffle, "num_workers": num_workers}
        theirs = list(changed(data.DataLoader, pair, change, **arguments))
        compare(list(changed(goloader.DataLoader, pair, change, **arguments)), theirs)


def test_memory_that_is_moved_is_found_again_without_workers() -> None:
    arguments = {"batch_size": 5, "num_workers": 0}
    theirs = list(changed(data.DataLoader, pair, resize, **arguments))
    compare(list(changed(goloader.DataLoader, pair, resize, **arguments)), theirs)


def test_memory_cannot_be_moved_under_workers() -> None:
    dataset = pair()
    iterator = iter(goloader.DataLoader(dataset, batch_size=2, num_workers=2))
    with pytest.raises(RuntimeError, match="not resizable"):
        dataset.tensors[0].resize_(10000, 3, 5)
    assert len(list(iterator)) == 12


@pytest.mark.parametrize("num_workers", [0, 2])
def test_memory_lives_as_long_as_somebody_reads_it(num_workers: int) -> None:
    want = [bits(batch) for batch in data.DataLoader(TensorDataset(noise(40, 5000)), 7)]
    iterator = iter(goloader.DataLoader(TensorDataset(noise(40, 5000)), 7, num_workers=num_workers))
    gc.collect()
    assert [bits(batch) for batch in iterator] == want


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("width", [3, 30000])
def test_a_batch_is_the_users_own(num_workers: int, width: int) -> None:
    dataset = TensorDataset(torch.zeros(12, width))
    kept = []
    for (batch,) in goloader.DataLoader(dataset, batch_size=4, num_workers=num_workers):
        assert not batch.any()
        batch += 1
        kept.append(batch)
    assert not dataset.tensors[0].any()
    assert all(batch.eq(1).all() for batch in kept)


def test_several_iterators_at_once() -> None:
    loader = goloader.DataLoader(pair(), batch_size=4, num_workers=2)
    want = [bits(batch) for batch in loader]
    for batches in zip(loader, loader, want, strict=True):
        assert bits(batches[0]) == bits(batches[1]) == batches[2]
    some = list(itertools.islice(loader, 2))
    assert [bits(batch) for batch in some] == want[:2]


# What stays with torch


class Scaled(torch.Tensor):
    pass


def others() -> dict[str, Callable[[], Any]]:
    return {
        "subclass": lambda: TensorDataset(noise(9, 2).as_subclass(Scaled)),
        "parameter": lambda: TensorDataset(torch.nn.Parameter(torch.ones(9, 2))),
        "gradient": lambda: TensorDataset(torch.ones(9, 2, requires_grad=True)),
        "not a leaf": lambda: TensorDataset(torch.ones(9, 2, requires_grad=True) * 2),
        "conjugate": lambda: TensorDataset(noise(9, 2, dtype=torch.complex64).conj()),
        "negative": lambda: TensorDataset(noise(9, 2, dtype=torch.complex64).conj().imag),
        "quantized": lambda: TensorDataset(torch.quantize_per_tensor(torch.ones(9, 2), 0.1, 0, torch.quint8)),
        "sparse": lambda: TensorDataset(torch.eye(9).to_sparse()),
        "meta": lambda: TensorDataset(torch.empty(9, 2, device="meta")),
        "nine dimensions": lambda: TensorDataset(noise(9, 1, 1, 1, 1, 1, 1, 1, 2)),
        "65 tensors": lambda: TensorDataset(*[noise(9, 2)] * 65),
        "shapes that differ": lambda: ConcatDataset([TensorDataset(noise(9, 2)), TensorDataset(noise(9, 3))]),
        "fields that differ": lambda: ConcatDataset([pair(), StackDataset(TensorDataset(noise(9, 2)))]),
        "names in another order": lambda: ConcatDataset(
            [StackDataset(a=pair(), b=pair()), StackDataset(b=pair(), a=pair())]
        ),
        "unknown": lambda: StackDataset(pair(9), list(map(str, range(9)))),
    }


@pytest.mark.parametrize("name", others())
def test_what_is_not_a_plain_gather_runs_as_torchs(name: str) -> None:
    make = others()[name]
    assert not goloader.DataLoader(make()).explain().native
    if name != "meta":  # has no bits to compare
        for batch_size in 2, 4:
            program = Program(loader_of(make(), batch_size=batch_size), epochs=1)
            torch.manual_seed(0)
            events = [run(kind, program) for kind in (goloader.DataLoader, data.DataLoader)]
            if name not in ("sparse", "quantized", "conjugate"):
                compare(*events)


@pytest.mark.parametrize("num_workers", [0, 2])
def test_without_batches_samples_are_views_and_stay_with_torch(num_workers: int) -> None:
    check(Program(loader_of(pair(), batch_size=None, num_workers=num_workers)), native=False)


class Own(TensorDataset):
    def __getitem__(self, index: Any) -> Any:
        return tuple(tensor + 1 for tensor in super().__getitem__(index))


class Named(TensorDataset):
    """Changes nothing of what an index means."""

    def __init__(self, *tensors: torch.Tensor) -> None:
        super().__init__(*tensors)
        self.names = ("x", "y")


def test_subclasses() -> None:
    tensors = pair().tensors
    check(Program(loader_of(Own(*tensors), batch_size=4)), native=False)
    check(Program(loader_of(Named(*tensors), batch_size=4)))


@pytest.mark.parametrize("num_workers", [0, 2])
def test_explain_says_what_is_gathered(num_workers: int) -> None:
    stack = StackDataset(a=Subset(pair(), range(5)), b=TensorDataset(noise(5, dtype=torch.bfloat16)))
    text = str(goloader.DataLoader(stack, num_workers=num_workers).explain())
    assert "StackDataset over TensorDataset, 5 samples: float32[3, 5], int64[], bfloat16[]" in text
