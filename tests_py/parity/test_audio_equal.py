"""Classes that read WAV files give in Go what they give in Python: any encoding, number of channels and length."""

# ruff: noqa: B905, RUF059 - as people write

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io.wavfile
import torch
from scipy.io import wavfile
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader as TorchLoader
from torch.utils.data import Dataset

import goloader

soundfile = pytest.importorskip("soundfile")

COUNT, RATE = 23, 8000
DTYPES = ("uint8", "int16", "int32", "float32", "float64")


def padded(batch: Any) -> Any:
    sounds, others = zip(*batch)
    return pad_sequence(sounds, batch_first=True), torch.tensor(others)


class Files(Dataset[Any]):
    def __init__(self, root: Path) -> None:
        self.paths = sorted(str(path) for path in root.glob("*.wav"))

    def __len__(self) -> int:
        return len(self.paths)


class Scipys(Files):
    def __getitem__(self, index: int) -> Any:
        rate, sound = wavfile.read(self.paths[index])
        return torch.from_numpy(sound), rate


class Scaled(Files):
    """As vocoders have it."""

    MAX_WAV_VALUE = 32768.0
    sampling_rate = RATE

    def __getitem__(self, index: int) -> Any:
        rate, sound = scipy.io.wavfile.read(self.paths[index])
        if rate != self.sampling_rate:
            raise ValueError(f"{rate} is not {self.sampling_rate}")
        audio = torch.FloatTensor(sound.astype(np.float32)) / self.MAX_WAV_VALUE
        return audio, audio.size(0)


class Soundfiles(Files):
    dtype, always_2d = "float32", False

    def __getitem__(self, index: int) -> Any:
        sound, rate = soundfile.read(self.paths[index], dtype=self.dtype, always_2d=self.always_2d)
        return torch.from_numpy(sound), rate


class Doubles(Files):
    def __getitem__(self, index: int) -> Any:
        sound, rate = soundfile.read(self.paths[index])
        return torch.tensor(sound * 0.5 + 0.25, dtype=torch.float32).clamp(-0.5, 0.5), len(sound)


class Channel(Files):
    def __getitem__(self, index: int) -> Any:
        rate, sound = wavfile.read(self.paths[index])
        return torch.from_numpy(np.abs(sound[:, 1].astype(np.float64))), index


class Framed(Files):
    """A channel in front, as torchaudio has it, for sounds of one length."""

    def __getitem__(self, index: int) -> Any:
        rate, sound = wavfile.read(self.paths[index])
        return torch.from_numpy(sound.astype("float32") / 32768.0).unsqueeze(0)[:, 10:40], rate


class Turned(Files):
    def __getitem__(self, index: int) -> Any:
        rate, sound = wavfile.read(self.paths[index])
        return torch.from_numpy(sound).float().div(32768.0).unsqueeze(0).t(), sound.shape[0]


def write(root: Path, dtype: str, channels: int, lengths: Any, seed: int = 0) -> None:
    random = np.random.default_rng(seed)
    for number, frames in enumerate(lengths):
        shape = (int(frames), channels) if channels > 1 else int(frames)
        if dtype.startswith("float"):
            sound = random.normal(0, 1, shape).astype(dtype)
        else:
            sound = random.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, endpoint=True)
        wavfile.write(root / f"{number:03}.wav", RATE, sound)


def any_lengths(seed: int = 1) -> Any:
    return np.random.default_rng(seed).integers(1, 200, COUNT)


def check(dataset: Any, *, native: bool = True, workers: tuple[int, ...] = (1, 3), **options: Any) -> None:
    """Batches are torch's, and Go makes them (`native`)."""
    wanted = list(TorchLoader(dataset, batch_size=5, **options))
    for count in workers:
        loader = goloader.DataLoader(dataset, batch_size=5, num_workers=count, **options)
        batches = list(loader)
        assert len(batches) == len(wanted)
        for batch, want in zip(batches, wanted, strict=True):
            for one, other in zip(batch, want, strict=True):
                assert one.dtype is other.dtype and one.shape == other.shape and one.stride() == other.stride()
                assert one.numpy().tobytes() == other.numpy().tobytes()
        if native:
            assert "WAV files, which Go reads" in str(loader.explain()), loader.explain()


@pytest.mark.parametrize("channels", [1, 2, 3])
@pytest.mark.parametrize("dtype", DTYPES)
def test_scipys_arrays(tmp_path: Path, dtype: str, channels: int) -> None:
    write(tmp_path, dtype, channels, any_lengths())
    check(Scipys(tmp_path), collate_fn=padded)


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("subtype", ["PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE"])
def test_soundfiles_arrays(tmp_path: Path, subtype: str, channels: int) -> None:
    random = np.random.default_rng(channels)
    for number, frames in enumerate(any_lengths()):
        sound = random.uniform(-1, 1, (frames, channels))
        soundfile.write(tmp_path / f"{number:03}.wav", sound, RATE, subtype=subtype)
    dataset = Soundfiles(tmp_path)
    for dataset.dtype, dataset.always_2d in (("float32", False), ("float64", True)):
        check(dataset, workers=(1,), collate_fn=padded)
    check(Doubles(tmp_path), workers=(1,), collate_fn=padded)
    if subtype != "FLOAT" and subtype != "DOUBLE":  # these have a chunk of which scipy warns
        check(Scipys(tmp_path), workers=(1,), collate_fn=padded)


def test_extensible_headers(tmp_path: Path) -> None:
    for number, frames in enumerate(any_lengths()):
        sound = np.random.default_rng(number).uniform(-1, 1, (frames, 2))
        soundfile.write(tmp_path / f"{number:03}.wav", sound, RATE, subtype="PCM_24", format="WAVEX")
    check(Soundfiles(tmp_path), collate_fn=padded)
    check(Scipys(tmp_path), collate_fn=padded)


@pytest.mark.parametrize("made", [Scaled, Turned, Doubles])
def test_arithmetic_of_any_length(tmp_path: Path, made: Any) -> None:
    write(tmp_path, "int16", 1, any_lengths())
    check(made(tmp_path), collate_fn=padded)


def test_channels_of_any_length(tmp_path: Path) -> None:
    write(tmp_path, "int16", 2, any_lengths())
    check(Channel(tmp_path), collate_fn=padded)


@pytest.mark.parametrize("made", [Scipys, Framed, Doubles])
def test_sounds_of_one_length(tmp_path: Path, made: Any) -> None:
    write(tmp_path, "int16", 1, [64] * COUNT)
    check(made(tmp_path))


class Reversed(Files):
    def __getitem__(self, index: int) -> Any:
        sound = wavfile.read(self.paths[index])[1]
        return torch.from_numpy(sound[::-1].copy()), index


class Cut(Files):
    def __getitem__(self, index: int) -> Any:
        sound = wavfile.read(self.paths[index])[1]
        return torch.from_numpy(sound[:50]), index


class Levelled(Files):
    def __getitem__(self, index: int) -> Any:
        sound = torch.from_numpy(wavfile.read(self.paths[index])[1]).float()
        return sound / sound.abs().max(), index


class Divided(Files):
    def __getitem__(self, index: int) -> Any:
        sound, _ = soundfile.read(self.paths[index], dtype="float32")
        sound /= 2
        return torch.from_numpy(sound), index


class Windowed(Files):
    def __getitem__(self, index: int) -> Any:
        sound = wavfile.read(self.paths[index])[1]
        return torch.from_numpy(sound.reshape(1, -1) * np.ones((2, 1), np.int16)), index


@pytest.mark.parametrize("made", [Reversed, Cut, Levelled, Divided])
def test_what_looks_beyond_an_item_is_torchs(tmp_path: Path, made: Any) -> None:
    write(tmp_path, "int16", 1, any_lengths())
    check(made(tmp_path), native=False, workers=(1,), collate_fn=padded)


def test_what_makes_more_channels_is_torchs(tmp_path: Path) -> None:
    write(tmp_path, "int16", 1, [31] * 7 + [8])
    check(Windowed(tmp_path), native=False, workers=(1,), collate_fn=lambda batch: [each[0].sum() for each in batch])


def _truncated(content: bytes) -> bytes:
    return content[:-7]


def _lying(content: bytes) -> bytes:
    return content[:40] + struct.pack("<I", 1 << 30) + content[44:]


def _more(content: bytes) -> bytes:
    return content + b"cue \4\0\0\0more"


def _other_rate(content: bytes) -> bytes:
    return content[:24] + struct.pack("<II", 16000, 32000) + content[32:]


DAMAGES = {
    "truncated": _truncated,
    "lying": _lying,
    "more": _more,
    "another rate": _other_rate,
    "empty": lambda _: b"",
    "no sound": lambda content: content[:40] + bytes(4),
    "text": lambda _: b"no sound at all",
}


def outcome(loader: Any) -> Any:
    """Batches, or what they fail with."""
    try:
        return [each.numpy().tobytes() for batch in loader for each in batch]
    except Exception as error:
        if isinstance(error, soundfile.LibsndfileError):  # torch makes one of a text, which then has none
            return type(error)
        return type(error), str(error).splitlines()[-1].rpartition("Error: ")[2]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("damage", [*DAMAGES, "missing"])
@pytest.mark.parametrize("made", [Scipys, Soundfiles])
def test_damaged_files(tmp_path: Path, made: Any, damage: str, when: str) -> None:
    """One file of many: what the library makes of it, or raises, whether it was so as the loader looked or not."""
    write(tmp_path, "int16", 1, np.random.default_rng(3).integers(20, 90, 120))
    dataset = made(tmp_path)
    loader = goloader.DataLoader(dataset, batch_size=8, num_workers=1, collate_fn=padded)
    if when == "after":
        list(loader)
    path = dataset.paths[77]
    if damage == "missing":
        os.unlink(path)
    else:
        Path(path).write_bytes(DAMAGES[damage](Path(path).read_bytes()))
    wanted = outcome(TorchLoader(dataset, batch_size=8, collate_fn=padded))
    assert outcome(loader) == wanted


def test_a_library_that_was_replaced_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "int16", 1, any_lengths())
    read = wavfile.read
    monkeypatch.setattr(wavfile, "read", lambda path: (read(path)[0], read(path)[1] // 2))
    check(Scipys(tmp_path), native=False, workers=(1,), collate_fn=padded)


def test_a_library_that_reads_otherwise_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "int16", 1, any_lengths())
    monkeypatch.setitem(goloader.selfcheck._found, "scipy.wav", None)
    loader = goloader.DataLoader(Scipys(tmp_path), batch_size=5, num_workers=1, collate_fn=padded)
    list(loader)
    assert "its reader of WAV files is not the one known" in str(loader.explain())
