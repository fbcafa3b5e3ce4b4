"""A csv as FloatTensors with class weights, a notebook's classifier"""

import pandas as pd
import torch
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler

DATA = "churn"


class ClassifierDataset(Dataset):
    def __init__(self, X_data, y_data):
        self.X_data = X_data
        self.y_data = y_data

    def __getitem__(self, index):
        return self.X_data[index], self.y_data[index]

    def __len__(self):
        return len(self.X_data)


def train_loader(root):
    df = pd.read_csv(root / "churn.csv")
    X = df[["Age", "CreditScore", "Balance"]].values
    y = df["Exited"].values
    X = StandardScaler().fit_transform(X)
    train_dataset = ClassifierDataset(torch.FloatTensor(X), torch.LongTensor(y))
    target_list = torch.tensor([t for _, t in train_dataset])
    class_count = [(target_list == c).sum().item() for c in (0, 1)]
    class_weights = 1.0 / torch.tensor(class_count, dtype=torch.float)
    weighted_sampler = WeightedRandomSampler(
        weights=class_weights[target_list], num_samples=len(target_list), replacement=True
    )
    return DataLoader(dataset=train_dataset, batch_size=16, sampler=weighted_sampler)
