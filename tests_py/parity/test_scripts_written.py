"""Classes as people write them, of images, draws and branches: whatever is compiled of them is torch's to the bit.

COMPILED are those that have to be; of the rest it does not matter who makes them.
"""

# ruff: noqa: E501 - rows of tables

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from test_scripts_fuzz import made_of, photos
from twins import Program, check, loader_of

import goloader

RGB = "img = Image.open(self.a[i]).convert('RGB')"
SMALL = f"{RGB}.resize((24, 22))"
TENSOR = "F.to_tensor(self.fixed(img))"

# Methods by their names: lines, the last of which is what is returned.
COMPILED: dict[str, list[str]] = {
    "normalises an array": [
        SMALL,
        "a = (np.array(img).astype(np.float32) / 255.0 - np.array([0.5, 0.4, 0.3])) / np.array([0.2, 0.3, 0.2])",
        "torch.from_numpy(a.transpose(2, 0, 1)).float(), self.labels[i]",
    ],
    "normalises in place": [
        SMALL,
        "a = np.array(img).astype(np.float32)",
        "a /= 255.0; a -= (0.5, 0.4, 0.3); a /= self.mean",
        "torch.from_numpy(a.transpose((2, 0, 1))), self.labels[i]",
    ],
    "a tensor, normalised in place": [
        RGB,
        f"x = {TENSOR}; y = T.Normalize((0.5, 0.4, 0.3), (0.5, 0.2, 0.5), inplace=True)(x)",
        "x, y",
    ],
    "by a function in place": [RGB, f"x = {TENSOR}; y = F.normalize(x, [0.5] * 3, [0.5] * 3, inplace=True)", "x, y"],
    "multiplied in place": [RGB, f"x = {TENSOR}; y = x; y *= 2", "x, y"],
    "by methods in place": [SMALL, "x = F.to_tensor(img); x.sub_(0.5).div_(0.5)", "{'a': x, 'b': x.mul_(2)}"],
    "in place on both ways": [
        SMALL,
        "x = torch.from_numpy(np.array(img, dtype=np.float32))",
        "if random.random() < 0.5: x.sub_(127.5).div_(128)",
        "else: x.sub_(127.5).div_(128)",
        "x.permute(2, 0, 1), random.random()",
    ],
    "copied between changes": [
        SMALL,
        "x = F.to_tensor(img); z = x.mul_(2); y = z.clone(); x.add_(1); z.mul_(3)",
        "z, y, x",
    ],
    "stacked behind changes": [SMALL, "x = F.to_tensor(img); z = x.mul_(2); x.add_(1)", "torch.stack([z, x])"],
    "loaded before its file is closed": [
        "with open(self.a[i], 'rb') as f:",
        "    img = Image.open(f); img.load()",
        "img = img.convert('RGB')",
        TENSOR,
    ],
    "loaded and closed": [
        "with Image.open(self.a[i]) as img: img.load()",
        "if random.random() < 0.5: img = F.hflip(img)",
        TENSOR,
    ],
    "an array": [
        SMALL,
        "a = np.array(img)",
        "if random.random() < 0.5: a = a[:, ::-1]",
        "a = a.astype(np.float32) / 127.5 - 1",
        "np.transpose(a, [2, 0, 1]), {'y': np.array(self.labels[i], dtype=np.int64)}",
    ],
    "an array of a mode": [
        SMALL,
        "img = Image.fromarray(np.array(img)[:, ::-1, :], 'RGB'); grey = Image.fromarray(np.array(img.convert('L')), mode='L')",
        "x = F.to_tensor(img); y = (x - 0.5) / 0.25 if x.ndimension() == 3 else x",
        "y, F.to_tensor(grey), x.dim()",
    ],
    "an array and a mask": [
        SMALL,
        "a, m = np.array(img), np.array(img.convert('L'))",
        "a.transpose(2, 0, 1), (m > 100).astype(np.float32), m[np.newaxis]",
    ],
    "crops at halves": [
        RGB,
        "w, h = img.size; k = random.uniform(0, 9.5)",
        "A = img.crop((0, 0, w / 2, h)).resize((20, 20)); B = img.crop((k, k / 2, k + 8.5, k + 7)).resize((20, 20))",
        "F.to_tensor(A), F.to_tensor(B)",
    ],
    "a name in place": [
        "i += 1; name = self.names[i - 1]; name += '.x'",
        "img = Image.open(self.a[i - 1]).convert('RGB')",
        "if 'z' in self.names[0]: img = F.hflip(img)",
        f"{TENSOR}, name, name[:-len('.x')], i",
    ],
    "a loader of one's own": [
        "def load(path):",
        "    from torchvision import get_image_backend",
        "    if get_image_backend() == 'accimage': return None",
        "    with open(path, 'rb') as f: return Image.open(f).convert('RGB')",
        "img = load(self.a[i])",
        TENSOR,
    ],
    "a plane": [
        "img = Image.open(self.a[i]).convert('L').resize((24, 22))",
        "a = np.array(img).reshape((1, 22, 24))",
        "torch.from_numpy(a) / 127.5 - 1.0, torch.FloatTensor(a / 127.5)",
    ],
    "flips by itself": [
        SMALL,
        "if random.random() < 0.5: img = img.transpose(Image.FLIP_LEFT_RIGHT)",
        "F.to_tensor(img), self.labels[i]",
    ],
    "flips by numpy": [SMALL, "if np.random.rand() > 0.5: img = ImageOps.mirror(img)", "F.to_tensor(img)"],
    "flips by torch": [SMALL, "if torch.rand(1) < self.p: img = F.hflip(img)", "F.to_tensor(img), i"],
    "CycleGAN": [
        RGB,
        "j = random.randint(0, len(self.b) - 1)",
        "other = Image.open(self.b[j]).convert('RGB')",
        "{'A': F.to_tensor(CROP(img)), 'B': F.to_tensor(CROP(other)), 'A_paths': self.a[i], 'j': j}",
    ],
    "pix2pix": [
        RGB,
        "w, h = img.size",
        "A, B = img.crop((0, 0, w // 2, h)), img.crop((w // 2, 0, w, h))",
        "A, B = A.resize((24, 24), Image.BICUBIC), B.resize((24, 24), Image.BICUBIC)",
        "x, y = random.randint(0, max(0, 24 - 16)), random.randint(0, max(0, 24 - 16))",
        "flip = random.random() > 0.5",
        "A, B = A.crop((x, y, x + 16, y + 16)), B.crop((x, y, x + 16, y + 16))",
        "if flip: A, B = A.transpose(Image.FLIP_LEFT_RIGHT), B.transpose(Image.FLIP_LEFT_RIGHT)",
        "{'A': F.normalize(F.to_tensor(A), [0.5] * 3, [0.5] * 3), 'B': F.to_tensor(B)}",
    ],
    "SimCLR": [RGB, "t = T.Compose([CROP, JITTER, T.ToTensor()])", "[t(img) for _ in range(2)]"],
    "BYOL": [
        RGB,
        "one, two = CROP(img), CROP(img)",
        "if random.random() < 0.2: two = ImageOps.solarize(two, 128)",
        "F.to_tensor(one), F.to_tensor(two)",
    ],
    "multi-crop": [
        RGB,
        "crops = [CROP(img)]",
        "for _ in range(3): crops.append(MAYBE(CROP(img)))",
        "[F.to_tensor(c) for c in crops], self.labels[i]",
    ],
    "triplet": [
        "anchor, j, k = Image.fromarray(self.data[i]), random.randrange(11), np.random.randint(11)",
        "positive, negative = Image.fromarray(self.data[j]), Image.fromarray(self.data[k])",
        "[F.to_tensor(x) for x in (anchor, positive, negative)], []",
    ],
    "siamese": [
        SMALL,
        "same = random.random() < 0.5",
        "j = i if same else random.randrange(len(self.b))",
        "other = Image.open(self.b[j]).convert('RGB').resize((24, 22))",
        "F.to_tensor(img), F.to_tensor(other), float(same)",
    ],
    "triplets by label": [
        "img1, label1 = self.data[i], self.targets[i].item()",
        "positive = i",
        "while positive == i: positive = np.random.choice(self.rows_of[label1])",
        "negative_label = np.random.choice(list(self.kinds - set([label1])))",
        "negative = np.random.choice(self.rows_of[negative_label])",
        "images = [Image.fromarray(x) for x in (img1, self.data[positive], self.data[negative])]",
        "tuple(F.to_tensor(x) for x in images), []",
    ],
    "siamese by label": [
        "target = np.random.randint(0, 2)",
        "label1, j = self.targets[i].item(), i",
        "if target == 1:",
        "    while j == i: j = np.random.choice(self.rows_of[label1])",
        "else: j = np.random.choice(self.rows_of[np.random.choice(list(self.kinds - set([label1])))])",
        "F.to_tensor(Image.fromarray(self.data[i])), F.to_tensor(Image.fromarray(self.data[int(j)])), target",
    ],
    "lists that are equal": [SMALL, "x = random.choice(self.signs[i])", "F.to_tensor(img), x"],
    "pairs of files by label": [
        SMALL,
        "j = random.choice(self.members[self.labels[i]])",
        "k = random.choice(self.members[random.choice([0, 1, 2])])",
        "other = Image.open(self.a[j]).convert('RGB').resize((24, 22))",
        "third = Image.open(self.a[k]).convert('RGB').resize((24, 22))",
        "F.to_tensor(img), F.to_tensor(other), F.to_tensor(third), j, k",
    ],
    "another row": [
        SMALL,
        "j = random.randrange(len(self))",
        "while j == i: j = random.randrange(len(self))",
        "F.to_tensor(img), F.to_tensor(Image.open(self.a[j]).convert('RGB').resize((24, 22))), self.labels[j]",
    ],
    "a row of another label": [
        SMALL,
        "while True:",
        "    j = random.randint(0, len(self.a) - 1)",
        "    if self.labels[j] != self.labels[i]: break",
        "F.to_tensor(img), F.to_tensor(Image.open(self.a[j]).convert('RGB').resize((24, 22)))",
    ],
    "branches by label": [
        SMALL,
        "label = self.labels[i]",
        "if label == 1: img = F.hflip(img)",
        "elif self.truths[i] and random.random() < self.pairs[i][2]: img = F.vflip(img)",
        "F.to_tensor(img), label",
    ],
    "sizes by row": [
        RGB,
        "s = self.array[i]",
        "k = self.labels[i] + 16",
        "F.to_tensor(img.resize((24, 22)).crop((0, 0, k, k)).resize((16, 16))), s",
    ],
    "joint segmentation": [
        f"{RGB}; mask = Image.open(self.b[i]).convert('RGB')",
        "size = random.randint(26, 40)",
        "img, mask = F.resize(img, size), F.resize(mask, size, interpolation=T.InterpolationMode.NEAREST)",
        "if random.random() > 0.5: img, mask = F.hflip(img), F.hflip(mask)",
        "at = T.RandomCrop.get_params(img, (20, 20))",
        "img, mask = F.crop(img, *at), F.crop(mask, *at)",
        "F.to_tensor(img), torch.as_tensor(np.array(mask.convert('L')), dtype=torch.int64)",
    ],
    "label unused": [
        "path, label, x = self.pairs[i]",
        "img = Image.open(path).convert('RGB').resize((20, 20))",
        "F.to_tensor(F.hflip(img))",
    ],
    "row of a dict": [
        "row = self.rows[i]",
        "img = Image.open(row['file']).convert('RGB')",
        f"{TENSOR}, row['label'], row['odd']",
    ],
    "super-resolution": [
        RGB,
        "hr = T.RandomCrop(24)(img)",
        "lr = hr.resize((12, 12), Image.BICUBIC)",
        "F.to_tensor(lr), F.to_tensor(hr)",
    ],
    "random scale": [
        RGB,
        "s = random.uniform(0.5, 1.5)",
        "img = img.resize((int(img.width * s), int(img.height * s)))",
        f"{TENSOR}, s",
    ],
    "square": [
        RGB,
        "w, h = img.size; s = min(w, h)",
        "img = img.crop(((w - s) // 2, (h - s) // 2, (w + s) // 2, (h + s) // 2))",
        f"{TENSOR}, w / h",
    ],
    "padded to a square": [
        RGB,
        "w, h = img.size; s = max(w, h)",
        "img = F.pad(img, (0, 0, s - w, s - h))",
        f"{TENSOR}",
    ],
    "blurred": [
        SMALL,
        "if random.random() < 0.5: img = img.filter(ImageFilter.GaussianBlur(random.uniform(0.1, 2.0)))",
        "F.to_tensor(img)",
    ],
    "bools": [
        SMALL,
        "flip = random.random() < 0.5",
        "img = F.hflip(img) if flip else img",
        "F.to_tensor(img), flip, not flip, self.truths[i], True",
    ],
    "a lower level": [
        SMALL,
        "flip, k = np.random.random() < 0.5, np.random.choice(4)",
        "if flip: img = F.vflip(img)",
        "F.to_tensor(img), k, flip",
    ],
    "modes": ["img = Image.open(self.a[i])", "if img.mode != 'RGB': img = img.convert('RGB')", TENSOR],
    "grey": ["img = Image.open(self.a[i]).convert('L')", "F.to_tensor(self.fixed(img)), img.width"],
    "colours at times": [SMALL, "if random.random() < 0.3: img = img.convert('L').convert('RGB')", "F.to_tensor(img)"],
    "methods": [RGB, "img = self.turned(img, by=0.3)", "k = self.drawn(1)", f"{TENSOR}, k, self.size"],
    "several views": [RGB, "[F.to_tensor(self.fixed(x)) for x in self.several(img, 3)]"],
    "loaded": [RGB, "img.load()", TENSOR],
    "asserts": [RGB, "assert img.width > 5, 'small'", "if img.height > 900: raise ValueError(img.height)", TENSOR],
    "array rows": [
        "img = Image.fromarray(self.data[i])",
        "if random.random() < 0.5: img = F.hflip(img)",
        "T.ToTensor()(img), self.labels[i]",
    ],
    "a random other": ["img = Image.open(random.choice(self.a)).convert('RGB')", TENSOR],
    "retinal": [
        SMALL,
        "k = random.choice([0, 1, 3])",
        "if k == 1: img = F.hflip(img)",
        "elif k == 3: img = F.vflip(img)",
        "F.normalize(F.to_tensor(img), self.mean, [0.2] * 3), self.floats[i % 3]",
    ],
    "re-id": [
        "path, pid, cam = self.pairs[i]",
        "img = Image.open(path).convert('RGB')",
        "img = T.Resize((32, 16))(img)",
        "if random.uniform(0, 1) >= 0.5: img = F.hflip(img)",
        "F.to_tensor(img), pid, cam, path",
    ],
    "a caption": [f"{RGB}; caption = self.names[i]", f"{TENSOR}, caption, i"],
    "order of draws": [
        SMALL,
        "a, b = random.random(), random.randint(0, 9)",
        "c = random.uniform(1, 2) if a < 0.5 else random.random()",
        "F.to_tensor(img), a, b, c, random.random()",
    ],
    "chained": [
        SMALL,
        "x = random.random()",
        "if 0.2 < x <= 0.6 and (torch.rand(1) < 0.5 or img.width == 24): img = F.vflip(img)",
        "F.to_tensor(img), x",
    ],
    "a list that grows": [
        SMALL,
        "done = []",
        "if random.random() < 0.5: done.append(F.hflip)",
        "done.append(F.vflip)",
        "for each in done: img = each(img)",
        "F.to_tensor(img), len(done)",
    ],
    "a dict that grows": [
        RGB,
        "out = {'x': 1}",
        f"out['img'] = {TENSOR}",
        "out['n'] = random.randint(0, 3)",
        "out.update(label=self.labels[i])",
        "out",
    ],
    "two opened first": [
        "one, two = Image.open(self.a[i]), Image.open(self.a[self.order[i]])",
        "F.to_tensor(CROP(one.convert('RGB'))), F.to_tensor(CROP(two.convert('RGB')))",
    ],
    "its own length": [f"j = random.randrange(len(self)); {SMALL}", "F.to_tensor(img), j, len(self)"],
    "late choice": [SMALL, "name = random.choice(['h', 'v'])", "F.to_tensor(img), self.choices[random.randrange(3)]"],
    "turned by torchvision": [
        RGB,
        "img = F.rotate(img.crop((0, 0, 30, 30)), random.choice([0, 90, 180, 270]))",
        TENSOR,
    ],
    "turned by a little": [
        RGB,
        "a = random.uniform(-30, 30); m = F.rotate(img.convert('L'), a, fill=7)",
        "img = F.rotate(img, a, interpolation=F.InterpolationMode.BILINEAR, fill=(1, 2, 3))",
        f"{TENSOR}, F.to_tensor(F.resize(m, [20, 24]))",
    ],
    "quarter turns": [
        RGB,
        "k = random.randrange(4)",
        "if k == 1: img = img.transpose(Image.ROTATE_90)",
        "if k == 2: img = img.transpose(Image.TRANSPOSE)",
        f"{TENSOR}, k",
    ],
    "all turns": [
        f"{SMALL}.transpose(Image.ROTATE_270)",
        "F.to_tensor(img), F.to_tensor(img.transpose(Image.TRANSVERSE).crop((1, 2, 15, 21)))",
    ],
    "points by a function": [
        SMALL,
        "m = img.convert('L').point(lambda p: 1 if p > 128 else 0); img = img.point(lambda p: p * 0.7)",
        "F.to_tensor(img), F.to_tensor(m), F.to_tensor(img.convert('L').point(lambda p: p > 99 and 255))",
    ],
    "draws below a number of numpy's": [
        f"{RGB}.resize((30, 30)); x = random.randint(0, np.maximum(0, 30 - 20)); y = random.randrange(np.minimum(9, 5))",
        "F.to_tensor(img.crop((x, y, x + 20, y + 20))), x",
    ],
    "asks for the class of a number": [
        f"{RGB}; w, h = img.size; s = min(w, h) - 9",
        "if isinstance(s, int): s = (s - 7, s - 8)",
        "F.to_tensor(img.crop((0, 0, *s)).resize((20, 20))), isinstance(s[0] / 2, (int, float))",
    ],
    "a dict by its class": [RGB, f"dict(image={TENSOR}, label=self.labels[i])"],
    "tensors, changed where they are something": [
        SMALL,
        "m = F.to_tensor(img.convert('L')); m[m >= 0.5] = 3; m[m < 0.5] = 1; m[m == 3] = 0",
        "x = torch.from_numpy(np.array(img)); x[x > 200] = 0",
        "m, x.permute(2, 0, 1).float()",
    ],
    "looks for its file": [
        "if os.path.exists(self.a[i]): img = Image.open(self.a[i]).convert('RGB')",
        "else: img = Image.new('RGB', (30, 30))",
        TENSOR,
    ],
    "None for what cannot be read": [
        "try: img = Image.open(self.a[i]).convert('RGB')",
        "except OSError: img = None",
        "if img is None: return None",
        f"{TENSOR}, i",
    ],
}

# Python that was, or might be, taken for something else.
ODD: dict[str, list[str]] = {
    "looks for files that are not there": [
        "path = self.a[i] if i % 3 else 'none'",
        "if os.path.exists(path): img = Image.open(path).convert('RGB')",
        "else: img = Image.new('RGB', (30, 30))",
        TENSOR,
    ],
    "looks for one file that is not there": [
        "path = self.a[i].replace('05', 'none')",
        "if os.path.isfile(path): img = Image.open(path).convert('RGB')",
        "else: img = Image.new('RGB', (30, 30))",
        TENSOR,
    ],
    "looks for another file": [RGB, "if os.path.exists(self.b[i]): img = F.hflip(img)", TENSOR],
    "turned by a number of numpy's": [RGB, "img = F.rotate(img, np.random.choice([0, 90]))", TENSOR],
    "turned by a filter of torchvision's": [RGB, "img = img.rotate(30, F.InterpolationMode.BILINEAR)", TENSOR],
    "turned with more": [RGB, "img = F.rotate(img, 30, expand=True).resize((20, 20))", TENSOR],
    "points by a function that fails": [RGB, "img = img.point(lambda p: 1 // p)", TENSOR],
    "points by a function that draws": [SMALL, "img = img.point(lambda p: p * random.random())", TENSOR],
    "points by a function that uses more": [SMALL, "k = i; img = img.point(lambda p: p + k)", TENSOR],
    "points by a function with a default": [SMALL, "img = img.point(lambda p, k=i: p + k)", TENSOR],
    "a text among classes": [RGB, "f'{isinstance(i, str)}', isinstance(self.p, int), isinstance(True, int), i"],
    "changed where another one is something": [
        SMALL,
        "x = F.to_tensor(img); y = F.to_tensor(img.convert('L')); x[(y > 0.5).expand_as(x)] = 0",
        "x, y",
    ],
    "changed where it was something": [SMALL, "x = F.to_tensor(img); m = x > 0.5; y = x; x.mul_(2); x[m] = 0", "x, y"],
    "unused error": [RGB, "1 // (i - i)", TENSOR],
    "unused item": [RGB, "self.labels[i + 5]", TENSOR],
    "unused key": [RGB, "self.table['none']", TENSOR],
    "unused call": [RGB, "img.thumbnail((10, 10))", TENSOR],
    "unused append": [RGB, "self.log.append(i)", f"{TENSOR}, len(self.log)"],
    "unused text": [RGB, "int(self.names[i])", TENSOR],
    "unused crop": [RGB, "F.crop(img, 3, 4, 99, 99)", TENSOR],
    "unused open": [RGB, "Image.open(self.root + '/none.png')", TENSOR],
    "unused draws": [RGB, "random.random(); np.random.rand(); torch.rand(1)", f"{TENSOR}, random.random()"],
    "unused jitter": [RGB, "JITTER(img)", f"{TENSOR}, torch.rand(1).item()"],
    "unused normalize": [RGB, "F.normalize(F.to_tensor(img), [0.5] * 2, [1.0])", TENSOR],
    "unused unpacking": [RGB, "a, c = self.pairs[i]", TENSOR],
    "unused name": [RGB, "nothing", TENSOR],
    "unused import": [RGB, "import not_there", TENSOR],
    "late generator": [RGB, "g = (random.random() for _ in range(2)); x = random.random(); y = list(g)", f"{TENSOR}, x, y"],
    "a generator in turns": [RGB, "out = []", "for x in (random.random() for _ in range(2)): out.append(x - random.random())", f"{TENSOR}, out"],
    "zip twice": [RGB, "z = zip([1, 2], [3, 4]); a = list(z); c = list(z)", f"{TENSOR}, len(a), len(c)"],
    "a list grown as it is gone through": [RGB, "out = [1]", "for x in out:", "    if len(out) < 4: out.append(x + 1)", f"{TENSOR}, out[-1]"],
    "a shared list": [RGB, "a = [1]; c = a; c.append(2)", f"{TENSOR}, a, len(c)"],
    "one of two dicts": [
        RGB, "a, c = {'x': 1}, {'x': 2}", "d = a if random.random() < 0.5 else c", "d['x'] = 5", f"{TENSOR}, a['x'], c['x'], d['x']",
    ],
    "one of two lists": [RGB, "a = [1]; c = a", "if random.random() < 0.5: c = [1]", "c.append(2)", f"{TENSOR}, len(a), len(c)"],
    "two lists that are equal": [RGB, "a, c = [], []", "if random.random() < 0.5: c = a", "c.append(2)", f"{TENSOR}, len(a), len(c)"],
    "two dicts that are equal": [RGB, "a, c = {'x': 1}, {'x': 1}", "if random.random() < 0.5: c = a", "a['x'] = 2", f"{TENSOR}, a['x'], c['x']"],
    "a dict of two names": [
        RGB, "a = c = {}", "if random.random() < 0.5: a['x'] = 1", "else: a['x'] = 2", "a['y'] = 3", f"{TENSOR}, c['x'], c['y'], len(c)",
    ],
    "a dict of two names that is gone into": [
        RGB, "v = [1] if random.random() < 0.5 else [1, 2]", "a = c = {'v': v, 'k': 0}", "for x in v: a['k'] = x", f"{TENSOR}, a['k'], c['k']",
    ],
    "a dict that a method gives": [
        RGB, "a, c = {'x': 1}, {'x': 2}", "def one(a, c):", "    if random.random() < 0.5: return a", "    return c",
        "d = one(a, c)", "d['x'] = 5", f"{TENSOR}, a['x'], c['x'], d['x']",
    ],
    "a dict that a method changes": [
        RGB, "a = {'x': 1}", "def change(d):", "    e = d if random.random() < 0.5 else {'x': 1}", "    e['x'] = 2", "change(a)", f"{TENSOR}, a['x']",
    ],
    "a list that a method gives": [
        RGB, "a = [1]", "def same(x): return x", "def longer(x):", "    y = same(x)", "    y.append(2)", "longer(a)", f"{TENSOR}, len(a)",
    ],
    "a list that grows on both ways": [
        RGB, "a = c = [1]", "if random.random() < 0.5: a.append(2)", "else: a += [3]", "a.append(4)", f"{TENSOR}, a, c",
    ],
    "a default that is kept": [RGB, "def g(x=[]):", "    x.append(1)", "    return len(x)", f"{TENSOR}, g() + g()"],
    "late binding": [RGB, "fs = [lambda: k for k in range(3)]", f"{TENSOR}, fs[0](), fs[1]()"],
    "a variable set later": [RGB, "k = 1", "f = lambda: k", "k = random.randint(2, 9)", f"{TENSOR}, f()"],
    "bool is int": [RGB, f"{TENSOR}, True + True, (random.random() < 0.5) * 3, isinstance(True, int), max(True, 0)"],
    "bool or int": [RGB, f"{TENSOR}, (random.random() < 2) or 3, False or 2, 0 and True"],
    "bool given": [RGB, f"{TENSOR}, i == 3, not i, i > 4, i % 2 == 0"],
    "bool as an argument": [RGB, "img = self.turned(img, also=i > 3)", f"{TENSOR}, abs(True), -True, int(i > 2), float(i > 2)"],
    "identity": [RGB, "x = random.random() < 0.5", f"{TENSOR}, x is True, x == 1, x is not None"],
    "numpy's int": [RGB, "k = np.random.choice(5)", f"{TENSOR}, k, k / 2, k + 1"],
    "numpy's choice": [RGB, f"{TENSOR}, np.random.choice(self.floats), np.random.choice(['a', 'b'])"],
    "a tensor's int": [RGB, "k = torch.randint(0, 5, (1,))", f"{TENSOR}, k, k + 1, self.choices[k % 3]"],
    "a tensor": [RGB, "x = torch.rand(1)", f"{TENSOR}, x, x < 0.5"],
    "floors": [RGB, "k = random.randint(-9, 9)", f"{TENSOR}, k // 4, k % 4, k // -4, k % -4, int(k / 4), round(k / 2), k // 0.3, k % 0.7, -k // 2.5"],
    "zeros": [RGB, "k = random.randint(-1, 1)", f"{TENSOR}, 3 / k, -0.0 * k"],
    "large": [RGB, f"{TENSOR}, 2**53 + i, 2**62 * i, 1e308 * 10 * i"],
    "a place from behind": [RGB, "k = random.randint(-5, 5)", f"{TENSOR}, self.labels[k], self.choices[-1], [1, 2, 3][k % 3 - 3]"],
    "a place outside": [RGB, "k = random.randint(0, 12)", f"{TENSOR}, self.labels[k]"],
    "a place of two": [RGB, "[10, 20][random.randint(0, 2)]", TENSOR],
    "a mode and more": ["img = Image.open(self.a[i]); k = 0", "if img.mode != 'RGB':", "    img = img.convert('RGB'); k = 1", f"{TENSOR}, k"],
    "a mode with draws": ["img = Image.open(self.a[i])", "if img.mode != 'RGB':", "    img = img.convert('RGB')", "    random.random()", f"{TENSOR}, random.random()"],
    "a mode or draws": ["img = Image.open(self.a[i])", "if img.mode != 'RGB': img = img.convert('RGB')", "else: random.random()", f"{TENSOR}, random.random()"],
    "a closed file": ["with Image.open(self.a[i]) as img: w = img.width", f"{TENSOR}, w"],
    "a closed file, flipped": ["with Image.open(self.a[i]) as o: img = T.RandomHorizontalFlip(0.0)(o)", TENSOR],
    "an array, channels last": [SMALL, "np.array(img), random.random()"],
    "an array that goes backwards": [SMALL, "np.array(img).transpose(2, 0, 1)[:, ::-1]"],
    "an array that may not be written to": [SMALL, "np.asarray(img).transpose(2, 0, 1)"],
    "a stack of arrays": [SMALL, "a = np.array(img).transpose(2, 0, 1)", "torch.stack([a, a])"],
    "an array of another byte order": [SMALL, "np.array(img).transpose(2, 0, 1).astype('>i4')"],
    "changed by another name": [RGB, "x = np.array(self.fixed(img), np.float32); y = torch.from_numpy(x)", "y.sub_(1).div_(2)", "x, y"],
    "changed in part": [RGB, f"x = {TENSOR}; y = x[:, 2:9]; y.mul_(3)", "x"],
    "a part of what is changed": [RGB, f"x = {TENSOR}; y = x[1:]; x.mul_(2).add_(1)", "y"],
    "one of two changed arrays": [RGB, f"x = {TENSOR}; z = x.mul_(2) if random.random() < 0.5 else x; z.add_(1)", "x, z"],
    "changed behind a stack": [RGB, f"x = {TENSOR}; z = x.mul_(2); y = torch.stack([z, z]); x.add_(1)", "y"],
    "loaded in a branch": ["with open(self.a[i], 'rb') as f:", "    img = Image.open(f)", "    if random.random() < 2: img.load()", TENSOR],
    "channels last": [RGB, "x = F.hflip(torch.from_numpy(np.array(self.fixed(img))))", "x.permute(2, 0, 1)"],
    "pixels of load": [RGB, "px = img.load()", f"{TENSOR}, px[0, 0]"],
    "length of an int": [RGB, f"{TENSOR}, len(i)"],
    "item of a float": [RGB, f"{TENSOR}, random.random().item()"],
    "choice of a number": [RGB, f"{TENSOR}, random.choice(5)"],
    "seeds": [RGB, "random.seed(i)", f"{TENSOR}, random.random()"],
    "another generator": [RGB, "g = random.Random(3)", f"{TENSOR}, g.random()"],
    "gauss": [RGB, f"{TENSOR}, random.gauss(0, 1), random.random()"],
    "raises at times": [RGB, "if random.random() < 0.3: raise KeyError(i)", f"{TENSOR}, random.random()"],
    "asserts at times": [RGB, "assert random.random() < 0.7, 'bad'", TENSOR],
    "tries": [RGB, "try: k = 1 // (i % 2)", "except ZeroDivisionError: k = 9", f"{TENSOR}, k"],
    "while": [RGB, "j = i", "while j == i: j = random.randrange(11)", f"{TENSOR}, j"],
    "a key that is not there": [RGB, "k = random.randint(0, 6)", f"{TENSOR}, self.weights[k], random.choice(self.members[k])"],
    "a default that is made": [RGB, "x = self.members[random.randint(0, 7)]", f"{TENSOR}, len(x), len(self.members)"],
    "an empty list": [RGB, "x = [self.groups[0], []][i % 2]", f"{TENSOR}, random.choice(x)"],
    "a bool as a key": [RGB, "k = random.random() < 0.5", f"{TENSOR}, self.weights[k], self.members[k], self.groups[k]"],
    "a float as a key": [RGB, "k = random.randint(0, 3) / 1", f"{TENSOR}, self.weights[k], random.choice(self.members[k])"],
    "numpy's choice of lists": [RGB, f"{TENSOR}, np.random.choice(self.groups[i % 3]), np.random.choice([1, True]), np.random.choice([1, 2.5])"],
    "numpy's choice, reckoned with": [RGB, "k = np.random.choice(self.rows_of[1])", f"{TENSOR}, k == 1, not k == 1, k + 1, k / 2, -k"],
    "a loop that seldom ends": [RGB, "k = 1", "while k == 1: k = random.choice([1, 1, 1, 1, 2])", f"{TENSOR}, k"],
    "a loop that ends seldom": [RGB, "k = 1", "while k != 2: k = random.choice([1, 1, 1, 1, 2])", f"{TENSOR}, k"],
    "a loop of many turns": [RGB, "k, n = 1, 0", "for _ in range(30):", "    if random.randint(0, 40) == 3: break", "    n += 1", f"{TENSOR}, n"],
    "a loop that counts": [RGB, "k, n = 1, 0", "while k == 1: k = random.randint(1, 2); n += k", f"{TENSOR}, n, k"],
    "a loop whose values grow": [RGB, "n = m = random.randint(1, 3)", "while n == m: n = n + n + n", f"{TENSOR}, n"],
    "a loop in a loop": [RGB, "n, m = 1, 1", "while n == m:", "    while n == m: n = random.randint(0, 2)", "    m = random.randint(0, 2)", f"{TENSOR}, n, m"],
    "a loop that branches": [
        RGB, "n, m = 1, 1", "while n == m:", "    if random.random() < 0.3 or n > 2: n = 7", "    m = random.randint(0, 4)", f"{TENSOR}, n, m",
    ],
    "a loop with an image": [SMALL, "k = 1", "while k == 1: k = random.randint(1, 2); img = F.hflip(img)", "F.to_tensor(img), k"],
    "rows from behind": [RGB, "k = random.randint(-3, 3)", f"{TENSOR}, self.array[k], self.order[k], self.groups[-1][k]"],
    "one of two rows": [RGB, "k = i if random.random() < 0.5 else np.random.choice(11)", f"{TENSOR}, self.labels[k]"],
    "the same on both ways": [
        RGB, "k = random.randint(0, 8)", "if random.random() < 0.5: n = self.labels[k + 1]", "else: n = self.labels[k + 1] * 2",
        f"{TENSOR}, n, self.labels[k + 1]",
    ],
    "a set of texts": [RGB, f"{TENSOR}, random.choice(list(set(self.names) - set([self.names[i]])))"],
    "a set out of order": [RGB, f"{TENSOR}, random.choice(list(set([self.labels[i] * 100, 64, 8])))"],
    "values of many types": [RGB, "x = [1, 2.5, True][i % 3]", "if x == 1: img = F.hflip(img)", f"{TENSOR}, self.array[i] == 4, self.targets[i] == 2"],
    "large values": [RGB, "x = [2**60, 2**53, 1][i % 3]", "if x > 5: img = F.hflip(img)", TENSOR],
    "another type on one way": [RGB, "k = 1 if random.random() < 0.5 else 2.5", f"{TENSOR}, k"],
    "a property that draws": [RGB, f"{TENSOR}, self.chance, self.chance"],
    "a grey file of a palette": [RGB, "img = img.quantize(9).convert('L')", TENSOR],
    "sizes that differ": [RGB, "F.to_tensor(img)"],
    "a size of nothing": [RGB, "F.to_tensor(img.resize((i, 5)))"],
    "not a place": [RGB, f"{TENSOR}, self.labels[i / 1]"],
    "a slice": [RGB, f"{TENSOR}, self.labels[i:i + 1], [1, 2, 3][1:]"],
    "short circuit": [RGB, "x = random.random() < 0.5 and random.random() < 0.5 or random.random() < 0.5", f"{TENSOR}, x, random.random()"],
    "arguments in order": [RGB, "k = self.drawn(random.randint(0, 2), high=random.randint(6, 9))", f"{TENSOR}, k, random.random()"],
    "walrus": [RGB, "y = (x := random.random()) + x", f"{TENSOR}, x, y"],
    "None": [RGB, f"{TENSOR}, None"],
    "lists of lists": [RGB, f"{TENSOR}, [[i, 2], [3.5]], (), [], {{}}"],
    "mixup": [
        SMALL, "j = random.randrange(11); lam = np.random.beta(1.0, 1.0)", "other = Image.open(self.b[j]).convert('RGB').resize((24, 22))",
        "lam * F.to_tensor(img) + (1 - lam) * F.to_tensor(other), lam",
    ],
    "cutout": [SMALL, "x = F.to_tensor(img); k = random.randint(0, 10)", "x[:, k:k + 4, k:k + 4] = 0", "x"],
    "mosaic": [
        "out = Image.new('RGB', (48, 44))", "for k in range(4):",
        "    part = Image.open(self.a[(i + k) % 11]).convert('RGB').resize((24, 22)); out.paste(part, (24 * (k % 2), 22 * (k // 2)))",
        "F.to_tensor(out)",
    ],
    "rotated": [SMALL, "img = img.rotate(random.choice([0, 90, 180]))", "F.to_tensor(img)"],
    "enhanced": [SMALL, "img = F.adjust_brightness(img, random.uniform(0.8, 1.2))", "F.to_tensor(img)"],
    "noise": [SMALL, "F.to_tensor(img) + torch.randn(3, 22, 24) * 0.1"],
    "sampled": [SMALL, f"{TENSOR}, random.sample(range(10), 3), random.choices([1, 2], k=2)"],
    "shuffled": [SMALL, "order = [0, 1, 2]; random.shuffle(order)", f"{TENSOR}, order"],
}  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return photos(tmp_path_factory.mktemp("written"))


def source_of(lines: list[str]) -> str:
    *before, last = lines
    body = "\n".join(f"        {line}" for line in [*before, f"return {last}"])
    return f"class Made(Base):\n    def __getitem__(self, i):\n{body}\n"


@pytest.mark.parametrize("name", [*COMPILED, *ODD], ids=lambda name: name.replace(" ", "-"))
def test_a_class_as_people_write_it(name: str, root: Path) -> None:
    lines = COMPILED.get(name) or ODD[name]
    chance = random.Random(name)
    # A dataset a run: some note in themselves what they were asked for.
    arguments = loader_of(
        lambda: made_of(source_of(lines), root), batch_size=chance.choice([1, 2, 3]), shuffle=chance.random() < 0.5
    )
    told = goloader.DataLoader(**arguments()).explain()
    assert told.native or name not in COMPILED, told
    check(Program(arguments, epochs=2, seed=chance.randrange(99)), native=told.native)


def stacked(samples: Any) -> Any:
    return torch.from_numpy(np.stack([each[0] for each in samples]))


def kept(samples: Any) -> Any:
    return list(samples)


@pytest.mark.parametrize("collate", [stacked, kept])
def test_arrays_are_what_a_collate_fn_gets(collate: Any, root: Path) -> None:
    dataset = made_of(source_of(COMPILED["an array and a mask"]), root)
    check(Program(loader_of(dataset, batch_size=2, collate_fn=lambda: collate)), native=False)


@pytest.mark.parametrize(
    "name", ["CycleGAN", "multi-crop", "bools", "order of draws", "an array"], ids=lambda name: name.replace(" ", "-")
)
@pytest.mark.slow
@pytest.mark.parametrize("num_workers", [1, 3])
def test_with_workers(name: str, num_workers: int, root: Path) -> None:
    dataset = made_of(source_of(COMPILED[name]), root)
    check(Program(loader_of(dataset, batch_size=2, num_workers=num_workers), epochs=2, seed=7))
