"""Random code over images, draws, branches and loops, in classes of one's own: our batches are torch's.

A grammar makes the source of a `__getitem__`, odd Python included: values that nobody uses, errors, bools, generators
that are taken later, lists that grow, functions made within. What is compiled is run by both kinds of loader: batches,
errors, and the states of all generators.
"""

# ruff: noqa: E501 - rows of tables

from __future__ import annotations

import collections
import copy
import os
import random
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torchvision.transforms as T
import torchvision.transforms.functional as F
from blurs import Blur
from photos import picture, save
from PIL import Image, ImageFilter, ImageOps
from torch.utils.data import ConcatDataset, Dataset, Subset, default_collate
from twins import Program, check, generator, loader_of

import goloader

pytestmark = pytest.mark.timeout(600)

SEED = int(os.environ.get("GOLOADER_FUZZ_SEED", "20261125"))
COUNT = 11


class Base(Dataset[Any]):
    def __init__(self, root: Path) -> None:
        self.a = sorted(str(path) for path in (root / "a").iterdir())
        self.b = np.array(sorted(str(path) for path in (root / "b").iterdir()))
        self.pairs = [(path, k % 3, k / 7) for k, path in enumerate(self.a)]
        self.rows = [{"file": path, "label": k % 4, "odd": k % 2 == 1} for k, path in enumerate(self.a)]
        self.root, self.names = str(root / "a"), [os.path.basename(path) for path in self.a]
        self.data = np.random.default_rng(0).integers(0, 256, (COUNT, 20, 22, 3), dtype=np.uint8)
        self.labels, self.order = [k % 5 for k in range(COUNT)], [(k * 7) % COUNT for k in range(COUNT)]
        self.array, self.truths = np.arange(COUNT) * 2, [k % 3 == 0 for k in range(COUNT)]
        self.table = {"one": 1, "two": 2.5, "flag": False}
        self.choices, self.floats, self.mean = [16, 20, 28], [0.25, -0.5, 1.5], [0.5, 0.4, 0.3]
        self.p, self.half, self.flag, self.n, self.transform, self.none = 0.5, 0.5, True, 3, CROP, None
        self.log: list[Any] = []
        self.targets, kinds = torch.tensor(self.labels), np.array(self.labels)
        self.kinds = set(self.targets.numpy())
        self.rows_of = {kind: np.where(kinds == kind)[0] for kind in self.kinds}
        self.members = collections.defaultdict(list)
        for row, kind in enumerate(self.labels):
            self.members[kind].append(row)
        self.groups = [[7], [1, 2, 3], [4, 5, 10, 6, 9]]
        self.weights = {0: 0.5, 1: -1.5, 2: 0.0, 3: 8.0}
        self.signs = [[0.0], [-0.0]] * COUNT  # lists that are equal
        self.codes, self.memo = {letter: k for k, letter in enumerate("0123456789.jpe")}, {}

    def __len__(self) -> int:
        return COUNT

    @property
    def size(self) -> int:
        return self.n * 6

    @property
    def chance(self) -> float:
        return random.random()

    def drawn(self, low: int, high: int = 5) -> int:
        return random.randint(low, high) + low

    def turned(self, image: Any, by: float = 0.5, *, also: bool = False) -> Any:
        if random.random() < by or also:
            return F.hflip(image)
        return image

    def several(self, image: Any, count: int) -> Any:
        made = []
        for k in range(count):
            made.append(self.turned(image, k / count))
        return made

    # Not read through: called as they are, or left.

    def coded(self, text: str) -> list[int]:
        return [self.codes.get(letter, self.n) for letter in text if letter != "."]

    def strict(self, text: str) -> list[int]:
        return [self.codes[letter] for letter in text[:2] if letter != "8"]

    def filled(self, text: str, length: int = 6) -> Any:
        made = torch.zeros(length)
        for k, code in enumerate(self.coded(text)[:length]):
            made[k] = code / 2
        return made

    def fails(self, text: str) -> int:
        for letter in text:
            if letter in "68":
                raise KeyError(letter)
        return len(text)

    def remembers(self, text: str) -> int:
        for letter in text:
            self.memo[letter] = len(self.memo)
        return len(self.memo)

    def throws(self, text: str) -> float:
        return sum(random.random() for _ in text)

    @staticmethod
    def fixed(image: Any) -> Any:
        return image.resize((16, 16))


CROP = T.Compose([T.RandomCrop(16), T.RandomHorizontalFlip()])
JITTER = T.ColorJitter(0.2, 0.2)
MAYBE = T.RandomApply([T.RandomVerticalFlip()], p=0.3)
BLUR = T.Compose([T.CenterCrop(18), Blur(5)])  # a tensor that squeeze() is to leave alone has a size that is known
SPACE = {
    "random": random, "np": np, "torch": torch, "Image": Image, "ImageFilter": ImageFilter, "ImageOps": ImageOps,
    "F": F, "T": T, "os": os, "Base": Base, "CROP": CROP, "JITTER": JITTER, "MAYBE": MAYBE, "BLUR": BLUR, "K": 3,
}  # fmt: skip

INTS = (
    "2", "3", "-1", "0", "7", "i", "i", "self.n", "K", "self.size", "len(self.a)", "len(self)", "w", "h", "self.labels[i]",
    "random.randint(0, I)", "random.randint(1, 4)", "np.random.randint(5)", "np.random.randint(2, 6)",
    "torch.randint(0, 6, (1,)).item()", "int(torch.randint(4, size=(1,)))", "random.randrange(4)", "random.randrange(2, 9)",
    "int(F)", "round(F)", "int(F * 10)", "abs(I)", "I + I", "I - I", "I * I", "I // I", "I % I", "-I", "min(I, I)",
    "max(I, I, 2)", "(I if B else I)", "self.choices[I % 3]", "self.choices[I]", "random.choice(self.choices)",
    "random.choice([1, 2, 3])", "random.choice((I, 5))", "B + I", "True + I", "int(B)", "self.drawn(1)", "self.drawn(I, high=9)",
    "(lambda k=I: k + 1)()", "(lambda k: k * I)(2)", "[I, 4][I]", "[I, 4][-1]", "(I, I)[B]", "{'a': I}['a']",
    "tuple(random.randint(0, 3) for _ in range(2))[1]", "[I for _ in range(2)][0]", "sum([I, I])", "len([I, I])",
    "img.size[0]", "img.width", "img.height", "min(img.size)", "F.get_image_size(img)[1]", "self.array[i]",
    "np.random.choice(4)", "self.labels[random.randrange(11)]", "self.labels[np.random.choice(11)]", "self.labels[self.order[i]]",
    "I & 1", "I ** 2", "I | B", "self.rows[i]['label']", "self.pairs[i][1]", "self.table['one']", "i % len(self.a)",
    "self.targets[i].item()", "self.targets[I].item()", "int(self.targets[i])", "self.labels[I] + self.labels[i]", "len(self.members[I])",
    "random.choice(self.members[self.labels[i]])", "np.random.choice(self.rows_of[self.targets[i].item()])", "self.members[I][I]",
    "np.random.choice(self.rows_of[np.random.choice(5)])", "random.choice(self.rows_of[I])", "random.choice(self.groups[I])",
    "np.random.choice(list(self.kinds - set([self.labels[i]])))", "self.groups[I % 3][0]", "self.groups[I][I]", "self.order[I]",
    "random.choice(list(set(self.labels) - {1}))", "random.choice(list(self.kinds - set([I])))", "len(self.groups[I])", "self.array[I]",
    "np.random.choice(self.groups[I])", "np.random.choice(self.members[i])", "self.rows_of[I][I]", "self.members[self.truths[i]][0]",
    "random.randrange(len(self.members[self.labels[i]]))", "self.groups[-1][I]", "np.random.choice(self.floats)",
    "random.choice(self.array)", "np.random.choice(self.choices)", "torch.randint(0, 3, (1,))", "len(i)", "max([I, I])",
)  # fmt: skip
FLOATS = (
    "0.5", "0.25", "1.5", "-0.0", "1e3", "self.p", "random.random()", "random.random()", "random.uniform(0.2, 0.9)",
    "random.uniform(I, F)", "np.random.rand()", "np.random.random()", "np.random.uniform(0, 1)", "np.random.uniform(F)",
    "np.random.uniform(low=F, high=2)", "torch.rand(1).item()", "float(torch.rand(1))", "float(I)", "float(B)", "I / I", "F + F",
    "F - I", "F * F", "F / F", "F // F", "F % F", "-F", "abs(F)", "max(F, F)", "min(F, 0.5)", "random.gauss(0, 1)", "self.chance",
    "round(F, 1)", "F ** 2", "random.choice(self.floats)", "self.floats[I]", "self.pairs[i][2]", "(F if B else F)", "B * F",
    "self.weights[I]", "self.weights[self.labels[i]]", "random.choice(self.signs[i])", "self.pairs[I][2]", "self.floats[self.labels[i] % 3]",
    "np.random.normal()", "torch.rand(1)", "self.table['two']", "[F, I][0]", "w / h", "random.random().real",
)  # fmt: skip
BOOLS = (
    "F < F", "F < 0.5", "random.random() < 0.5", "torch.rand(1) < 0.5", "torch.rand(1).item() >= F", "I > I", "I == I", "I != 2",
    "I <= I < 9", "0.2 < random.random() < F", "not B", "B and B", "B or B", "True", "self.flag", "self.truths[i]", "w > h",
    "img.mode == 'RGB'", "self.none is None", "self.transform is not None", "isinstance(B, bool)", "isinstance(I, int)", "B is True",
    "B == 1", "I in (1, 2)", "bool(I)", "(B if B else B)", "self.rows[i]['odd']", "B == B", "B is not B", "self.n == 3", "I is I",
    "i == random.randrange(11)", "self.truths[I]", "self.labels[i] == 2", "self.labels[i] > I", "np.random.choice(4) == I", "self.array[i] < I",
    "not np.random.choice(3) == 1", "np.random.choice(4) >= np.random.choice(4)", "self.rows[I]['odd']", "np.random.choice(2) == B", "torch.rand(1) < 0.5 and B", "self.table['flag']", "random.choice([True, False])", "I % 2",
)  # fmt: skip
IMAGES = (
    "img", "img.transpose(Image.FLIP_LEFT_RIGHT)", "F.hflip(img)", "F.vflip(img)", "ImageOps.mirror(img)", "img.copy()",
    "img.resize((20 + I, 24))", "img.resize((18, 17), Image.NEAREST)", "img.crop((1, 2, 19, 18))", "img.crop((I, 0, 18 + I, 17))",
    "F.crop(img, I, I, 16, 16)", "F.resize(img, 20)", "F.resize(img, 17 + abs(I))", "F.resize(img, [19, 18], antialias=True)",
    "F.pad(img, I)", "F.pad(img, [abs(I), 1], fill=3)", "img.filter(ImageFilter.GaussianBlur(abs(F)))", "ImageOps.solarize(img, 100)",
    "CROP(img)", "JITTER(img)", "MAYBE(img)", "self.transform(img)", "self.turned(img)", "self.turned(img, F, also=B)",
    "self.fixed(img)", "(img if B else F.hflip(img))", "self.several(img, 2)[I]", "self.several(img, 2)[1]", "img.convert('RGB')",
    "img.convert('L').convert('RGB')", "T.Resize(20)(img)", "T.CenterCrop(K * 6)(img)", "T.Compose([T.RandomCrop(16), T.Resize(18)])(img)",
    "T.Lambda(lambda x: F.vflip(x))(img)", "[img, ImageOps.flip(img)][B]", "[img, ImageOps.flip(img)][random.randint(0, 1)]",
    "F.crop(img, *T.RandomCrop.get_params(img, (15, 16)))", "random.choice([F.hflip, F.vflip])(img)", "ImageOps.invert(img)",
    "img.rotate(90)", "{'x': img, 'y': 1}['x']", "(lambda x, k=I: x.resize((16 + abs(k), 18)))(img)", "F.to_pil_image(F.to_tensor(img))",
    "img.resize(img.size)", "img.crop((0, 0, *img.size))", "T.RandomResizedCrop(18)(img)", "F.adjust_brightness(img, 1.2)", "BLUR(img)",
)  # fmt: skip
# Statements: `B:` alone opens a block.
STEPS = (
    "img = P", "img = P", "img = P", "n = I", "f = F", "b = B", "n += I", "f *= F", "n, f = I, F", "n = m = I", "w, h = img.size",
    "t = P; img = t", "n, m = m, n", "n = n if B else m", "lst.append(I)", "lst += [I, m]", "lst.extend([F])", "lst = lst + [I]",
    "d['k'] = I", "d['q'] = F", "d.update(z=I)", "d = {**d, 'v': B}", "n = len(lst)", "lst[0] = I", "lst.pop()", "lst.insert(0, I)",
    "other = lst; other.append(I)", "random.shuffle(lst)", "n = (m := I) + 1", "a, *z = I, I, I", "n, m = [I, I]", "n = lst[-1]",
    # lists and dicts of several names
    "e = d", "e = d if B else {'k': I}", "e['k'] = I", "if B: e = d", "o = lst", "o = lst if B else [4, I]", "o.append(I)", "if B: o = lst", "o += [I]",
    "d, e = e, d", "o, lst = lst, o", "if B:\n    e['k'] = I\nelse:\n    d['k'] = I", "if B:\n    o.append(I)\nelse:\n    lst.append(I)", "d['o'] = o", "e = {'d': d}['d']",
    "def g(z, y):\n    return z if B else y\ne = g(d, e)", "def g(z, y):\n    if B:\n        return z\n    return y\no = g(o, lst)", "def g(z):\n    z['k'] = I\ng(e)",
    "def g(z):\n    y = z if B else d\n    y['k'] = I\ng(e)", "g = lambda: d['k']; d['k'] = I; n = g()", "for k in o:\n    e['k'] = k", "n = e['k']", "n = o[0]", "o = [o, lst][B]",
    # nobody uses these
    "I", "F", "B", "P", "random.random()", "np.random.rand(2)", "torch.rand(1)", "1 // I", "1 / F", "img.load()", "self.labels[I]",
    "self.labels[i + 3]", "path, label, x = self.pairs[i]", "u, v = self.pairs[i]", "F.to_tensor(img)", "[I, F]", "x = [B, I]",
    "self.a[i].upper()", "int(self.names[i][:2])", "int(self.names[i])", "self.missing", "undefined", "img.verify()", "img.nothing",
    "F.crop(img, 1, 2, 90, 90)", "img.crop((I, I, I, I))", "F.normalize(F.to_tensor(img), self.mean, [0.5])", "len(img.size)",
    "img.getpixel((0, 0))", "np.asarray(img)", "Image.open(self.a[i])", "Image.open(self.a[i]).size", "self.rows[i]['none']",
    "a, c = img.size", "a, c, e = img.size", "isinstance(img, Image.Image)", "str(I)", "f'{I}'", "f'{F:.2f}'", "print(end='')",
    "img.draft('L', (4, 4))", "img.thumbnail((17, 17))", "img.putpixel((0, 0), 0)", "self.log.append(1)", "self.n = 3", "del d",
    # order, and lifetimes
    "g = (random.random() for _ in range(2)); f = random.random(); z = list(g); f += z[0]", "fs = [lambda: k for k in range(3)]; n = fs[0]()",
    "fs = [lambda k=k: k for k in range(3)]; n = fs[1]()", "z = zip(lst, [1, 2]); a = list(z); c = list(z); n = len(c)",
    "def g(x, y=I):\n    return x + y\nn = g(m)", "def g():\n    return n\nn = 7\nm = g()", "def g(x=[]):\n    x.append(I)\n    return len(x)\nn = g() + g()",
    "z = [random.random() for _ in range(2)]; f = z[I]", "z = list(F for _ in range(2)); f = z[1]", "z = {k: I for k in ('a', 'b')}; n = z['b']",
    "for k in range(2):\n    n = n + I", "for k in lst:\n    n = k", "for k in lst:\n    lst.append(k)\n    break", "for k, v in enumerate([I, I]):\n    n += k * v",
    "for k in range(3):\n    if B:\n        break\n    n += 1", "for k in range(2):\n    if B:\n        continue\n    img = P", "for k in range(I):\n    n += 1",
    "for x, y in zip((1, 2), (I, I)):\n    n = max(n, x * y)", "for name in ('u', 'v'):\n    d[name] = I", "while n > 5:\n    n = n // 2",
    "while random.random() < 0.3:\n    n += 1", "n = i\nwhile n == i:\n    n = random.randrange(11)", "while n == m:\n    n = random.randint(0, 9)",
    "n = i\nwhile n == i:\n    n = np.random.choice(self.rows_of[self.labels[i]])", "while True:\n    n = random.randrange(4)\n    if n != m:\n        break",
    "while True:\n    n = random.randrange(9)\n    if n == m:\n        continue\n    break", "m = 1\nwhile n != m:\n    n = random.randrange(3)", "while n == m:\n    n = random.randint(0, 2); img = P",
    "while self.labels[n] == self.labels[i]:\n    n = random.randrange(len(self))", "for k in range(3):\n    if I == I:\n        break\n    n += 1",
    "while n == m:\n    if B:\n        n = 7\n    m = random.randrange(5)", "n = int(np.random.choice(self.rows_of[self.labels[i]]))", "while f == 0.5:\n    f = random.random()", "for k in range(2):\n    img = P\nelse:\n    n = 4", "n = sum(I for _ in range(2))", "f = max(F for _ in range(2))",
    "lst += self.coded(self.names[i])", "lst.extend(self.coded(self.names[i]))", "lst = [n, *self.coded(self.names[i]), m]", "o += lst", "lst = self.coded(self.names[i])",
    "o = lst + self.strict(self.names[i])", "z = self.fails(self.names[i])", "lst.append(self.fails(self.names[i]))", "o = [*lst, *o]", "n = self.coded(self.names[i])[0]",
    "n = any(B for _ in range(2))", "lst = sorted(lst)", "lst = lst[1:] + lst[:1]", "lst = lst * 2", "z = [lst]; lst.append(I)", "n = n or I", "n = B and I",
    "assert B", "assert n > -99", "if B:\n    raise ValueError('no')", "if n > 90:\n    raise ValueError('large')", "try:\n    n = I\nexcept ZeroDivisionError:\n    n = 1",
    "random.seed(I)", "np.random.seed(1)", "torch.manual_seed(2)", "f = np.random.default_rng(0).random()", "f = random.Random(1).random()",
    "n = torch.randint(0, 5, (1,), generator=torch.Generator().manual_seed(1)).item()", "import math; n = math.floor(F)", "import json as js", "import nothing_there",
    "with Image.open(self.a[i]) as img:\n    w, h = img.size", "with Image.open(self.a[i]) as o:\n    img = o.convert('RGB')", "global K\nn = K",
    "index = i; i = (i + 1) % 11; n = index", "self = self", "len = 3", "int = float", "image = img; img = P", "if img.mode != 'RGB':\n    img = img.convert('RGB')",
    "if img.mode != 'RGB':\n    img = img.convert('RGB')\n    n = 99", "if img.mode == 'L':\n    n = I\nelse:\n    f = F", "if B: return F.to_tensor(self.fixed(img)), n, f",
)  # fmt: skip
NAMED = STEPS.index("e = d")  # the first of those of several names
OPENED = (
    "img = Image.open(self.a[i]).convert('RGB')", "img = Image.open(self.a[i]).convert('RGB')", "img = Image.open(self.a[i])",
    "img = Image.open(self.b[i]).convert('RGB')", "img = Image.fromarray(self.data[i])", "img = Image.open(self.pairs[i][0]).convert('RGB')",
    "img = Image.open(os.path.join(self.root, self.names[i])).convert('RGB')", "img = Image.open(self.a[I]).convert('RGB')",
    "img = Image.open(random.choice(self.a)).convert('RGB')", "img = Image.open(self.rows[i]['file']).convert('RGB')",
    "path, n, f = self.pairs[i]; img = Image.open(path).convert('RGB')", "img = Image.open(f'{self.root}/{self.names[i]}').convert('RGB')",
    "with open(self.a[i], 'rb') as file:\n    img = Image.open(file).convert('RGB')", "with Image.open(self.a[i]) as o:\n    img = o.convert('RGB')",
    "img = Image.open(self.a[self.order[i]]).convert('RGB')", "img = Image.open(self.a[(i + 1) % len(self.a)]).convert('RGB')",
    "img = Image.fromarray(self.data[random.randrange(11)])", "img = Image.open(self.a[np.random.choice(11)]).convert('RGB')",
    "img = Image.open(self.a[random.randrange(len(self))]).convert('RGB')", "img = Image.open(self.a[int(torch.randint(0, 11, (1,)))]).convert('RGB')",
    "j = i\nwhile j == i:\n    j = random.choice(self.members[self.labels[i]])\nimg = Image.open(self.a[j]).convert('RGB')",
    "img = Image.open(self.a[random.choice(self.members[self.labels[i]])]).convert('RGB')",
    "img = Image.fromarray(self.data[np.random.choice(self.rows_of[np.random.choice(5)])])", "img = Image.open(self.a[self.labels[i]]).convert('RGB')",
    "img = Image.open(self.a[self.targets[i].item()]).convert('RGB')", "img = Image.open(self.a[self.labels[I]]).convert('RGB')",
    "img = Image.open(self.a[i])\nif img.mode != 'RGB':\n    img = img.convert('RGB')",
)  # fmt: skip
TENSORS = (
    "F.to_tensor(self.fixed(X))", "F.to_tensor(self.fixed(X))", "F.to_tensor(X.resize((16, 16))) * 2 - 1", "F.to_tensor(X)",
    "F.normalize(F.to_tensor(self.fixed(X)), self.mean, [0.5] * 3)", "torch.from_numpy(np.array(self.fixed(X))).permute(2, 0, 1).float() / 255",
    "F.pil_to_tensor(self.fixed(X))", "torch.from_numpy(np.array(self.fixed(X)).transpose(2, 0, 1))", "F.hflip(F.to_tensor(self.fixed(X)))",
    "T.ToTensor()(self.fixed(X))", "torch.tensor(np.array(self.fixed(X.convert('L'))), dtype=torch.int64)", "F.to_tensor(X.crop((0, 0, 16, 15)))",
    "F.hflip(torch.from_numpy(np.array(self.fixed(X)))).permute(2, 0, 1)", "F.to_tensor(CROP(X))", "T.RandomCrop(12)(F.to_tensor(self.fixed(X)))",
    "F.normalize(F.to_tensor(self.fixed(X)), self.mean, self.mean, inplace=True)", "F.to_tensor(self.fixed(X)).numpy()", "np.array(self.fixed(X))",
)  # fmt: skip
GIVEN = (
    "n", "f", "b", "i", "w", "d", "I", "F", "B", "self.labels[i]", "self.truths[i]", "self.a[i]", "self.array[i]", "lst", "[n, f]", "(b, n)",
    "{'n': n, 'b': b}", "torch.tensor(self.labels[i])", "torch.tensor(n)", "n == m", "not b", "not f", "-b", "self.pairs[i][1]", "self.rows[i]", "5", "True",
    "2.5", "'text'", "self.labels[m % 11]", "self.labels[m]", "str(n)", "(w, h)", "img.size", "[b, n]", "b and n", "n or f", "np.float32(f)", "torch.rand(1)",
    "np.random.choice(self.rows_of[self.labels[i]])", "random.choice(self.members[self.labels[i]])", "np.random.choice(2) == 1",
    "self.labels[self.order[m % 11]]", "random.choice(self.floats)", "self.members[self.labels[i]]", "self.weights[self.labels[i]]",
    "np.random.choice(5)", "torch.randint(0, 4, (1,))", "self.truths[random.randrange(11)]", "x.shape", "len(x)", "x.shape[1]", "self.a[random.randrange(11)]",
    "d['k'], e['k']", "[d['k'], e['k']]", "(lst, o)", "(len(lst), len(o))", "[d, e]", "o[-1]", "e",
    "self.coded(self.names[i])", "torch.tensor(self.coded(self.names[i]))", "self.filled(self.names[i])", "self.filled(self.a[i], I)", "self.strict(self.names[i])[0]",
    "self.fails(self.names[i])", "self.remembers(self.names[i])", "self.throws(self.names[i])", "torch.tensor([1, *self.coded(self.names[i])])[:4]", "torch.tensor(lst)", "torch.tensor(o)",
    "self.filled(random.choice(self.names))", "(self.coded(self.names[i]) if b else lst)", "len(self.coded(self.names[i]))", "self.filled(text=self.names[i].upper())[1:3] * 2", "lst[:2]", "lst[-1:]",
    "random.choice(self.truths)", "random.choice(self.a)", "random.choice([True, 2])", "[n] * 2", "self.floats[0]", "None", "min(b, n)", "max(b, b)", "int(b)",
)  # fmt: skip


class Grammar:
    """Sources of methods, by the letters I, F, B and P in what is above: an int, a float, a bool, an image."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)

    def fill(self, text: str, depth: int = 2) -> str:
        made = []
        for k, letter in enumerate(text):
            around = text[k - 1 : k] + text[k + 1 : k + 2]
            known = letter in "IFBPX" and not any(
                each.isalnum() or each in "._'" for each in around.replace(".", "", letter != "F")
            )
            made.append(self.value(letter, depth) if known else letter)
        return "".join(made)

    def value(self, letter: str, depth: int) -> str:
        if letter == "X":
            return self.value("P", 1) if self.r.random() < 0.3 else "img"
        plain = {
            "I": ("n", "m", "2", "i", "3"),
            "F": ("f", "0.5", "0.3"),
            "B": ("b", "f < 0.5", "n > 2"),
            "P": ("img",),
        }
        rows = {"I": INTS, "F": FLOATS, "B": BOOLS, "P": IMAGES}
        if depth == 0 or (letter != "P" and self.r.random() < 0.35):
            return self.r.choice(plain[letter])
        chosen = self.fill(self.r.choice(rows[letter]), depth - 1)
        return chosen if letter == "P" else f"({chosen})"

    def steps(self, count: int, depth: int) -> list[str]:
        lines: list[str] = []
        for _ in range(count):
            if depth and self.r.random() < 0.3:
                lines.append(f"if {self.value('B', 2)}:")
                lines += [f"    {line}" for line in self.steps(self.r.randint(1, 2), depth - 1)]
                if self.r.random() < 0.5:
                    lines += ["else:", *(f"    {line}" for line in self.steps(1, depth - 1))]
            else:
                most, named = STEPS[:12], STEPS[NAMED : NAMED + 24]
                step = self.r.choice(self.r.choice((most, most, most, named)) if self.r.random() < 0.8 else STEPS)
                lines += self.fill(step).split("\n")
        return lines

    def method(self) -> str:
        """`__getitem__`, in a class Made."""
        r = self.r
        lines = [
            "n, m, f, b, lst, d, e, o = 1, 2, 0.25, True, [4, 5], {'k': 0}, {'k': 1}, [4, 5]",
            *self.fill(r.choice(OPENED)).split("\n"),
            "w, h = img.size",
        ]
        lines += self.steps(r.randint(0, 4), 2)
        if r.random() < 0.25:
            lines += ["img2 = " + self.value("P", 2), *self.steps(1, 1)]
            images = [self.fill(r.choice(TENSORS)), self.fill(r.choice(TENSORS)).replace("img", "img2")]
        else:
            images = [self.fill(r.choice(TENSORS))]
        given = [self.fill(r.choice(GIVEN)) for _ in range(r.randint(0, 3))]
        lines += [f"x = {images[0]}"]
        fields = ["x", *images[1:], *given]
        r.shuffle(fields)
        whole = r.choice(["({},)", "({},)", "[{}]", "{}"])
        whole = whole.format(", ".join(fields)) if len(fields) > 1 or whole != "{}" else fields[0]
        if whole[0] not in "([" and len(fields) > 1 and r.random() < 0.5:
            whole = "{" + ", ".join(f"'{'xyzuvw'[k]}': {each}" for k, each in enumerate(fields)) + "}"
        body = "\n".join(f"        {line}" for line in [*lines, f"return {whole}"])
        return f"class Made(Base):\n    def __getitem__(self, i):\n{body}\n"


def made_of(source: str, root: Path) -> Any:
    names: dict[str, Any] = {**SPACE, "__name__": __name__}
    exec(compile(source, "made.py", "exec"), names)
    return names["Made"](root)


def wrapped(dataset: Any, r: random.Random) -> Any:
    match r.randrange(8):
        case 0:
            return Subset(dataset, [5, 2, 9, 2, 0, 7])
        case 1:
            return Subset(dataset, torch.tensor([4, 1, 10, 3]))
        case 2:
            return Subset(dataset, np.array([8, 6, 3]))
        case 3:
            return ConcatDataset([dataset])
    return dataset


def drawing(samples: Any) -> Any:
    """A collate_fn that draws as well."""
    made = default_collate(samples)
    random.random(), torch.rand(2), np.random.rand()
    return made


def compare(source: str, root: Path, r: random.Random, workers: tuple[int, ...] = (0,)) -> bool:
    """True if it is compiled; raises AssertionError if it is, and differs."""
    try:
        dataset = made_of(source, root)
    except SyntaxError:
        return False
    inner, dataset = dataset, wrapped(dataset, r)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not goloader.DataLoader(dataset, batch_size=4).explain().native:
            return False
        first = inner.p, list(inner.labels), copy.deepcopy(inner.groups)
        later = 0.9, inner.labels[::-1], [*inner.groups[1:], [8, 8]]

        def before(epoch: int, loader: Any) -> None:
            inner.p, inner.labels[:], inner.groups[:] = first if epoch == 0 else later

        for number in workers:
            options: dict[str, Any] = {"batch_size": r.choice([1, 2, 3, 4, 20]), "drop_last": r.random() < 0.2}
            if r.random() < 0.1:
                options = {"batch_size": None}
            elif r.random() < 0.15:
                options["collate_fn"] = lambda: drawing
            options |= {"shuffle": r.random() < 0.7, "num_workers": number}
            if number:
                options["persistent_workers"] = r.random() < 0.5
            if r.random() < 0.2:
                options["generator"] = generator
            leave = (r.choice([None, None, None, 1, 2]), None)
            draw, seed = r.random() < 0.3, r.randrange(1000)
            try:
                check(
                    Program(loader_of(dataset, **options), epochs=2, leave=leave, seed=seed, draw=draw, before=before),
                    native=goloader.DataLoader(**loader_of(dataset, **options)()).explain().native,
                )
            except AssertionError as error:
                if "it was changed since the workers began" not in str(error):  # docs/differences.md
                    raise AssertionError(f"{source}\n{error}\n{options}") from error
            finally:
                before(0, None)
    return True


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return photos(tmp_path_factory.mktemp("fuzz"))


def photos(folder: Path) -> Path:
    for k in range(COUNT):
        image = picture(40 + 3 * (k % 4), 36 + 5 * (k % 3), k)
        for name, kind in (("a", "JPEG"), ("b", "PNG")):
            (folder / name).mkdir(exist_ok=True)
            (folder / name / f"{k:02}.{kind.lower()}").write_bytes(save(image, kind))
    return folder


def programs(grammar: Grammar, count: int, root: Path, seconds: float = 1e9) -> tuple[int, int]:
    """How many random programs of a grammar were made, and how many of them were compiled."""
    tried = compiled = 0
    end = time.perf_counter() + seconds
    while compiled < count and time.perf_counter() < end:
        tried += 1
        workers = (0,) if grammar.r.random() < 0.9 else (grammar.r.choice([1, 3]),)
        compiled += compare(grammar.method(), root, grammar.r, workers)
    return tried, compiled


@pytest.mark.parametrize(
    ("part", "count"), [(0, 4), *(pytest.param(part, 25, marks=pytest.mark.slow) for part in range(1, 12))]
)
def test_random_code_gives_what_torch_gives(part: int, count: int, root: Path) -> None:
    print(f"GOLOADER_FUZZ_SEED={SEED}")
    tried, compiled = programs(Grammar(SEED + part), count, root)
    assert compiled > tried / 50
