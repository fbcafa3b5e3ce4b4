"""Containers of torchvision's transforms do to recorded images what they do to real ones, in fewer calls."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils import data
from torchvision import transforms as T1
from torchvision.transforms import v2

import goloader
from goloader._core import Augmentation
from goloader.doors.recipe import door, hooks
from goloader.doors.same import difference

COUNT = 18


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("chains")
    for i in range(COUNT):
        mode = "L" if i % 5 == 4 else "RGB"
        noise = Image.effect_noise((30 + 7 * (i % 4), 26 + 5 * (i % 3)), 80)
        noise.convert(mode).save(folder / f"{i:02d}.{'jpg' if i % 2 else 'png'}", dpi=(72, 72))
    return folder


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How often the core drew what was done to an image, in this process."""
    right, calls = Augmentation.draw, [0]

    def draw(*arguments: Any) -> Any:
        calls[0] += 1
        return right(*arguments)

    monkeypatch.setattr(Augmentation, "draw", draw)
    yield calls


class Files(data.Dataset[Any]):
    def __init__(self, root: Path, transform: Any, mode: str | None = "RGB") -> None:
        self.paths, self.transform, self.mode = sorted(root.iterdir()), transform, mode

    def __len__(self) -> int:
        return len(self.paths)

    def opened(self, index: int) -> Any:
        image = Image.open(self.paths[index])
        return image if self.mode is None else image.convert(self.mode)

    def __getitem__(self, index: int) -> Any:
        return self.transform(self.opened(index)), index


def compare(make: Callable[[], data.Dataset[Any]], workers: int = 0, batch_size: int | None = 4) -> Any:
    """Batches, errors and generators of three epochs are torch's. Returns our loader."""
    found = []
    for kind in (data.DataLoader, goloader.DataLoader):
        loader: Any = kind(make(), batch_size, shuffle=True, num_workers=workers)
        torch.manual_seed(5)
        random.seed(5)
        np.random.seed(5)
        seen: list[Any] = []
        for _ in range(3):
            iterator = iter(loader)
            while True:
                try:
                    seen.append(next(iterator))
                except StopIteration:
                    break
                except Exception as error:
                    seen.append((type(error), str(error)))
                    break
        found.append((seen, torch.rand(2), random.random(), np.random.rand()))
    assert difference(*found) is None
    return loader


def noted(loader: Any) -> str:
    return str(door.record(loader).state) if hooks.refusal() is None else ""


class Inverted:
    """A transform of the user's own, which draws too."""

    def __call__(self, image: Any) -> Any:
        return image.point([255 - i for i in range(256)] * len(image.getbands())) if random.random() < 0.5 else image


class Own(T1.Compose):
    """Goes through its transforms backwards."""

    def __call__(self, image: Any) -> Any:
        for transform in reversed(self.transforms):
            image = transform(image)
        return image


def sizes(size: Any) -> list[list[Any]]:
    """v2's that draw a size of their own."""
    last = [v2.RandomCrop(size, pad_if_needed=True)]
    return [
        [v2.RandomResize(18, 30), *last],
        [v2.RandomShortestSize([18, 20], 25), *last],
        [v2.ScaleJitter((20, 30), (0.5, 1.5)), *last],
        [v2.RandomZoomOut(7, (1.0, 2.0)), *last],
    ]


def any_chain(chance: random.Random, T: Any) -> Any:  # noqa: N803
    """A container as people write them."""
    size = chance.choice([16, (18, 14)])
    first = chance.choice(
        [
            [T.RandomResizedCrop(size, scale=(0.3, 1.0))],
            [T.Resize(24), T.CenterCrop(size)],
            [T.Resize((22, 24)), T.RandomCrop(size, padding=chance.choice([None, 3]))],
            [T.RandomRotation(20), T.Resize(size if isinstance(size, tuple) else (size, size))],
            *(sizes(size) if T is v2 else ()),
        ]
    )
    colours = [
        T.ColorJitter(0.4, 0.3, 0.2, 0.1),
        T.RandomApply([T.ColorJitter(0.4, 0.4)], p=0.7),
        T.RandomGrayscale(0.3),
        T.RandomSolarize(100, p=0.4),
        T.RandomEqualize(0.5),
        T.RandomAutocontrast(0.4),
        T.GaussianBlur(3),
        Inverted(),
        *((v2.RandomPhotometricDistort(), v2.RandomChannelPermutation()) if T is v2 else ()),
    ]
    some = chance.sample(colours, chance.randint(0, 3))
    between = [*some, *chance.sample([T.RandomHorizontalFlip(), T.RandomVerticalFlip(0.3)], chance.randint(0, 2))]
    if chance.random() < 0.3:
        between = [T.Compose(between)] if between else []
    chance.shuffle(between)
    tail = [T.ToTensor()] if T is T1 else [T.PILToTensor(), T.ToDtype(torch.float32, scale=True)]
    after = chance.choice([[], [T.Normalize([0.5] * 3, [0.2] * 3)], [T.RandomErasing(0.5)]])
    return T.Compose([*first, *between, *tail, *after])


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("api", ["v1", "v2"])
@pytest.mark.parametrize("seed", range(16))
def test_any_chain_does_what_torchvision_s_does(
    root: Path, seed: int, api: str, workers: int, drawn: list[int]
) -> None:
    chain = any_chain(random.Random(seed), T1 if api == "v1" else v2)
    loader = compare(lambda: Files(root, chain), workers)
    assert noted(loader) in ("", "native", "looked at"), chain
    assert workers or not noted(loader) or drawn[0], chain


def test_grey_images(root: Path, drawn: list[int]) -> None:
    chain = T1.Compose([T1.RandomCrop(20), T1.ColorJitter(0.4), T1.ToTensor(), T1.Normalize(0.5, 0.2)])
    compare(lambda: Files(root, chain, "L"))
    assert drawn[0] or hooks.refusal() is not None


def test_images_in_the_mode_of_their_file(root: Path) -> None:
    chain = T1.Compose([T1.RandomCrop(20), T1.Grayscale(3), T1.ToTensor()])
    compare(lambda: Files(root, chain, None))


def test_a_container_of_the_users_own_class(root: Path) -> None:
    compare(lambda: Files(root, Own([T1.ToTensor(), T1.RandomHorizontalFlip(), T1.RandomCrop(20)])))


def test_a_size_that_no_image_has_is_torchvision_s_error(root: Path) -> None:
    compare(lambda: Files(root, T1.Compose([T1.RandomHorizontalFlip(), T1.RandomCrop(40), T1.ToTensor()])))


class Changing(Files):
    """Changes its transforms while it is read, in one of many ways."""

    def __init__(self, root: Path, way: str) -> None:
        crop, flip = T1.RandomCrop(20), T1.RandomHorizontalFlip(0.5)
        super().__init__(root, T1.Compose([crop, flip, T1.ToTensor(), T1.Normalize([0.5] * 3, [0.2] * 3)]))
        self.way, self.reads = way, 0

    def __getitem__(self, index: int) -> Any:
        self.reads += 1
        steps = self.transform.transforms
        if self.reads % 3 == 0:
            getattr(self, self.way)(steps, 16 + 4 * (self.reads % 2))
        image = self.transform(self.opened(index))
        return torch.nn.functional.interpolate(image[None], (8, 8))[0], index

    def attribute(self, steps: Any, size: int) -> None:
        steps[0].size = (size, size)

    def item(self, steps: Any, size: int) -> None:
        steps[0] = T1.CenterCrop(size)

    def more(self, steps: Any, size: int) -> None:
        steps.insert(1, T1.RandomVerticalFlip())

    def another_list(self, steps: Any, size: int) -> None:
        self.transform.transforms = [steps[1], steps[0], *steps[2:]]

    def chance(self, steps: Any, size: int) -> None:
        next(each for each in steps if isinstance(each, T1.RandomHorizontalFlip)).p = size / 20

    def mean(self, steps: Any, size: int) -> None:
        steps[-1].mean[0] = size / 100

    def hidden(self, steps: Any, size: int) -> None:
        steps[0].forward = lambda image: image.crop((0, 0, size, size))

    def hook(self, steps: Any, size: int) -> None:
        steps[1].register_forward_hook(lambda module, given, made: made.rotate(90))

    def kind(self, steps: Any, size: int) -> None:
        steps[1].__class__ = T1.RandomVerticalFlip

    def container(self, steps: Any, size: int) -> None:
        self.transform = T1.Compose([T1.CenterCrop(size), *steps[1:]])


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize(
    "way",
    ["attribute", "item", "more", "another_list", "chance", "mean", "hidden", "hook", "kind", "container"],
)
def test_what_changes_between_two_samples_is_seen(root: Path, way: str, workers: int) -> None:
    compare(lambda: Changing(root, way), workers)


def test_a_thread_that_draws_meanwhile_has_numbers_of_its_own(
    root: Path, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As many numbers whatever they are.
    chain = T1.Compose([T1.RandomCrop(16), T1.RandomHorizontalFlip(), T1.ColorJitter(0.4), T1.ToTensor()])
    paths = sorted(root.iterdir())
    words: list[int] = []

    def word() -> None:
        words.append(int(torch.empty((), dtype=torch.int32).random_()))

    right, calls = Augmentation.draw, [0]

    def interrupted(*arguments: Any) -> Any:
        """Another thread draws between the look at the generator and the draw."""
        made = right(*arguments)
        calls[0] += 1
        if calls[0] % 3 == 1:
            word()
        return made

    def loaded(before: Any) -> Any:
        made = []
        for path in paths:
            image = Image.open(path).convert("RGB")
            before(len(made))
            made.append(chain(image))
        return torch.stack(made)

    torch.manual_seed(3)
    monkeypatch.setattr(Augmentation, "draw", interrupted)
    got, *_ = run(loaded, lambda number: None)
    ours, after = words[:], torch.rand(1)
    if hooks.refusal() is not None:
        return
    # Every second sample is drawn twice: with the word of the other thread in front.
    words.clear()
    torch.manual_seed(3)
    want = loaded(lambda number: word() if number % 2 == 0 else None)
    assert ours == words
    assert torch.equal(got, want)
    assert torch.equal(after, torch.rand(1))


@pytest.mark.parametrize("workers", [0, 2])
def test_numbers_of_another_type(root: Path, workers: int) -> None:
    chain = T1.Compose([T1.RandomResizedCrop(16), T1.RandomHorizontalFlip(), T1.ColorJitter(0.4), T1.ToTensor()])
    torch.set_default_dtype(torch.float64)
    try:
        compare(lambda: Files(root, chain), workers)
    finally:
        torch.set_default_dtype(torch.float32)


class Looking(Files):
    """Looks at what its transforms made, and goes on from there."""

    def __getitem__(self, index: int) -> Any:
        image = self.transform(self.opened(index))
        before = torch.rand(1)
        if index % 3 == 0:
            return np.asarray(image).copy(), before, str(image.format)
        if index % 3 == 1:
            image.putpixel((1, 2), (3, 4, 5))
            return np.array(image), before, str(sorted(image.info))
        return np.array(image.quantize(8).convert("RGB")), before, type(image).__name__


@pytest.mark.parametrize("more", [[], [T1.ColorJitter(0.4, 0.4, 0.4, 0.1)], [T1.Pad(2), T1.RandomRotation(30)]])
def test_an_image_that_is_looked_at_is_torchvision_s(root: Path, more: list[Any]) -> None:
    chain = T1.Compose([T1.RandomResizedCrop(16), T1.RandomHorizontalFlip(), *more])
    compare(lambda: Looking(root, chain))


class Damaged(Files):
    """Has files that cannot be decoded, and takes others in their place."""

    def __getitem__(self, index: int) -> Any:
        try:
            image = self.transform(self.opened(index))
        except OSError:
            image = self.transform(self.opened((index + 1) % len(self)))
        return image, index


def test_a_damaged_file_leaves_the_generator_as_torchvision_does(root: Path, tmp_path: Path) -> None:
    for path in root.iterdir():
        content = path.read_bytes()
        (tmp_path / path.name).write_bytes(content[:200] if path.stem in ("03", "08", "09") else content)
    chain = T1.Compose([T1.RandomHorizontalFlip(), T1.RandomCrop(20), T1.ColorJitter(0.2), T1.ToTensor()])
    compare(lambda: Damaged(tmp_path, chain, None))


def test_a_function_that_somebody_replaces_is_called(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chain = T1.Compose([T1.RandomCrop(20), T1.RandomHorizontalFlip(), T1.ToTensor()])
    right = T1.RandomCrop.get_params
    monkeypatch.setattr(T1.RandomCrop, "get_params", staticmethod(lambda image, size: (1, *right(image, size)[1:])))
    compare(lambda: Files(root, chain))
