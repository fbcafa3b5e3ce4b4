"""os.chdir: without workers a relative path begins where the process is, with workers where it was when they began."""

from __future__ import annotations

import pytest
from programs import Outcome

# Two folders with files of the same names, and other pixels in them.
_PLACES = """
def fill(folder, order):
    os.makedirs(folder + "/data/a"), os.makedirs(folder + "/data/b")
    for number, source in enumerate(files(ROOT)[::order]):
        os.symlink(source, f"{folder}/data/{'ab'[number % 2]}/{number:02}.jpg")
HERE = os.getcwd()
fill("one", 1), fill("two", -1)
def one(): os.chdir(HERE + "/one")
def two(): os.chdir(HERE + "/two")
def nowhere(): os.chdir("/")
one()
dataset = DATASET
def loader(**options): return DataLoader(dataset, 4, WORKERS, **options)
"""

_DATASETS = {"folder": 'ImageFolder("data", augment())', "own": 'Files(files("data"))'}
_WORKERS = {"0": "num_workers=0", "2": "num_workers=2", "kept": "num_workers=2, persistent_workers=True"}

_STEPS = {
    "before the first batch": "made = in_go(loader())\nit = iter(made)\ntwo()\ngo_on(it)\nepoch(made)",
    "within an epoch": "it = iter(in_go(loader()))\nshow(next(it))\ntwo()\nshow(next(it))\none()\ngo_on(it)",
    "between epochs": "made = in_go(loader(shuffle=True))\nepoch(made)\ntwo()\nepoch(made)\none()\nepoch(made)",
    "where no files are": "made = in_go(loader())\nit = iter(made)\nshow(next(it))\nnowhere()\ngo_on(it)\nepoch(made)",
    "two loaders": "a = iter(in_go(loader()))\ntwo()\nb = iter(loader())\n"
    "for _ in range(3):\n    show(next(a)), show(next(b)), one(), show(next(a)), two()",
    "a folder that moves": "it = iter(in_go(loader()))\nshow(next(it))\n"
    "os.rename(HERE + '/one', HERE + '/three')\ngo_on(it)",
    "worker_init_fn": "made = loader(worker_init_fn=lambda number: two())\nepoch(made)\nepoch(made)",
    "worker_init_fn of one": "epoch(loader(worker_init_fn=lambda number: two() if number else None))",
    "a damaged file": "os.unlink('data/a/04.jpg'), pathlib.Path('data/a/04.jpg').write_bytes(b'')\n"
    "it = iter(in_go(loader()))\ntwo()\ngo_on(it)",
    "a file for Pillow": "os.unlink('data/a/04.jpg')\n"
    "Image.open(files(ROOT)[0]).save('data/a/04.jpg', 'PPM')\nit = iter(in_go(loader()))\ntwo()\ngo_on(it)",
}

PROGRAMS = {
    f"{of}, {workers}, {name}": _PLACES.replace("DATASET", _DATASETS[of]).replace("WORKERS", _WORKERS[workers]) + text
    for of in _DATASETS
    for workers in _WORKERS
    for name, text in _STEPS.items()
    if of == "folder" or name in ("within an epoch", "between epochs", "a damaged file")
}


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", PROGRAMS)
def test_files_are_those_of_torch(outcomes: dict[str, tuple[Outcome, Outcome]], name: str) -> None:
    theirs, ours = outcomes[name]
    assert theirs.out and ours == theirs
