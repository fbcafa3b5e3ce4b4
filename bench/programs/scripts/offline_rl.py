"""Steps of recorded episodes as a dict of arrays, offline reinforcement learning"""

import numpy as np
from torch.utils.data import DataLoader, Dataset

DATA = "episodes"


class TransitionDataset(Dataset):
    def __init__(self, dataset):
        self.obs = dataset["observations"]
        self.act = dataset["actions"]
        self.next_obs = dataset["next_observations"]
        self.rew = dataset["rewards"].reshape(-1, 1)
        self.done = dataset["terminals"].astype(np.float32).reshape(-1, 1)

    def __len__(self):
        return self.obs.shape[0]

    def __getitem__(self, idx):
        return {
            "obs": self.obs[idx],
            "act": self.act[idx],
            "rew": self.rew[idx],
            "next_obs": self.next_obs[idx],
            "done": self.done[idx],
        }


def train_loader(root):
    dataset = dict(np.load(root / "halfcheetah.npz"))
    return DataLoader(TransitionDataset(dataset), batch_size=256, shuffle=True, drop_last=True)
