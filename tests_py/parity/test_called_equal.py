"""collate_fns that are called as they are with samples that Go made: they get what torch gives them."""

# ruff: noqa: B905, C416 - as people write

from __future__ import annotations

import random
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torchvision.transforms.functional as F
from photos import foreign, lay, native, plain
from PIL import Image
from torch.nn.utils.rnn import pad_sequence
from torch.utils import data
from torch.utils.data import Dataset, Subset, default_collate, get_worker_info
from torch.utils.data.dataloader import default_collate as collated
from twins import Program, bits, check, compare, loader_of, run, seed

import goloader

COUNT = 11


class Boxes(Dataset[Any]):
    """As detection has it: an image and a target, a dict."""

    def __init__(self, root: Path) -> None:
        self.files, self.points = sorted(map(str, root.iterdir())), np.random.default_rng(0).random((COUNT, 2, 2))
        self.labels, self.weights = [k % 4 for k in range(COUNT)], torch.arange(COUNT)

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, i: int) -> Any:
        image = Image.open(self.files[i]).convert("RGB").resize((9, 8))
        j = random.randrange(11)
        if random.random() < 0.5:
            image = F.hflip(image)
        target = {"label": self.labels[i], "name": self.files[i], "points": self.points[i], "weight": self.weights[j]}
        return [F.to_tensor(image), target, (i, j, random.random(), torch.tensor([self.labels[j]]), j > 4)]


def lists(batch: Any) -> Any:
    return tuple(zip(*batch))


def stacks(batch: Any) -> Any:
    images = torch.stack([each[0] for each in batch]).to(memory_format=torch.contiguous_format).float()
    targets = [{k: v for k, v in each[1].items()} for each in batch]
    return {"images": images, "targets": targets, "rest": [each[2] for each in batch]}


def without_none(batch: Any) -> Any:
    batch = list(filter(lambda each: each is not None, batch))
    return default_collate(batch)


def by_dataloader(batch: Any) -> Any:
    return collated([(each[0], each[2]) for each in batch]), len(batch)


def changes(batch: Any) -> Any:
    for image, target, _ in batch:
        image[0, :2] = 7
        target["points"][0] = -1
        target.update(new=image.shape)
    return batch


def adds(batch: Any) -> Any:
    points = batch[0][1]["points"] if len(batch) > 1 else torch.zeros(2)
    points += 1
    for _, target, _ in batch:
        target["weight"] += 1
    return batch


def changes_its_own(batch: Any) -> Any:
    images = torch.stack([each[0] for each in batch]).float()
    images -= 0.5
    images[:, 0] = 1
    points, count = np.zeros((len(batch), 2, 2)), 0
    for n, each in enumerate(batch):
        images[n, 1:] = each[0][1:]
        each[1]["new"] = n
    return images, points, [each[1] for each in batch], count


def pads(batch: Any) -> Any:
    rows = pad_sequence([torch.ones(each[1]["label"] + 1) for each in batch], batch_first=True, padding_value=-1)
    return rows, [str(type(each)) for each in batch[0][2]]


def sorts(batch: Any) -> Any:
    batch.sort(key=lambda each: each[1]["label"], reverse=True)
    return [each[1]["label"] for each in batch], torch.stack([each[0] for each in batch])


def none_of_few(batch: Any) -> Any:
    batch = [each for each in batch if each is not None]
    return lists(batch) if len(batch) > 2 else None


def fails(batch: Any) -> Any:
    return torch.stack([each[0][:, : 3 + len(batch) % 2 * (n % 2)] for n, each in enumerate(batch)])


class Padder:
    def __init__(self, size: int) -> None:
        self.size = size

    def __call__(self, batch: Any) -> Any:
        made = torch.zeros(len(batch), 3, self.size, self.size)
        for n, each in enumerate(batch):
            made[n, :, :8, :9] = each[0]
        return made, self.label(batch)

    def label(self, batch: Any) -> Any:
        return torch.as_tensor([each[1]["label"] for each in batch])


def with_size(size: int, batch: Any) -> Any:
    return [each[0].numpy()[:, :size] for each in batch], [each[1] for each in batch]


def with_all(batch: Any, sizes: Any, call: Any, scale: Any = torch.tensor(2.0)) -> Any:  # noqa: B008
    return [each[0][:, : sizes[0]] * scale for each in batch], sizes[1][1]["a"], call(batch)


CALLED = [
    lists,
    stacks,
    without_none,
    by_dataloader,
    changes_its_own,
    pads,
    sorts,
    none_of_few,
    fails,
    Padder(12),
    partial(with_size, 5),
    partial(with_all, sizes=[3, (4, {"a": 5.5})], call=len),
]


class Pairs(Dataset[Any]):
    """Photos of all sizes, scaled by what is drawn, and masks of them; a tensor's numbers lie as Pillow has them."""

    def __init__(self, root: Path) -> None:
        self.files = sorted(map(str, root.iterdir()))

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, i: int) -> Any:
        image, mask = Image.open(self.files[i]).convert("RGB"), Image.open(self.files[i]).convert("L")
        size = random.randint(20, 40)
        image, mask = F.resize(image, size), F.resize(mask, size)
        if random.random() < 0.5:
            image, mask = F.hflip(image), F.hflip(mask)
        image = F.normalize(
            F.convert_image_dtype(F.pil_to_tensor(image), torch.float), (0.5, 0.4, 0.3), (0.2, 0.3, 0.4)
        )
        return image, {"mask": torch.as_tensor(np.array(mask), dtype=torch.int64), "size": size, "index": i}


class Plain(Pairs):
    def __getitem__(self, i: int) -> Any:
        return F.to_tensor(Image.open(self.files[i]).convert("RGB")), i


def cat_list(images: Any, fill: int) -> Any:
    size = tuple(max(each) for each in zip(*[image.shape for image in images]))
    made = images[0].new(*(len(images), *size)).fill_(fill)
    for image, room in zip(images, made):
        room[..., : image.shape[-2], : image.shape[-1]].copy_(image)
    return made


def segmentation(batch: Any) -> Any:
    images, targets = list(zip(*batch))
    return cat_list(images, 0), cat_list([each["mask"] for each in targets], 255)


class Nested:
    def __init__(self, tensors: Any, mask: Any) -> None:
        self.tensors = tensors
        self.mask = mask

    def decompose(self) -> Any:
        return self.tensors, self.mask

    def __repr__(self) -> str:
        return str(self.tensors)


def nested(batch: Any) -> Any:
    batch = list(zip(*batch))
    sizes = [list(image.shape) for image in batch[0]]
    most = sizes[0]
    for each in sizes[1:]:
        for n, extent in enumerate(each):
            most[n] = max(most[n], extent)
    tensors = torch.zeros([len(sizes), *most], dtype=batch[0][0].dtype, device=batch[0][0].device)
    mask = torch.ones((len(sizes), *most[1:]), dtype=torch.bool)
    for image, room, hidden in zip(batch[0], tensors, mask):
        room[: image.shape[0], : image.shape[1], : image.shape[2]].copy_(image)
        hidden[: image.shape[1], : image.shape[2]] = False
    batch[0] = Nested(tensors, mask)
    return tuple(batch)


def in_workers(batch: Any) -> Any:
    return nested(batch)[0].decompose(), [each[0].numpy() for each in batch]


@pytest.fixture(scope="module")
def of_all_sizes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lay(tmp_path_factory.mktemp("sizes"), native())


def unnested(given: Any) -> Any:
    """A collate_fn whose batch can be compared."""
    return vars(given) if type(given) is Nested else tuple(map(unnested, given)) if type(given) is tuple else given


@pytest.mark.parametrize("kind", [Pairs, Plain])
@pytest.mark.parametrize("given", [lists, segmentation, nested, in_workers], ids=lambda given: given.__name__)
@pytest.mark.parametrize("num_workers", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_images_of_all_sizes(kind: type[Pairs], given: Any, num_workers: int, of_all_sizes: Path) -> None:
    if given is segmentation and kind is Plain:
        pytest.skip("it has no masks")
    made: list[list[Any]] = []
    for loader_class in (goloader.DataLoader, data.DataLoader):
        seed(4)
        loader = loader_class(
            kind(of_all_sizes), batch_size=4, shuffle=True, num_workers=num_workers, collate_fn=given, drop_last=True
        )
        batches = [batch for _ in range(2) for batch in loader]
        made.append([bits(unnested(batch)) for batch in batches])
        if given is lists:
            made[-1] += [[image.stride() for image in images] for images, _ in batches]
        made[-1].append(random.random())
        if isinstance(loader, goloader.DataLoader):
            assert "COLLATE_CALLED" in loader.explain().codes
    assert made[0] == made[1]


@pytest.mark.parametrize("num_workers", [0, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("odd", ["foreign", "damaged", "missing"])
def test_odd_files_among_images_of_all_sizes(odd: str, num_workers: int, tmp_path: Path) -> None:
    files = {**native(), **(foreign() if odd == "foreign" else {})}
    root = lay(tmp_path, files)
    dataset = Pairs(root)
    if odd == "damaged":
        path = Path(dataset.files[5])
        path.write_bytes(path.read_bytes()[:200])
    if odd == "missing":
        dataset.files[7] = str(root / "nowhere.jpg")
    loader = loader_of(dataset, batch_size=5, shuffle=True, num_workers=num_workers, collate_fn=lambda: segmentation)
    check(Program(loader, epochs=2, seed=1), native=None)


class Slotted:
    __slots__ = ("x",)

    def __init__(self, x: Any) -> None:
        self.x = x


class Counted:
    count = 0

    def __init__(self, x: Any) -> None:
        Counted.count += 1
        self.x = x


class Drawn:
    def __init__(self, x: Any) -> None:
        self.x = x + torch.rand(1)


class Asked:
    def __init__(self, x: Any) -> None:
        self.x = self.made(x)

    def made(self, x: Any) -> Any:
        return x * random.random()


class Reduced(Nested):
    pass


@pytest.mark.parametrize("kind", [Slotted, Counted, Drawn, Asked, Reduced])
def test_objects_that_are_more_than_their_attributes(kind: Any, of_all_sizes: Path) -> None:
    def made(batch: Any) -> Any:
        return kind(batch[0][0])

    def local(batch: Any) -> Any:
        return Local(batch[0][0])

    class Local:
        def __init__(self, x: Any) -> None:
            self.x = x

    for given in (made, local):
        loader = goloader.DataLoader(Plain(of_all_sizes), batch_size=2, collate_fn=given)
        assert "COLLATE_CALLED" not in loader.explain().codes


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lay(tmp_path_factory.mktemp("called"), plain(COUNT, width=20, height=18))


@pytest.mark.parametrize("given", CALLED, ids=lambda given: getattr(given, "__name__", type(given).__name__))
@pytest.mark.parametrize("num_workers", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 3))])
def test_equal(given: Any, num_workers: int, root: Path) -> None:
    arguments = loader_of(lambda: Boxes(root), batch_size=3, shuffle=True, num_workers=num_workers)
    with_collate = lambda: arguments() | {"collate_fn": given}  # noqa: E731
    check(Program(with_collate, epochs=2, seed=3))
    assert "COLLATE_CALLED" in goloader.DataLoader(**with_collate()).explain().codes


# With workers, a tensor of torch's batch goes on being the worker's own: what it is then is a matter of time.
@pytest.mark.parametrize(
    ("given", "num_workers"),
    [
        (lists, 0),
        (changes, 0),
        (adds, 0),
        *(pytest.param(each, 1, marks=pytest.mark.slow) for each in (changes, lists)),
    ],
)
def test_what_it_changes_in_place_is_the_datasets(given: Any, num_workers: int, root: Path) -> None:
    made: list[Boxes] = []

    def arguments() -> dict[str, Any]:
        made.append(Boxes(root))
        return {"dataset": made[-1], "batch_size": 3, "num_workers": num_workers, "collate_fn": given}

    native = num_workers == 0 or given is lists
    events = [run(kind, Program(arguments, epochs=3)) for kind in (goloader.DataLoader, data.DataLoader)]
    compare(*events)
    ours, theirs = made
    assert np.array_equal(ours.points, theirs.points)
    assert torch.equal(ours.weights, theirs.weights)
    assert goloader.DataLoader(**arguments()).explain().native == native


def test_what_is_changed_in_a_batch_is_changed_in_the_dataset(root: Path) -> None:
    made: list[list[Any]] = []
    for kind in (goloader.DataLoader, data.DataLoader):
        seed(1)
        dataset = Boxes(root)
        loader = kind(dataset, batch_size=3, collate_fn=lists)
        made.append([])
        for _ in range(2):
            for _, targets, _ in loader:
                made[-1].append(bits(targets))
                targets[0]["points"] += 1
                targets[0]["weight"] += 1
        made[-1] += [dataset.points.tolist(), dataset.weights.tolist()]
    assert made[0] == made[1]


def test_one_of_a_subset(root: Path) -> None:
    check(Program(lambda: {"dataset": Subset(Boxes(root), [4, 1, 1]), "batch_size": 2, "collate_fn": lists}, epochs=2))


kept: list[Any] = []


def keeps(batch: Any) -> Any:
    kept.append(len(batch))
    return batch, list(kept)


def draws(batch: Any) -> Any:
    return batch, random.random(), torch.rand(1)


def asks(batch: Any) -> Any:
    return batch, get_worker_info() is None


def says(batch: Any) -> Any:
    print(len(batch))
    return batch


def imports(batch: Any) -> Any:
    import os

    return batch, os.getpid() > 0


class Counting:
    def __init__(self) -> None:
        self.count = 0

    def __call__(self, batch: Any) -> Any:
        self.count += 1
        return batch, self.count


class Drawing:
    def __call__(self, batch: Any) -> Any:
        return batch, self.number()

    def number(self) -> Any:
        return torch.rand(1)


class Unknown:
    def __call__(self, batch: Any) -> Any:
        return batch, self.number()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return random.random


class Appending:
    def __init__(self) -> None:
        self.data: list[int] = []

    def __call__(self, batch: Any) -> Any:
        self.data.append(len(batch))
        return batch, self.data.copy()


class Padding:
    def __call__(self, batch: Any) -> Any:
        return batch, self.pad()

    def pad(self) -> Any:
        return torch.rand(1)


def defaults(batch: Any, seen: list[int] = []) -> Any:  # noqa: B006
    seen.append(len(batch))
    return batch, seen.copy()


def given(seen: list[int], batch: Any) -> Any:
    seen.append(len(batch))
    return batch, seen.copy()


def calls(call: Any, batch: Any) -> Any:
    return batch, call()


def calls_first(calls: Any, batch: Any) -> Any:
    return batch, calls["first"][0](torch.ones(3))


def calls_default(batch: Any, call: Any = random.random) -> Any:
    return batch, call()


def calls_named(batch: Any, *, call: Any = torch.rand) -> Any:
    return batch, call(1)


LEFT = {
    "draws in an argument": partial(calls, random.random), "draws in a default": calls_default,
    "draws in a named default": calls_named, "draws in what a partial has": partial(partial(calls, torch.seed)),
    "draws in a list": partial(calls_first, {"first": [torch.nn.Dropout()]}),
    "keeps in a list of its own": Appending(), "draws in a method by a common name": Padding(),
    "keeps in a default": defaults, "keeps in an argument": partial(given, []),
    "keeps": keeps, "draws": draws, "asks": asks, "says": says, "imports": imports, "counts": Counting(),
    "draws in a method": Drawing(), "looks up": Unknown(),
}  # fmt: skip


@pytest.mark.parametrize("name", LEFT)
def test_what_could_tell_processes_apart_is_left_to_them(name: str, root: Path) -> None:
    loader = goloader.DataLoader(Boxes(root), batch_size=2, collate_fn=LEFT[name], num_workers=1)
    assert not loader.explain().native and "COLLATE_CALLED" not in loader.explain().codes
