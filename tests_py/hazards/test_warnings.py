"""Warnings of libraries, from code that is recorded: they name the user's line, and come as often as under torch."""

from __future__ import annotations

import pytest
from programs import Outcome

# What warns: an image of a recorded class, and a tensor of it.
_WARNS = {
    "torch, of an array that is not writable": "torch.from_numpy(np.asarray(image))",
    "torch, of a copy": "torch.tensor(T.functional.to_tensor(image))",
    "torch, of a copy to another dtype": "torch.tensor(T.functional.to_tensor(image), dtype=torch.float64)",
    "torch, of a method": "T.functional.to_tensor(image).T",
    "torch, of a function": "torch.cross(*[T.functional.to_tensor(image).movedim(0, 2)] * 2)",
    "numpy, of numbers": "torch.from_numpy(np.log(np.asarray(image.point(lambda _: 0), np.float32)))",
    "numpy, of a function": "torch.tensor(np.mean(np.array(image)[:0]))",
    "the user": "T.functional.to_tensor(image) * (warnings.warn('mine') or 1)",
}

_PROGRAM = """
parent = os.getpid()
def shown(message, category, filename, line, file=None, text=None):
    # In one piece: workers write, too.
    where = "main" if os.getpid() == parent else "worker"
    os.write(1, f"{where} {category.__name__} {os.path.basename(filename)} {line} {str(message)[:80]}\\n".encode())
warnings.showwarning = shown

class Noisy(Dataset):
    def __len__(self):
        return 24
    def __getitem__(self, index):
        image = Image.open(files(ROOT)[index]).convert("RGB").resize((24, 20))
        if index >= FIRST:
            return WARNS
        return T.functional.to_tensor(image)
made = DataLoader(Noisy(), 1, num_workers=WORKERS)
for _ in range(2):
    for batch in made:
        pass
"""

PROGRAMS = {
    f"{name}, from sample {first} on, {workers} workers": _PROGRAM.replace("WARNS", text)
    .replace("FIRST", first)
    .replace("WORKERS", workers)
    for name, text in _WARNS.items()
    for first in ("0", "12")
    for workers in ("0", "2")
}

_PLACED = """
CONDITION
class Rows(Dataset):
    x = np.arange(120, dtype=np.float32).reshape(30, 4)
    def __len__(self):
        return 30
    def __getitem__(self, index):
        return torch.from_numpy(self.x[index]) * 2, index % 3
class Unread(Rows):
    def __getitem__(self, index):
        return eval("super(Unread, self).__getitem__(index)", globals() | {"self": self, "index": index})
def shown(message, category, filename, line, file=None, text=None):
    os.write(1, f"{category.__name__} {filename} {line} {str(message)[:50]}\\n".encode())
warnings.showwarning = shown
for dataset in (Rows(), Unread(), ImageFolder(ROOT, T.Compose([T.Resize((8, 8)), T.ToTensor()]))):
    loader = DataLoader(dataset, 8, OPTIONS)
    for _ in range(2):
        for batch in loader:
            pass
"""

PROGRAMS["too many workers, for what Go does and what Python does"] = _PLACED.replace(
    "CONDITION", "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})"
).replace("OPTIONS", "num_workers=2")

PROGRAMS |= {
    f"pages that nothing can lock, {workers} workers": _PLACED.replace(
        "CONDITION", "say('a machine without an accelerator')"
    ).replace("OPTIONS", f"num_workers={workers}, pin_memory=True")
    for workers in (0, 1)
}

PROGRAMS |= {
    f"a stream that gives more than its length, {workers} workers": f"""
class Longer(IterableDataset):
    def __iter__(self):
        return iter(range(7))
    def __len__(self):
        return 3
    def __repr__(self):
        return "Longer"
def shown(message, category, filename, line, file=None, text=None):
    say(category.__name__, filename, line, message)
warnings.showwarning = shown
loader = DataLoader(Longer(), 2, num_workers={workers})
for _ in range(2):
    say(len(loader), len(list(loader)))
iterator = iter(loader)
try:
    while True:
        next(iterator)
except StopIteration:
    pass
warnings.simplefilter("error")
go_on(iter(loader))
"""
    for workers in (0, 1)
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_warnings_are_those_of_torch(outcomes: dict[str, tuple[Outcome, Outcome]], name: str) -> None:
    theirs, ours = outcomes[name]
    assert theirs.out and sorted(ours.out.splitlines()) == sorted(theirs.out.splitlines())
