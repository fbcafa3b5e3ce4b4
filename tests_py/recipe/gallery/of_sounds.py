"""Audio: spectrograms in .npy files that differ in length, and wav files read without an audio library."""

import os
import wave
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from sampled import Sampled
from torch.utils.data import Dataset


class Mels(Dataset):
    """A random crop of a mel spectrogram, padded where it is short, as vocoders have it."""

    def __init__(self, root, segment=16):
        self.files = sorted(str(p) for p in Path(root, "mels").glob("*.npy"))
        self.segment = segment

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        mel = torch.from_numpy(np.load(self.files[i]))
        if mel.size(1) >= self.segment:
            start = torch.randint(0, mel.size(1) - self.segment + 1, (1,)).item()
            mel = mel[:, start : start + self.segment]
        else:
            mel = F.pad(mel, (0, self.segment - mel.size(1)), "constant")
        return mel


class MelTexts(Dataset):
    """Text ids and mels, for a collate_fn that pads both."""

    def __init__(self, root):
        self.lines = [line.strip().split("|") for line in open(root / "metadata.csv", encoding="utf-8")]
        self.root = str(root)
        self.symbols = {c: n for n, c in enumerate("_ abcdefghijklmnopqrstuvwxyz")}

    def __getitem__(self, i):
        name, text, speaker = self.lines[i]
        ids = torch.IntTensor([self.symbols[c] for c in text])
        mel = torch.from_numpy(np.load(os.path.join(self.root, "mels", name + ".npy")))
        return ids, mel, int(speaker)

    def __len__(self):
        return len(self.lines)


class MelCollate:
    """Tacotron's, without the sorting."""

    def __call__(self, batch):
        input_lengths = torch.LongTensor([len(x[0]) for x in batch])
        text_padded = torch.LongTensor(len(batch), input_lengths.max().item())
        text_padded.zero_()
        mel_padded = torch.FloatTensor(len(batch), batch[0][1].size(0), max([x[1].size(1) for x in batch]))
        mel_padded.zero_()
        for i in range(len(batch)):
            text, mel, _ = batch[i]
            text_padded[i, : text.size(0)] = text
            mel_padded[i, :, : mel.size(1)] = mel
        return text_padded, input_lengths, mel_padded, torch.tensor([x[2] for x in batch])


class Frames(Dataset):
    """Frames first, for pad_sequence."""

    def __init__(self, root):
        self.root = root / "mels"
        self.names = sorted(os.listdir(self.root))

    def __len__(self):
        return len(self.names)

    def __getitem__(self, i):
        mel = np.load(self.root / self.names[i]).T
        return torch.FloatTensor(mel), i % 3


def pad_frames(batch):
    mels, labels = zip(*batch)
    lengths = torch.tensor([m.shape[0] for m in mels])
    return torch.nn.utils.rnn.pad_sequence(mels, batch_first=True), lengths, torch.tensor(labels)


class Wavs(Dataset):
    """The wave module; the label is the folder."""

    def __init__(self, root, n_samples=100):
        self.paths = sorted(Path(root, "wavs").rglob("*.wav"))
        self.labels = sorted({p.parent.name for p in self.paths})
        self.n_samples = n_samples

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, idx):
        path = self.paths[idx]
        with wave.open(str(path), "rb") as f:
            audio = np.frombuffer(f.readframes(f.getnframes()), dtype=np.int16).astype(np.float32) / 32768.0
        audio = audio[: self.n_samples]
        audio = np.pad(audio, (0, self.n_samples - len(audio)))
        return torch.from_numpy(audio).unsqueeze(0), self.labels.index(path.parent.name)


class SubsetSC(Dataset):
    """torchaudio's tutorial, with scipy's reader."""

    def __init__(self, root):
        self._walker = sorted(str(p) for p in (root / "wavs").glob("*/*.wav"))

    def __getitem__(self, n):
        from scipy.io import wavfile

        path = self._walker[n]
        label = os.path.basename(os.path.dirname(path))
        speaker, _ = os.path.splitext(os.path.basename(path))
        speaker_id, utterance_number = speaker.split("_nohash_")
        sample_rate, samples = wavfile.read(path)
        waveform = torch.from_numpy(samples).float().div(32768.0).unsqueeze(0)
        return waveform, sample_rate, label, speaker_id, int(utterance_number)

    def __len__(self):
        return len(self._walker)


labels = ["no", "yes"]


def label_to_index(word):
    return torch.tensor(labels.index(word))


def pad_sequence(batch):
    batch = [item.t() for item in batch]
    batch = torch.nn.utils.rnn.pad_sequence(batch, batch_first=True, padding_value=0.0)
    return batch.permute(0, 2, 1)


def collate_fn(batch):
    tensors, targets = [], []
    for waveform, _, label, *_ in batch:
        tensors += [waveform]
        targets += [label_to_index(label)]
    tensors = pad_sequence(tensors)
    targets = torch.stack(targets)
    return tensors, targets


CASES = {
    "mels, cropped or padded": Sampled(Mels, state="Python"),
    "mels and characters, Tacotron's collate_fn": Sampled(
        MelTexts, options={"collate_fn": MelCollate()}, state="samples"
    ),
    "frames, padded": Sampled(Frames, options={"collate_fn": pad_frames}, state="Python"),
    "wav by the wave module": Sampled(Wavs, state="Python"),
    "speech commands": Sampled(SubsetSC, options={"collate_fn": collate_fn}, state="Python"),
}
