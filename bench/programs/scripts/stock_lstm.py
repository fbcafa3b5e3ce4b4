"""Windows of prices cut beforehand into a list, a notebook's LSTM"""

import numpy as np
import pandas as pd
import torch
from sklearn.preprocessing import MinMaxScaler
from torch.utils.data import DataLoader, Dataset

DATA = "prices"


def create_sequences(input_data, tw):
    sequences = []
    for i in range(len(input_data) - tw):
        train_seq = input_data[i : i + tw]
        train_label = input_data[i + tw, 3]
        sequences.append((train_seq, train_label))
    return sequences


class StockDataset(Dataset):
    def __init__(self, sequences):
        self.sequences = sequences

    def __len__(self):
        return len(self.sequences)

    def __getitem__(self, idx):
        sequence, label = self.sequences[idx]
        return dict(sequence=torch.Tensor(sequence), label=torch.tensor(label).float())


def train_loader(root):
    df = pd.read_csv(root / "stock.csv")
    scaler = MinMaxScaler(feature_range=(-1, 1))
    data = scaler.fit_transform(df.values.astype(np.float64))
    return DataLoader(StockDataset(create_sequences(data, 60)), batch_size=64, shuffle=False, num_workers=2)
