"""Points of shapes, chosen, turned and jittered, PointNet"""

import json
import os

import numpy as np
import torch
import torch.utils.data as data

DATA = "shapes"


class ShapeNetDataset(data.Dataset):
    def __init__(self, root, npoints=2500, data_augmentation=True):
        self.npoints = npoints
        self.root = root
        self.data_augmentation = data_augmentation
        filelist = json.load(open(os.path.join(self.root, "shuffled_train_file_list.json"), "r"))
        self.datapath = []
        for file in filelist:
            _, category, uuid = file.split("/")
            self.datapath.append(
                (
                    category,
                    os.path.join(self.root, category, "points", uuid + ".pts"),
                    os.path.join(self.root, category, "points_label", uuid + ".seg"),
                )
            )
        self.classes = dict(zip(sorted(set(item[0] for item in self.datapath)), range(len(self.datapath))))

    def __getitem__(self, index):
        fn = self.datapath[index]
        cls = self.classes[self.datapath[index][0]]
        point_set = np.loadtxt(fn[1]).astype(np.float32)
        seg = np.loadtxt(fn[2]).astype(np.int64)

        choice = np.random.choice(len(seg), self.npoints, replace=True)
        point_set = point_set[choice, :]

        point_set = point_set - np.expand_dims(np.mean(point_set, axis=0), 0)
        dist = np.max(np.sqrt(np.sum(point_set**2, axis=1)), 0)
        point_set = point_set / dist

        if self.data_augmentation:
            theta = np.random.uniform(0, np.pi * 2)
            rotation_matrix = np.array([[np.cos(theta), -np.sin(theta)], [np.sin(theta), np.cos(theta)]])
            point_set[:, [0, 2]] = point_set[:, [0, 2]].dot(rotation_matrix)
            point_set += np.random.normal(0, 0.02, size=point_set.shape)

        seg = seg[choice]
        point_set = torch.from_numpy(point_set)
        seg = torch.from_numpy(seg)
        cls = torch.from_numpy(np.array([cls]).astype(np.int64))
        return point_set, cls

    def __len__(self):
        return len(self.datapath)


def train_loader(root):
    return data.DataLoader(ShapeNetDataset(root), batch_size=32, shuffle=True, num_workers=2)
