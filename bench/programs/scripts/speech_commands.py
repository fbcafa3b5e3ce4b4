"""Recorded words padded in a batch, torchaudio's tutorial of speech commands"""

import os

import torch
from scipy.io import wavfile
from torch.utils.data import Dataset

DATA = "speech"


class SubsetSC(Dataset):
    def __init__(self, root):
        self._path = str(root)
        self._walker = sorted(str(p) for p in root.glob("*/*.wav"))

    def __getitem__(self, n):
        fileid = self._walker[n]
        relpath = os.path.relpath(fileid, self._path)
        label, filename = os.path.split(relpath)
        speaker, _ = os.path.splitext(filename)
        speaker_id, utterance_number = speaker.split("_nohash_")
        sample_rate, samples = wavfile.read(fileid)
        waveform = torch.from_numpy(samples).float().div(32768.0).unsqueeze(0)
        return waveform, sample_rate, label, speaker_id, int(utterance_number)

    def __len__(self):
        return len(self._walker)


labels = []


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


def train_loader(root):
    train_set = SubsetSC(root)
    labels[:] = sorted(set(datapoint[2] for datapoint in train_set))
    return torch.utils.data.DataLoader(
        train_set, batch_size=256, shuffle=True, collate_fn=collate_fn, num_workers=0, pin_memory=False
    )
