"""Arrays: in memory, in .npy, .npz and raw files, mapped, in lists, and windows of them."""

import os
from glob import glob

import numpy as np
import torch
from sampled import Sampled
from torch.utils.data import ConcatDataset, Dataset, Subset, TensorDataset


class NpyPair(Dataset):
    def __init__(self, root, train=True):
        self.X = np.load(os.path.join(root, "x.npy"))
        self.y = np.load(os.path.join(root, "y.npy"))

    def __len__(self):
        return self.X.shape[0]

    def __getitem__(self, idx):
        x = torch.from_numpy(self.X[idx]).float()
        y = torch.tensor(self.y[idx], dtype=torch.long)
        return x, y


class Mapped(Dataset):
    """Opened as it is first used, as forums advise."""

    def __init__(self, path):
        self.path = path
        self.data = None
        self.n = np.load(path, mmap_mode="r").shape[0]

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if self.data is None:
            self.data = np.load(self.path, mmap_mode="r")
        return torch.from_numpy(np.array(self.data[i]))


class MemmapRows(torch.utils.data.Dataset):
    def __init__(self, path, dim=12):
        self.arr = np.memmap(path, dtype="float32", mode="r").reshape(-1, dim)

    def __getitem__(self, i):
        row = self.arr[i].copy()
        return {"features": row[:-1], "target": row[-1]}

    def __len__(self):
        return len(self.arr)


class Npz(Dataset):
    """A grey-level table with a transform by hand."""

    def __init__(self, path):
        with np.load(path) as f:
            self.data, self.target = f["data"], f["target"]

    def __getitem__(self, index):
        img, target = self.data[index], int(self.target[index])
        img = img.astype(np.float32) / 255.0
        img = (img - 0.1307) / 0.3081
        return torch.from_numpy(img).view(3, 3).unsqueeze(0), target

    def __len__(self):
        return self.target.size


class TokenWindows(Dataset):
    """nanoGPT's get_batch as a Dataset."""

    def __init__(self, path, block_size=32):
        self.block_size = block_size
        self.data = np.memmap(path, dtype=np.uint16, mode="r")

    def __len__(self):
        return (len(self.data) - 1) // self.block_size

    def __getitem__(self, idx):
        start = idx * self.block_size
        chunk = self.data[start : start + self.block_size + 1].astype(np.int64)
        return {"input_ids": torch.from_numpy(chunk[:-1]), "labels": torch.from_numpy(chunk[1:])}


class ListOfTensors(Dataset):
    def __init__(self, items, labels):
        super().__init__()
        assert len(items) == len(labels)
        self.items = items
        self.labels = labels

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        item = self.items[i]
        return (item - item.mean()) / (item.std() + 1e-6), self.labels[i]


class Volumes(Dataset):
    """A file for each sample."""

    def __init__(self, folder):
        self.files = sorted(glob(os.path.join(folder, "*.npy")))

    def __getitem__(self, i):
        vol = np.load(self.files[i])
        vol = np.clip(vol, -1, 1)
        return torch.from_numpy(vol)[None], os.path.basename(self.files[i])[:-4]

    def __len__(self):
        return len(self.files)


class Noisy(Dataset):
    """Gaussian noise over each row, from torch's generator."""

    def __init__(self, x):
        self.x = torch.as_tensor(x)

    def __getitem__(self, i):
        clean = self.x[i]
        noisy = clean + 0.1 * torch.randn_like(clean)
        return noisy, clean

    def __len__(self):
        return len(self.x)


class Pairs(Dataset):
    """Two arrays of which one is indexed by a table of neighbours."""

    def __init__(self, x):
        self.x = x
        self.neighbours = [(7 * i + 3) % len(x) for i in range(len(x))]

    def __getitem__(self, i):
        j = self.neighbours[i]
        return self.x[i], self.x[j], np.float32(i == j)

    def __len__(self):
        return len(self.x)


class RandomCrop1d(Dataset):
    """A window at a place that is drawn."""

    def __init__(self, path, size=24):
        self.series = np.load(path).reshape(40, -1)
        self.size = size

    def __getitem__(self, i):
        start = np.random.randint(0, self.series.shape[1] - self.size + 1)
        return torch.tensor(self.series[i, start : start + self.size])

    def __len__(self):
        return len(self.series)


def x(root):
    return np.load(root / "x.npy")


def loaded_pair(root):
    features, labels = torch.load(root / "pair.pt")
    return TensorDataset(features, labels)


def list_of_tensors(root):
    torch.manual_seed(0)
    return ListOfTensors([torch.rand(3, 4) for _ in range(40)], torch.arange(40))


def split(root):
    whole = NpyPair(root)
    return torch.utils.data.random_split(whole, [30, 10], generator=torch.Generator().manual_seed(0))[0]


CASES = {
    "npy, x and y": Sampled(NpyPair),
    "npy, mapped when first used": Sampled(lambda root: Mapped(root / "x.npy"), state="Python", alone="Go"),
    "raw file as a matrix": Sampled(lambda root: MemmapRows(root / "table.dat")),
    "npz, grey levels": Sampled(lambda root: Npz(root / "both.npz")),
    "tokens in a memory map": Sampled(lambda root: TokenWindows(root / "train.bin")),
    "list of tensors, standardised": Sampled(list_of_tensors),
    "npy, a file a sample": Sampled(lambda root: Volumes(root / "volumes")),
    "noise on rows": Sampled(lambda root: Noisy(x(root)), state="Python"),
    "neighbours of rows": Sampled(lambda root: Pairs(x(root))),
    "window at random": Sampled(lambda root: RandomCrop1d(root / "x.npy"), state="Python"),
    "TensorDataset of a .pt": Sampled(loaded_pair),
    "random_split of npy": Sampled(split),
    "ConcatDataset of npy": Sampled(lambda root: ConcatDataset([NpyPair(root), Subset(NpyPair(root), [3, 1, 4])])),
}
