"""Graphs: joined into one a batch, with offsets on their edges; and points."""

import numpy as np
import torch
from sampled import Sampled
from torch.utils.data import Dataset


def graphs(count=40, seed=3):
    rng = np.random.default_rng(seed)
    made = []
    for n in range(count):
        nodes = 3 + n % 5
        made.append(
            {
                "x": torch.from_numpy(rng.standard_normal((nodes, 4)).astype(np.float32)),
                "edge_index": torch.from_numpy(rng.integers(0, nodes, (2, 2 * nodes))),
                "y": float(n % 3),
            }
        )
    return made


class Data:
    def __init__(self, x=None, edge_index=None, y=None):
        self.x = x
        self.edge_index = edge_index
        self.y = y

    @property
    def num_nodes(self):
        return self.x.size(0)


class Batch(Data):
    def __init__(self, batch=None, ptr=None, **kwargs):
        super().__init__(**kwargs)
        self.batch = batch
        self.ptr = ptr

    @classmethod
    def from_data_list(cls, data_list):
        xs, edges, ys, batch, ptr = [], [], [], [], [0]
        cum = 0
        for i, data in enumerate(data_list):
            xs.append(data.x)
            edges.append(data.edge_index + cum)
            ys.append(data.y)
            batch.append(torch.full((data.num_nodes,), i, dtype=torch.long))
            cum += data.num_nodes
            ptr.append(cum)
        return cls(
            x=torch.cat(xs, dim=0),
            edge_index=torch.cat(edges, dim=1),
            y=torch.cat(ys, dim=0),
            batch=torch.cat(batch),
            ptr=torch.tensor(ptr),
        )


class Molecules(Dataset):
    """Objects, in the manner of PyTorch Geometric."""

    def __init__(self, root):
        self.data_list = [Data(g["x"], g["edge_index"], torch.tensor([g["y"]])) for g in graphs()]

    def __len__(self):
        return len(self.data_list)

    def __getitem__(self, idx):
        return self.data_list[idx]


class Collater:
    def __call__(self, batch):
        if isinstance(batch[0], Data):
            return Batch.from_data_list(batch)
        raise TypeError(f"DataLoader found invalid type: '{type(batch[0])}'")


class Tuples(Dataset):
    """(features, edges, label) tuples."""

    def __init__(self, root):
        self.graphs = [(g["x"], g["edge_index"], g["y"]) for g in graphs()]

    def __len__(self):
        return len(self.graphs)

    def __getitem__(self, i):
        return self.graphs[i]


def join(batch):
    xs, edges, ys = zip(*batch)
    counts = [x.shape[0] for x in xs]
    offsets = np.cumsum([0] + counts[:-1])
    edge_index = torch.cat([e + int(o) for e, o in zip(edges, offsets)], dim=1)
    graph_id = torch.repeat_interleave(torch.arange(len(xs)), torch.tensor(counts))
    return torch.cat(xs), edge_index, graph_id, torch.tensor(ys)


def join_with_offset(batch):
    offset = 0
    x, edge_index, batch_idx = [], [], []
    for i, (feat, edges, _) in enumerate(batch):
        x.append(feat)
        edge_index.append(edges + offset)
        batch_idx.append(torch.tensor([i] * feat.size(0)))
        offset += feat.size(0)
    return {
        "x": torch.cat(x, 0),
        "edge_index": torch.cat(edge_index, 1),
        "batch": torch.cat(batch_idx),
        "y": torch.FloatTensor([s[2] for s in batch]),
    }


class Dense(Dataset):
    """Adjacency matrices padded to the largest graph, in __init__."""

    def __init__(self, root, most=8):
        self.adj, self.feats, self.labels = [], [], []
        for g in graphs():
            n = len(g["x"])
            adj = np.zeros((most, most), np.float32)
            adj[g["edge_index"][0], g["edge_index"][1]] = 1
            feats = np.zeros((most, 4), np.float32)
            feats[:n] = g["x"]
            self.adj.append(adj)
            self.feats.append(feats)
            self.labels.append(int(g["y"]))

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return {"adj": self.adj[i], "feats": self.feats[i].copy(), "label": self.labels[i]}


class Clouds(Dataset):
    """PointNet's: text files, points chosen with numpy, turned and jittered."""

    def __init__(self, root, npoints=20, data_augmentation=True):
        self.files = [(f"{root}/clouds/{n}.txt", f"{root}/labels/{n}.txt") for n in range(40)]
        self.npoints, self.data_augmentation = npoints, data_augmentation

    def __getitem__(self, index):
        fn = self.files[index]
        point_set = np.loadtxt(fn[0]).astype(np.float32)
        seg = np.loadtxt(fn[1]).astype(np.int64)
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
        return torch.from_numpy(point_set), torch.from_numpy(seg)

    def __len__(self):
        return len(self.files)


class Points(Dataset):
    """The first points of each file, as they are."""

    def __init__(self, root, n=16):
        self.paths = [root / "clouds" / f"{i}.txt" for i in range(40)]
        self.n = n

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        pts = np.loadtxt(self.paths[i], dtype=np.float32)[: self.n]
        return torch.from_numpy(pts), i % 4


CASES = {
    "graphs as objects, joined": Sampled(Molecules, options={"collate_fn": Collater()}, state="Python"),
    "graphs as tuples, joined": Sampled(Tuples, options={"collate_fn": join}, state="Python"),
    "graphs joined with an offset": Sampled(Tuples, options={"collate_fn": join_with_offset}, state="Python"),
    "graphs as matrices": Sampled(Dense, alone="Python"),
    "points, chosen and turned": Sampled(Clouds, state="Python"),
    "points of text files": Sampled(Points),
}
