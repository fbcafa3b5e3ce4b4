"""Ratings and negatives drawn before each epoch, neural collaborative filtering"""

import numpy as np
import pandas as pd
import scipy.sparse as sp
import torch.utils.data as data

DATA = "ratings"


class NCFData(data.Dataset):
    def __init__(self, features, num_item, train_mat=None, num_ng=0, is_training=None):
        super(NCFData, self).__init__()
        self.features_ps = features
        self.num_item = num_item
        self.train_mat = train_mat
        self.num_ng = num_ng
        self.is_training = is_training
        self.labels = [0 for _ in range(len(features))]

    def ng_sample(self):
        assert self.is_training, "no need to sampling when testing"
        self.features_ng = []
        for x in self.features_ps:
            u = x[0]
            for t in range(self.num_ng):
                j = np.random.randint(self.num_item)
                while (u, j) in self.train_mat:
                    j = np.random.randint(self.num_item)
                self.features_ng.append([u, j])

        labels_ps = [1 for _ in range(len(self.features_ps))]
        labels_ng = [0 for _ in range(len(self.features_ng))]
        self.features_fill = self.features_ps + self.features_ng
        self.labels_fill = labels_ps + labels_ng

    def __len__(self):
        return (self.num_ng + 1) * len(self.labels)

    def __getitem__(self, idx):
        features = self.features_fill if self.is_training else self.features_ps
        labels = self.labels_fill if self.is_training else self.labels
        user = features[idx][0]
        item = features[idx][1]
        label = labels[idx]
        return user, item, label


def train_loader(root):
    train_data = pd.read_csv(root / "ratings.dat", sep="::", header=None, usecols=[0, 1], engine="python")
    user_num, item_num = train_data[0].max() + 1, train_data[1].max() + 1
    train_data = train_data.values.tolist()
    train_mat = sp.dok_matrix((user_num, item_num), dtype=np.float32)
    for x in train_data:
        train_mat[x[0], x[1]] = 1.0
    train_dataset = NCFData(train_data, item_num, train_mat, 4, True)
    return data.DataLoader(train_dataset, batch_size=256, shuffle=True, num_workers=2)


def begin_epoch(loader, epoch):
    loader.dataset.ng_sample()
