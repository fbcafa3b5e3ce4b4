"""Clips of images in one tensor, as video and optical flow have them: ours are torch's."""

# ruff: noqa: E501 - rows of tables

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torchvision.transforms as T
from class_of_lines import dataset_of
from photos import lay, plain
from PIL import Image
from torch.utils.data import Dataset
from twins import Program, check, loader_of

import goloader

COUNT = 11


class Base(Dataset[Any]):
    def __init__(self, root: Path) -> None:
        self.files = sorted(map(str, root.iterdir()))
        self.clips = [(k % 3, 8, k % 5) for k in range(6)]
        self.length, self.stride = 3, 2
        self.transform = T.Compose([T.Resize((9, 8)), T.ToTensor(), T.Normalize([0.5] * 3, [0.5] * 3)])

    def __len__(self) -> int:
        return len(self.clips)

    def loaded(self, path: str) -> Any:
        return self.transform(Image.open(path).convert("RGB"))


MADE = {
    "a clip": [
        "first, count, label = self.clips[i]",
        "start = random.randint(0, count - self.length)",
        "frames = []",
        "for k in range(start, start + self.length):",
        "    frames.append(self.loaded(self.files[first + k]))",
        "torch.stack(frames).permute(1, 0, 2, 3), label",
    ],
    "with strides": [
        "start = random.randint(0, 4)",
        "frames = [self.loaded(self.files[k]) for k in range(start, start + self.length * self.stride, self.stride)]",
        "torch.stack(frames, dim=1), start",
    ],
    "behind": ["torch.stack([self.loaded(self.files[k]) for k in range(i, 3 + i)], -1).contiguous()"],
    "transposed": ["torch.stack([self.loaded(self.files[i + k]) for k in range(2)], 0).transpose(0, 1), i"],
    "two in one": [
        "one, other = self.loaded(self.files[i]), self.loaded(self.files[i + 1])",
        "if random.random() < 0.5: one = F.hflip(one)",
        "torch.cat([one, other], 0), {'first': one}",
    ],
    "grey": ["torch.cat([F.to_tensor(Image.open(self.files[i + k]).convert('L').resize((9, 8))) for k in range(3)], dim=0)"],
    "several": [
        "clip = torch.stack([self.loaded(self.files[i + k]) for k in range(2)])",
        "views = torch.stack((self.loaded(self.files[i]), self.loaded(self.files[i])))",
        "{'clip': clip, 'views': [views, i]}",
    ],
}  # fmt: skip
LEFT = {
    "of other sizes": ["torch.stack([F.to_tensor(Image.open(self.files[i]).convert('RGB')) for _ in range(2)])"],
    "channels last": ["torch.stack([self.loaded(self.files[i + k]) for k in range(2)]).permute(2, 3, 0, 1)[0]"],
    "beside a tensor": ["torch.stack([self.loaded(self.files[i]), torch.zeros(3, 9, 8)])"],
    "by rows": ["torch.cat([self.loaded(self.files[i]), self.loaded(self.files[i])], 1)"],
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lay(tmp_path_factory.mktemp("stacks"), plain(COUNT, width=20, height=18))


@pytest.mark.parametrize("name", MADE, ids=lambda name: name.replace(" ", "-"))
@pytest.mark.parametrize("num_workers", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_equal(name: str, num_workers: int, root: Path) -> None:
    arguments = loader_of(dataset_of(Base, MADE[name], root), batch_size=2, shuffle=True, num_workers=num_workers)
    check(Program(arguments, epochs=2, seed=len(name)))


def samples(batch: Any) -> Any:
    return tuple(zip(*batch, strict=True))


def test_samples_of_a_collate_fn(root: Path) -> None:
    for name, native in (("with strides", True), ("several", True), ("two in one", True), ("a clip", False)):
        arguments = loader_of(dataset_of(Base, MADE[name], root), batch_size=2, collate_fn=lambda: samples)
        check(Program(arguments, epochs=2), native=native)


@pytest.mark.parametrize("name", LEFT, ids=lambda name: name.replace(" ", "-"))
def test_what_is_not_known_is_left_to_the_code(name: str, root: Path) -> None:
    assert not goloader.DataLoader(dataset_of(Base, LEFT[name], root)).explain().native
    check(Program(loader_of(dataset_of(Base, LEFT[name], root), batch_size=1), epochs=1), native=False)
