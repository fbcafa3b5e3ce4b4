"""install() makes torch's class make our loaders, by whatever name it goes; uninstall() leaves no trace of that."""

from __future__ import annotations

import abc
import copy
import functools
import inspect
import pickle
import threading
from collections.abc import Iterator
from typing import Any, ClassVar, Generic, TypeVar

import pytest
import torch
import twins
from torch.utils import data
from torch.utils.data import DataLoader as ImportedBefore
from torch.utils.data.dataloader import DataLoader as ImportedFromTheModule
from torchvision.datasets import ImageFolder

import goloader

T = TypeVar("T")


class Direct(ImportedBefore[T]):
    """What frameworks define when they are imported."""

    def __init__(self, dataset: Any, *arguments: Any, mine: int = 3, **more: Any) -> None:
        super().__init__(dataset, *arguments, **more)
        self.mine = mine


class Explicit(ImportedBefore[Any]):
    """Names the base class, as programs do that are older than super()."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        ImportedBefore.__init__(self, *arguments, **more)


class Mixin:
    def explain(self) -> str:
        return "the mixin's"


class Abstract(abc.ABC):
    @abc.abstractmethod
    def more(self) -> int: ...


class Several(Mixin, ImportedBefore[T], Abstract, Generic[T]):
    def more(self) -> int:
        return 5


class Behind(ImportedBefore[Any], Mixin):
    """Ours in front of the mixin would take its explain() away."""


class Below(Direct[Any], ImportedBefore[Any]):
    pass


class ItsOwn(ImportedBefore[Any]):
    def _get_iterator(self) -> Any:
        return iter([1, 2])


def seen(kind: type[Any]) -> Any:
    # Copying an object leaves __slotnames__ in its class.
    return kind.__bases__, kind.__mro__, {name: value for name, value in vars(kind).items() if name != "__slotnames__"}


@pytest.fixture
def installed() -> Iterator[None]:
    goloader.install()
    yield
    goloader.uninstall()


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """torch's class and its subclasses after a test are what they were before it."""
    kinds = [data.DataLoader, Direct, Explicit, Several, Behind, Below, ItsOwn]
    before = [seen(kind) for kind in kinds]
    assert data.DataLoader is ImportedBefore
    yield
    for kind, was in zip(kinds, before, strict=True):
        assert seen(kind) == was, kind
    assert type(data.DataLoader([1])) is data.DataLoader


MADE = {
    "torch.utils.data.DataLoader": lambda: data.DataLoader,
    "torch.utils.data.dataloader.DataLoader": lambda: data.dataloader.DataLoader,
    "imported before": lambda: ImportedBefore,
    "imported before from the module": lambda: ImportedFromTheModule,
    "a partial": lambda: functools.partial(ImportedBefore),
    "an alias of types": lambda: data.DataLoader[int],
    "unpickled": lambda: pickle.loads(pickle.dumps(data.DataLoader)),
}


@pytest.mark.parametrize("name", MADE)
def test_whatever_name_torch_s_class_goes_by_it_makes_ours(dataset: ImageFolder, installed: None, name: str) -> None:
    loader = MADE[name]()(dataset, batch_size=5)
    assert type(loader) is goloader.DataLoader
    assert isinstance(loader, data.DataLoader)
    assert loader.explain().native
    assert len(list(loader)) == 5


@pytest.mark.parametrize("num_workers", [0, 2])
def test_batches_are_torch_s(dataset: ImageFolder, num_workers: int) -> None:
    def run() -> list[tuple[str, Any]]:
        arguments = twins.loader_of(dataset, batch_size=5, shuffle=True, num_workers=num_workers)
        return twins.run(data.DataLoader, twins.Program(arguments))

    theirs = run()
    goloader.install()
    try:
        ours = run()
    finally:
        goloader.uninstall()
    twins.compare(ours, theirs)


@pytest.mark.parametrize("kind", [Direct, Explicit, Several, Below])
def test_subclasses_defined_before_become_ours_and_torch_s_again(dataset: ImageFolder, kind: type[Any]) -> None:
    before = kind(dataset)
    goloader.install()
    try:
        assert issubclass(kind, goloader.DataLoader)
        loader = kind(dataset, batch_size=5)
        assert type(loader) is kind
        assert isinstance(loader, goloader.DataLoader)
        assert isinstance(loader, data.DataLoader)
        assert goloader.DataLoader.explain(loader).native
        torch.manual_seed(0)
        ours = [twins.bits(batch) for batch in loader]
        for another in copy.copy(loader), pickle.loads(pickle.dumps(loader)):
            assert type(another) is kind
            torch.manual_seed(0)
            assert [twins.bits(batch) for batch in another] == ours
    finally:
        goloader.uninstall()
    assert not issubclass(kind, goloader.DataLoader)
    torch.manual_seed(0)
    assert [twins.bits(batch) for batch in kind(dataset, batch_size=5)] == ours
    assert len(list(before)) == 24


def test_a_subclass_keeps_what_is_its_own(dataset: ImageFolder, installed: None) -> None:
    assert Direct(dataset, mine=7).mine == 7
    assert Several(dataset).explain() == "the mixin's"
    assert Several(dataset).more() == 5
    assert Behind(dataset).explain() == "the mixin's"
    assert not issubclass(Behind, goloader.DataLoader)
    assert len(list(Behind(dataset))) == 24
    assert list(ItsOwn(dataset)) == [1, 2]


def test_explain_tells_of_a_class_that_makes_its_own_iterators(dataset: ImageFolder, installed: None) -> None:
    explanation = ItsOwn(dataset).explain()
    assert not explanation.native
    assert explanation.rows[0].what == "ItsOwn"
    assert "iterators itself" in explanation.rows[0].why


def test_subclasses_defined_later_are_ours_for_as_long(dataset: ImageFolder) -> None:
    class Hooked:
        seen: ClassVar[list[type[Any]]] = []

        def __init_subclass__(cls, **arguments: Any) -> None:
            super().__init_subclass__(**arguments)
            Hooked.seen.append(cls)

    goloader.install()
    try:

        class Later(ImportedBefore[Any]):
            pass

        class Cooperating(ImportedBefore[Any], Hooked):
            pass

        class BelowIt(Cooperating):
            pass

        for kind in Later, Cooperating, BelowIt:
            assert issubclass(kind, goloader.DataLoader)
            assert kind(dataset).explain().native
        assert Hooked.seen == [Cooperating, BelowIt]
    finally:
        goloader.uninstall()
    for kind in Later, Cooperating, BelowIt:
        assert not issubclass(kind, goloader.DataLoader)


def test_torch_s_signature_errors_and_attributes_stay(dataset: ImageFolder) -> None:
    signature, loader = inspect.signature(data.DataLoader), data.DataLoader(dataset)
    goloader.install()
    try:
        assert inspect.signature(data.DataLoader) == signature
        assert vars(data.DataLoader(dataset)).keys() == vars(loader).keys()
        with pytest.raises(ValueError, match="num_workers option should be non-negative"):
            data.DataLoader(dataset, num_workers=-1)
        with pytest.raises(TypeError, match="unexpected keyword argument 'no_such'"):
            data.DataLoader(dataset, no_such=1)
        assert isinstance(loader, data.DataLoader)
        assert type(loader) is data.DataLoader
        assert len(list(loader)) == 24
    finally:
        goloader.uninstall()


def test_who_wraps_init_meanwhile_may_unwrap_it_later(dataset: ImageFolder) -> None:
    own = data.DataLoader.__init__
    calls = []

    def wrapper(self: Any, *arguments: Any, **more: Any) -> None:
        calls.append(type(self))
        wrapped(self, *arguments, **more)

    goloader.install()
    wrapped = data.DataLoader.__init__
    data.DataLoader.__init__ = wrapper  # type: ignore[method-assign]
    try:
        assert type(data.DataLoader(dataset)) is goloader.DataLoader
        assert calls == [data.DataLoader, goloader.DataLoader]
        goloader.uninstall()
        assert data.DataLoader.__init__ is wrapper
        assert type(data.DataLoader(dataset)) is data.DataLoader
    finally:
        data.DataLoader.__init__ = own  # type: ignore[method-assign]


def test_twice_is_once(dataset: ImageFolder) -> None:
    goloader.uninstall()
    for _ in range(2):
        goloader.install()
        goloader.install()
        assert type(data.DataLoader(dataset)) is goloader.DataLoader
        goloader.uninstall()
        assert type(data.DataLoader(dataset)) is data.DataLoader
        goloader.uninstall()


def test_threads_may_install_and_uninstall_while_others_make_loaders() -> None:
    stop, wrong = threading.Event(), []

    def turn(action: Any) -> None:
        while not stop.is_set():
            action()

    def make() -> None:
        loader = data.DataLoader(range(4), batch_size=2)
        if type(loader) not in (data.DataLoader, goloader.DataLoader) or len(Direct([1, 2]).dataset) != 2:
            wrong.append(loader)

    threads = [threading.Thread(target=turn, args=[action]) for action in (goloader.install, goloader.uninstall, make)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(300):
            make()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        goloader.uninstall()
    assert not wrong


def test_each_loader_explains_itself_once_if_asked(
    dataset: ImageFolder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "3")
    goloader.install(explain=True)
    try:
        loader = Direct(dataset, batch_size=8)
        assert capsys.readouterr().err == ""
        iterator = iter(loader)
        table = capsys.readouterr().err
        assert table == f"goloader: Direct, rank 3\n{loader.explain()}\n"
        list(iterator)
        list(loader)
        assert capsys.readouterr().err == ""
        list(data.DataLoader([1]))
        assert capsys.readouterr().err.startswith("goloader: DataLoader, rank 3\nstage")
    finally:
        goloader.uninstall()
    list(goloader.DataLoader(dataset))
    assert capsys.readouterr().err == ""
