"""Time series: windows with a horizon, marks, scalers, and windows cut beforehand."""

import numpy as np
import pandas as pd
import torch
from sampled import Sampled
from torch.utils.data import Dataset


class Scaler:
    def fit(self, data):
        self.mean_, self.scale_ = data.mean(0), data.std(0)

    def transform(self, data):
        return (data - self.mean_) / self.scale_


class ETT(Dataset):
    """Informer's."""

    def __init__(self, root, size=(24, 12, 8), flag="train"):
        self.seq_len, self.label_len, self.pred_len = size
        self.scaler = Scaler()
        df_raw = pd.read_csv(root / "etth.csv")
        df_data = df_raw[df_raw.columns[1:]]
        self.scaler.fit(df_data.values[:100])
        data = self.scaler.transform(df_data.values)
        stamp = pd.to_datetime(df_raw["date"])
        self.data_x = self.data_y = data
        self.data_stamp = np.stack([stamp.dt.month, stamp.dt.day, stamp.dt.weekday, stamp.dt.hour], 1).astype(np.int64)

    def __getitem__(self, index):
        s_begin = index
        s_end = s_begin + self.seq_len
        r_begin = s_end - self.label_len
        r_end = r_begin + self.label_len + self.pred_len
        seq_x = self.data_x[s_begin:s_end]
        seq_y = self.data_y[r_begin:r_end]
        seq_x_mark = self.data_stamp[s_begin:s_end]
        seq_y_mark = self.data_stamp[r_begin:r_end]
        return seq_x, seq_y, seq_x_mark, seq_y_mark

    def __len__(self):
        return len(self.data_x) - self.seq_len - self.pred_len + 1


class Sliding(Dataset):
    """A window of a DataFrame's values, and the next one's target."""

    def __init__(self, df, lookback=10):
        self.df = df
        self.lookback = lookback

    def __len__(self):
        return len(self.df) - self.lookback

    def __getitem__(self, idx):
        x = self.df.values[idx : idx + self.lookback]
        y = self.df.values[idx + self.lookback, -1]
        return torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)


class IlocWindows(Dataset):
    def __init__(self, df, seq_length):
        self.df = df
        self.seq_length = seq_length

    def __len__(self):
        return len(self.df) - self.seq_length

    def __getitem__(self, index):
        window = self.df.iloc[index : index + self.seq_length]
        features = window[["HUFL", "HULL"]].values.astype("float32")
        target = self.df["OT"].iloc[index + self.seq_length].astype("float32")
        return features, target


class Cut(Dataset):
    """Sequences cut in __init__, as many notebooks do."""

    def __init__(self, series, window=12):
        xs, ys = [], []
        for i in range(len(series) - window - 1):
            xs.append(series[i : i + window])
            ys.append(series[i + window])
        self.x = torch.from_numpy(np.array(xs)).float().unsqueeze(-1)
        self.y = torch.from_numpy(np.array(ys)).float().unsqueeze(-1)

    def __len__(self):
        return self.x.shape[0]

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class Tuples(Dataset):
    """A list of (sequence, label) tuples."""

    def __init__(self, sequences):
        self.sequences = sequences

    def __len__(self):
        return len(self.sequences)

    def __getitem__(self, idx):
        sequence, label = self.sequences[idx]
        return dict(sequence=torch.Tensor(sequence), label=torch.tensor(label).float())


class Strided(Dataset):
    """Windows with a stride, standardised each by itself; the univariate series is a tensor."""

    def __init__(self, series, window=20, stride=5):
        self.series = torch.as_tensor(series, dtype=torch.float32)
        self.window, self.stride = window, stride

    def __len__(self):
        return (len(self.series) - self.window) // self.stride + 1

    def __getitem__(self, i):
        at = i * self.stride
        w = self.series[at : at + self.window]
        return (w - w.mean()) / (w.std() + 1e-8)


class History(Dataset):
    """Windows that begin behind the first ones, for each of several series."""

    def __init__(self, data, history=7, horizon=3):
        self.data, self.history, self.horizon = data, history, horizon
        self.per_series = data.shape[0] - history - horizon + 1

    def __len__(self):
        return self.per_series * self.data.shape[1]

    def __getitem__(self, i):
        column, begin = i // self.per_series, i % self.per_series
        past = self.data[begin : begin + self.history, column]
        future = self.data[begin + self.history : begin + self.history + self.horizon, column]
        return past.astype(np.float32), future.astype(np.float32)


class Jittered(Dataset):
    """Scaled and shifted by draws of numpy, as in contrastive learning of series."""

    def __init__(self, data, window=16):
        self.data, self.window = data.astype(np.float32), window

    def __len__(self):
        return len(self.data) - self.window

    def __getitem__(self, i):
        w = self.data[i : i + self.window]
        scale = np.random.uniform(0.8, 1.2)
        return torch.from_numpy(w * np.float32(scale)), torch.from_numpy(w)


def table(root):
    return pd.read_csv(root / "etth.csv").drop(columns="date")


def values(root):
    return table(root).values


def tuples(root):
    v = values(root)
    return Tuples([(v[i : i + 8], v[i + 8, 2]) for i in range(len(v) - 8)])


CASES = {
    "x, y and their marks": Sampled(ETT),
    "windows of a table's values": Sampled(lambda root: Sliding(table(root))),
    "windows by iloc": Sampled(lambda root: IlocWindows(table(root), 9)),
    "windows cut beforehand": Sampled(lambda root: Cut(values(root)[:, 0])),
    "sequences in tuples": Sampled(tuples),
    "windows with a stride": Sampled(lambda root: Strided(values(root)[:, 1])),
    "windows of several series": Sampled(lambda root: History(values(root))),
    "scaled at random": Sampled(lambda root: Jittered(values(root)), state="Python"),
}
