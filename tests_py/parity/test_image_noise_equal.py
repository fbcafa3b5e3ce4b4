"""Noise on image tensors, as large as they are: Go makes torch's numbers, and leaves generators where torch does."""

# ruff: noqa: SIM108 - as people write

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torchvision.transforms as T
import torchvision.transforms.functional as F
from photos import picture, save
from PIL import Image
from torch.utils.data import Dataset
from torchvision.datasets import CIFAR10, ImageFolder
from torchvision.transforms import v2
from twins import Program, bits, check, loader_of, seed

import goloader
from goloader import selfcheck

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(selfcheck.value("torch.randn") is None, reason="torch draws in another way here"),
]

WORKERS = pytest.mark.parametrize("num_workers", [0, 1, 3])
COUNT = 11
NORMAL = T.Normalize([0.5, 0.4, 0.3], [0.2, 0.3, 0.25])


class AddGaussianNoise:
    """The snippet that people copy."""

    def __init__(self, mean: float = 0.0, std: float = 1.0) -> None:
        self.std = std
        self.mean = mean

    def __call__(self, tensor: Any) -> Any:
        return tensor + torch.randn(tensor.size()) * self.std + self.mean

    def __repr__(self) -> str:
        return self.__class__.__name__ + f"(mean={self.mean}, std={self.std})"


class GaussianNoise(torch.nn.Module):
    """In a module, cut off."""

    def __init__(self, std: float) -> None:
        super().__init__()
        self.std = std

    def forward(self, img: Any) -> Any:
        noise = torch.randn_like(img).mul(self.std)
        return torch.clamp(img + noise, 0.0, 1.0)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("noise")
    (folder / "a").mkdir()
    for k in range(COUNT):
        (folder / "a" / f"{k}.png").write_bytes(save(picture(40 + 3 * (k % 4), 36 + k, k), "PNG"))
    return folder


class Photos(Dataset[Any]):
    """Photos that a transform makes tensors of; what is added to them, classes below say."""

    def __init__(self, root: Path, transform: Any) -> None:
        self.files = sorted(str(each) for each in (root / "a").iterdir())
        self.transform = transform
        self.sigma = 0.2
        self.add = AddGaussianNoise(0.0, 0.1)
        self.shift = torch.tensor([0.1, 0.2, 0.3]).view(3, 1, 1)

    def __len__(self) -> int:
        return COUNT

    def tensor(self, index: int) -> Any:
        return self.transform(Image.open(self.files[index]).convert("RGB"))

    def __getitem__(self, index: int) -> Any:
        return self.tensor(index)


class Denoising(Photos):
    def __getitem__(self, index: int) -> Any:
        clean = self.tensor(index)
        noise = torch.randn_like(clean) * self.sigma
        return clean + noise, clean


class Diffusion(Photos):
    def __getitem__(self, index: int) -> Any:
        x = self.tensor(index)
        t = random.random()
        noise = torch.randn_like(x)
        return {"x": x * (1 - t) + noise * t, "noise": noise, "t": t}


class Sometimes(Photos):
    def __getitem__(self, index: int) -> Any:
        x = self.tensor(index)
        if random.random() < 0.5:
            x = x + torch.randn(x.shape) * random.uniform(0.0, 0.3)
        if torch.rand(1) < 0.5:
            x = torch.clamp(x + torch.rand_like(x) * 0.1, 0, 1)
        else:
            x = x - 0.125
        return F.normalize(x, [0.5, 0.5, 0.5], [0.5, 0.25, 0.5]), index


class InPlace(Photos):
    def __getitem__(self, index: int) -> Any:
        x = self.tensor(index)
        x += 0.1 * torch.randn(*x.size())
        x.clamp_(min=0).add_(self.shift)
        y = x / 2
        y *= torch.rand(x.shape[0], x.shape[1], x.shape[2])
        return y, torch.rand(1).item()


class Speckle(Photos):
    def __getitem__(self, index: int) -> Any:
        x = self.tensor(index)
        first = x + x * torch.randn(x.shape) * self.sigma
        second = torch.sub(1, x - torch.randn(x.shape) / 4)
        return torch.stack([first, second]), first.clip(0, 1)


class Cutout(Photos):
    """A rectangle of one value below the noise."""

    def __getitem__(self, index: int) -> Any:
        x = self.tensor(index)
        top = random.randint(0, 9)
        x[:, top : top + 7, 3:9] = 0.5
        return x + torch.randn_like(x) * self.sigma


class Fixed(Photos):
    """As large as is said."""

    def __getitem__(self, index: int) -> Any:
        x = self.tensor(index)
        return x + torch.randn(3, 20, 24) * 0.5, torch.randn((3, 20, 24))


class Twice(Photos):
    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.files[index]).convert("RGB")
        return self.add(self.transform(image)), self.add(self.add(self.transform(image)))


class Upright(Photos):
    """Rows become columns, which are then far from each other in memory; not so the noise."""

    def __getitem__(self, index: int) -> Any:
        x = self.tensor(index).transpose(1, 2)
        return x + torch.randn(x.shape)


def pil(*size: int) -> T.Compose:
    return T.Compose([T.RandomResizedCrop(size), T.RandomHorizontalFlip(), T.ToTensor()])


def image(*size: int) -> v2.Compose:
    """Whose channels are last in memory, as torch leaves them there."""
    return v2.Compose([v2.RandomResizedCrop(size), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])


def folder(*transforms: Any, compose: Any = T.Compose) -> Callable[[Path], Any]:
    return lambda root: ImageFolder(str(root), compose([*transforms]))


# A count of numbers that is a multiple of 16, of 2, and odd.
SIZES = (20, 24), (21, 22), (21, 23)
KINDS: dict[str, Callable[[Path], Any]] = {
    **{f"snippet {size}": folder(pil(*size), AddGaussianNoise(0.1, 0.2)) for size in SIZES},
    "behind Normalize": folder(pil(20, 21), NORMAL, AddGaussianNoise(0.0, 0.5)),
    "before Normalize": folder(pil(20, 21), AddGaussianNoise(0.0, 0.5), NORMAL),
    "grey": folder(T.Grayscale(), pil(21, 23), AddGaussianNoise(0.0, 0.1), T.Normalize([0.5], [0.5])),
    "module": folder(pil(20, 24), GaussianNoise(0.1), NORMAL),
    "at random": folder(pil(20, 24), T.RandomApply([AddGaussianNoise(0.0, 0.1), GaussianNoise(0.1)], p=0.5), NORMAL),
    "lambda": folder(pil(20, 24), T.Lambda(lambda x: x + 0.1 * torch.randn_like(x))),
    **{
        f"{kind.__name__} {made.__name__}": lambda root, kind=kind, made=made: kind(root, made(20, 24))
        for kind in (Denoising, Diffusion, Sometimes, Speckle, Cutout)
        for made in (pil, image)
    },
    "in place": lambda root: InPlace(root, pil(21, 23)),
    "fixed": lambda root: Fixed(root, pil(20, 24)),
    "twice": lambda root: Twice(root, pil(21, 23)),
    "upright": lambda root: Upright(root, pil(20, 24)),
    "v2": folder(image(20, 24), v2.GaussianNoise(), compose=v2.Compose),
    "v2 in order": folder(pil(21, 23), v2.GaussianNoise(0.1, 0.3), compose=v2.Compose),
    "v2 not cut off": folder(image(20, 24), v2.GaussianNoise(-1, 2, False), v2.Normalize([0.5] * 3, [0.2] * 3)),
    "v2 several": folder(image(20, 24), v2.GaussianNoise(), AddGaussianNoise(0.0, 0.1), v2.GaussianNoise(0.5)),
    "v2 own class": lambda root: Photos(root, v2.Compose([*image(20, 24).transforms, v2.GaussianNoise()])),
    "v2 at random": folder(pil(20, 24), v2.RandomApply([v2.GaussianNoise(0.0, 0.1)], p=0.5), compose=v2.Compose),
    "v2 flipped": folder(image(20, 24), v2.RandomHorizontalFlip(), v2.GaussianNoise(), compose=v2.Compose),
    "v2 grey": folder(T.Grayscale(), image(21, 23), v2.GaussianNoise(), compose=v2.Compose),
}


@WORKERS
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.replace(" ", "-"))
def test_noise_is_torchs(kind: str, root: Path, num_workers: int) -> None:
    dataset = KINDS[kind](root)
    for chosen in (3, 4):
        arguments = loader_of(dataset, batch_size=4, shuffle=True, num_workers=num_workers)
        check(Program(arguments, epochs=2 if num_workers else 3, seed=chosen, draw=chosen == 4))


def test_noise_of_images_in_memory(tmp_path: Path) -> None:
    dataset = CIFAR10.__new__(CIFAR10)
    dataset.data = torch.randint(0, 256, (9, 32, 32, 3), dtype=torch.uint8).numpy()
    dataset.targets, dataset.target_transform = list(range(9)), None
    dataset.transform = T.Compose([T.ToTensor(), NORMAL, AddGaussianNoise(0.0, 0.1)])
    check(Program(loader_of(dataset, batch_size=4, shuffle=True, num_workers=1)))


# Noise that torch draws one by one, or in pairs of which one is left over: the code makes these samples.
LEFT: dict[str, Callable[[Path], Any]] = {
    "few": folder(pil(2, 2), AddGaussianNoise()),
    "few grey": folder(T.Grayscale(), pil(3, 5), AddGaussianNoise()),
    "odd": folder(image(21, 23), v2.GaussianNoise(), compose=v2.Compose),
}


@WORKERS
@pytest.mark.parametrize("kind", LEFT, ids=lambda kind: kind.replace(" ", "-"))
def test_noise_that_is_left_to_the_code(kind: str, root: Path, num_workers: int) -> None:
    check(Program(loader_of(LEFT[kind](root), batch_size=4, shuffle=True, num_workers=num_workers)))


def test_a_deviate_that_was_left_over_is_torchs_first(root: Path) -> None:
    """The process's generator keeps the second of two numbers, which torch takes for the first pixel."""
    dataset = KINDS["v2"](root)
    program = Program(loader_of(dataset, batch_size=4), before=lambda epoch, loader: torch.randn(1) and None)
    check(program)


class Moved(Photos):
    def __getitem__(self, index: int) -> Any:
        x = self.tensor(index)
        return torch.flip(x + torch.randn_like(x), (2,))


class Inverse(Photos):
    def __getitem__(self, index: int) -> Any:
        return 1 / (self.tensor(index) + 1.5 + torch.rand(3, 20, 24))


class OneForAll(Photos):
    def __getitem__(self, index: int) -> Any:
        return self.tensor(index) + torch.randn(1, 20, 24)


class Doubled(Photos):
    def __getitem__(self, index: int) -> Any:
        x = self.tensor(index)
        return x + torch.randn(x.shape, dtype=torch.float64)


class Compared(Photos):
    def __getitem__(self, index: int) -> Any:
        x = self.tensor(index)
        return x * (torch.rand_like(x) < 0.5)


class Turned(Photos):
    """Columns are last in memory."""

    def __getitem__(self, index: int) -> Any:
        x = self.tensor(index).transpose(1, 2)
        return x + torch.randn_like(x)


class Part(Photos):
    def __getitem__(self, index: int) -> Any:
        x = self.tensor(index)[:, 2:18, 4:20]
        return x + torch.rand_like(x)


class TurnedSometimes(Photos):
    def __getitem__(self, index: int) -> Any:
        x = self.tensor(index)
        if random.random() < 0.5:
            x = x.transpose(1, 2)
        x = x + torch.randn(x.shape)
        return x + torch.randn_like(x)


@pytest.mark.parametrize("kind", [Moved, Inverse, OneForAll, Doubled, Compared, Turned, Part, TurnedSometimes])
def test_what_is_not_known_of_noise_stays_with_torch(kind: Any, root: Path) -> None:
    check(Program(loader_of(kind(root, pil(20, 24)), batch_size=4)), native=False)


FLOATS = v2.ToDtype(torch.float32, scale=True)


@pytest.mark.parametrize(
    "transforms",
    [
        # Bytes, to which it does other arithmetic.
        [v2.Resize((20, 24)), v2.ToImage(), v2.GaussianNoise()],
        # Tensors that lie in memory as what is drawn has it.
        [v2.ToImage(), v2.RandomResizedCrop((20, 24)), FLOATS, v2.GaussianNoise()],
        # What moves pixels, or looks at others, behind noise.
        [v2.Resize((20, 24)), v2.ToImage(), FLOATS, v2.GaussianNoise(), v2.RandomHorizontalFlip()],
        [v2.Resize((20, 24)), v2.ToImage(), FLOATS, v2.GaussianNoise(), v2.RandomErasing(1.0)],
    ],
    ids=["bytes", "tensors", "flips", "erases"],
)
def test_transforms_that_stay_with_torch(transforms: list[Any], root: Path) -> None:
    check(Program(loader_of(folder(*transforms, compose=v2.Compose)(root), batch_size=4)), native=False)


@pytest.mark.parametrize("num_workers", [0, 1, 2])
@pytest.mark.parametrize("kind", ["before Normalize", "v2", "Denoising pil"])
def test_an_epoch_goes_on_from_its_middle(kind: str, root: Path, num_workers: int) -> None:
    arguments = loader_of(KINDS[kind](root), batch_size=2, shuffle=True, num_workers=num_workers)()
    seed(3)
    whole = [bits(batch) for batch in goloader.DataLoader(**arguments)]
    seed(3)
    loader: Any = goloader.DataLoader(**arguments)
    iterator = iter(loader)
    begun = [bits(next(iterator)) for _ in range(3)]
    state = loader.state_dict()
    del iterator
    again: Any = goloader.DataLoader(**arguments)
    again.load_state_dict(state)
    assert begun + [bits(batch) for batch in again] == whole


@pytest.mark.parametrize("kind", ["behind Normalize", "v2", "Diffusion pil", "Sometimes image"])
def test_noise_keyed_by_sample_does_not_depend_on_workers_or_doors(
    kind: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def epochs(door: str, num_workers: int) -> list[Any]:
        monkeypatch.setenv("GOLOADER", door)
        seed(3)
        loader = goloader.DataLoader(KINDS[kind](root), 3, num_workers=num_workers, rng="sample", shuffle=True)
        assert loader.explain().native is (door == "door1")
        return [bits(batch) for _ in range(2) for batch in loader]

    want = epochs("door3", 0)
    for num_workers in 0, 3:
        assert epochs("door1", num_workers) == want


@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_broken_file_among_noise(root: Path, num_workers: int, tmp_path: Path) -> None:
    dataset = Denoising(root, pil(20, 24))
    (tmp_path / "cut.png").write_bytes(Path(dataset.files[4]).read_bytes()[:300])
    dataset.files[4] = str(tmp_path / "cut.png")
    check(Program(loader_of(dataset, batch_size=2, num_workers=num_workers)))


def test_samples_that_a_collate_fn_gets(root: Path) -> None:
    def strides(samples: Any) -> Any:
        return [(noisy, clean, noisy.stride()) for noisy, clean in samples]

    for made in (pil, image):
        dataset = Denoising(root, made(20, 24))
        check(Program(loader_of(dataset, batch_size=4, collate_fn=lambda: strides, num_workers=1)), native=None)
