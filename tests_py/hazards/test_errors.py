"""Bad files, and samplers and datasets that are empty, short or wrong: errors of torch's types, with torch's words."""

from __future__ import annotations

import re

import pytest
from programs import Outcome

_MAKE = """
import shutil
shutil.copytree(ROOT, "folder")
class Recorded(Files):
    "What door 1 does not read."
    def __getitem__(self, index):
        with Image.open(self.paths[index]) as opened:
            image = opened.convert("RGB")
        weight = random.random()
        return self.transform(image), weight, index
def loader(dataset, *arguments, **options):
    return DataLoader(dataset, *arguments, num_workers=WORKERS, **options)
def datasets():
    paths = files("folder")
    return {
        "folder": ImageFolder("folder", augment()),
        "read": Files(paths),
        "recorded": Recorded(paths),
        "tensors": TensorDataset(torch.arange(48.0).view(24, 2), torch.arange(24)),
    }
"""

# What becomes of one file, after the dataset was made.
_DAMAGES = {
    "gone": "path.unlink()",
    "empty": "path.write_bytes(b'')",
    "a text": "path.write_bytes(b'no image at all' * 20)",
    "cut in its header": "path.write_bytes(path.read_bytes()[:100])",
    "cut short": "path.write_bytes(path.read_bytes()[:-200])",
    "a folder": "path.unlink(), path.mkdir()",
    "a link to nothing": "path.unlink(), path.symlink_to('nothing')",
    "a link to itself": "path.unlink(), path.symlink_to(path.name)",
    "damaged within": "path.write_bytes(path.read_bytes()[:300] + bytes([255, 217, 0]) * 9 + path.read_bytes()[330:])",
}

_DAMAGED = """
for name, dataset in datasets().items():
    if name != "tensors":
        path = pathlib.Path(files("folder")[13])
        kept = path.read_bytes()
        DAMAGE
        say(name)
        made = loader(dataset, 4)
        epoch(made), epoch(made)
        path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)
        path.write_bytes(kept)
"""

# How a loader is made, of a dataset.
_ASKED = {
    "no indices": "loader(dataset, 4, sampler=[])",
    "few indices": "loader(dataset, 4, sampler=[3, 1])",
    "an index beyond the end": "loader(dataset, 4, sampler=[0, 1, 24, 2, 3, 4])",
    "an index beyond the beginning": "loader(dataset, 4, sampler=[0, -1, -24, -25, 3, 4])",
    "None": "loader(dataset, 2, sampler=[0, 1, None, 2])",
    "a text": "loader(dataset, 2, sampler=[0, 1, 'two', 2])",
    "a float": "loader(dataset, 2, sampler=[0, 1, 2.0, 2])",
    "a tensor": "loader(dataset, 2, sampler=torch.arange(5))",
    "an array": "loader(dataset, 2, sampler=np.arange(5))",
    "a bool": "loader(dataset, 2, sampler=[0, True, False])",
    "a huge number": "loader(dataset, 2, sampler=[0, 2**70, 1])",
    "a batch of none": "loader(dataset, batch_sampler=[[0, 1], [], [2]])",
    "batches that are numbers": "loader(dataset, batch_sampler=[0, 1])",
    "batches of batches": "loader(dataset, batch_sampler=[[[0, 1]], [2]])",
    "a sampler that raises": "loader(dataset, 2, sampler=(1 // (3 - i) for i in range(9)))",
    "a sampler without a length": "loader(dataset, 2, sampler=iter(range(5)))",
    "a batch size of none": "loader(dataset, None, sampler=[0, 30, 1])",
    "a subset of more": "loader(Subset(dataset, [0, 1, 40, 2, 3]), 2)",
    "an empty subset": "loader(Subset(dataset, []), 2)",
    "an empty subset, shuffled": "loader(Subset(dataset, []), 2, shuffle=True)",
    "a dataset joined with nothing": "loader(ConcatDataset([dataset, Subset(dataset, [])]), 5)",
    "fewer than a batch": "loader(Subset(dataset, [1, 2]), 4, drop_last=True)",
    "a sampler that goes on": "loader(dataset, 4, sampler=torch.utils.data.RandomSampler(dataset, True, 60))",
}

_ODD = """
for name, dataset in datasets().items():
    say(name)
    made = None
    def make():
        global made
        made = MADE
        return len(made)
    attempt(make)
    if made is not None:
        epoch(made), epoch(made)
"""

_LENGTHS = {
    "a length that lies": "lambda self: 30",
    "a length of nothing": "lambda self: 0",
    "a length below nothing": "lambda self: -1",
    "a length that is no number": "lambda self: 'many'",
    "a length that raises": "lambda self: 1 // 0",
    "no length": "None",
}

_LYING = """
for name, dataset in datasets().items():
    kind = type(dataset)
    dataset.__class__ = type(kind.__name__, (kind,), {"__len__": LENGTH})
    say(name)
    made = None
    def make():
        global made
        made = loader(dataset, 5)
        return made
    try:
        make()
    except Exception as error:
        complain(error)
    if made is not None:
        attempt(lambda: len(made)), epoch(made)
"""

PROGRAMS = {
    f"{name}, {workers} workers": _MAKE.replace("WORKERS", workers) + text
    for workers in ("0", "2")
    for name, text in (
        {f"file: {name}": _DAMAGED.replace("DAMAGE", how) for name, how in _DAMAGES.items()}
        | {f"asked: {name}": _ODD.replace("MADE", how) for name, how in _ASKED.items()}
        | {name: _LYING.replace("LENGTH", how) for name, how in _LENGTHS.items()}
    ).items()
}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", PROGRAMS)
def test_errors_are_those_of_torch(outcomes: dict[str, tuple[Outcome, Outcome]], name: str) -> None:
    theirs, ours = outcomes[name]
    assert theirs.out and ours.code == theirs.code
    assert _told(ours).splitlines() == _told(theirs).splitlines()


def _told(outcome: Outcome) -> str:
    """What a program said; docs/differences.md tells of the one text that is torch.stack's here."""
    return re.sub(
        r"RuntimeError: (stack expects each tensor to be equal size, but got .*|Trying to resize storage that .*)'",
        "RuntimeError: they differ in shape'",
        outcome.out,
    )
