"""Tables: csv files and DataFrames, with numbers, categories and targets."""

import csv

import numpy as np
import pandas as pd
import torch
from sampled import Sampled
from torch.utils.data import Dataset


class ChurnIloc(Dataset):
    def __init__(self, csv_file):
        self.df = pd.read_csv(csv_file)

    def __len__(self):
        return len(self.df)

    def __getitem__(self, idx):
        if torch.is_tensor(idx):
            idx = idx.tolist()
        row = self.df.iloc[idx]
        features = torch.tensor([row["age"], row["income"], row["tenure"]], dtype=torch.float32)
        label = torch.tensor(row["label"], dtype=torch.long)
        return features, label


class ChurnValues(Dataset):
    """Features by iloc[:, :-1].values in __init__."""

    def __init__(self, csv_file):
        df = pd.read_csv(csv_file)
        df["city"] = df["city"].astype("category").cat.codes
        self.X = torch.tensor(df.iloc[:, :-1].values, dtype=torch.float32)
        self.y = torch.tensor(df.iloc[:, -1].values, dtype=torch.float32).unsqueeze(1)

    def __len__(self):
        return len(self.X)

    def __getitem__(self, idx):
        return self.X[idx], self.y[idx]


class ChurnFloatTensor(Dataset):
    """The cast in __getitem__."""

    def __init__(self, df):
        self.features = df[["age", "income"]].values
        self.labels = df["label"].values

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return torch.FloatTensor(self.features[i]), torch.LongTensor([self.labels[i]])


class ChurnCategories(Dataset):
    """Categorical columns for embeddings beside continuous ones, as fastai's tutorial has them."""

    def __init__(self, df, cat_cols, cont_cols, y_col):
        self.cats = np.stack([df[c].astype("category").cat.codes.values for c in cat_cols], 1).astype(np.int64)
        self.conts = np.stack([df[c].values for c in cont_cols], 1).astype(np.float32)
        self.y = df[y_col].values.astype(np.float32).reshape(-1, 1)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, idx):
        return [self.cats[idx], self.conts[idx], self.y[idx]]


class ChurnLoc(Dataset):
    def __init__(self, df):
        self.df = df.reset_index(drop=True)
        self.mean = self.df["income"].mean()
        self.std = self.df["income"].std()

    def __getitem__(self, index):
        income = (self.df.loc[index, "income"] - self.mean) / self.std
        age = self.df.at[index, "age"] / 100
        y = self.df["label"][index]
        return np.array([age, income], dtype=np.float32), y

    def __len__(self):
        return self.df.shape[0]


class CsvRows(Dataset):
    """csv.reader, and rows cast one by one."""

    def __init__(self, path):
        with open(path) as f:
            reader = csv.reader(f)
            next(reader)
            self.rows = [row for row in reader]
        self.cities = {"a": 0, "b": 1, "c": 2}

    def __getitem__(self, i):
        age, income, city, tenure, label = self.rows[i]
        x = torch.tensor([float(age) / 100.0, float(income) / 1e5, self.cities[city], int(tenure)])
        return x, int(label)

    def __len__(self):
        return len(self.rows)


class DictRows(Dataset):
    """csv.DictReader, a one-hot vector by hand."""

    def __init__(self, path):
        self.rows = list(csv.DictReader(open(path)))
        self.vocab = sorted({r["city"] for r in self.rows})

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        r = self.rows[i]
        onehot = torch.zeros(len(self.vocab))
        onehot[self.vocab.index(r["city"])] = 1.0
        return {"city": onehot, "age": float(r["age"]), "label": int(r["label"])}


class GenFromTxt(Dataset):
    def __init__(self, path):
        xy = np.loadtxt(path, delimiter=",", dtype=np.float32, skiprows=1, usecols=(0, 1, 3, 4))
        self.n_samples = xy.shape[0]
        self.x_data = torch.from_numpy(xy[:, :-1])
        self.y_data = torch.from_numpy(xy[:, [-1]])

    def __getitem__(self, index):
        return self.x_data[index], self.y_data[index]

    def __len__(self):
        return self.n_samples


class Frames(Dataset):
    """A row of numbers of a DataFrame, as a numpy array."""

    def __init__(self, df):
        self.data = df.drop(columns=["city"])

    def __len__(self):
        return len(self.data)

    def __getitem__(self, idx):
        x = self.data.iloc[idx, :-1].values.astype(np.float32)
        y = self.data.iloc[idx, -1].astype(np.float32)
        return torch.from_numpy(x), torch.tensor(y)


class Interactions(Dataset):
    """Users, items and ratings, zipped to triples."""

    def __init__(self, df):
        self.triples = list(zip(df["age"].tolist(), df["tenure"].tolist(), df["income"].tolist()))

    def __getitem__(self, i):
        user, item, rating = self.triples[i]
        return torch.tensor(user), torch.tensor(item), torch.tensor(rating, dtype=torch.float)

    def __len__(self):
        return len(self.triples)


def df(root):
    return pd.read_csv(root / "churn.csv")


CASES = {
    "iloc of rows": Sampled(lambda root: ChurnIloc(root / "churn.csv")),
    "values of a table": Sampled(lambda root: ChurnValues(root / "churn.csv")),
    "FloatTensor of a row": Sampled(lambda root: ChurnFloatTensor(df(root))),
    "categories and numbers": Sampled(
        lambda root: ChurnCategories(df(root), ["city", "tenure"], ["age", "income"], "label")
    ),
    "loc and at": Sampled(lambda root: ChurnLoc(df(root))),
    "csv.reader": Sampled(lambda root: CsvRows(root / "churn.csv")),
    "csv.DictReader": Sampled(lambda root: DictRows(root / "churn.csv")),
    "np.loadtxt of a csv": Sampled(lambda root: GenFromTxt(root / "churn.csv")),
    "iloc of rows and columns": Sampled(lambda root: Frames(df(root))),
    "triples of columns": Sampled(lambda root: Interactions(df(root))),
}
