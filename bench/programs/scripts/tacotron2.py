"""Texts and spectrograms, sorted and padded, Tacotron 2"""

import os
import random

import numpy as np
import torch
import torch.utils.data
from torch.utils.data import DataLoader

DATA = "mels"

symbols = list(" abcdefghijklmnopqrstuvwxyz")
_symbol_to_id = {s: i for i, s in enumerate(symbols)}


def load_filepaths_and_text(filename, split="|"):
    with open(filename, encoding="utf-8") as f:
        filepaths_and_text = [line.strip().split(split) for line in f]
    return filepaths_and_text


class TextMelLoader(torch.utils.data.Dataset):
    def __init__(self, root):
        self.root = root
        self.audiopaths_and_text = load_filepaths_and_text(os.path.join(root, "filelist.txt"))
        random.seed(1234)
        random.shuffle(self.audiopaths_and_text)

    def get_mel_text_pair(self, audiopath_and_text):
        audiopath, text = audiopath_and_text[0], audiopath_and_text[1]
        text = self.get_text(text)
        mel = self.get_mel(audiopath)
        return (text, mel)

    def get_mel(self, filename):
        melspec = torch.from_numpy(np.load(os.path.join(self.root, filename)))
        assert melspec.size(0) == 80, "Mel dimension mismatch: given {}, expected {}".format(melspec.size(0), 80)
        return melspec

    def get_text(self, text):
        text_norm = torch.IntTensor([_symbol_to_id[s] for s in text])
        return text_norm

    def __getitem__(self, index):
        return self.get_mel_text_pair(self.audiopaths_and_text[index])

    def __len__(self):
        return len(self.audiopaths_and_text)


class TextMelCollate:
    def __init__(self, n_frames_per_step):
        self.n_frames_per_step = n_frames_per_step

    def __call__(self, batch):
        input_lengths, ids_sorted_decreasing = torch.sort(
            torch.LongTensor([len(x[0]) for x in batch]), dim=0, descending=True
        )
        max_input_len = input_lengths[0]

        text_padded = torch.LongTensor(len(batch), max_input_len)
        text_padded.zero_()
        for i in range(len(ids_sorted_decreasing)):
            text = batch[ids_sorted_decreasing[i]][0]
            text_padded[i, : text.size(0)] = text

        num_mels = batch[0][1].size(0)
        max_target_len = max([x[1].size(1) for x in batch])
        if max_target_len % self.n_frames_per_step != 0:
            max_target_len += self.n_frames_per_step - max_target_len % self.n_frames_per_step
            assert max_target_len % self.n_frames_per_step == 0

        mel_padded = torch.FloatTensor(len(batch), num_mels, max_target_len)
        mel_padded.zero_()
        gate_padded = torch.FloatTensor(len(batch), max_target_len)
        gate_padded.zero_()
        output_lengths = torch.LongTensor(len(batch))
        for i in range(len(ids_sorted_decreasing)):
            mel = batch[ids_sorted_decreasing[i]][1]
            mel_padded[i, :, : mel.size(1)] = mel
            gate_padded[i, mel.size(1) - 1 :] = 1
            output_lengths[i] = mel.size(1)

        return text_padded, input_lengths, mel_padded, gate_padded, output_lengths


def train_loader(root):
    trainset = TextMelLoader(root)
    collate_fn = TextMelCollate(1)
    return DataLoader(
        trainset,
        num_workers=1,
        shuffle=True,
        sampler=None,
        batch_size=64,
        pin_memory=False,
        drop_last=True,
        collate_fn=collate_fn,
    )
