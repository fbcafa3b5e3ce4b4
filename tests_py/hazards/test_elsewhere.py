"""Loaders used where they were not made: in forked children, in other loaders, after a dataset has changed."""

from __future__ import annotations

import pytest
from programs import Outcome

_DATASETS = {
    "folder": "ImageFolder(ROOT, augment())",
    "tensors": "TensorDataset(torch.arange(24).float(), torch.arange(24))",
    "own": "Files(files(ROOT))",
}

_FORKS = {
    "an iterator goes on in a child": """
made = in_go(DataLoader(DATASET, 4, shuffle=True))
it = iter(made)
show(next(it)), show(next(it))
child = os.fork()
if child == 0:
    torch.set_num_threads(1)
    seed(3)
    go_on(it), epoch(made), epoch(DataLoader(DATASET, 4, shuffle=True, num_workers=1))
    os._exit(3)
say(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
go_on(it), epoch(made)
""",
    "a loader is used in daemons": """
import multiprocessing
made = DataLoader(DATASET, 4, shuffle=True)
def work(again):
    seed(5)
    epoch(made if again else DataLoader(DATASET, 4, shuffle=True))
def daemons():
    for again in False, True:
        process = multiprocessing.get_context("fork").Process(target=work, args=(again,), daemon=True)
        process.start(), process.join(), say(process.exitcode)
daemons(), epoch(made), daemons()
""",
}

_NESTED = {
    "kept": """
class Outer(Dataset):
    def __init__(self):
        self.inner = DataLoader(ImageFolder(ROOT, augment()), 4, shuffle=True)
        self.it = iter(self.inner)
    def __len__(self): return 14
    def __getitem__(self, index):
        batch = next(self.it, None)
        if batch is None:
            self.it = iter(self.inner)
            batch = next(self.it)
        return *batch, index
made = DataLoader(Outer(), 2, WORKERS)
epoch(made), epoch(made)
""",
    "fresh": """
class Outer(Dataset):
    def __init__(self): self.inner = DataLoader(TensorDataset(torch.arange(24.)), 4, shuffle=True)
    def __len__(self): return 6
    def __getitem__(self, index): return sum((k + 1) * x.sum() for k, (x,) in enumerate(self.inner)), torch.rand(2)
made = DataLoader(Outer(), 2, WORKERS, shuffle=True)
epoch(made), epoch(made)
""",
    "global": """
inner = iter(itertools.cycle(DataLoader(Files(files(ROOT)), 2, shuffle=True)))
class Outer(Dataset):
    def __len__(self): return 10
    def __getitem__(self, index): return next(inner)[0][0], index
made = DataLoader(Outer(), 2, WORKERS)
epoch(made), show(next(inner)), epoch(made)
""",
}

_CHANGED = {
    "a list of one's own": """
class Listed(Dataset):
    def __init__(self): self.x = [torch.full((3,), float(i)) for i in range(10)]
    def __len__(self): return len(self.x)
    def __getitem__(self, index): return self.x[index]
dataset = Listed()
made = DataLoader(dataset, 3, WORKERS, shuffle=True)
made.num_workers and in_go(made)  # without workers, torch is as quick over a list
epoch(made)
dataset.x.append(torch.full((3,), 10.0)), epoch(made)
dataset.x.extend([torch.full((3,), 11.0)] * 5), epoch(made)
dataset.x[4:] = []
epoch(made)
""",
    "paths": """
dataset = Files(files(ROOT)[:10])
made = in_go(DataLoader(dataset, 3, WORKERS))
epoch(made)
dataset.paths.extend(files(ROOT)[10:]), epoch(made)
dataset.paths[4:] = []
epoch(made)
""",
    "a folder": """
dataset = ImageFolder(ROOT, augment())
whole = list(dataset.samples)
dataset.samples = whole[:10]
made = in_go(DataLoader(dataset, 3, WORKERS))
epoch(made)
dataset.samples = list(whole)
epoch(made)
dataset.samples[4:] = []
epoch(made)
""",
    "tensors": """
dataset = TensorDataset(torch.arange(10.))
made = in_go(DataLoader(dataset, 3, WORKERS))
epoch(made)
dataset.tensors = (torch.arange(16.),)
epoch(made)
dataset.tensors = (torch.arange(4.),)
epoch(made)
""",
}

_WORKERS = {"0": "num_workers=0", "2": "num_workers=2", "kept": "num_workers=2, persistent_workers=True"}

PROGRAMS = (
    {f"{name}, {of}": text.replace("DATASET", made) for name, text in _FORKS.items() for of, made in _DATASETS.items()}
    | {f"nested, {name}, {w}": text.replace("WORKERS", _WORKERS[w]) for name, text in _NESTED.items() for w in "02"}
    | {
        f"{name} that changes, {workers}": text.replace("WORKERS", options)
        for name, text in _CHANGED.items()
        for workers, options in _WORKERS.items()
    }
)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", PROGRAMS)
def test_batches_are_those_of_torch(outcomes: dict[str, tuple[Outcome, Outcome]], name: str) -> None:
    theirs, ours = outcomes[name]
    assert theirs.out and ours == theirs
