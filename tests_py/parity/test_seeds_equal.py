"""Classes that seed generators in `__getitem__`, or put them into states again, so that an image and its mask are
transformed alike: our batches are torch's."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torchvision.transforms as T
from photos import picture
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from twins import Program, bits, check, compare, errors, loader_of, run

import goloader

COUNT = 9
IMAGES = T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.RandomRotation(20), T.ToTensor()])
MASKS = T.Compose([T.RandomResizedCrop(16, interpolation=T.InterpolationMode.NEAREST), T.ToTensor()])

BEGIN = "image = Image.open(self.paths[i]).convert('RGB')\nmask = Image.open(self.masks[i]).convert('L')"
END = "return image, mask, random.random(), np.random.randint(9), torch.rand(1).item()"

CODES = {
    "numpy's number": """
        seed = np.random.randint(2147483647)
        random.seed(seed)
        torch.manual_seed(seed)
        image = IMAGES(image)
        random.seed(seed)
        torch.manual_seed(seed)
        mask = MASKS(mask)""",
    "torch's number": """
        seed = torch.randint(0, 2**31, (1,)).item()
        torch.manual_seed(seed)
        image = IMAGES(image)
        torch.manual_seed(seed)
        mask = MASKS(mask)""",
    "all of them": """
        seed = random.randint(0, 2**32 - 1)
        torch.random.manual_seed(seed)
        np.random.seed(seed)
        random.seed(seed)
        torch.cuda.manual_seed_all(seed)
        if np.random.rand() < 0.5:
            image = image.transpose(Image.Transpose.FLIP_TOP_BOTTOM)
        image = IMAGES(image)
        torch.manual_seed(seed=seed)
        np.random.seed(seed)
        if np.random.rand() < 0.5:
            mask = mask.transpose(Image.Transpose.FLIP_TOP_BOTTOM)
        mask = MASKS(mask)""",
    "torch's state": """
        state = torch.get_rng_state()
        image = IMAGES(image)
        torch.set_rng_state(state)
        mask = MASKS(mask)""",
    "states of all": """
        torch_state, state, numpy_state = torch.random.get_rng_state(), random.getstate(), np.random.get_state()
        if random.gauss(0, 1) < np.random.normal():
            image = image.transpose(Image.Transpose.FLIP_TOP_BOTTOM)
        image = IMAGES(image)
        torch.random.set_rng_state(torch_state)
        random.setstate(state)
        np.random.set_state(numpy_state)
        if random.gauss(0, 1) < np.random.normal():
            mask = mask.transpose(Image.Transpose.FLIP_TOP_BOTTOM)
        mask = MASKS(mask)""",
    "the index": """
        torch.manual_seed(i)
        image = IMAGES(image)
        random.seed(self.numbers[i])
        if random.random() < 0.5:
            mask = mask.transpose(Image.Transpose.FLIP_TOP_BOTTOM)
        mask = MASKS(mask)""",
    "on one way": """
        if random.random() < 0.5:
            seed = np.random.randint(1000)
            torch.manual_seed(seed)
            image = image.transpose(Image.Transpose.FLIP_TOP_BOTTOM)
        image = IMAGES(image)
        mask = MASKS(mask)""",
    "and again": """
        state = torch.get_rng_state()
        image = IMAGES(image)
        torch.manual_seed(7)
        again = torch.get_rng_state()
        mask = MASKS(mask)
        torch.set_rng_state(again if False else state)""",
}

# What is left to Python: the number may be none that the function takes, or the state is looked at, or of another one.
LEFT = {
    "a negative seed": "torch.manual_seed(-1)\nimage, mask = IMAGES(image), MASKS(mask)",
    "a large seed": "random.seed(2**40 + i)\nimage, mask = IMAGES(image), MASKS(mask)",
    "a text": "random.seed(str(i))\nimage, mask = IMAGES(image), MASKS(mask)",
    "no number": "torch.seed()\ntorch.manual_seed(3)\nimage, mask = IMAGES(image), MASKS(mask)",
    "numpy's int": "random.seed(int(self.array[i]))\nimage, mask = IMAGES(image), MASKS(mask)",
    "a kept state": "torch.set_rng_state(self.state)\nimage, mask = IMAGES(image), MASKS(mask)",
    "a generator": "torch.manual_seed(i).manual_seed(4)\nimage, mask = IMAGES(image), MASKS(mask)",
}


class Base(Dataset[Any]):
    def __init__(self, root: Path) -> None:
        self.paths = [str(root / f"{number}.png") for number in range(COUNT)]
        self.masks = [str(root / f"mask{number}.png") for number in range(COUNT)]
        self.numbers = [number**2 for number in range(COUNT)]
        self.array = np.arange(COUNT)
        self.state = torch.get_rng_state()

    def __len__(self) -> int:
        return COUNT


def class_of(code: str) -> type[Base]:
    lines = [line.strip("\n") for line in (BEGIN + "\n" + _dedented(code) + "\n" + END).split("\n") if line.strip()]
    names: dict[str, Any] = {
        "Image": Image, "random": random, "np": np, "torch": torch, "IMAGES": IMAGES, "MASKS": MASKS,
    }  # fmt: skip
    exec("def __getitem__(self, i):\n" + "\n".join(f"    {line}" for line in lines), names)
    return type("Seeding", (Base,), {"__getitem__": names["__getitem__"]})


def _dedented(code: str) -> str:
    return "\n".join(line.removeprefix("        ") for line in code.split("\n"))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("seeds")
    for number in range(COUNT):
        picture(30 + number, 26, number).save(folder / f"{number}.png")
        picture(30 + number, 26, number).convert("L").save(folder / f"mask{number}.png")
    return folder


@pytest.mark.parametrize("num_workers", [1, 2])
@pytest.mark.parametrize("name", CODES)
def test_generators_that_are_seeded(name: str, num_workers: int, root: Path) -> None:
    dataset = class_of(CODES[name])(root)
    check(Program(loader_of(dataset, batch_size=2, shuffle=True, num_workers=num_workers), epochs=2, seed=3))


@pytest.mark.parametrize(("name", "num_workers"), [*((each, 2) for each in LEFT), *((each, 0) for each in CODES)])
def test_what_is_left_to_python(name: str, num_workers: int, root: Path) -> None:
    """Without workers the program's own generators are seeded, and those of devices."""
    dataset = class_of(LEFT.get(name) or CODES[name])(root)
    program = Program(loader_of(dataset, batch_size=2, num_workers=num_workers), epochs=2, seed=3, draw=True)
    compare(run(goloader.DataLoader, program), run(DataLoader, program))


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("name", ["numpy's number", "states of all"])
def test_an_epoch_goes_on_from_a_state(name: str, persistent: bool, root: Path) -> None:
    dataset = class_of(CODES[name])(root)
    arguments: dict[str, Any] = {"batch_size": 2, "shuffle": True, "num_workers": 2, "persistent_workers": persistent}
    torch.manual_seed(5)
    loader = goloader.DataLoader(dataset, **arguments)
    assert loader.explain().native
    whole = [bits(batch) for batch in loader]
    for begun in (0, 1, 3):
        torch.manual_seed(5)
        first = goloader.DataLoader(dataset, **arguments)
        batches = iter(first)
        got = [next(batches) for _ in range(begun)]
        again = goloader.DataLoader(dataset, **arguments)
        again.load_state_dict(first.state_dict())
        got += list(again)
        assert [bits(each) for each in got] == whole
        del batches


@pytest.mark.parametrize("num_workers", [1, 2])
def test_a_file_that_is_damaged(num_workers: int, tmp_path: Path) -> None:
    """Its samples are the code's own matter; the others are drawn for as before, with the states that it left."""
    for number in range(COUNT):
        picture(30 + number, 26, number).save(tmp_path / f"{number}.png")
        picture(30 + number, 26, number).convert("L").save(tmp_path / f"mask{number}.png")
    (tmp_path / "4.png").write_bytes((tmp_path / "4.png").read_bytes()[:90])
    picture(30, 26, 1).convert("CMYK").save(tmp_path / "2.jpg")
    (tmp_path / "2.jpg").rename(tmp_path / "2.png")
    for name in ("numpy's number", "states of all"):
        dataset = class_of(CODES[name])(tmp_path)
        found = check(Program(loader_of(dataset, batch_size=2, num_workers=num_workers), epochs=2, seed=3))
        assert errors(found)


def test_functions_that_the_user_replaced(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are the user's."""
    dataset = class_of(CODES["the index"])(root)
    for module, name in ((torch, "manual_seed"), (random, "seed")):
        plain = getattr(module, name)
        monkeypatch.setattr(module, name, lambda seed, plain=plain: plain(seed + 1))
        check(Program(loader_of(dataset, batch_size=2, num_workers=1), epochs=1, seed=3), native=None)
        monkeypatch.undo()
