"""What a program sees of a loader besides its batches is torch's: arguments, errors, warnings, attributes, copies."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import weakref
from typing import Any

import pytest
import torch
import twins
from torch.utils import data
from torchvision.datasets import ImageFolder

import goloader
from goloader import _native
from goloader.doors import choice as _doors


class Endless(data.IterableDataset[int]):
    def __iter__(self) -> Any:
        return iter(range(5))


ERRORS: dict[str, dict[str, Any]] = {
    "negative workers": {"num_workers": -1},
    "negative timeout": {"timeout": -1},
    "prefetch without workers": {"prefetch_factor": 2},
    "negative prefetch": {"num_workers": 1, "prefetch_factor": -1},
    "persistent without workers": {"persistent_workers": True},
    "context without workers": {"multiprocessing_context": "fork"},
    "unknown context": {"num_workers": 1, "multiprocessing_context": "no such"},
    "context of another type": {"num_workers": 1, "multiprocessing_context": 3},
    "sampler and shuffle": {"sampler": [1], "shuffle": True},
    "batch_sampler and batch_size": {"batch_sampler": [[1]], "batch_size": 2},
    "batch_sampler and sampler": {"batch_sampler": [[1]], "sampler": [1]},
    "batch_sampler and drop_last": {"batch_sampler": [[1]], "drop_last": True},
    "no batches, but drop_last": {"batch_size": None, "drop_last": True},
    "batch_size 0": {"batch_size": 0},
    "batch_size True": {"batch_size": True},
    "batch_size 1.5": {"batch_size": 1.5},
    "drop_last 1": {"drop_last": 1},
    "iterable and shuffle": {"dataset": Endless(), "shuffle": True},
    "iterable and sampler": {"dataset": Endless(), "sampler": [1]},
    "empty and shuffle": {"dataset": [], "shuffle": True},
    "unknown argument": {"batchsize": 3},
}


@pytest.mark.parametrize("name", ERRORS)
def test_arguments_are_refused_in_torch_s_words(dataset: ImageFolder, name: str) -> None:
    arguments = {"dataset": dataset} | ERRORS[name]

    def refusal(kind: type[data.DataLoader[Any]]) -> tuple[str, str]:
        with pytest.raises((TypeError, ValueError)) as raised:
            kind(**arguments)
        return type(raised.value).__name__, str(raised.value)

    assert refusal(goloader.DataLoader) == refusal(data.DataLoader)


LATE: dict[str, dict[str, Any]] = {
    "timeout without workers": {"timeout": 3},
    "no prefetching": {"num_workers": 1, "prefetch_factor": 0},
}


# torch's iterator, when it was not finished, complains of itself in __del__.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", LATE)
def test_arguments_that_fail_at_iter_do_so_here(dataset: ImageFolder, name: str) -> None:
    def refusal(kind: type[data.DataLoader[Any]]) -> tuple[str, str, int]:
        torch.manual_seed(0)
        with pytest.raises(AssertionError) as raised:
            iter(kind(dataset, **LATE[name]))
        return (
            type(raised.value).__name__,
            str(raised.value).replace("InlineIterator", ""),
            int(torch.randint(1000, ())),
        )

    assert refusal(goloader.DataLoader) == refusal(data.DataLoader)
    gc.collect()


WARNINGS: dict[str, dict[str, Any]] = {
    "too many workers": {"num_workers": 999, "batch_size": None},
    "no accelerator": {"pin_memory": True},
    "device for pinned memory": {"pin_memory": True, "pin_memory_device": "cuda"},
}


@pytest.mark.parametrize("name", WARNINGS)
def test_warnings_are_torch_s(dataset: ImageFolder, name: str) -> None:
    if name != "too many workers" and torch.accelerator.is_available():
        pytest.skip("there is an accelerator")

    def warnings_of(kind: type[data.DataLoader[Any]]) -> list[tuple[str, str]]:
        def use() -> None:
            loader = kind(dataset, **WARNINGS[name])
            if loader.num_workers == 0:
                next(iter(loader))

        return [warning for warning in twins.warned(use) if warning[0] == "UserWarning"]

    assert warnings_of(goloader.DataLoader) == warnings_of(data.DataLoader)
    assert warnings_of(goloader.DataLoader)


def test_signature_attributes_and_length_are_torch_s(dataset: ImageFolder) -> None:
    ours, theirs = (inspect.signature(kind).parameters.values() for kind in (goloader.DataLoader, data.DataLoader))
    own = [(name, inspect.Parameter.KEYWORD_ONLY, True) for name in ("seek_index", "trace")]
    own += [(name, inspect.Parameter.KEYWORD_ONLY, None) for name in ("rng", "on_fallback")]
    own += [("on_error", inspect.Parameter.KEYWORD_ONLY, "raise")]
    own += [("equal_steps", inspect.Parameter.KEYWORD_ONLY, None)]
    assert [(p.name, p.kind, p.default) for p in ours] == [(p.name, p.kind, p.default) for p in theirs] + own
    for arguments in (
        {},
        {"batch_size": 7, "shuffle": True, "num_workers": 2},
        {"batch_size": None},
        {"batch_sampler": [[1]]},
    ):
        ours, theirs = goloader.DataLoader(dataset, **arguments), data.DataLoader(dataset, **arguments)
        assert vars(ours).keys() == vars(theirs).keys()
        assert len(ours) == len(theirs)
        for name in (
            "batch_size",
            "num_workers",
            "prefetch_factor",
            "drop_last",
            "timeout",
            "in_order",
            "_auto_collation",
        ):
            assert getattr(ours, name) == getattr(theirs, name)
        assert type(ours.sampler) is type(theirs.sampler)
        assert ours.collate_fn is theirs.collate_fn
    assert len(iter(goloader.DataLoader(dataset, batch_size=5, num_workers=2))) == 5


@pytest.mark.parametrize(
    "name", ["batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"]
)
def test_attributes_that_torch_protects_are_protected(dataset: ImageFolder, name: str) -> None:
    loader = goloader.DataLoader(dataset)
    with pytest.raises(ValueError, match=f"{name} attribute should not be set after DataLoader is initialized"):
        setattr(loader, name, None)


def test_it_is_torch_s_loader_to_isinstance_subclasses_and_type_hints(dataset: ImageFolder) -> None:
    class Mine(goloader.DataLoader[int]):
        def __init__(self, *arguments: Any, **more: Any) -> None:
            super().__init__(*arguments, **more)
            self.mine = 3

    loader = Mine(dataset, batch_size=4)
    assert isinstance(loader, data.DataLoader)
    assert isinstance(iter(loader), data.dataloader._BaseDataLoaderIter)
    assert loader.explain().native
    assert len(list(loader)) == 6
    assert goloader.DataLoader[int].__origin__ is goloader.DataLoader


def test_a_subclass_with_an_iterator_of_its_own_keeps_it(dataset: ImageFolder) -> None:
    class Mine(goloader.DataLoader[Any]):
        def __iter__(self) -> Any:
            return iter([1, 2])

    assert list(Mine(dataset)) == [1, 2]


class Equal(goloader.DataLoader[Any]):
    """Without a hash, as a class with an __eq__ is, and equal to everything."""

    def __eq__(self, other: object) -> bool:
        return True


@pytest.mark.parametrize("num_workers", [0, 2, "auto"])
def test_a_subclass_may_say_what_is_equal(dataset: ImageFolder, num_workers: Any) -> None:
    first, second = Equal(dataset, batch_size=5, num_workers=num_workers), Equal(dataset, batch_size=4)
    own = Equal(["a", "b"], num_workers=num_workers)
    assert first.explain().native and second.explain().native and not own.explain().native
    for _ in range(2):
        assert [len(labels) for _, labels in first] == [5, 5, 5, 5, 4]
        assert [len(labels) for _, labels in second] == [4] * 6
        assert list(own) == [["a"], ["b"]]


class Rows(data.Dataset[Any]):
    """In Go."""

    def __init__(self) -> None:
        self.rows = torch.arange(40.0).reshape(20, 2)

    def __len__(self) -> int:
        return 20

    def __getitem__(self, index: int) -> Any:
        return self.rows[index]


class Spectra(Rows):
    """In Python."""

    def __getitem__(self, index: int) -> Any:
        return torch.fft.fft(self.rows[index])


class Collating:
    def __call__(self, samples: list[Any]) -> Any:
        return data.default_collate(samples)


@pytest.mark.parametrize("num_workers", [0, 1])
@pytest.mark.parametrize("kind", [Rows, Spectra])
def test_a_loader_that_its_own_arguments_refer_to_is_collected_with_its_core(kind: Any, num_workers: int) -> None:
    handles = _native.live()["handles"] if _native.is_loaded() else 0
    loaders = []
    for name in ("dataset", "sampler", "collate_fn", "worker_init_fn"):
        made: dict[str, Any] = {"dataset": kind()}
        made |= {
            "sampler": data.SequentialSampler(made["dataset"]),
            "collate_fn": Collating(),
            "worker_init_fn": Starting(),
        }
        loader: Any = goloader.DataLoader(**made, batch_size=4, num_workers=num_workers)
        made[name].owner = loader
        for _ in range(2):
            assert len(list(loader)) == 5
        loader.explain()
        loader.itself = loader, iter(loader)
        loaders.append(weakref.ref(loader))
        del loader, made
    gc.collect()
    assert [each() for each in loaders] == [None] * 4
    assert not _native.is_loaded() or _native.live()["handles"] == handles


class Starting:
    def __call__(self, worker: int) -> None:
        pass


def test_a_copy_shares_nothing_that_is_kept_of_a_loader(dataset: ImageFolder) -> None:
    loader = Equal(dataset)
    list(loader)
    another = copy.copy(loader)
    assert loader in _doors._cores and another not in _doors._cores
    list(another)
    assert _doors._cores.get(another) is not _doors._cores.get(loader) is not None


@pytest.mark.parametrize("num_workers", [0, 2])
def test_copies_of_a_used_loader_work(dataset: ImageFolder, num_workers: int) -> None:
    loader = goloader.DataLoader(dataset, batch_size=5, shuffle=True, num_workers=num_workers)
    torch.manual_seed(1)
    want = [twins.bits(batch) for batch in loader]
    for another in copy.copy(loader), copy.deepcopy(loader), pickle.loads(pickle.dumps(loader)):
        torch.manual_seed(1)
        assert [twins.bits(batch) for batch in another] == want
        assert another.explain().native


@pytest.mark.parametrize("num_workers", [0, 2])
def test_iterators_are_not_pickled(dataset: ImageFolder, num_workers: int) -> None:
    rows = data.TensorDataset(torch.arange(6.0))
    for made, whole in ((dataset, False), (rows, False), (rows, True)):
        for work in (pickle.dumps, copy.copy, copy.deepcopy):
            said = []
            for kind in (data.DataLoader, goloader.DataLoader):
                iterator = iter(kind(made, batch_size=3, num_workers=num_workers))
                list(iterator) if whole else None
                with pytest.raises(NotImplementedError) as raised:
                    work(iterator)
                said.append(raised.value.args)
            assert said[0] == said[1]


@pytest.mark.parametrize("num_workers", [0, 2])
def test_an_exhausted_iterator_stays_so(dataset: ImageFolder, num_workers: int) -> None:
    for persistent in {False, num_workers > 0}:
        iterator = iter(goloader.DataLoader(dataset, num_workers=num_workers, persistent_workers=persistent))
        assert len(list(iterator)) == 24
        for _ in range(3):
            assert next(iterator, None) is None


def test_batches_are_ordinary_tensors(dataset: ImageFolder) -> None:
    for num_workers in 0, 2:
        images, labels = next(iter(goloader.DataLoader(dataset, batch_size=24, num_workers=num_workers)))
        images.mul_(2).add_(1)
        labels[0] = 7
        assert images.numpy().flags.writeable
        for copied in pickle.loads(pickle.dumps(images)), copy.deepcopy(images), images.clone():
            assert torch.equal(copied, images)
        assert torch.from_dlpack(images).data_ptr() == images.data_ptr()
        images.share_memory_()


@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_profiler_sees_the_ranges_that_its_tools_look_for(dataset: ImageFolder, num_workers: int) -> None:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        next(iter(goloader.DataLoader(dataset, num_workers=num_workers)))
    assert any(event.key.startswith("enumerate(DataLoader)#") for event in profile.key_averages())


@pytest.mark.parametrize("num_workers", [1, -1])
@pytest.mark.parametrize("of", [list(range(10)), data.TensorDataset(torch.arange(10)), Endless()])
def test_workers_that_are_set_later_are_torchs_error(
    of: Any, num_workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.unraisablehook", lambda _: None)  # of torch's iterators that were never made

    def told(kind: Any) -> tuple[Any, ...]:
        torch.manual_seed(3)
        loader = kind(of, batch_size=2)
        loader.num_workers = num_workers
        with pytest.raises((TypeError, AssertionError)) as raised:
            iter(loader)
        return raised.type, str(raised.value), torch.rand(1)

    assert told(goloader.DataLoader) == told(data.DataLoader)
    gc.collect()
