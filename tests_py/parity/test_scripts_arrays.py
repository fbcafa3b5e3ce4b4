"""Code over images as arrays, of numpy's and OpenCV's functions, in classes of one's own: our batches are torch's.

COMPILED are classes as people write them, which have to be compiled; of the rest (ODD, and what the grammar makes) it does
not matter who makes the batches.
"""

# ruff: noqa: E501 - rows of tables

from __future__ import annotations

import glob
import io
import itertools
import random
import shutil
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import torch
from photos import picture, save
from PIL import Image
from test_scripts_fuzz import COUNT, SPACE, Grammar, photos, programs
from test_scripts_written import source_of
from torch.utils.data import Dataset
from twins import Program, bits, check, loader_of

import goloader

pytestmark = pytest.mark.timeout(600)

SPACE |= {"cv2": cv2, "glob": glob, "io": io, "Path": Path, "shutil": shutil, "made": lambda *given: given}

CV2 = "a = cv2.imread(self.a[i])"
RGB = "a = cv2.cvtColor(cv2.imread(self.a[i]), cv2.COLOR_BGR2RGB)"
ARRAY = "a = np.array(Image.open(self.a[i]).convert('RGB'))"
CUT = "a = a[4:20, 2:18]"
GIVEN = "torch.from_numpy(a.transpose(2, 0, 1).copy())"
TENSOR = (
    "t = F.normalize(F.to_tensor(self.fixed(Image.open(self.a[i]).convert('RGB'))), [0.4, 0.5, 0.6], [0.2, 0.3, 0.2])"
)
PLACE = "y, x = random.randint(0, 12), np.random.randint(0, 12)"
PAIR = "{0}.transpose(2, 0, 1).copy()"
LINE = "a = cv2.imread(os.path.join(self.root, self.lines[i].split()[0]))"
UNEVEN = "a = cv2.imread(os.path.join(self.root, self.boxes[i].split()[0]))"
RECORD = "a = cv2.imread(os.path.join(self.root, self.records[i][0][0]))"
MASK = "m = np.asarray(Image.open(self.masks[i]))[4:20, 2:18]"

# As KAIR has it.
UNCHANGED = [
    "def imread_uint(path):",
    "    img = cv2.imread(path, cv2.IMREAD_UNCHANGED)",
    "    if img.ndim == 2: img = cv2.cvtColor(img, cv2.COLOR_GRAY2RGB)",
    "    else: img = cv2.cvtColor(img, cv2.COLOR_BGR2RGB)",
    "    return img",
    "def augment_img(img, mode=0):",
    "    if mode == 0: return img",
    "    elif mode == 1: return np.flipud(np.rot90(img))",
    "    elif mode == 2: return np.flipud(img)",
    "    elif mode == 3: return np.rot90(img, k=3)",
    "    elif mode == 4: return np.flipud(np.rot90(img, k=2))",
    "    elif mode == 5: return np.rot90(img)",
    "    elif mode == 6: return np.rot90(img, k=2)",
    "    elif mode == 7: return np.flipud(np.rot90(img, k=3))",
    "def uint2tensor3(img):",
    "    if img.ndim == 2: img = np.expand_dims(img, axis=2)",
    "    return torch.from_numpy(np.ascontiguousarray(img)).permute(2, 0, 1).float().div(255.)",
    "a = imread_uint(self.a[i])",
    "H, W, _ = a.shape",
    "y, x = random.randint(0, max(0, H - 16)), random.randint(0, max(0, W - 16))",
    "a = augment_img(a[y:y + 16, x:x + 16, :], mode=random.randint(0, 7))",
    "{'H': uint2tensor3(a), 'H_path': self.a[i]}",
]
# As BasicSR has it.
PAIRED = [
    "def imfrombytes(path):",
    "    with open(path, 'rb') as f: content = f.read()",
    "    img = cv2.imdecode(np.frombuffer(content, np.uint8), {'color': cv2.IMREAD_COLOR}['color'])",
    "    return img.astype(np.float32) / 255.",
    "def paired_random_crop(img_gts, img_lqs, gt_patch_size, scale, gt_path=None):",
    "    if not isinstance(img_gts, list): img_gts = [img_gts]",
    "    if not isinstance(img_lqs, list): img_lqs = [img_lqs]",
    "    input_type = 'Tensor' if torch.is_tensor(img_gts[0]) else 'Numpy'",
    "    if input_type == 'Tensor': (h_lq, w_lq), (h_gt, w_gt) = img_lqs[0].size()[-2:], img_gts[0].size()[-2:]",
    "    else: (h_lq, w_lq), (h_gt, w_gt) = img_lqs[0].shape[0:2], img_gts[0].shape[0:2]",
    "    size = gt_patch_size // scale",
    "    if h_gt != h_lq * scale or w_gt != w_lq * scale: raise ValueError(f'{h_gt} is not {scale}x {h_lq}')",
    "    if h_lq < size or w_lq < size: raise ValueError(f'remove {gt_path}')",
    "    top, left = random.randint(0, h_lq - size), random.randint(0, w_lq - size)",
    "    if input_type == 'Tensor': img_lqs = [v[:, :, top:top + size, left:left + size] for v in img_lqs]",
    "    else: img_lqs = [v[top:top + size, left:left + size, ...] for v in img_lqs]",
    "    top, left = int(top * scale), int(left * scale)",
    "    img_gts = [v[top:top + gt_patch_size, left:left + gt_patch_size, ...] for v in img_gts]",
    "    if len(img_gts) == 1: img_gts = img_gts[0]",
    "    if len(img_lqs) == 1: img_lqs = img_lqs[0]",
    "    return img_gts, img_lqs",
    "def augment(imgs, hflip=True, rotation=True):",
    "    hflip = hflip and random.random() < 0.5",
    "    vflip, rot90 = rotation and random.random() < 0.5, rotation and random.random() < 0.5",
    "    def _augment(img):",
    "        if hflip: cv2.flip(img, 1, img)",
    "        if vflip: cv2.flip(img, 0, img)",
    "        if rot90: img = img.transpose(1, 0, 2)",
    "        return img",
    "    if not isinstance(imgs, list): imgs = [imgs]",
    "    imgs = [_augment(img) for img in imgs]",
    "    return imgs[0] if len(imgs) == 1 else imgs",
    "def img2tensor(imgs):",
    "    def _totensor(img): return torch.from_numpy(cv2.cvtColor(img, cv2.COLOR_BGR2RGB).transpose(2, 0, 1)).float()",
    "    return [_totensor(img) for img in imgs] if isinstance(imgs, list) else _totensor(imgs)",
    "gt, lq = imfrombytes(self.a[i]), imfrombytes(self.a[i])",
    "gt, lq = paired_random_crop(gt, lq, 16, 1, self.a[i])",
    "gt, lq = img2tensor(augment([gt, lq], True, True))",
    "{'lq': lq, 'gt': gt, 'gt_path': self.a[i]}",
]

UNCHANGED_WHOLE = ["a = cv2.imread(self.a[i], cv2.IMREAD_UNCHANGED)", GIVEN]

COMPILED: dict[str, list[str]] = {
    "Cutout": [
        TENSOR,
        "h, w = t.size(1), t.size(2)",
        "m = np.ones((h, w), np.float32)",
        "for n in range(2):",
        "    y, x = np.random.randint(h), np.random.randint(w)",
        "    y1, y2, x1, x2 = np.clip(y - 4, 0, h), np.clip(y + 4, 0, h), np.clip(x - 3, 0, w), np.clip(x + 3, 0, w)",
        "    m[y1: y2, x1: x2] = 0.",
        "t = t * torch.from_numpy(m).expand_as(t)",
        "t, random.random(), np.random.randint(9)",
    ],
    "a rectangle of a tensor": [TENSOR, PLACE, "t[:, y:y + 5, x:x + 4] = -0.0", "t, y"],
    "a rectangle without some ends": [TENSOR, PLACE, "t[..., y:, :x] = 1; t[:, y - 5:-2] = 2", "t"],
    "a rectangle that ends before it begins": [TENSOR, PLACE, "t[:, y:x, x:x + 30] = True", "t"],
    "a rectangle before numbers change": [TENSOR, PLACE, "b = t.clone(); t[:, y:y + 5, x:x + 4] = 0.5", "F.normalize(t, [0.1] * 3, [0.5] * 3), b"],
    "a rectangle on one way": [TENSOR, "if random.random() < 0.5:", f"    {PLACE}", "    t[:, max(0, y - 3):y + 3, x:x + 5] = 0", "t / 2"],
    "rectangles that move": [TENSOR, PLACE, "t[:, y:y + 9, x:x + 9] = 0", "if random.random() < 0.5: t = torch.flip(t, [2])", "t[:, x:x + 2, y:] = 1", "if random.random() < 0.5: t = t.flip(1)", "t = F.crop(t, y // 2, x // 2, 9, 8)", "t"],
    "many rectangles": [TENSOR, "for n in range(10):", "    y, x = np.random.randint(9), np.random.randint(9)", "    t[:, y:y + 4, x:x + 5] = 0", "t"],
    "a rectangle by channels": [TENSOR, PLACE, "h, w = random.randint(1, 9), random.randint(1, 9)", "for n in range(3): t[n, y:y + h, x:x + w] = n / 7", "t"],
    "a mask of torch's": [TENSOR, PLACE, "m = torch.ones(t.shape[1], t.shape[2]); m[y:y + 5, x:x + 4] = 0", "t *= m", "t"],
    "a mask like the image": [TENSOR, PLACE, "m = torch.zeros_like(t); m[:, y:y + 5, x:x + 4] = 1", "t * (1 - m) + 3 * m, m"],
    "rectangles of bytes": [ARRAY, CUT, PLACE, "a[y:y + 5, x:x + 4] = (1, 2, 3); a[y:y + 2, x:x + 9, :] = 255", GIVEN],
    "rectangles of bytes to Pillow": [ARRAY, CUT, PLACE, "a = a.copy(); a[y:y + 5, x:x + 4] = 9", "img = Image.fromarray(a)", "if random.random() < 0.5: img = F.hflip(img)", "F.to_tensor(img)"],
    "a rectangle of BGR": [CV2, CUT, PLACE, "a[y:y + 5, x:x + 4] = [1, 2, 3]", GIVEN],
    "OpenCV": [RGB, CUT, f"{GIVEN}.float() / 255, self.labels[i]"],
    "BGR": [CV2, CUT, GIVEN],
    "BGR flipped by itself": [CV2, CUT, "if random.random() < 0.5: a = a[:, ::-1]", GIVEN],
    "flipped and put in order": [RGB, CUT, "if random.random() < 0.5: a = np.ascontiguousarray(a[:, ::-1])", GIVEN],
    "flipped and copied": [CV2, CUT, "a = a.astype(np.float32) / 255", "if random.random() < 0.5: a = a[::-1].copy()", "torch.from_numpy(a.transpose(2, 0, 1))"],
    "OpenCV's RGB": ["a = cv2.imread(self.a[i], cv2.IMREAD_COLOR_RGB)", CUT, GIVEN],
    "OpenCV's grey of grey files": ["m = cv2.imread(self.masks[i], cv2.IMREAD_GRAYSCALE)[4:20, 2:18]", "torch.from_numpy(m.copy()).long()"],
    "channels by a slice": [CV2, CUT, "torch.from_numpy(a[:, :, ::-1].transpose(2, 0, 1).copy())"],
    "bytes of a file": [
        "with open(self.a[i], 'rb') as f: content = f.read()",
        "a = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR)",
        "a = a.astype(np.float32) / 255.0",
        CUT,
        f"{GIVEN}, self.a[i]",
    ],
    "a file of numpy's": ["a = cv2.imdecode(np.fromfile(self.a[i], dtype=np.uint8), cv2.IMREAD_COLOR)", CUT, GIVEN],
    "a bytearray": ["with open(self.a[i], 'rb') as f:", "    a = cv2.imdecode(np.asarray(bytearray(f.read()), dtype=np.uint8), 1)", CUT, GIVEN],
    "bytes and Pillow": [
        "with open(self.a[i], 'rb') as f: content = f.read()",
        "img = Image.open(io.BytesIO(content)).convert('RGB')",
        "F.to_tensor(self.fixed(img)), random.random()",
    ],
    "random crops": [
        ARRAY,
        "h, w, c = a.shape",
        "top, left = random.randint(0, h - 16), random.randint(0, w - 16)",
        "a = a[top : top + 16, left : left + 16, ...]",
        f"{GIVEN}, c",
    ],
    "crops by numpy": [ARRAY, "h, w = a.shape[:2]", "top = np.random.randint(0, h - 16)", "a = a[top:top + 16, -17:-1]", GIVEN],
    "ESRGAN": [
        "a, c = cv2.imread(self.a[i]).astype(np.float32) / 255.0, cv2.imread(self.b[i].item()) if False else cv2.imread(self.a[i])",
        "c = c.astype(np.float32) / 255.0",
        "flips = random.random() < 0.5, random.random() < 0.5, random.random() < 0.5",
        "def augment(img):",
        "    if flips[0]: cv2.flip(img, 1, img)",
        "    if flips[1]: cv2.flip(img, 0, img)",
        "    if flips[2]: img = img.transpose(1, 0, 2)",
        "    return img",
        "def tensor(img):",
        "    if img.shape[2] == 3:",
        "        if img.dtype == 'float64': img = img.astype('float32')",
        "        img = cv2.cvtColor(img, cv2.COLOR_BGR2RGB)",
        "    return torch.from_numpy(img.transpose(2, 0, 1)).float()",
        "[tensor(x) for x in [augment(x) for x in (a[4:20, 2:18], c[3:19, 1:17, ...])]]",
    ],
    "OpenCV's resize": [RGB, "a = cv2.resize(a, (18, 17))", f"{GIVEN}.float() / 255"],
    "OpenCV's resize of masks": ["m = cv2.imread(self.masks[i], 0)", "m = cv2.resize(m, (random.randint(17, 17), 18), interpolation=cv2.INTER_NEAREST)", "torch.from_numpy(m).long()"],
    "OpenCV's resize by area": [CV2, "h, w = a.shape[:2]", "a = cv2.resize(a, (w // 2, h // 2), interpolation=cv2.INTER_AREA)", "a = a[:14, :14]", GIVEN],
    "grey": ["a = cv2.cvtColor(cv2.imread(self.a[i]), cv2.COLOR_BGR2GRAY)", "torch.from_numpy(a[:16, :16].copy())[None].float() / 255"],
    "grey of the wrong order": [ARRAY, "g = cv2.cvtColor(a, cv2.COLOR_BGR2GRAY)", "h = cv2.cvtColor(a, cv2.COLOR_RGB2GRAY)", "torch.from_numpy(g[:16, :16].copy()), torch.from_numpy(h[:16, :16].copy())"],
    "arrays to Pillow": [RGB, "img = Image.fromarray(a)", "F.to_tensor(CROP(img))"],
    "BGR to Pillow": [CV2, "img = Image.fromarray(a).resize((20, 20))", "F.to_tensor(img)"],
    "masks to Pillow": [MASK, "m = Image.fromarray(m).resize((12, 12), Image.NEAREST)", "torch.from_numpy(np.array(m))"],
    "torchvision of OpenCV": [RGB, "t = T.Compose([T.ToPILImage(), T.RandomCrop(16), T.ToTensor(), T.Normalize([0.5, 0.4, 0.3], [0.2, 0.2, 0.3])])", "t(a), self.labels[i]"],
    "arrays to tensors": [CV2, CUT, "F.to_tensor(a), T.ToTensor()(a.astype(np.float32))"],
    "flips and Pillow": [RGB, "if random.random() < 0.5: a = cv2.flip(a, 1)", "F.to_tensor(self.fixed(F.to_pil_image(a)))"],
    "turned": [ARRAY, CUT, "if random.random() < 0.5: a = np.rot90(a, 3)", "if np.random.rand() < 0.5: a = np.fliplr(a)", GIVEN],
    "turned and flipped": [ARRAY, CUT, "a = cv2.flip(cv2.transpose(np.flipud(a)), -1)", "torch.from_numpy(a).permute(2, 0, 1)"],
    "swapped axes": [ARRAY, CUT, "torch.from_numpy(a.swapaxes(0, 1).swapaxes(0, 2).copy())"],
    "numpy's functions": [ARRAY, CUT, "torch.from_numpy(np.ascontiguousarray(np.transpose(np.flip(a, axis=1), (2, 0, 1))))"],
    "tensors": [ARRAY, CUT, "torch.flip(torch.from_numpy(a).permute(2, 0, 1), [2]).flip(1)"],
    "normalized by itself": [RGB, CUT, "a = (a.astype(np.float32) - 127.5) / 127.5", "a = np.clip(a, -0.5, 0.9)", GIVEN],
    "in place by arithmetic": [RGB, CUT, "a = a.astype(np.float32)", "a /= 255.0; a -= 0.5; a *= 2", GIVEN],
    "masks of numbers": [MASK, "m = m.copy(); m[m == 2] = 0; m[m > 2] = 255", "torch.from_numpy(m).long()"],
    "masks where": [MASK, "torch.from_numpy(np.where((m > 1) & (m != 3), 1, 0)), torch.as_tensor((m == 1) | (m == 2))"],
    "masks added": [MASK, "torch.as_tensor((m > 1).astype(np.float32) + (m == 0) * 2)"],
    "masks of a table": [
        MASK,
        "out = np.zeros(m.shape, dtype=np.int64)",
        "for k, v in enumerate([16, 0, 3, 2]): out[m == v] = k",
        "torch.from_numpy(out)",
    ],
    "milesial": [
        "name = os.path.splitext(self.names[i])[0]",
        "files, masks = list(self.folder.glob(name + '.*')), list(self.mask_folder.glob(f'{name}.*'))",
        "assert len(files) == 1 and len(masks) == 1, f'no {name}: {files}'",
        "def load(path):",
        "    ext = os.path.splitext(path)[1]",
        "    if ext == '.npy': return Image.fromarray(np.load(path))",
        "    elif ext in ['.pt', '.pth']: return Image.fromarray(torch.load(path).numpy())",
        "    return Image.open(path)",
        "img, mask = load(files[0]), load(masks[0])",
        "assert img.size == mask.size",
        "def prepare(values, image, is_mask):",
        "    w, h = image.size",
        "    w, h = int(0.5 * w) // 16 * 16, int(0.5 * h) // 16 * 16",
        "    assert w > 0 and h > 0",
        "    x = np.asarray(image.resize((w, h), resample=Image.NEAREST if is_mask else Image.BICUBIC))",
        "    if is_mask:",
        "        out = np.zeros((h, w), dtype=np.int64)",
        "        for k, v in enumerate(values):",
        "            if x.ndim == 2: out[x == v] = k",
        "            else: out[(x == v).all(-1)] = k",
        "        return out",
        "    x = x[np.newaxis, ...] if x.ndim == 2 else x.transpose((2, 0, 1))",
        "    if (x > 1).any(): x = x / 255.0",
        "    return x",
        "x, y = prepare(self.choices, img, False), prepare(self.choices, mask, True)",
        "{'image': torch.as_tensor(x.copy()).float().contiguous(), 'mask': torch.as_tensor(y.copy()).long().contiguous()}",
    ],
    "looks at pixels": [ARRAY, CUT, "if a.max() > 1: a = a / 255.0", f"{GIVEN}.float()"],
    "looks at pixels again": [ARRAY, CUT, "if not a.max() <= 1: a = a / 255.0", "if (a != 300).all(): a = a * 1.0", f"{GIVEN}.float()"],
    "sorted files": ["a = cv2.imread(sorted(glob.glob(os.path.join(self.root, self.names[i][:1] + '*')))[0])", CUT, GIVEN],
    "the first of files": ["img = Image.open(next(self.folder.glob(self.names[i][:2] + '*'))).convert('RGB')", "F.to_tensor(self.fixed(img)), random.random()"],
    "mapped": [
        CV2,
        "b = cv2.imread(self.a[i])",
        "a, b = map(lambda x: x[4:20, 2:18], (a, b))",
        "x = list(map(lambda x, n: torch.from_numpy(x.transpose(2, 0, 1).copy()).float() * n, (a, b), (1, 2, 3)))",
        "tuple(map(lambda x: x.flip(2) if random.random() < 0.5 else x, x)), dict(map(lambda n, m: (n, m), ('a', 'b'), (i, 7)))",
    ],
    "asks if there is an image": [CV2, "if a is None: raise ValueError(self.a[i])", "assert a is not None, i", CUT, "a = a if a is not None else np.zeros((16, 16, 3), np.uint8)", GIVEN],
    "a path by a format": ["a = cv2.imread('%s/%s' % (self.root, self.names[i]))", CUT, f"{GIVEN}, '%s of %s' % (self.names[i], i), f'{{self.names[i]!s:>12}}'"],
    "unchanged": [UNCHANGED_WHOLE[0], CUT, GIVEN],
    "unchanged masks": ["m = cv2.imdecode(np.fromfile(self.masks[i], np.uint8), -1)[4:20, 2:18]", "torch.from_numpy(m.copy()), m.ndim"],
    "turned by one of eight ways": UNCHANGED,
    "pairs": PAIRED,
    "asks if it is a list": [ARRAY, CUT, "a = a if isinstance(a, (list, tuple)) else [a]", "a, = a if isinstance(a, list) else (a,)", "x = torch.from_numpy(a)", "x = x[None] if isinstance(x, tuple) else x", "x.permute(2, 0, 1)"],
    "asks if it is a tensor": ["img = self.fixed(Image.open(self.a[i]).convert('RGB'))", "if not torch.is_tensor(img): img = F.to_tensor(img)", "k = torch.is_tensor(img)", "img, k"],
    "lists in lists": [
        "inputs, target = self.records[i]",
        "def load(root, paths, target): return [np.array(Image.open(os.path.join(root, p)).convert('RGB'))[:16, :16] for p in paths], float(target)",
        "inputs, target = load(self.root, inputs, target)",
        "if random.random() < 0.5: inputs = [x[:, ::-1] for x in inputs]",
        f"[torch.from_numpy({PAIR.format('x')}).float() for x in inputs], target",
    ],
    "lists in tuples in dicts": [
        "a = []",
        "for name in self.dicts[i]['images']: a.append(cv2.imread(os.path.join(self.root, name))[:16, :16])",
        "b = cv2.imread(os.path.join(self.root, self.dicts[i]['images'][1]))[2:18, 2:18]",
        f"[torch.from_numpy({PAIR.format('x')}) for x in a], torch.from_numpy({PAIR.format('b')}), self.dicts[i]['label']",
    ],
    "numbered records": ["x = {}", "for n, name in enumerate(self.records[i][0]): x[n] = F.to_tensor(self.fixed(Image.open(os.path.join(self.root, name)).convert('RGB'))) * (n + 1)", "x, random.random()"],
    "a path of a record": ["a = np.array(Image.open(self.form % self.ids[i]).convert('RGB'))", "b = Image.open(os.path.join(*self.parts[i])).convert('RGB')", CUT, f"{GIVEN}, F.to_tensor(self.fixed(b)), '%s of %s' % self.ids[i]"],
    "an array of names": ["name = self.array[i]", "a = np.array(Image.open(os.path.join(self.root, self.array[i % self.total])).convert('RGB'))", CUT, f"{GIVEN}, name, self.array[i % self.total].replace('.jpeg', '')"],
    "goes through a stack": [
        TENSOR,
        "s = torch.stack([F.to_tensor(x) for x in (self.fixed(Image.open(self.a[i]).convert('RGB')), self.fixed(Image.open(self.a[i]).convert('RGB')))])",
        "x, y = s",
        "torch.stack([F.normalize(x, [0.1] * 3, [0.5] * 3) for x in s]), y, t",
    ],
    "CheXNet": ["x = T.Compose([T.Resize(20), T.TenCrop(16), T.Lambda(lambda crops: torch.stack([T.ToTensor()(x) for x in crops])), T.Lambda(lambda crops: torch.stack([T.Normalize([0.4, 0.5, 0.6], [0.2, 0.3, 0.2])(x) for x in crops]))])(Image.open(self.a[i]).convert('RGB'))", "x, torch.FloatTensor(self.several[i])"],
    "labels of a line": [LINE, CUT, "x = np.array(list(map(int, self.lines[i].split()[1:4])))", f"{GIVEN}, x, torch.from_numpy(x)"],
    "labels of a list": [LINE, CUT, "x = [int(x) for x in self.lines[i].strip().split()[1:4]]", f"{GIVEN}, torch.FloatTensor(x), torch.tensor(x), np.array(x, dtype=np.float32)"],
    "floats of a list": ["items = self.lines[i].split()", LINE, CUT, "y = [float(k) for k in items[4:]]", f"{GIVEN}, torch.FloatTensor(y), np.array(y), torch.tensor(list(map(float, items[1:])))"],
    "ints and floats of a line": ["items = self.lines[i].split()", LINE, CUT, "y = [int(items[1]), float(items[5])]", f"{GIVEN}, torch.tensor(y), np.array(y), y"],
    "a list of labels": ["name, *labels = self.lines[i].split()", "a = cv2.imread(os.path.join(self.root, name))", CUT, f"{GIVEN}, [float(n) for n in labels], name"],
    "how many labels": [UNEVEN, CUT, "x = [int(n.split(',')[0]) for n in self.boxes[i].split()[1:]]", "k = 3 if 2 in x else random.randint(0, 9)", f"{GIVEN}, len(x), k"],
    "a list for a text": ["k = self.records[i][0]", "if isinstance(k, str): k = [k]", "assert isinstance(k, (list, tuple))", "a = cv2.imread(os.path.join(self.root, k[0]))", CUT, GIVEN],
    "asks for an attribute": ["n = self.ids[i]", "if hasattr(n, '__iter__') and not isinstance(n, str): n = n[1]", "a = cv2.imread(os.path.join(self.root, n + '.jpeg'))", CUT, f"{GIVEN}, n"],
    "padded": [ARRAY, "a = np.pad(a[:20, :18], ((1, 5), (0, 4), (0, 0)), mode='constant', constant_values=9)", GIVEN],
    "padded to a size": [
        "a = np.array(Image.open(self.a[i]).convert('L')); h, w = a.shape; t = max(50 - h, 0)",
        "a = np.pad(a, ((t, 0), (0, max(60 - w, 0))), 'constant')[:50, :60]",
        "torch.from_numpy(a)",
    ],
    "above a limit": [
        "m = cv2.imread(self.masks[i], 0)[4:20, 2:18]; _, m = cv2.threshold(m, 1, 255, cv2.THRESH_BINARY)",
        RGB, CUT, "limit, a = cv2.threshold(cv2.resize(a, (18, 16)), 127.5, 200, cv2.THRESH_TOZERO_INV)",
        f"{GIVEN}, torch.from_numpy(m / 255).unsqueeze(0)",
    ],
    "None for what cannot be read": ["a = cv2.imread(self.a[i])", "if a is None: return None", CUT, f"{GIVEN}, i"],
    "asks what it is": [ARRAY, CUT, "if isinstance(a, np.ndarray): a = a.astype(np.float32)", "x = torch.from_numpy(a)", "if x.ndim == 3: x = x.permute(2, 0, 1)", "x"],
}  # fmt: skip

# What is hardest to get right: errors, memory that is shared, and files that are read twice.
ODD: dict[str, list[str]] = {
    "a limit that is found": [RGB, CUT, "n, a = cv2.threshold(a[:, :, 0], 0, 255, cv2.THRESH_OTSU)", "torch.from_numpy(a), n"],
    "a limit that is given": [RGB, CUT, "n, a = cv2.threshold(a, 9.5, 255, cv2.THRESH_BINARY)", f"{GIVEN}, n"],
    "padded by what is there": [ARRAY, CUT, "a = np.pad(a, ((1, 1), (2, 2), (0, 0)), mode='edge')", GIVEN],
    "padded channels": [ARRAY, CUT, "a = np.pad(a, ((0, 0), (0, 0), (0, 1)))", GIVEN],
    "padded by less than nothing": [ARRAY, "a = np.pad(a, ((0, 40 - a.shape[0]), (0, 0), (0, 0)))[:30, :30]", GIVEN],
    "padded by one number": [ARRAY, CUT, "a = np.pad(a[:, :, 0], 2)", "torch.from_numpy(a)"],
    "masks by a branch": [
        MASK,
        "out = np.full((16, 16), 7, dtype=np.uint8)",
        "if random.random() < 0.5: out[m == 1] = 3",
        "else: out[m > 1] = 4",
        "torch.from_numpy(out)",
    ],
    "a mask that is copied on one way": [MASK, "if random.random() < 0.5:", "    y = m.copy(); y[y > 1] = 9", "else: y = m", "torch.as_tensor(y.copy())"],
    "a view is changed": [ARRAY, CUT, "b = a[:, :]; b[b > 9] = 7", GIVEN],
    "what a view is of is changed": [ARRAY, CUT, "b = a[:, :]; a[a > 9] = 7", "torch.from_numpy(b.transpose(2, 0, 1).copy())"],
    "two names": [ARRAY, CUT, "b = a; b[b > 9] = 7", GIVEN],
    "a tensor of what is changed": [ARRAY, CUT, "x = torch.from_numpy(a); a[a > 9] = 7", "x.permute(2, 0, 1)"],
    "what cannot be written to": ["a = np.asarray(Image.open(self.a[i]).convert('RGB'))[4:20, 2:18]", "a[a > 9] = 7", GIVEN],
    "OpenCV writes to a view": [ARRAY, CUT, "cv2.flip(a.transpose(1, 0, 2), 1, a.transpose(1, 0, 2))", GIVEN],
    "OpenCV writes to what is turned": [ARRAY, CUT, "b = a.transpose(1, 0, 2); cv2.flip(b, 1, b)", GIVEN],
    "OpenCV's types": [MASK, "m = cv2.flip(m.astype(np.int64), 1)", "torch.from_numpy(m), torch.from_numpy(cv2.transpose(m > 1).astype(np.uint8))"],
    "OpenCV writes to what it does not know": [MASK, "m = m.astype(np.int64); cv2.flip(m, 1, m)", "torch.from_numpy(m)"],
    "OpenCV writes elsewhere": [ARRAY, CUT, "b = a.copy(); cv2.flip(a, 1, b)", "torch.from_numpy(b.transpose(2, 0, 1).copy())"],
    "OpenCV writes to what is read": ["a = cv2.imread(self.a[i]); b = a[4:20, 2:18]", "cv2.flip(a, 1, a)", "torch.from_numpy(b.transpose(2, 0, 1).copy())"],
    "backwards": [ARRAY, CUT, "torch.from_numpy(a[:, ::-1].transpose(2, 0, 1))"],
    "at times in order": [ARRAY, CUT, "b = a.transpose(2, 0, 1)", "if random.random() < 0.5: b = np.ascontiguousarray(b)", "torch.from_numpy(b)"],
    "backwards by a function": [ARRAY, CUT, "torch.from_numpy(np.fliplr(a).transpose(2, 0, 1))"],
    "backwards and counted": [ARRAY, CUT, "torch.from_numpy((np.flipud(a) * 1).transpose(2, 0, 1))"],
    "backwards to a tensor": [ARRAY, CUT, "T.ToTensor()(a[:, ::-1])"],
    "backwards to Pillow": [ARRAY, CUT, "F.to_tensor(Image.fromarray(a[::-1]))"],
    "floats to Pillow": [ARRAY, CUT, "F.to_tensor(F.to_pil_image(a.astype(np.float32)))"],
    "zeros of two signs": [TENSOR, "t = t * 0.0 if random.random() < 0.5 else t * -0.0", "t"],
    "ints and floats": [ARRAY, CUT, "b = a * 1 if i % 2 else a * 1.0", "torch.from_numpy(b.transpose(2, 0, 1).copy())"],
    "rectangles of zeros of two signs": [TENSOR, PLACE, "if random.random() < 0.5: t[:, y:y + 5] = -0.0", "else: t[:, y:y + 5] = 0.0", "t"],
    "a rectangle of a drawn number": [TENSOR, PLACE, "t[:, y:y + 5, x:x + 4] = random.random()", "t"],
    "a rectangle of noise": [TENSOR, PLACE, "t[:, y:y + 3, x:x + 2] = torch.randn(3, 3, 2)", "t"],
    "a rectangle of the image's mean": [TENSOR, PLACE, "t[:, y:y + 5, x:x + 4] = t.mean()", "t"],
    "a rectangle of a view": [TENSOR, PLACE, "b = t[:, 2:, 2:]; b[:, y:y + 5, x:x + 4] = 0", "t, b"],
    "a rectangle below a view": [TENSOR, PLACE, "b = t.float(); t[:, y:y + 5, x:x + 4] = 0", "b"],
    "a rectangle of what was spread": [TENSOR, PLACE, "m = torch.ones(16, 16); m[2:9, y:] = 0; m = m.expand_as(t); m[:, y:y + 2] = 0", "t * m"],
    "a rectangle of what is only read": ["a = np.asarray(Image.open(self.a[i]).convert('RGB'))", CUT, PLACE, "a[y:y + 5] = 0", GIVEN],
    "a rectangle behind Pillow": [ARRAY, PLACE, "img = Image.fromarray(a); a[y:y + 5] = 0", "F.to_tensor(self.fixed(img))"],
    "a rectangle that is blended": [ARRAY, CUT, PLACE, "a = a.copy(); a[y:y + 5] = 0", "F.to_tensor(F.resize(Image.fromarray(a), (9, 9)))"],
    "a rectangle that is looked at": [ARRAY, CUT, PLACE, "a[y:y + 5] = 0", "if (a > 254).any(): a = a // 2", GIVEN],
    "a rectangle with steps": [TENSOR, PLACE, "t[:, y:y + 9:2] = 0", "t"],
    "a rectangle that does not fit": [ARRAY, CUT, PLACE, "a[y:y + 5] = 256", GIVEN],
    "rows of a rectangle": [ARRAY, CUT, "a[3:6, 1:4] = [[1, 2, 3]] * 3; a[3:6, 1:4, :] = np.arange(3).reshape(3, 1, 1)", GIVEN],
    "a mask of two images": [TENSOR, TENSOR.replace("t = ", "b = "), PLACE, "m = torch.ones(16, 16); m[y:y + 5, x:x + 4] = 0", "t * m + b * (1 - m)"],
    "changed bytes to Pillow": [ARRAY, CUT, "a[a > 3] = 5", "F.to_tensor(Image.fromarray(a))"],
    "resized floats": [ARRAY, "a = cv2.resize(a / 255.0, (16, 16))", GIVEN],
    "resized to nothing": [ARRAY, "a = cv2.resize(a, (0, 0), fx=0.5, fy=0.5)[:14, :14]", GIVEN],
    "resized by cubes": [ARRAY, "a = cv2.resize(a, (16, 16), interpolation=cv2.INTER_CUBIC)", GIVEN],
    "channels backwards": [ARRAY, CUT, "torch.from_numpy(a[..., ::-1].transpose(2, 0, 1))"],
    "read twice": ["with open(self.a[i], 'rb') as f: b, c = f.read(), f.read()", "a = cv2.imdecode(np.frombuffer(c, np.uint8), 1)", CUT, GIVEN],
    "read in part": ["with open(self.a[i], 'rb') as f: b = f.read(99)", "a = cv2.imdecode(np.frombuffer(b, np.uint8), 1)", CUT, GIVEN],
    "read behind its end": ["with open(self.a[i], 'rb') as f: pass", "a = cv2.imdecode(np.frombuffer(f.read(), np.uint8), 1)", CUT, GIVEN],
    "read and opened": ["with open(self.a[i], 'rb') as f:", "    img = Image.open(f).convert('RGB'); c = f.read()", "a = cv2.imdecode(np.frombuffer(c, np.uint8), 1)", CUT, GIVEN],
    "no such file": ["a = cv2.imread(self.a[i] + 'x')", CUT, GIVEN],
    "mapped and changed": [ARRAY, CUT, "x, y = [1], [2]", "def more(z): z.append(len(x) + random.randint(0, 3)); x.append(7); return z", "z = list(map(more, (x, y, x)))", f"{GIVEN}, len(x), x[0], len(y), y[-1], len(z[0])"],
    "mapped to the same": [ARRAY, CUT, "d = {'n': 1}", "def more(k): d['n'] = d['n'] + k; return d", "x, y = map(more, (i, random.randint(0, 9)))", f"{GIVEN}, x['n'], y['n']"],
    "mapped by two ways": [ARRAY, CUT, "one = [1, 2] if random.random() < 0.5 else [3, 4]", "x, y = map(lambda n, m: n * m if random.random() < 0.5 else n, one, (5, 6))", f"{GIVEN}, x, y"],
    "mapped by one of two": [ARRAY, CUT, "f = (lambda n: n + 1) if random.random() < 0.5 else (lambda n: random.randint(0, n))", "x = list(map(f, (5, 6)))", f"{GIVEN}, x"],
    "mapped of a list that grows": [ARRAY, CUT, "x = [1, 2]", "def more(n):", "    if len(x) < 5: x.append(n)", "    return n", "z = list(map(more, x))", f"{GIVEN}, len(z)"],
    "mapped later": [ARRAY, "m = map(lambda n: random.random() * n, (1, 2))", "k = random.random()", CUT, f"{GIVEN}, k, list(m)"],
    "mapped in a loop": [ARRAY, CUT, "k = 0", "for n in map(lambda n: random.randint(0, n), (1, 2)): k = k + n + random.randint(0, 9)", f"{GIVEN}, k"],
    "mapped to too many": [ARRAY, CUT, "x, y = map(lambda n: random.randint(0, n), (1, 2, 3))", f"{GIVEN}, x"],
    "mapped and taken twice": [ARRAY, CUT, "m = map(lambda n: random.randint(0, n), (1, 2)); x = list(m)", f"{GIVEN}, x, sum(m)"],
    "mapped by another": [ARRAY, CUT, "map = lambda f, x: [f(x[0]), random.random()]", f"{GIVEN}, list(map(lambda n: random.random(), (1, 2)))"],
    "mapped and failed": [ARRAY, CUT, "x = list(map(lambda n: n / (i % 3), (random.randint(1, 9), 2)))", f"{GIVEN}, x"],
    "no such file at times": ["a = cv2.imread(self.a[i] if i % 3 else self.names[i] + 'x')", "if a is None: a = np.full((20, 20, 3), i, np.uint8)", CUT, f"{GIVEN}, random.random()"],
    "no such files": ["a = cv2.imread(self.a[i] + 'x')", "k = a is None", "if not (a is not None): a = np.full((20, 20, 3), i, np.uint8)", CUT, f"{GIVEN}, k"],
    "no image in a file": ["a = cv2.imread(self.a[i] if i % 3 else __file__)", "if a is None: a = np.full((20, 20, 3), i, np.uint8)", CUT, f"{GIVEN}, random.random()"],
    "goes through a stack and changes it": [TENSOR, "s = torch.stack([t, t * 2])", "for x in s: x += 1", "s"],
    "goes through a stack and changes what it was": [TENSOR, "s = torch.stack([t, t * 2])", "t += 1", "torch.stack([x * 2 for x in s]), t"],
    "goes through a stack of two dtypes": [TENSOR, "x, y = torch.stack([t, t.double()])", "x, y"],
    "goes through a stack of what is turned": [TENSOR, "x, y = torch.stack([t.permute(0, 2, 1), t.permute(0, 2, 1) * 2])", "x, y.permute(1, 2, 0)"],
    "stacked and changed": [TENSOR, "s = torch.stack([t, t * 2])", "t += 1", "s"],
    "stacked and changed in part": [TENSOR, PLACE, "s = torch.stack([t, t * 2])", "t[:, y:y + 5, 3:6] = 0", "s, t"],
    "a line with too few": [LINE, CUT, "x = [int(n) for n in self.lines[i].split()[4:]]", f"{GIVEN}, torch.tensor(x)"],
    "uneven labels": [UNEVEN, CUT, "x = [len(n) for n in self.boxes[i].split()]", f"{GIVEN}, torch.tensor(x)"],
    "labels by another separator": [LINE, CUT, "x = [len(n) for n in self.lines[i].split(' ')]", f"{GIVEN}, len(x)"],
    "a loop that draws": [UNEVEN, CUT, "x = [random.randint(0, 9) for n in self.boxes[i].split()]", f"{GIVEN}, len(x)"],
    "a loop that draws and keeps nothing": [UNEVEN, CUT, "for n in self.boxes[i].split(): random.random()", f"{GIVEN}, random.random()"],
    "a loop that branches": [UNEVEN, CUT, "x = [n for n in self.boxes[i].split() if len(n) > 3]", f"{GIVEN}, len(x)"],
    "a loop that branches in a function": [UNEVEN, CUT, "def f(n): return 1 if len(n) > 3 else random.randint(0, 9)", "x = [f(n) for n in self.boxes[i].split()]", f"{GIVEN}, len(x)"],
    "a loop over what a loop has made": [UNEVEN, CUT, "x = [len(n) for n in self.boxes[i].split()]", "y = [n * 2 for n in x]", f"{GIVEN}, len(y), y[0], max(y)"],
    "a loop that is not used": [UNEVEN, CUT, "x = [int(n.split(',')[0]) for n in self.boxes[i].split()[1:]]", "y = [self.labels[n] for n in x]", f"{GIVEN}, len(x)"],
    "a loop that fails": [UNEVEN, CUT, "x = [int(n) for n in self.boxes[i].split()]", f"{GIVEN}, len(x)"],
    "a loop that adds up": [UNEVEN, CUT, "k = 0", "for n in self.boxes[i].split(): k += len(n)", f"{GIVEN}, k"],
    "a loop that adds to a list": [UNEVEN, CUT, "x = [7]", "for n in self.boxes[i].split(): x.append(len(n))", "x.append(8)", f"{GIVEN}, len(x), x[0], x[1], x[-1]"],
    "one list or another": [UNEVEN, CUT, "x = [len(n) for n in self.boxes[i].split()] if i % 2 else [7]", f"{GIVEN}, len(x), x[0]"],
    "a list of any length in another order": [UNEVEN, CUT, "x = [len(n) for n in self.boxes[i].split()]", "random.shuffle(x)", f"{GIVEN}, x[0], random.random()"],
    "a list of any length to a function": [UNEVEN, CUT, "x = [len(n) for n in self.boxes[i].split()]", "f = lambda *n: (len(n), n[0])", f"{GIVEN}, f(*x)"],
    "one item of any": [UNEVEN, CUT, "x = [len(n) for n in self.boxes[i].split()]", "(y,) = x if len(x) == 1 else [3]", f"{GIVEN}, y"],
    "uneven lists in lists": [RECORD, CUT, "x = [n * 2 for n in self.uneven[i]]", f"{GIVEN}, len(x)"],
    "an empty list in lists": [RECORD, CUT, "k = 0", "for n in self.empty[i]: k = k + random.randint(0, 9)", f"{GIVEN}, k"],
    "records that are not used": [RECORD, CUT, "k = 0", "for n in self.records[i][0]: k = k + random.randint(0, 9)", f"{GIVEN}, k"],
    "several types": [RECORD, CUT, "k = 1 if isinstance(self.mixed[i], str) else 2", "if hasattr(self.mixed[i], 'append'): k = 3 + random.randint(0, 9)", f"{GIVEN}, k"],
    "classes of numbers": [RECORD, CUT, "k = isinstance(self.labels[i], (bool, int)), isinstance(self.array[i], str), isinstance(self.records[i], tuple)", f"{GIVEN}, k"],
    "numbers for texts": [RECORD, CUT, "n = self.mixed[i]", "n = n if isinstance(n, int) else len(n)", f"{GIVEN}, n"],
    "items of an array": [RECORD, CUT, f"{GIVEN}, self.numbers[(i + 1) % self.total], self.numbers[-1 - i % 3], self.array[~i]"],
    "an item of an array that is not there": [RECORD, CUT, f"{GIVEN}, self.numbers[i + 3]"],
    "unpacks too many": [RECORD, CUT, "x, y = self.records[i][0] if i % 2 else self.records[i]", f"{GIVEN}, x"],
    "a text by a format": [CV2, CUT, f"{GIVEN}, '%r of %5s' % (self.names[i], i), f'{{self.names[i]!a}}{{i!r:>3}}'"],
    "a path that is no text": ["a = cv2.imread(Path(self.a[i]))", CUT, GIVEN],
    "a slice outside": [ARRAY, "a = a[20:400, 2:18]", GIVEN],
    "a slice of nothing": [ARRAY, "a = a[30:20, 2:18]", GIVEN],
    "a slice from far behind": [ARRAY, "a = a[-400:16, 2:18]", GIVEN],
    "a random slice": [ARRAY, "t = random.randint(0, 30)", "a = a[t : t + 16, 2:18]", GIVEN],
    "a negative random slice": [ARRAY, "t = random.randint(-3, 3)", "a = a[t : t + 16, 2:18]", GIVEN],
    "uint8 overflows": [ARRAY, CUT, "a = a + 200", GIVEN],
    "uint8 and a large number": [ARRAY, CUT, "a = a + 300", GIVEN],
    "uint8 divided in place": [ARRAY, CUT, "a /= 2", GIVEN],
    "a value that does not fit": [ARRAY, CUT, "a[a > 3] = 256", GIVEN],
    "two looks": [ARRAY, CUT, "if (a > 1).any(): a = a / 255.0", "if (a > 0.5).any(): a = a * 2", f"{GIVEN}.float()"],
    "a look before a cut": [ARRAY, "if (a > 254).any(): random.random()", CUT, f"{GIVEN}.float(), random.random()"],
    "a look that is seldom true": [ARRAY, CUT, "k = 0", "if (a > 240).any(): a = a / 255.0; k = 1", f"{GIVEN}.float()"],
    "a look that is given": [ARRAY, CUT, "k = (a > 240).any()", f"{GIVEN}, bool(k)"],
    "looks at dark masks": [MASK, "if m.max() > 2: m = m + 1", "torch.from_numpy(m.copy())"],
    "looks and draws": [MASK, "if m.max() > 2: m = m + random.randint(1, 1)", "torch.from_numpy(m.copy()), random.random()"],
    "several files": ["files = list(self.folder.glob('*'))", "img = Image.open(files[i]).convert('RGB')", "F.to_tensor(self.fixed(img)), len(files), random.random()"],
    "no files": ["files = list(self.folder.glob(self.names[i] + 'x*'))", ARRAY, CUT, f"{GIVEN}, len(files)"],
    "files by more stars": ["files = list(self.folder.glob('*.*'))", ARRAY, CUT, f"{GIVEN}, len(files), random.random()"],
    "a branch that copies": [ARRAY, CUT, "b = a", "if random.random() < 0.5: b = a.copy()", "b[b > 9] = 1", GIVEN],
    "a branch that changes": [ARRAY, CUT, "b = a.copy()", "if random.random() < 0.5: cv2.flip(b, 1, b); c = b", "else: c = a", "cv2.flip(a, 0, a)", "torch.from_numpy(c.transpose(2, 0, 1).copy())"],
    "mixed": [ARRAY, CUT, "b = np.array(Image.open(self.a[i]).convert('RGB'))[4:20, 2:18]", "a = np.where(a > 9, a, b)", GIVEN],
    "RGB masks": [ARRAY, CUT, "out = np.zeros((16, 16), np.int64); out[(a == [1, 2, 3]).all(-1)] = 1", "torch.from_numpy(out)"],
    "an array of another size": [MASK, "out = np.zeros((15, 16), np.int64); out[m == 1] = 1", "torch.from_numpy(out)"],
    "an array that is used before": [MASK, "out = np.zeros((16, 16), np.int64); x = torch.from_numpy(out); out[m == 1] = 1", "x"],
    "grey of colours": ["m = cv2.imread(self.a[i], 0)[4:20, 2:18]", "torch.from_numpy(m.copy())"],
    "asks if it is what it may be": [CV2, "k = isinstance(a, (list, np.ndarray)), isinstance(a, object), isinstance(a[0, 0, 0], float), isinstance(a == 3, bool), isinstance('%s' % a, str), isinstance('%s' % a[0, 0, 0], (str, list))", "if isinstance('%s' % a, str): k = (*k, 7)", CUT, f"{GIVEN}, k"],
    "asks if what is missing is a list": ["a = cv2.imread(self.a[i] if i % 3 else self.names[i])", "k = isinstance(a, list)", "if torch.is_tensor(a) or isinstance(a, str): k = 3", "if a is None: a = np.full((20, 20, 3), i, np.uint8)", CUT, f"{GIVEN}, k"],
    "by another depth": ["a = cv2.imread(self.a[i], cv2.IMREAD_ANYDEPTH | cv2.IMREAD_COLOR)", CUT, GIVEN],
    "None on one way": [CV2, CUT, "a = a if random.random() < 0.9 else None", "k = a is None", f"{GIVEN} if a is not None else torch.zeros(3, 16, 16, dtype=torch.uint8), k, random.random()"],
    "None is given at times": [CV2, CUT, "k = random.randint(0, 9)", "def f(a):", "    if k < 5: return a", "    elif k < 10: return np.flipud(a)", "a = f(a)", f"{GIVEN}, k"],
    "an error for None": [CV2, CUT, "a = a if random.random() < 0.7 else None", GIVEN],
    "changed where it may be in order": [ARRAY, "a = a[:20].copy()", "b = np.ascontiguousarray(a if random.random() < 0.5 else a[:, ::-1])", "cv2.flip(b, 0, b)", "b = b[:16, :16].transpose(2, 0, 1).copy()", "a = a[:16, :16]", f"{GIVEN}, torch.from_numpy(b)"],
    "changed where it is in order again": [ARRAY, "a = a[:20].copy()", "b = np.ascontiguousarray(np.fliplr(a[:, ::-1])); b[b > 9] = 7", "b = b[:16, :16].transpose(2, 0, 1).copy()", "a = a[:16, :16]", f"{GIVEN}, torch.from_numpy(b)"],
    "a dict of keys": ["self.table[i] = 3", ARRAY, CUT, f"{GIVEN}, len(self.table)"],
    "a list of its own": ["self.labels[0] = 3", ARRAY, CUT, f"{GIVEN}, self.labels[0]"],
}  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = photos(tmp_path_factory.mktemp("arrays"))
    (folder / "masks").mkdir()
    for k in range(COUNT):
        image = picture(40 + 3 * (k % 4), 36 + 5 * (k % 3), k)
        mask = Image.fromarray((np.asarray(image.convert("L")) // 64).astype(np.uint8))
        (folder / "masks" / f"{k:02}.png").write_bytes(save(mask, "PNG"))
    return folder


def source(lines: list[str]) -> str:
    return source_of(lines).replace("class Made(Base):", "class Made(Base):\n" + INIT)


INIT = """\
    def __init__(self, root):
        super().__init__(root)
        self.folder, self.mask_folder = root / "a", root / "masks"
        self.masks = sorted(str(path) for path in self.mask_folder.iterdir())
        names = [path.stem for path in sorted((root / "a").iterdir())]
        self.records = [[[f"{k}.jpeg", f"../b/{k}.png"], n / 7] for n, k in enumerate(names)]
        self.dicts = [{"images": (f"{k}.jpeg", f"../b/{k}.png"), "label": n} for n, k in enumerate(names)]
        self.form, self.ids = os.path.join("%s", "a", "%s.jpeg"), [(str(root), k) for k in names]
        self.parts = [[str(root), "b", f"{k}.png"] for k in names]
        self.array, self.total = np.array([f"{k}.jpeg" for k in names]), len(names)
        self.uneven, self.empty = [[n] * (n % 3 + 1) for n in range(len(names))], [[] for _ in names]
        self.lines = [f"{k}.jpeg\\t{n}  {n % 3} \\u0663 {n / 3} {n}.5" for n, k in enumerate(names)]
        self.boxes = [" ".join([f"{k}.jpeg", *(f"{m},{n}" for m in range(n % 4))]) for n, k in enumerate(names)]
        self.several = [[n, n / 2 if n % 3 else n % 2 == 0, n] for n in range(len(names))]
        self.mixed, self.numbers = [(n, "a", [n])[n % 3] for n in range(len(names))], np.arange(len(names)) / 3
"""


def made_of(text: str, root: Path) -> Dataset[Any]:
    names: dict[str, Any] = {**SPACE, "__name__": __name__, "__file__": __file__}
    exec(compile(text, "made.py", "exec"), names)
    return names["Made"](root)  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", [*COMPILED, *ODD], ids=lambda name: name.replace(" ", "-"))
def test_a_class_as_people_write_it(name: str, root: Path) -> None:
    lines, chance = COMPILED.get(name) or ODD[name], random.Random(name)
    arguments = loader_of(
        lambda: made_of(source(lines), root), batch_size=chance.choice([1, 2, 3]), shuffle=chance.random() < 0.5
    )
    told = goloader.DataLoader(**arguments()).explain()
    assert told.native or name not in COMPILED, told
    check(Program(arguments, epochs=2, seed=chance.randrange(99)), native=told.native)


@pytest.mark.parametrize("name", ["Cutout", "ESRGAN", "milesial"])
@pytest.mark.slow
@pytest.mark.parametrize("num_workers", [1, 3])
def test_with_workers(name: str, num_workers: int, root: Path) -> None:
    dataset = made_of(source(COMPILED[name]), root)
    check(Program(loader_of(dataset, batch_size=2, num_workers=num_workers), epochs=2, seed=7))


# ---- random code

OPENED = (
    "a = cv2.imread(self.a[i])", "a = cv2.cvtColor(cv2.imread(self.a[i]), cv2.COLOR_BGR2RGB)", "a = np.array(Image.open(self.a[i]).convert('RGB'))",
    "a = np.asarray(Image.open(self.masks[i]))", "a = np.array(Image.open(self.masks[i]))", "a = cv2.imread(self.masks[i], 0)",
    "a = cv2.imdecode(np.fromfile(self.a[i], np.uint8), cv2.IMREAD_COLOR)", "a = cv2.imread(self.masks[i])",
    "with open(self.a[i], 'rb') as f:\n    a = cv2.imdecode(np.frombuffer(f.read(), np.uint8), 1)",
    "a = cv2.imread(f'{self.root}/{self.names[i]}').astype(np.float32) / 255.0", "a = cv2.imread(self.a[I])",
)  # fmt: skip
ARRAYS = (
    "a", "a", "a[:, ::-1]", "a[::-1]", "a[..., ::-1]", "a[2:30, 1:20]", "a[I : I + 20, 1:25]", "a[-20:, :-2]", "cv2.flip(a, 1)", "cv2.flip(a, 0)",
    "cv2.flip(a, -1)", "np.fliplr(a)", "np.flipud(a)", "np.flip(a, 1)", "np.rot90(a)", "np.rot90(a, 2)", "np.rot90(a, 3)", "cv2.transpose(a)",
    "cv2.cvtColor(a, cv2.COLOR_BGR2RGB)", "a.transpose(1, 0, 2)", "a.swapaxes(0, 1)", "a.astype(np.float32)", "a / 255.0", "a.astype('float32') / 255",
    "a * 2", "a - 3", "255 - a", "a > 100", "np.where(a > 100, a, 0)", "np.where(a > I, a * 2, a)", "cv2.resize(a, (30, 28))", "cv2.resize(a, (29, abs(I) + 27), interpolation=cv2.INTER_AREA)", "cv2.cvtColor(a, cv2.COLOR_BGR2GRAY)", "np.array(Image.fromarray(a))", "np.array(JITTER(Image.fromarray(a)))", "a.copy()", "np.ascontiguousarray(a)", "a[:]", "a[None]",
    "(a if B else a[:, ::-1])", "(a if B else a.copy())", "np.clip(a, 10, 200)", "a * (a > 50)", "np.asarray(a)", "np.array(a)", "c", "a[..., 0]", "a + c",
)  # fmt: skip
STEPS = (
    "a = A", "a = A", "a = A", "c = A", "a[a > 100] = 7", "a[a < 2] = I", "c[c > 100] = 0", "a[c > 1] = 3", "a[(a > 1) & (a < 90)] = 4", "cv2.flip(a, 1, a)", "cv2.flip(c, 0, c)",
    "cv2.flip(a, 1, dst=a)", "a += 1", "a /= 255", "a *= 2", "c = a; a = A", "a = c", "h, w = a.shape[:2]", "t = random.randint(0, max(0, a.shape[0] - 20)); a = a[t : t + 20]",
    "if B:\n    a = A", "if B:\n    cv2.flip(a, 1, a)", "if B:\n    a[a > 9] = 1\nelse:\n    c = A", "if B:\n    c = a.copy(); c[c > 3] = 0\nelse:\n    c = a", "if a.ndim == 2:\n    a = a + 0\nelse:\n    a = A",
    "if (a > 1).any():\n    a = a / 255.0", "if a.max() > 200:\n    a = A", "if a.dtype == np.uint8:\n    a = a.astype(np.float32)", "m = np.zeros(a.shape, np.int64); m[a > 9] = 2; a = m",
    "m = np.zeros(a.shape[:2], np.float32); m[a > 9] = 2; c = m", "def g(x):\n    if B:\n        cv2.flip(x, 1, x)\n    return x\na = g(a)", "def g(x):\n    if B:\n        cv2.flip(x, 1, x)\n    return x\na, c = list(map(g, (a, c)))", "a, c = [x[:, ::-1] if B else x for x in (a, c)]", "a, c = map(lambda x: x[:, ::-1] if B else x, (a, c))", "n = a.shape[0]", "f = a.mean()",
)  # fmt: skip
TENSORS = (
    "F.to_tensor(a[:16, :16])", "F.to_tensor(self.fixed(Image.fromarray(a)))", "T.Compose([T.ToPILImage(), CROP, T.ToTensor()])(a)",
    "torch.from_numpy(a[:16, :16].copy())", "torch.from_numpy(a[2:18, 3:19].transpose(2, 0, 1).copy())", "torch.from_numpy(a[:16, :16])", "torch.as_tensor(a[:16, :16].copy())",
    "torch.from_numpy(np.ascontiguousarray(a[:16, :16])).float()", "torch.from_numpy(a[:16, :16].transpose(2, 0, 1)).float() / 255", "torch.tensor(a[:16, :16]).permute(2, 0, 1)",
    "torch.from_numpy(c[:16, :16].copy())", "torch.from_numpy(a[:16, :16].transpose(1, 0, 2).transpose(2, 0, 1).copy())", "torch.from_numpy(a[:16, :16].copy()).permute(2, 0, 1).contiguous()",
)  # fmt: skip


class Arrays(Grammar):
    """Sources of methods over arrays; the letter A is one."""

    def array(self, text: str) -> str:
        r = self.r
        parts = text.split("A")
        made = parts[0]
        for before, part in itertools.pairwise(parts):
            alone = not (before[-1:].isalnum() or part[:1].isalnum())
            made += (r.choice(ARRAYS) if alone else "A") + part
        return self.fill(made)

    def method(self) -> str:
        r = self.r
        lines = ["n, m, f, b, w = 1, 2, 0.25, True, 9", *self.fill(r.choice(OPENED)).split("\n"), "c = a"]
        for _ in range(r.randint(0, 4)):
            lines += self.array(r.choice(STEPS)).split("\n")
        given = [self.fill(r.choice(TENSORS)) for _ in range(r.choice([1, 1, 2]))]
        given += r.choice([[], ["n"], ["self.labels[i]"], ["random.random()"], ["torch.rand(1).item()"]])
        return source([*lines, f"({', '.join(given)},)"])


@pytest.mark.parametrize(
    ("part", "count"), [(0, 4), *(pytest.param(part, 25, marks=pytest.mark.slow) for part in range(1, 9))]
)
def test_random_code_gives_what_torch_gives(part: int, count: int, root: Path) -> None:
    tried, compiled = programs(Arrays(20261126 + part), count, root)
    assert compiled > tried / 50


def test_files_that_come_between_epochs_are_found(root: Path, tmp_path: Path) -> None:
    lines = ["files = sorted(self.folder.glob(self.names[i][:2] + '*'))", "img = Image.open(files[0]).convert('RGB')"]
    lines += ["if len(files) == 2: img = img.resize((15, 15))", "F.to_tensor(img.resize((16, 16))), random.random()"]

    def dataset() -> Any:
        folder = Path(shutil.copytree(root, tmp_path / f"{len(list(tmp_path.iterdir()))}"))
        made = made_of(source(lines), folder)
        made.epochs = 0  # type: ignore[attr-defined]
        return made

    def before(epoch: int, loader: Any) -> None:
        folder = loader.dataset.folder
        if epoch == 1:
            shutil.copy(folder / "00.jpeg", folder / "04a.jpeg")
        elif epoch == 2:
            shutil.copy(folder / "01.jpeg", folder / "04.jpeg")

    check(Program(loader_of(dataset, batch_size=3), epochs=3, before=before))


def odd_files() -> dict[str, bytes]:
    """Files of which cv2.IMREAD_UNCHANGED gives no plain BGR, or gives it where cv2.IMREAD_COLOR does not."""
    image, turned = picture(40, 36, 5), Image.Exif()
    turned[0x0112] = 6
    deep = np.asarray(image).astype(np.uint16) * 257
    return {
        "a grey JPEG": save(image.convert("L"), "JPEG"),
        "a turned JPEG": save(image, "JPEG", exif=turned),
        "a turned PNG": save(image, "PNG", exif=turned),
        "a CMYK JPEG": save(image.convert("CMYK"), "JPEG"),
        "a grey PNG": save(image.convert("L"), "PNG"),
        "alpha": save(image.convert("RGBA"), "PNG"),
        "grey alpha": save(image.convert("LA"), "PNG"),
        "a transparent colour": save(image, "PNG", transparency=image.getpixel((20, 18))),
        "a palette": save(image.convert("P"), "PNG"),
        "16 bits": cv2.imencode(".png", deep)[1].tobytes(),
        "16 bits of grey": cv2.imencode(".png", deep[:, :, 0])[1].tobytes(),
        "a BMP": save(image, "BMP"),
        "no image": b"no image",
    }


@pytest.mark.parametrize("lines", [UNCHANGED, UNCHANGED_WHOLE], ids=["patches", "whole"])
@pytest.mark.parametrize("num_workers", [0, 1, 3])
def test_odd_files_that_are_unchanged_are_left_to_opencv(
    num_workers: int, lines: list[str], root: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(root, tmp_path / "root"))
    for number, (name, content) in enumerate(odd_files().items()):
        (folder / "a" / f"o{number:02} {name}").write_bytes(content)
    made = made_of(source(lines), folder)
    batch_size = 3 if lines is UNCHANGED else 1
    check(Program(loader_of(made, batch_size=batch_size, num_workers=num_workers, shuffle=True), epochs=2))


# What makes of a sample more or fewer numbers than of another, which a collate_fn gets one by one.
APART: dict[str, list[str]] = {
    "uneven labels": [UNEVEN, CUT, "x = [len(n) for n in self.boxes[i].split()]", f"{GIVEN}, torch.tensor(x), np.array(x)"],
    "uneven lists": [RECORD, CUT, f"{GIVEN}, torch.FloatTensor(self.uneven[i]), np.array([n * 2 for n in self.uneven[i]])"],
    "boxes": [UNEVEN, CUT, "x = np.array([np.array(list(map(int, n.split(',')))) for n in ['7,8', *self.boxes[i].split()[1:]]])", f"{GIVEN}, x"],
    "boxes in lists": [UNEVEN, CUT, "x = np.array([list(map(float, n.split(','))) for n in (self.boxes[i] + ' 7,8').split()[1:]], dtype=np.float32)", f"{GIVEN}, x"],
    "boxes of arrays": [UNEVEN, CUT, "x = np.array([np.array(list(map(int, n.split(',')))) for n in (self.boxes[i] + ' 7,8').split()[1:]])", f"{GIVEN}, x"],
    "no boxes at times": [UNEVEN, CUT, "x = np.array([list(map(int, n.split(','))) for n in self.boxes[i].split()[1:]])", f"{GIVEN}, x"],
    "ints beside floats": [UNEVEN, CUT, "x = [n.count('1') if len(n) < 4 else 0.5 for n in self.boxes[i].split()]", f"{GIVEN}, torch.tensor(x)"],
    "numbers of several types": [RECORD, CUT, f"{GIVEN}, np.array(self.several[i]), torch.tensor(self.several[i])"],
}  # fmt: skip
APART_COMPILED = {"uneven labels", "uneven lists", "boxes in lists", "boxes of arrays"}


def apart(batch: Any) -> Any:
    return batch


@pytest.mark.parametrize("name", APART, ids=lambda name: name.replace(" ", "-"))
@pytest.mark.parametrize(
    "num_workers", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)]
)
def test_labels_that_differ_in_length(name: str, num_workers: int, root: Path) -> None:
    arguments = loader_of(
        lambda: made_of(source(APART[name]), root), batch_size=2, collate_fn=lambda: apart, num_workers=num_workers
    )
    told = goloader.DataLoader(**arguments()).explain()
    assert told.native or name not in APART_COMPILED, told
    check(Program(arguments, epochs=2, seed=5), native=told.native)


def _longer(dataset: Any) -> None:
    dataset.records[5][0].append("../b/00.png")


def _shorter(dataset: Any) -> None:
    dataset.records[-1] = [dataset.records[-1][0][:1], 2.5]


def _texts(dataset: Any) -> None:
    dataset.records[4][0] = dataset.records[3][0][1]


def _names(dataset: Any) -> None:
    dataset.array[2:] = dataset.array[:-2].copy()


def _labels(dataset: Any) -> None:
    dataset.lines[3] = dataset.lines[3].replace("\t", "\t9 ")


def _more(dataset: Any) -> None:
    dataset.boxes[1] += " 2,2"


# What changes of the data between two epochs, and code that goes by it.
CHANGES = {
    "longer": (_longer, "records that are not used"),
    "longer and loaded": (_longer, "lists in lists"),
    "shorter": (_shorter, "lists in lists"),
    "a text for a list": (_texts, "a list for a text"),
    "names of an array": (_names, "an array of names"),
    "other labels": (_labels, "labels of a list"),
    "more labels": (_more, "how many labels"),
}


@pytest.mark.parametrize("change", CHANGES, ids=lambda name: name.replace(" ", "-"))
def test_records_that_change_between_epochs(change: str, root: Path) -> None:
    how, name = CHANGES[change]
    lines = COMPILED.get(name) or ODD[name]

    def before(epoch: int, loader: Any) -> None:
        if epoch == 1:
            how(loader.dataset)

    check(Program(loader_of(lambda: made_of(source(lines), root), batch_size=3), epochs=3, before=before))


def init(worker: int) -> None:
    random.seed(worker + 10)
    random.gauss(0, 1)
    np.random.seed(worker)
    np.random.normal()


# Some batches are made by the code itself, which then draws what a generator keeps beside its words.
SEEDED = [
    ARRAY,
    CUT,
    "k = 0.5",
    "if random.random() < 0.5: a = cv2.flip(a, 1)",
    "if (a > 245).any(): a = a / 255.0",
    "else: k = random.gauss(0, 1)",
    f"{GIVEN}.float(), k, random.random(), np.random.rand(), torch.rand(1).item()",
]


@pytest.mark.parametrize("num_workers", [1, 3])
@pytest.mark.parametrize("persistent_workers", [False, True])
def test_worker_init_fn_seeds_what_code_draws_from(persistent_workers: bool, num_workers: int, root: Path) -> None:
    options = {"worker_init_fn": lambda: init, "num_workers": num_workers, "persistent_workers": persistent_workers}
    check(Program(loader_of(made_of(source(SEEDED), root), batch_size=2, shuffle=True, **options), epochs=2))


def test_an_epoch_goes_on_where_worker_init_fn_has_seeded(root: Path) -> None:
    def loader() -> goloader.DataLoader[Any]:
        lines = [line.replace("random.gauss(0, 1)", "random.random()") for line in SEEDED]
        return goloader.DataLoader(made_of(source(lines), root), 2, num_workers=2, worker_init_fn=init)

    whole = loader()
    torch.manual_seed(5)
    batches = list(whole)
    first, second = loader(), loader()
    torch.manual_seed(5)
    begun = iter(first)
    for _ in range(2):
        next(begun)
    second.load_state_dict(first.state_dict())
    rest = list(second)
    assert second.explain().native
    assert [bits(batch) for batch in rest] == [bits(batch) for batch in batches[2:]]
