"""Texts and spectrograms as Tacotron has them. Here, as pytest writes the asserts of its own modules anew."""

# ruff: noqa: B905, UP032 - as people write

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset

COUNT = 17
IDS = {each: number for number, each in enumerate("abcdefgh ")}
TEXTS = [("abcdefgh " * 3)[number : 2 * number + 3 + number % 4] for number in range(COUNT)]


class Mels(Dataset[Any]):
    def __init__(self, root: Path, bands: int = 4) -> None:
        self.root, self.bands = str(root), bands
        self.listed = [[f"{root}/{number}.npy", text] for number, text in enumerate(TEXTS)]

    def __len__(self) -> int:
        return len(self.listed)

    def get_mel(self, path: str) -> torch.Tensor:
        mel = torch.from_numpy(np.load(path))
        assert mel.size(0) == self.bands, "{} bands, not {}".format(mel.size(0), self.bands)
        return mel

    def get_text(self, text: str) -> torch.Tensor:
        return torch.IntTensor([IDS[each] for each in text])

    def __getitem__(self, index: int) -> Any:
        path, text = self.listed[index][0], self.listed[index][1]
        return self.get_text(text), self.get_mel(path)


class Checked(Mels):
    """Looks at what is known of a sample before it is loaded."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.labels = [number % 5 for number in range(COUNT)]

    def __getitem__(self, index: int) -> Any:
        assert index < len(self.listed), index
        if self.labels[index] < 0 or not self.listed[index][0].endswith(".npy"):
            raise ValueError(f"{self.labels[index]} of {index}")
        return self.get_mel(self.listed[index][0]), self.labels[index]


class Padded:
    def __init__(self, step: int) -> None:
        self.step = step

    def __call__(self, batch: Any) -> Any:
        lengths, order = torch.sort(torch.LongTensor([len(each[0]) for each in batch]), dim=0, descending=True)
        texts = torch.LongTensor(len(batch), lengths[0])
        texts.zero_()
        for i in range(len(order)):
            text = batch[order[i]][0]
            texts[i, : text.size(0)] = text
        longest = max([each[1].size(1) for each in batch])
        if longest % self.step != 0:
            longest += self.step - longest % self.step
            assert longest % self.step == 0
        mels, gates = torch.FloatTensor(len(batch), batch[0][1].size(0), longest), torch.zeros(len(batch), longest)
        mels.zero_()
        for i in range(len(order)):
            mel = batch[order[i]][1]
            mels[i, :, : mel.size(1)] = mel
            gates[i, mel.size(1) - 1 :] = 1
        return texts, lengths, mels, gates


def lists(batch: Any) -> Any:
    return tuple(zip(*batch))


def refuses(batch: Any) -> Any:
    if batch[0][1].shape[1] % 2:
        raise ValueError(f"odd: {batch[0][1].shape[1]}")
    assert len(batch[0][0]) % 2, "even"
    return lists(batch)
