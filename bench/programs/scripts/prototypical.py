"""Episodes of few classes by a batch sampler of its own, prototypical networks"""

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

DATA = "folder"


class OmniglotDataset(Dataset):
    def __init__(self, root):
        self.all_items = [
            (path.name, path.parent.name, str(path)) for path in sorted((root / "train").glob("*/*.JPEG"))
        ]
        self.idx_classes = {name: i for i, name in enumerate(sorted({item[1] for item in self.all_items}))}
        self.y = [self.idx_classes[item[1]] for item in self.all_items]
        self.x = list(map(self.load_img, [item[2] for item in self.all_items]))

    def __getitem__(self, idx):
        x = self.x[idx]
        return x, self.y[idx]

    def __len__(self):
        return len(self.all_items)

    def load_img(self, path):
        x = Image.open(path).convert("L")
        x = x.resize((28, 28))
        shape = 1, x.size[0], x.size[1]
        x = np.array(x, np.float32, copy=True)
        x = 1.0 - torch.from_numpy(x) / 255.0
        x = x.transpose(0, 1).contiguous().view(shape)
        return x


class PrototypicalBatchSampler(object):
    def __init__(self, labels, classes_per_it, num_samples, iterations):
        super(PrototypicalBatchSampler, self).__init__()
        self.labels = labels
        self.classes_per_it = classes_per_it
        self.sample_per_class = num_samples
        self.iterations = iterations

        self.classes, self.counts = np.unique(self.labels, return_counts=True)
        self.classes = torch.LongTensor(self.classes)

        self.indexes = np.empty((len(self.classes), max(self.counts)), dtype=int) * np.nan
        self.indexes = torch.Tensor(self.indexes)
        self.numel_per_class = torch.zeros_like(self.classes)
        for idx, label in enumerate(self.labels):
            label_idx = np.argwhere(self.classes == label).item()
            self.indexes[label_idx, np.where(np.isnan(self.indexes[label_idx]))[0][0]] = idx
            self.numel_per_class[label_idx] += 1

    def __iter__(self):
        spc = self.sample_per_class
        cpi = self.classes_per_it

        for it in range(self.iterations):
            batch_size = spc * cpi
            batch = torch.LongTensor(batch_size)
            c_idxs = torch.randperm(len(self.classes))[:cpi]
            for i, c in enumerate(self.classes[c_idxs]):
                s = slice(i * spc, (i + 1) * spc)
                label_idx = torch.arange(len(self.classes)).long()[self.classes == c].item()
                sample_idxs = torch.randperm(self.numel_per_class[label_idx])[:spc]
                batch[s] = self.indexes[label_idx][sample_idxs]
            batch = batch[torch.randperm(len(batch))]
            yield batch

    def __len__(self):
        return self.iterations


def train_loader(root):
    dataset = OmniglotDataset(root)
    few = min(np.bincount(dataset.y))
    sampler = PrototypicalBatchSampler(dataset.y, 5, min(10, few), max(len(dataset) // 50, 1))
    return DataLoader(dataset, batch_sampler=sampler)
