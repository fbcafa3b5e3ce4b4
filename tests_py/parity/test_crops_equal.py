"""Random crops of sounds, as vocoders and classifiers take them, are in Go what they are in Python: each batch, and
where the generators stand behind it."""

# ruff: noqa: RUF059 - as people write

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import twins
from scipy.io import wavfile
from scipy.io.wavfile import read
from torch.utils.data import Dataset

import goloader

soundfile = pytest.importorskip("soundfile")

COUNT, RATE, SEGMENT = 23, 8000, 48
MAX_WAV_VALUE = 32768.0


def load_wav(path: str) -> Any:
    sampling_rate, data = read(path)
    return data, sampling_rate


class Files(Dataset[Any]):
    segment = SEGMENT
    sampling_rate = RATE

    def __init__(self, root: Path) -> None:
        self.paths = sorted(str(path) for path in root.glob("*.wav"))
        self.labels = [number % 3 for number in range(len(self.paths))]

    def __len__(self) -> int:
        return len(self.paths)


class HifiGan(Files):
    split = True

    def __getitem__(self, index: int) -> Any:
        filename = self.paths[index]
        audio, sampling_rate = load_wav(filename)
        audio = audio / MAX_WAV_VALUE
        if sampling_rate != self.sampling_rate:
            raise ValueError(f"{sampling_rate} SR doesn't match target {self.sampling_rate} SR")
        audio = torch.FloatTensor(audio)
        audio = audio.unsqueeze(0)
        if self.split:
            if audio.size(1) >= self.segment:
                max_audio_start = audio.size(1) - self.segment
                audio_start = random.randint(0, max_audio_start)
                audio = audio[:, audio_start : audio_start + self.segment]
            else:
                audio = torch.nn.functional.pad(audio, (0, self.segment - audio.size(1)), "constant")
        return audio.squeeze(0), filename


class MelGan(Files):
    def __getitem__(self, index: int) -> Any:
        audio, sampling_rate = self.load_wav_to_torch(self.paths[index])
        if audio.size(0) >= self.segment:
            max_audio_start = audio.size(0) - self.segment
            audio_start = random.randint(0, max_audio_start)
            audio = audio[audio_start : audio_start + self.segment]
        else:
            audio = F.pad(audio, (0, self.segment - audio.size(0)), "constant").data
        return audio.unsqueeze(0)

    def load_wav_to_torch(self, full_path: str) -> Any:
        data, sampling_rate = load_wav(full_path)
        return torch.from_numpy(data.astype(np.float32)) / MAX_WAV_VALUE, sampling_rate


class ByNumpy(Files):
    """Padded first, then cropped; the draw is numpy's."""

    def __getitem__(self, index: int) -> Any:
        _, sound = wavfile.read(self.paths[index])
        sound = sound.astype(np.float32)
        if len(sound) < self.segment:
            sound = np.pad(sound, (0, self.segment - len(sound)), mode="constant")
        start = np.random.randint(0, len(sound) - self.segment + 1)
        return sound[start : start + self.segment], self.labels[index]


class ByTorch(Files):
    def __getitem__(self, index: int) -> Any:
        sound, rate = soundfile.read(self.paths[index], dtype="float32")
        sound = torch.from_numpy(sound)
        if sound.shape[0] > self.segment:
            start = torch.randint(0, sound.shape[0] - self.segment, (1,)).item()
            sound = sound[start : start + self.segment] * 2.0
        elif sound.shape[0] < self.segment:
            sound = F.pad(sound, (0, self.segment - sound.shape[0]))
        return {"sound": sound, "label": self.labels[index], "rate": rate}


class ByTorchAlike(Files):
    """The same, with what both ways have in common behind them; some ways are torch's own."""

    def __getitem__(self, index: int) -> Any:
        sound, _ = soundfile.read(self.paths[index], dtype="float32")
        sound = torch.from_numpy(sound)
        if sound.shape[0] > self.segment:
            start = torch.randint(0, sound.shape[0] - self.segment, (1,)).item()
            sound = sound[start : start + self.segment]
        elif sound.shape[0] < self.segment:
            sound = F.pad(sound, (0, self.segment - sound.shape[0]))
        return {"sound": sound * 2.0, "label": self.labels[index], "start": torch.rand(1).item()}


class Channels(Files):
    """Of several channels, long enough for all; a draw before the file is read, and one behind."""

    segment = 20

    def __getitem__(self, index: int) -> Any:
        loud = random.random()
        _, sound = wavfile.read(self.paths[index])
        start = random.randrange(sound.shape[0] - self.segment + 1)
        part = sound[start : start + self.segment, :]
        return torch.from_numpy(part).float().t() / MAX_WAV_VALUE, loud, start, random.uniform(-1, 1)


class Alike(Files):
    """Of sounds of one length."""

    def __getitem__(self, index: int) -> Any:
        _, sound = wavfile.read(self.paths[index])
        start = random.randint(0, len(sound) - self.segment)
        return torch.from_numpy(sound[start : start + self.segment]), sound.shape[0]


def write(root: Path, dtype: str, channels: int, lengths: Any, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    for number, frames in enumerate(lengths):
        shape = (int(frames), channels) if channels > 1 else int(frames)
        if dtype.startswith("float"):
            sound = rng.normal(0, 1, shape).astype(dtype)
        else:
            sound = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, endpoint=True)
        wavfile.write(root / f"{number:03}.wav", RATE, sound)


def lengths(low: int = 20, high: int = 150, seed: int = 1) -> Any:
    return np.random.default_rng(seed).integers(low, high, COUNT)


def check(dataset: Any, *, native: bool = True, workers: tuple[int, ...] = (0, 1, 3), **options: Any) -> None:
    for count in workers:
        arguments = {"dataset": dataset, "batch_size": 4, "shuffle": True, "num_workers": count, **options}
        twins.check(twins.Program(lambda arguments=arguments: arguments, draw=True, seed=count), native=native)


@pytest.mark.parametrize("made", [HifiGan, MelGan, ByNumpy, ByTorchAlike])
@pytest.mark.parametrize("dtype", ["int16", "float32"])
def test_crops_and_short_sounds(tmp_path: Path, made: Any, dtype: str) -> None:
    write(tmp_path, dtype, 1, lengths())
    dataset = made(tmp_path)
    check(dataset)
    loader = goloader.DataLoader(dataset, batch_size=COUNT, num_workers=1)
    list(loader)
    assert [row for row in loader.explain().rows if row.stage == "so far" and row.where == "Go"], loader.explain()


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "float32", "float64"])
@pytest.mark.parametrize("channels", [2, 3])
def test_channels(tmp_path: Path, dtype: str, channels: int) -> None:
    write(tmp_path, dtype, channels, lengths())
    check(Channels(tmp_path), workers=(0, 3))


def test_sounds_of_one_length(tmp_path: Path) -> None:
    write(tmp_path, "int16", 1, [60] * COUNT)
    check(Alike(tmp_path))


@pytest.mark.parametrize("segment", [1, 20, 149, 150, 400])
def test_segments(tmp_path: Path, segment: int) -> None:
    """Also those that are as long as a sound, or longer than all."""
    write(tmp_path, "int16", 1, [20, 149, 150, 151, *lengths()])
    for made in (MelGan, ByNumpy):
        dataset = made(tmp_path)
        dataset.segment = segment
        check(dataset, workers=(0, 1))


class Silent(Files):
    """Of which a short sound's zeros are none when zeros are put behind them."""

    def __getitem__(self, index: int) -> Any:
        _, sound = wavfile.read(self.paths[index])
        sound = torch.from_numpy(sound.astype(np.float32)) + 1.0
        if len(sound) >= self.segment:
            start = random.randint(0, len(sound) - self.segment)
            return sound[start : start + self.segment]
        return F.pad(sound, (0, self.segment - len(sound)))


class Negated(Files):
    def __getitem__(self, index: int) -> Any:
        _, sound = wavfile.read(self.paths[index])
        sound = -torch.from_numpy(sound.astype(np.float32))
        if len(sound) >= self.segment:
            start = random.randint(0, len(sound) - self.segment)
            sound = sound[start : start + self.segment]
        else:
            sound = F.pad(sound, (0, self.segment - len(sound)))
        return sound


class PaddedByNegativeZeros(Files):
    def __getitem__(self, index: int) -> Any:
        _, sound = wavfile.read(self.paths[index])
        sound = torch.from_numpy(sound.astype(np.float32))
        if len(sound) >= self.segment:
            start = random.randint(0, len(sound) - self.segment)
            return sound[start : start + self.segment]
        return F.pad(sound, (0, self.segment - len(sound)), "constant", -0.0)


class PaddedWrongly(Files):
    def __getitem__(self, index: int) -> Any:
        _, sound = wavfile.read(self.paths[index])
        sound = np.pad(sound, (0, max(0, 200 - len(sound))), end_values=0)
        start = random.randint(0, len(sound) - self.segment)
        return sound[start : start + self.segment]


class Levelled(Files):
    """By all of the sound, which a crop does not show."""

    def __getitem__(self, index: int) -> Any:
        _, sound = wavfile.read(self.paths[index])
        sound = torch.from_numpy(sound.astype(np.float32))
        sound = sound / sound.size(0)
        start = random.randint(0, len(sound) - 20)
        return sound[start : start + 20]


class Flipped(Files):
    def __getitem__(self, index: int) -> Any:
        _, sound = wavfile.read(self.paths[index])
        sound = torch.from_numpy(sound).flip(0)
        start = random.randint(0, len(sound) - 20)
        return sound[start : start + 20]


class OnlyLooks(Files):
    def __getitem__(self, index: int) -> Any:
        _, sound = wavfile.read(self.paths[index])
        return torch.tensor(random.randint(0, len(sound)))


LEFT = [Silent, Negated, PaddedByNegativeZeros, PaddedWrongly, Levelled, Flipped, OnlyLooks, ByTorch]


@pytest.mark.parametrize("frames", [None, 60])
@pytest.mark.parametrize("made", LEFT)
def test_what_a_crop_does_not_show_is_torchs(tmp_path: Path, made: Any, frames: int | None) -> None:
    write(tmp_path, "int16", 1, lengths() if frames is None else [frames] * COUNT)
    dataset = made(tmp_path)
    native = goloader.DataLoader(dataset, batch_size=4, num_workers=1).explain().native
    check(dataset, native=native, workers=(0, 1))
    assert not (native and frames is None) or made is ByTorch  # some samples of every batch are left to its code


class Beyond(Files):
    """Now and then from before a sound's begin, or past its end."""

    segment = 10

    def __getitem__(self, index: int) -> Any:
        _, sound = wavfile.read(self.paths[index])
        start = random.randint(-12, len(sound) - 2)
        return torch.from_numpy(sound[start : start + self.segment])


def test_a_crop_that_leaves_its_sound_is_the_codes(tmp_path: Path) -> None:
    """Most batches fail then, as with torch, and the generators stand where they stand with torch."""
    write(tmp_path, "int16", 1, lengths())
    check(Beyond(tmp_path), workers=(0, 1, 2))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("damage", ["truncated", "another rate", "longer", "shorter", "missing", "text"])
@pytest.mark.parametrize("made", [HifiGan, ByNumpy])
def test_damaged_files(tmp_path: Path, made: Any, damage: str) -> None:
    """One file is not what it was as the loader looked: its batch, those behind it and the generators are torch's."""
    write(tmp_path, "int16", 1, lengths())
    dataset = made(tmp_path)
    path = Path(dataset.paths[7])
    whole = path.read_bytes()

    def harm(epoch: int, loader: Any) -> None:
        path.write_bytes(whole)
        if isinstance(loader, goloader.DataLoader):
            assert loader.explain().native or epoch
        if damage == "missing":
            path.unlink()
        elif damage in ("longer", "shorter"):
            wavfile.write(path, RATE, np.arange(300 if damage == "longer" else 3, dtype=np.int16))
        else:
            changed = {"truncated": whole[:-7], "text": b"no sound at all"}
            other = whole[:24] + (16000).to_bytes(4, "little") + (32000).to_bytes(4, "little") + whole[32:]
            path.write_bytes(changed.get(damage, other))

    for count in (0, 1, 2):
        path.write_bytes(whole)
        arguments = {"dataset": dataset, "batch_size": 4, "shuffle": True, "num_workers": count}
        program = twins.Program(lambda arguments=arguments: arguments, draw=True, before=harm, epochs=1)
        ours = twins.run(goloader.DataLoader, program)
        path.write_bytes(whole)
        twins.compare(ours, twins.run(torch.utils.data.DataLoader, program))


def test_what_changes_between_epochs(tmp_path: Path) -> None:
    write(tmp_path, "int16", 1, lengths())

    class Program:
        def __init__(self) -> None:
            self.dataset = MelGan(tmp_path)

        def __call__(self) -> dict[str, Any]:
            self.dataset = MelGan(tmp_path)
            return {"dataset": self.dataset, "batch_size": 4, "num_workers": 1}

    made = Program()

    def change(epoch: int, loader: Any) -> None:
        if epoch == 1:
            made.dataset.paths.reverse()
        if epoch == 2:
            made.dataset.segment = 30

    twins.check(twins.Program(made, epochs=4, before=change))


def collate(batch: Any) -> Any:
    return torch.stack([sound for sound, _ in batch]), torch.tensor([label for _, label in batch])


@pytest.mark.parametrize("own", [collate, lambda batch: [len(batch), torch.stack([each[0] for each in batch]).sum()]])
def test_own_collate_fns(tmp_path: Path, own: Any) -> None:
    class Tensors(ByNumpy):
        def __getitem__(self, index: int) -> Any:
            _, sound = wavfile.read(self.paths[index])
            sound = torch.from_numpy(sound.astype(np.float32))
            start = np.random.randint(0, len(sound) - 16)
            return sound[start : start + 16], self.labels[index]

    write(tmp_path, "int16", 1, lengths())
    dataset = Tensors(tmp_path)
    native = goloader.DataLoader(dataset, batch_size=4, num_workers=1, collate_fn=own).explain().native
    check(dataset, native=native, workers=(1,), collate_fn=own)


@pytest.mark.parametrize("persistent", [False, True])
def test_epochs_that_are_left_and_go_on(tmp_path: Path, persistent: bool) -> None:
    write(tmp_path, "int16", 1, lengths())
    arguments = {"dataset": MelGan(tmp_path), "batch_size": 2, "num_workers": 2, "persistent_workers": persistent}
    twins.check(twins.Program(lambda: arguments, epochs=4, leave=(3, None)))
