"""Graphs joined into one large graph a batch, in the manner of PyTorch Geometric"""

import torch
from torch.utils.data import Dataset

DATA = "molecules"


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


class MoleculeDataset(Dataset):
    def __init__(self, path):
        self.data_list = [
            Data(x=graph["x"], edge_index=graph["edge_index"], y=torch.tensor([graph["y"]]))
            for graph in torch.load(path)
        ]

    def __len__(self):
        return len(self.data_list)

    def __getitem__(self, idx):
        return self.data_list[idx]


class Collater:
    def __call__(self, batch):
        elem = batch[0]
        if isinstance(elem, Data):
            return Batch.from_data_list(batch)
        raise TypeError(f"DataLoader found invalid type: '{type(elem)}'")


class GraphLoader(torch.utils.data.DataLoader):
    def __init__(self, dataset, batch_size=1, shuffle=False, **kwargs):
        kwargs.pop("collate_fn", None)
        super().__init__(dataset, batch_size, shuffle, collate_fn=Collater(), **kwargs)


def train_loader(root):
    return GraphLoader(MoleculeDataset(root / "data.pt"), batch_size=32, shuffle=True)
