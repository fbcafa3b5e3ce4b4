"""What is remembered of a check counts while nothing has changed that the check goes by, and no longer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import PIL.Image
import pytest
import torch
import torchvision.transforms as T
from torchvision import datasets
from torchvision.transforms import functional as F
from torchvision.transforms import v2

import goloader
from goloader.plan.trust import calls
from goloader.plan.trust.watch import Watch

APIS = pytest.mark.parametrize("api", [T, v2])


def cifar(api: Any) -> Any:
    """[64, 32, 32, 3] uint8, and 64 labels."""
    made = datasets.CIFAR10.__new__(datasets.CIFAR10)
    tail = [T.ToTensor()] if api is T else [v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]
    first = [api.RandomCrop(32, padding=4), api.RandomHorizontalFlip()]
    made.transform = api.Compose([*first, *tail, api.Normalize([0.5, 0.4, 0.3], [0.2, 0.25, 0.3])])
    made.data = np.random.default_rng(3).integers(0, 256, (64, 32, 32, 3), np.uint8)
    made.targets, made.target_transform, made.train, made.root = list(range(64)), None, True, "nowhere"
    return made


def doubled(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that gives twice what it should."""
    return lambda *arguments, **options: 2 * function(*arguments, **options)


def greyed(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose image loses its colours."""
    return lambda *arguments, **options: function(*arguments, **options).convert("L").convert("RGB")


def another_class(dataset: Any) -> None:
    flip = dataset.transform.transforms[1]
    flip.__class__ = T.RandomVerticalFlip if isinstance(flip, T.RandomHorizontalFlip) else v2.RandomVerticalFlip


def moved(dataset: Any) -> None:
    """The same attributes under other names."""
    flip = dataset.transform.transforms[1]
    flip.__dict__ = {**vars(flip), "p": 1.0}


CHANGES: dict[str, Callable[[Any, pytest.MonkeyPatch], Any]] = {
    "a transform is left out": lambda d, m: d.transform.transforms.pop(1),
    "two change places": lambda d, m: d.transform.transforms.insert(0, d.transform.transforms.pop(1)),
    "another list": lambda d, m: setattr(d.transform, "transforms", d.transform.transforms[1:]),
    "another transform": lambda d, m: setattr(d, "transform", T.ToTensor()),
    "an attribute": lambda d, m: setattr(d.transform.transforms[1], "p", 1.0),
    "an item of a list": lambda d, m: d.transform.transforms[-1].mean.__setitem__(1, 0.9),
    "another dict": lambda d, m: moved(d),
    "another class": lambda d, m: another_class(d),
    "a hook": lambda d, m: d.transform.transforms[-1].register_forward_hook(lambda _, __, made: made + 1),
    "a method of the object": lambda d, m: setattr(
        d.transform.transforms[-1], "forward", doubled(d.transform.transforms[-1].forward)
    ),
    "a method of the class": lambda d, m: m.setattr(
        type(d.transform.transforms[-1]), "forward", doubled(type(d.transform.transforms[-1]).forward)
    ),
    "__call__ of Compose": lambda d, m: m.setattr(
        type(d.transform), "forward" if isinstance(d.transform, torch.nn.Module) else "__call__",
        lambda self, image: torch.zeros(3, 2, 2),
    ),
    "Image.transpose": lambda d, m: m.setattr(
        PIL.Image.Image, "transpose", greyed(PIL.Image.Image.transpose)
    ),
    "Image.fromarray": lambda d, m: m.setattr(PIL.Image, "fromarray", greyed(PIL.Image.fromarray)),
    "code of functional.hflip": lambda d, m: m.setattr(F.hflip, "__code__", (lambda img: img.rotate(90)).__code__),
    "target_transform": lambda d, m: setattr(d, "target_transform", lambda label: label + 1),
    "__getitem__ of the class": lambda d, m: m.setattr(
        datasets.CIFAR10, "__getitem__", lambda self, index: (torch.zeros(1), index)
    ),
    "a descriptor in the class": lambda d, m: m.setattr(
        type(d.transform.transforms[1]), "p", property(lambda self: 1.0, lambda self, value: None), raising=False
    ),
    "a hook of all modules": lambda d, m: m.setattr(
        torch.nn.modules.module, "_global_forward_hooks",
        {1: lambda _, __, made: made if isinstance(made, PIL.Image.Image) else -made},
    ),
}  # fmt: skip


@APIS
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_between_two_batches_is_seen_before_the_next_one(change: str, api: Any) -> None:
    def run(kind: Any) -> list[list[torch.Tensor]]:
        dataset, seen = cifar(api), []
        torch.manual_seed(5)
        with pytest.MonkeyPatch.context() as patch:
            for number, batch in enumerate(kind(dataset, batch_size=4, shuffle=True)):
                seen.append([tensor.clone() for tensor in batch])
                if number == 7:  # what was found is relied on by then
                    CHANGES[change](dataset, patch)
        return seen

    ours, theirs = run(goloader.DataLoader), run(torch.utils.data.DataLoader)
    assert len(ours) == len(theirs) == 16
    for one, other in zip(ours, theirs, strict=True):
        assert all(map(torch.equal, one, other))


@APIS
def test_what_was_found_is_found_again_without_a_check_until_something_changes(api: Any) -> None:
    dataset, checks = cifar(api), []
    watch = Watch[Any]()

    def check() -> object:
        calls.calls_of((), tuple(map(type, dataset.transform.transforms)), ("forward",))
        checks.append(object())
        return checks[-1]

    def found() -> object:
        return watch.found(check, [dataset.transform], dataset)

    found()
    known = found()
    assert len(checks) == 2
    assert all(found() is known for _ in range(5))
    dataset.transform.transforms[1].p = 0.25
    assert found() is checks[2] is not known
    assert found() is checks[3]
    assert found() is checks[3]
    dataset.mark = 1
    assert found() is checks[4]


@pytest.mark.parametrize("held", [torch.zeros(3000), [bytearray(b"ab")], {"a": np.zeros(2)}, (1, [object()])])
def test_what_may_change_unseen_is_checked_each_time(held: Any) -> None:
    transform, checks = T.RandomCrop(3), []
    transform.extra = held
    watch = Watch[None]()
    for _ in range(5):
        watch.found(lambda: checks.append(1), [transform])
    assert len(checks) == 5


def test_what_one_list_loses_and_the_next_one_gets_is_a_change() -> None:
    first, second = T.Compose([]), T.Compose([])
    crop, flip = T.CenterCrop(3), T.RandomHorizontalFlip()
    first.transforms, second.transforms = [crop, flip], []
    checks: list[int] = []
    watch = Watch[None]()
    for _ in range(4):
        watch.found(lambda: checks.append(1), [first.transforms, second.transforms])
    second.transforms.append(first.transforms.pop())
    assert len(checks) == 2
    watch.found(lambda: checks.append(1), [first.transforms, second.transforms])
    assert len(checks) == 3
