"""goloader.collate.Pad against torch's pad_sequence, and batches by length."""

from __future__ import annotations

import itertools
import pickle
import random
from collections import namedtuple
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils import data
from torch.utils.data import default_collate

import goloader
from goloader.collate import Jagged, Pack, Pad, Sequences
from goloader.samplers import LengthBatchSampler

Named = namedtuple("Named", ["a", "b"])


class Sentences(data.Dataset[Any]):
    def __init__(self, count: int = 40, rest: tuple[int, ...] = ()) -> None:
        noise = torch.Generator().manual_seed(0)
        self.lengths = torch.randint(0, 30, (count,), generator=noise).tolist()
        self.items = [torch.randint(0, 99, (length, *rest), generator=noise) for length in self.lengths]

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> Any:
        return self.items[index], {"label": index % 3, "features": self.items[index].numpy() / 2}


@pytest.mark.slow  # many seconds
@pytest.mark.parametrize("num_workers", [0, 2])
def test_it_is_pad_sequence_in_both_loaders(num_workers: int) -> None:
    for batch_first, value, rest in itertools.product([False, True], [0, -100], [(), (2, 3)]):
        dataset = Sentences(rest=rest)
        for kind in data.DataLoader, goloader.DataLoader:
            loader: Any = kind(dataset, 7, collate_fn=Pad(batch_first, value), num_workers=num_workers)
            for number, (items, rest_of_it) in enumerate(loader):
                part = range(7 * number, min(7 * number + 7, 40))
                want = pad_sequence([dataset.items[k] for k in part], batch_first, value)
                assert torch.equal(items, want) and items.dtype == want.dtype
                assert rest_of_it["label"].tolist() == [k % 3 for k in part]
                want = pad_sequence([dataset.items[k] / 2.0 for k in part], batch_first, value)
                assert torch.equal(rest_of_it["features"], want.double())


def test_multiples_and_lengths() -> None:
    chance = random.Random(0)
    for _ in range(60):
        batch_first, multiple = chance.random() < 0.5, chance.randrange(1, 9)
        rest = [chance.randrange(1, 4) for _ in range(chance.randrange(3))]
        sequences = [torch.rand(chance.randrange(12), *rest) for _ in range(chance.randrange(1, 5))]
        got, lengths = Pad(batch_first, 7, multiple, lengths=True)(sequences)
        assert lengths.tolist() == [len(each) for each in sequences] and lengths.dtype == torch.int64
        longest = -(-max(map(len, sequences)) // multiple) * multiple
        want = torch.full((len(sequences), longest, *rest), 7.0)
        for row, each in zip(want, sequences, strict=True):
            row[: len(each)] = each
        assert torch.equal(got, want if batch_first else want.transpose(0, 1))


def test_everything_else_is_put_together_by_torch() -> None:
    samples: list[Any] = [
        (1, 2.5, "a", torch.tensor(3), np.float32(k), {"x": [k, b"k"]}, Named(k, 1)) for k in range(3)
    ]
    got, want = Pad()(samples), default_collate(samples)
    assert type(got) is type(want) and repr(got) == repr(want)
    assert type(got[-1]) is Named
    with pytest.raises(RuntimeError, match="equal size"):
        Pad()([(1, 2), (1,)])
    with pytest.raises(ValueError, match="pad_to_multiple_of"):
        Pad(pad_to_multiple_of=0)
    pad = Pad(True, -1, 8)
    assert repr(pickle.loads(pickle.dumps(pad))) == repr(pad)


class Listed(Sequences):
    """Sequences by their lengths, so that they are told from all else."""

    def join(self, sequences: list[torch.Tensor]) -> Any:
        return [len(each) for each in sequences]


def test_fields_are_names_anywhere_and_places_in_the_sample() -> None:
    pair, deep = [torch.rand(2), torch.rand(2)], {"x": torch.rand(2), "y": (torch.rand(2), np.zeros(2), 7)}
    sample = (torch.rand(2), {"boxes": torch.rand(2, 4), "deep": deep, "id": 4}, Named(torch.rand(2), pair))

    def placed(batch: Any) -> list[Any]:
        image, target, named = batch
        return [image, target["boxes"], target["deep"]["x"], target["deep"]["y"][0], named.a, named.b[1], target["id"]]

    plain = placed(default_collate([sample, sample]))
    for fields, want in {
        0: [0],
        "boxes": [1],
        ("x", "a"): [2, 4],
        (1,): [1, 2, 3],
        ("y", "b", 0): [0, 3, 5],
        None: [0, 1, 2, 3, 4, 5],
    }.items():
        batch = Listed(fields=fields)([sample, sample])
        assert type(batch) is list and type(batch[2]) is Named
        for place, (got, other) in enumerate(zip(placed(batch), plain, strict=True)):
            assert got == [2, 2] if place in want else torch.equal(got, other), (fields, place)


@pytest.mark.parametrize("num_workers", [0, 2])
def test_batches_by_length(num_workers: int) -> None:
    lengths = np.random.default_rng(0).integers(1, 500, 1003)
    dataset = data.TensorDataset(torch.arange(1003))
    for drop_last in False, True:
        sampler = LengthBatchSampler(lengths, 8, drop_last, seed=1)
        epochs = []
        for epoch in range(2):
            sampler.set_epoch(epoch)
            both = []
            for kind in data.DataLoader, goloader.DataLoader:
                loader: Any = kind(dataset, batch_sampler=sampler, num_workers=num_workers)
                both.append([batch.tolist() for (batch,) in loader])
                assert len(both[-1]) == len(loader) == (125 if drop_last else 126)
            assert both[0] == both[1]
            epochs.append(both[0])
            flat = sorted(index for batch in both[0] for index in batch)
            assert len(set(flat)) == len(flat) == (1000 if drop_last else 1003)
            spread = [max(lengths[batch]) - min(lengths[batch]) for batch in both[0]]
            assert np.mean(spread) < 20, "batches of any samples have 390"
            assert np.std([lengths[batch].mean() for batch in both[0][:60]]) > 50, "short ones do not come first"
        assert epochs[0] != epochs[1]


def test_batches_by_length_resume_and_share() -> None:
    lengths = list(range(50))
    whole = list(LengthBatchSampler(lengths, 4, seed=3))
    first = LengthBatchSampler(lengths, 4, seed=3)
    begun = list(itertools.islice(first, 5))
    second = LengthBatchSampler(lengths, 4)
    second.load_state_dict(first.state_dict())
    assert begun + list(second) == whole
    ranks = [list(LengthBatchSampler(lengths, 4, seed=3, num_replicas=4, rank=rank)) for rank in range(4)]
    assert {len(rank) for rank in ranks} == {4}
    shared = [batch for row in zip(*ranks, strict=True) for batch in row]
    assert shared[:13] == whole and shared[13:] == whole[:3]
    for make, why in (
        (lambda: LengthBatchSampler([0.5], 1), "of integers"),
        (lambda: LengthBatchSampler([1], 0), "batch_size should"),
        (lambda: LengthBatchSampler([1], 1, pool=0), "pool should"),
        (lambda: LengthBatchSampler([1], 2, True), "num_samples should"),
    ):
        with pytest.raises(ValueError, match=why):
            make()


def test_others_are_given_to_a_function_of_the_user() -> None:
    samples = [{"image": torch.rand(3, k + 1, 2), "boxes": torch.rand(k, 4), "names": ["cat"] * k} for k in range(4)]
    got = Pack(fields="boxes", others=list)(samples)
    assert list(map(id, got["image"])) == [id(sample["image"]) for sample in samples]
    assert got["names"] == [sample["names"] for sample in samples]
    assert torch.equal(got["boxes"][0], torch.cat([sample["boxes"] for sample in samples]))


def test_fields_that_samples_do_not_have() -> None:
    whole, bare = (0, {"boxes": torch.rand(2, 4), "id": 1}), (0, {"id": 2})
    for batch, fields in (
        ([whole, whole], "boxen"),
        ([whole, whole], 2),
        ([whole, bare], "boxes"),
        ([bare, whole], "boxes"),
        ([bare, whole], ("id", "boxes")),
        ([bare, bare], "boxes"),
        ([torch.rand(2)] * 2, 0),
    ):
        with pytest.raises(KeyError, match="not every sample of the batch has a field"):
            Pad(fields=fields)(batch)
    for bad, error in (((), ValueError), ((1.5,), TypeError), (2.5, TypeError)):
        with pytest.raises(error):
            Pad(fields=bad)  # type: ignore[arg-type]


def test_what_they_say_of_themselves() -> None:
    assert repr(Jagged(fields="a")) == "Jagged(fields=('a',))" and repr(Pack(others=list)) == "Pack(others=list)"
    assert repr(Pad(True, fields=["a", 1])).endswith("lengths=False, fields=('a', 1))")
