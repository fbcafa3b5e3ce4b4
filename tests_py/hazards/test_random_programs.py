"""Programs put together at random, as people write them: datasets of files, their transforms, loaders and epochs.

Each part is one that is met in public programs; together they are such as nobody here has thought of. More of them:
PROGRAMS = {str(seed): random_program(seed) for seed in range(...)}.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from textwrap import indent

import pytest
from programs import Outcome

# How samples are listed, and how one is found.
_LISTED = {
    "self.items = files(ROOT)": ["path, label = self.items[i], i % 3"],
    "self.items = [(path, i % 5) for i, path in enumerate(files(ROOT))]": [
        "path, label = self.items[i]",
        "path = self.items[i][0]; label = self.items[i][1]",
    ],
    "self.items = [{'path': path, 'label': i % 5, 'box': [i, i + 1.5, 3, 4]} for i, path in enumerate(files(ROOT))]": [
        "path, label = self.items[i]['path'], self.items[i]['label']",
        "row = self.items[i]\npath = row['path']\nlabel = row['label'] + len(row['box'])",
    ],
    "self.df = pandas.DataFrame({'path': files(ROOT), 'label': range(24), 'w': np.arange(24) * 0.5})": [
        "path, label = self.df.iloc[i, 0], self.df.iloc[i, 1]",
        "row = self.df.iloc[i]\npath, label = row['path'], int(row['label'])",
        "path = self.df['path'][i]; label = self.df.loc[i, 'w']",
    ],
    "self.paths, self.labels = np.array(files(ROOT)), torch.arange(24) % 4": [
        "path, label = str(self.paths[i]), self.labels[i]",
        "path = self.paths[i]; label = self.labels[i].item()",
    ],
}
_OPENED = [
    "image = Image.open(path).convert('RGB')",
    "with open(path, 'rb') as file:\n    image = Image.open(file).convert('RGB')",
    "image = Image.open(path)\nif image.mode != 'RGB':\n    image = image.convert('RGB')",
    "image = Image.open(path).convert('L')",
    "image = Image.open(path)\nimage.load()",
    "with Image.open(path) as opened:\n    image = opened.convert('RGB').copy()",
    "try:\n    image = Image.open(path).convert('RGB')\nexcept Exception:\n    return self[(i + 1) % len(self)]",
]
_CHANGED = [
    "if random.random() < 0.5:\n    image = image.transpose(Image.FLIP_LEFT_RIGHT)",
    "image = image.rotate(random.choice([0, 90, 180, 270]))",
    "if np.random.rand() > 0.5:\n    image = ImageOps.mirror(image)",
    "image = image.resize((random.randint(20, 30), 25), Image.BILINEAR)",
    "w, h = image.size\nx = random.randint(0, max(w - 20, 0))\nimage = image.crop((x, 0, x + 18, 18))",
    "if image.size[0] > 40:\n    image = image.resize((40, 40))",
    "image = image.rotate(np.random.uniform(-10, 10), resample=Image.BILINEAR)",
    "image = image.filter(ImageFilter.GaussianBlur(random.uniform(0.1, 2)))",
    "if torch.rand(1) < 0.3:\n    image = T.functional.hflip(image)",
    "image = ImageEnhance.Color(image).enhance(0.5 + random.random())",
    "image = T.functional.adjust_brightness(image, 1 + 0.2 * np.random.randn())",
    "self.count += 1",
    "image = ImageOps.autocontrast(image)",
    "if label == 2:\n    image = ImageOps.grayscale(image).convert(image.mode)",
    "side = max(int(image.width * random.gauss(1, 0.1)), 4)\nimage = image.resize((side, side), Image.BICUBIC)",
    "image.thumbnail((30, 30))",
    "image = ImageChops.invert(image)",
    "padded = Image.new(image.mode, (50, 50))\npadded.paste(image, (1, 2))\nimage = padded",
    "image = image.point(lambda v: 255 - v)",
    "label = label + int(np.asarray(image).mean() > 100)",
]
_ARRAYS = [
    "array = array[:16, :16]",
    "array = array[:, ::-1]",
    "array = array * 2",
    "array = np.flip(array, 0)",
    "array = np.rot90(array, random.randrange(4))",
    "array = np.clip(array, 0, 100)",
    "array = (array - 0.5) / 0.25",
    "array[2:5, 3:6] = 0",
    "array = array + np.random.normal(0, 1, array.shape)",
    "array = np.pad(array, ((1, 1), (2, 2), (0, 0)))",
]
_TENSORS = [
    "x = self.transform(image)",
    "x = self.transform(image)",
    "x = torch.from_numpy(array.copy()).permute(2, 0, 1).float()",
    "x = torch.from_numpy(np.ascontiguousarray(array.transpose(2, 0, 1)))",
    "x = torch.as_tensor(array.astype('float32'))",
]
_AFTER = [
    "x = x * 2 - 1",
    "x = x.flip(-1)",
    "x = x + torch.randn(1)",
    "x = x.half()",
    "x = x.clone()",
    "x[0] = 0",
    "x = x.to(torch.float64)",
    "x = torch.cat([x, x])",
]
_GIVEN = [
    "x, label",
    "x, int(label)",
    "{'x': x, 'y': label, 'i': i}",
    "x, torch.tensor(label), path",
    "x, [label, i], str(path)[-6:]",
    "x",
    "(x, x.sum()), label",
    "x, {'shape': list(x.shape), 'name': os.path.basename(str(path))}",
    "Pair(x, label)",
]
_SIZED = ["T.RandomResizedCrop(16)", "T.Resize((18, 17))", "T.RandomCrop(16, pad_if_needed=True)", "T.CenterCrop(15)"]
_TRANSFORMS = [
    "T.RandomHorizontalFlip()",
    "T.RandomVerticalFlip(0.3)",
    "T.ColorJitter(0.4, 0.4, 0.4, 0.1)",
    "T.RandomGrayscale(0.3)",
    "T.RandomRotation(15)",
    "T.RandomAffine(10, (0.1, 0.1))",
    "T.GaussianBlur(3)",
    "T.RandomApply([T.ColorJitter(0.2)], 0.5)",
    "T.RandAugment()",
    "T.TrivialAugmentWide()",
    "T.Lambda(lambda image: image)",
    "T.RandomPerspective()",
    "T.Pad(2)",
    "Mine()",
]
_NORMAL = [
    "T.Normalize((.5,), (.5,))",
    "T.RandomErasing()",
    "T.RandomErasing(value='random')",
    "T.Lambda(lambda x: x + torch.randn_like(x) * .1)",
]
_ORDERS = [
    "shuffle=True",
    "shuffle=False",
    "sampler=torch.utils.data.RandomSampler(ds, replacement=True, num_samples=17)",
    "sampler=torch.utils.data.WeightedRandomSampler(torch.arange(24.) + 1, 20)",
    "sampler=torch.randperm(24)[:15]",
    "shuffle=True, generator=torch.Generator().manual_seed(5)",
]
_EPOCHS = [
    "for e in range(3):\n    for b in loader: show(b)",
    "for e in range(3):\n    for b in itertools.islice(iter(loader), 2): show(b)\n    random.random(); torch.rand(1)",
    "a, b = iter(loader), iter(loader)\nfor _ in range(2): show(next(a)); show(next(b))\ndel a, b\n"
    "for b in loader: show(b)",
    "kept = [b for e in range(2) for b in loader]\nfor b in kept: show(b)",
    "for b in loader: show(b)\nbase.transform = T.Compose([T.Resize((9, 9)), T.ToTensor()])\nfor b in loader: show(b)",
]
_PROGRAM = """
import pandas
from PIL import ImageOps, ImageFilter, ImageEnhance, ImageChops
Pair = collections.namedtuple("Pair", "x y")
class Mine:
    def __call__(self, image):
        return ImageOps.flip(image) if random.random() < 0.5 else image
def pad(batch):
    return list(batch), len(batch)
def init_worker(number):
    random.seed(number); np.random.seed(torch.initial_seed() % 2**32)
class Own(Dataset):
    def __init__(self, transform):
        self.transform, self.count = transform, 0
        {listed}
    def __len__(self):
        return 24
    def __getitem__(self, i):
{body}
ds = base = Own(T.Compose([{transforms}]))
{subset}loader = DataLoader(ds, {options})
try:
{epochs}
except Exception as error:
    complain(error)
say(generators(), base.count)
"""


def random_program(seed: int) -> str:
    """A program; the same for the same seed."""
    draws = random.Random(seed)

    def some(parts: Sequence[str], most: int) -> list[str]:
        return [draws.choice(parts) for _ in range(draws.randrange(most + 1))]

    listed = draws.choice(list(_LISTED))
    tensor = draws.choice(_TENSORS)
    body = [draws.choice(_LISTED[listed]), draws.choice(_OPENED), *some(_CHANGED, 2)]
    if "array" in tensor:
        body += ["array = np.array(image)", "if array.ndim == 2:\n    array = array[:, :, None]", *some(_ARRAYS, 2)]
    body += [tensor, *some(_AFTER, 1), f"return {draws.choice(_GIVEN)}"]
    transforms = [draws.choice(_SIZED), *some(_TRANSFORMS, 3), "T.ToTensor()", *some(_NORMAL, 2)]
    workers = draws.choice([0, 0, 1, 2])
    subset = draws.choice(["", "", "ds = Subset(ds, range(3, 21))\n", "ds = ConcatDataset([ds, ds])\n"])
    options = [
        f"batch_size={draws.randrange(1, 9)}",
        "shuffle=True" if subset else draws.choice(_ORDERS),
        f"num_workers={workers}",
        f"collate_fn={draws.choice(['None', 'None', 'None', 'pad', 'lambda b: default_collate(b)'])}",
        draws.choice(["drop_last=False", "drop_last=True"]),
    ]
    if workers:
        options.append(draws.choice(["persistent_workers=True", "prefetch_factor=1", "worker_init_fn=init_worker"]))
    return _PROGRAM.format(
        listed=listed,
        body=indent("\n".join(body), " " * 8),
        transforms=", ".join(transforms),
        subset=subset,
        options=", ".join(options),
        epochs=indent(draws.choice(_EPOCHS), " " * 4),
    )


PROGRAMS = {str(seed): random_program(seed) for seed in range(16)}


@pytest.mark.parametrize("name", PROGRAMS)
def test_random_programs_are_those_of_torch(outcomes: dict[str, tuple[Outcome, Outcome]], name: str) -> None:
    theirs, ours = outcomes[name]
    assert (ours.out, ours.code) == (theirs.out, theirs.code), PROGRAMS[name]
    assert theirs.out.count("\n") > 1
