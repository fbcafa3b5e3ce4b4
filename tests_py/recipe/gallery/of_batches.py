"""collate_fns: zipped, stacked, joined, of dicts, with offsets and masks, and with the index of each sample."""

import numpy as np
import torch
from sampled import Sampled
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset, default_collate


class Bags(Dataset):
    """Lists of ids that differ in length."""

    def __init__(self, root):
        rng = np.random.default_rng(5)
        self.bags = [rng.integers(0, 50, n).tolist() for n in rng.integers(1, 9, 40)]
        self.y = rng.integers(0, 2, 40).tolist()

    def __len__(self):
        return len(self.bags)

    def __getitem__(self, i):
        return self.bags[i], self.y[i]


def embedding_bag(batch):
    values, offsets, labels = [], [0], []
    for bag, y in batch:
        values.extend(bag)
        offsets.append(offsets[-1] + len(bag))
        labels.append(y)
    return torch.tensor(values), torch.tensor(offsets[:-1]), torch.FloatTensor(labels)


class Ragged(Dataset):
    def __init__(self, root):
        rng = np.random.default_rng(6)
        self.seqs = [torch.from_numpy(rng.standard_normal((n, 3)).astype(np.float32)) for n in rng.integers(2, 9, 40)]
        self.y = torch.arange(40)

    def __len__(self):
        return len(self.seqs)

    def __getitem__(self, i):
        return self.seqs[i], self.y[i]


def pad_with_zeros(batch):
    """A loop over a batch of zeros."""
    lengths = [len(seq) for seq, _ in batch]
    padded = torch.zeros(len(batch), max(lengths), 3)
    for i, (seq, _) in enumerate(batch):
        padded[i, : lengths[i]] = seq
    return padded, torch.tensor(lengths), torch.stack([y for _, y in batch])


def pad_with_mask(batch):
    seqs, ys = zip(*batch)
    lengths = torch.LongTensor([s.size(0) for s in seqs])
    padded = pad_sequence(seqs, batch_first=True)
    mask = torch.arange(padded.size(1))[None, :] < lengths[:, None]
    return padded, mask, torch.stack(ys)


def padded_by_f_pad(batch):
    longest = max(s.shape[0] for s, _ in batch)
    return (
        torch.stack([torch.nn.functional.pad(s, (0, 0, 0, longest - s.shape[0])) for s, _ in batch]),
        torch.stack([y for _, y in batch]),
    )


class Boxes(Dataset):
    """Targets as YOLO has them: the first column is the sample's place in its batch."""

    def __init__(self, root):
        rng = np.random.default_rng(8)
        self.x = torch.from_numpy(rng.random((40, 3, 4, 4), dtype=np.float32))
        self.boxes = [torch.from_numpy(rng.random((n, 5), dtype=np.float32)) for n in rng.integers(1, 5, 40)]

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        labels_out = torch.zeros((len(self.boxes[i]), 6))
        labels_out[:, 1:] = self.boxes[i]
        return self.x[i], labels_out


def yolo(batch):
    im, label = zip(*batch)
    for i, lb in enumerate(label):
        lb[:, 0] = i
    return torch.stack(im, 0), torch.cat(label, 0)


class Dicts(Dataset):
    def __init__(self, root):
        self.x, self.y = np.load(root / "x.npy"), np.load(root / "y.npy")

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return {"x": torch.from_numpy(self.x[i]), "y": int(self.y[i]), "idx": i}


def of_dicts(batch):
    return {
        k: torch.stack([b[k] for b in batch]) if torch.is_tensor(batch[0][k]) else torch.tensor([b[k] for b in batch])
        for k in batch[0]
    }


def lists_of_dicts(batch):
    out = {}
    for key in batch[0].keys():
        out[key] = [sample[key] for sample in batch]
    out["x"] = torch.stack(out["x"])
    out["y"] = torch.as_tensor(out["y"])
    return out


def to_numpy(batch):
    x = np.stack([b["x"].numpy() for b in batch])
    y = np.array([b["y"] for b in batch], dtype=np.int64)
    return torch.from_numpy(x), torch.from_numpy(y)


def default_and_more(batch):
    out = default_collate(batch)
    out["x"] = out["x"].flatten(1)
    return out


def features_and_targets(batch):
    """Of the tuples' numbers."""
    data = torch.cat([b["x"].unsqueeze(0) for b in batch], dim=0).permute(0, 2, 1).contiguous()
    target = torch.LongTensor([b["y"] for b in batch])
    return [data, target]


def zipped(batch):
    return tuple(zip(*batch))


CASES = {
    "EmbeddingBag of lists": Sampled(Bags, options={"collate_fn": embedding_bag}, state="Python"),
    "padded into zeros": Sampled(Ragged, options={"collate_fn": pad_with_zeros}),
    "padded, with a mask": Sampled(Ragged, options={"collate_fn": pad_with_mask}),
    "padded by F.pad": Sampled(Ragged, options={"collate_fn": padded_by_f_pad}, state="Python"),
    "boxes with the place of the sample": Sampled(Boxes, options={"collate_fn": yolo}, state="Python"),
    "dicts": Sampled(Dicts, options={"collate_fn": of_dicts}, state="Python"),
    "dicts to lists": Sampled(Dicts, options={"collate_fn": lists_of_dicts}, state="Python"),
    "by way of numpy": Sampled(Dicts, options={"collate_fn": to_numpy}),
    "default_collate and more": Sampled(Dicts, options={"collate_fn": default_and_more}, state="Python"),
    "rows of one, joined": Sampled(Dicts, options={"collate_fn": features_and_targets}),
    "zipped tensors": Sampled(Ragged, options={"collate_fn": zipped}, state="Python"),
}
