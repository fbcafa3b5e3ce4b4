"""Samples of which Go makes the image, and Python a value by a function of the user's: batches are torch's.

Each function is one that is not read through: loops over tokens, mostly.
"""

# ruff: noqa: B905, C416, E501, RUF005 - as people write, and rows of a table

from __future__ import annotations

import random
import re
import string
import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import torchvision.transforms as T
from photos import picture, save
from PIL import Image
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset, Subset, default_collate, get_worker_info
from twins import Program, changed, check, errors, loader_of

import goloader

COUNT, LENGTH = 13, 7
WORDS = ["a", "red", "dog", "and", "two", "cats", "sit", "on", "the", "Mat", ".", "why", ",", "not"]
TRANSFORM = T.Compose([T.RandomCrop((12, 10)), T.RandomHorizontalFlip(), T.ToTensor()])


class Vocabulary:
    unknown = 3

    def __init__(self) -> None:
        self.stoi = {"<PAD>": 0, "<SOS>": 1, "<EOS>": 2, "<UNK>": 3}
        self.pattern = re.compile(r"[a-z]+")
        for word in WORDS[::2]:
            self.stoi[word.lower()] = len(self.stoi)

    def __len__(self) -> int:
        return len(self.stoi)

    @staticmethod
    def tokens(text: str) -> list[str]:
        return [each.lower() for each in text.split(" ")]

    def numbers(self, text: str) -> list[int]:
        return [self.stoi[each] if each in self.stoi else self.stoi["<UNK>"] for each in self.tokens(text)]

    def strict(self, text: str) -> list[int]:
        return [self.stoi[each] for each in self.tokens(text)]

    def counted(self, text: str) -> int:
        count = 0
        for each in text:
            if each in string.punctuation:
                count += 1
        return count + len(self)

    def padded(self, text: str, length: int = LENGTH) -> torch.Tensor:
        made = torch.zeros(length, dtype=torch.long)
        for k, number in enumerate(self.numbers(text)[:length]):
            made[k] = number
        return made

    def found(self, text: str) -> Any:
        words = self.pattern.findall(text)
        mask = [0] * LENGTH
        for k in range(min(len(words), LENGTH)):
            mask[k] = 1
        return {"ids": torch.tensor(mask), "text": " ".join(words), "count": len(words)}

    def as_array(self, text: str) -> Any:
        rows = []
        for each in self.numbers(text):
            rows.append(each % 5)
        rows += [0] * (20 - len(rows))
        return np.array(rows, dtype=np.float32).reshape(4, 5)

    def turned(self, text: str) -> torch.Tensor:
        made = torch.zeros(2, 3, 4)
        for k, each in enumerate(self.numbers(text)):
            made[k % 2, k % 3, k % 4] = each
        return made.permute(2, 0, 1)


class Tokenizer:
    def __init__(self, length: int = 20) -> None:
        self.length = length

    def __call__(self, texts: list[str]) -> torch.Tensor:
        result = torch.zeros(len(texts), self.length, dtype=torch.long)
        for i, text in enumerate(texts):
            numbers = [9] + [1 + sum(map(ord, word)) % 490 for word in text.lower().split()] + [8]
            result[i, : len(numbers)] = torch.tensor(numbers)
        return result


class Captions(Dataset[Any]):
    size = 4

    def __init__(self, root: Path) -> None:
        r = random.Random(5)
        self.files = sorted(map(str, root.iterdir()))
        self.texts = [" ".join(r.choices(WORDS, k=r.randint(1, 12))) for _ in self.files]
        self.frame = pd.DataFrame({"file": self.files, "caption": self.texts})
        self.captions = self.frame["caption"]
        self.vocab, self.tokenize, self.flag, self.length = Vocabulary(), Tokenizer(), True, LENGTH

    def __len__(self) -> int:
        return len(self.files)

    def image(self, i: int) -> Any:
        return TRANSFORM(Image.open(self.files[i]).convert("RGB"))

    def encoded(self, text: str) -> torch.Tensor:
        numbers = []
        for each in text.split():
            numbers.append(self.vocab.stoi.get(each, 0))
        return torch.tensor(numbers[: self.size] + [0] * (self.size - len(numbers)))


def encode(text: str, length: int = 6) -> list[int]:
    return [ord(each) % 7 for each in text.ljust(length)[:length]]  # ljust is not listed


def letters(text: str, length: int = 6) -> list[int]:
    return [ord(each) % 7 for each in (text + " " * length)[:length]]


class Padded:
    def __init__(self, value: int) -> None:
        self.value = value

    def __call__(self, batch: Any) -> Any:
        images = torch.cat([each[0].unsqueeze(0) for each in batch], dim=0)
        return images, pad_sequence([each[1] for each in batch], batch_first=False, padding_value=self.value)


def listed(batch: Any) -> Any:
    images, texts = zip(*batch)
    return torch.stack(images), list(texts), [len(each) for each in texts]


def joined(batch: Any) -> Any:
    return torch.stack([each[0] for each in batch]), torch.cat([each[1] for each in batch])


def called(batch: Any) -> Any:
    return tuple(zip(*batch))


def mapped(batch: Any) -> Any:
    return default_collate([{"image": each[0], "text": each[1][:2]} for each in batch])


def _tutorial(self: Any, i: int) -> Any:
    caption = self.captions[i]
    image = self.image(i)
    numbers = [self.vocab.stoi["<SOS>"]]
    numbers += self.vocab.numbers(caption)
    numbers.append(self.vocab.stoi["<EOS>"])
    return image, torch.tensor(numbers)


def _spread(self: Any, i: int) -> Any:
    return self.image(i), torch.tensor([1, *self.vocab.numbers(self.texts[i]), 2])


def _extended(self: Any, i: int) -> Any:
    made = []
    made.extend(self.vocab.numbers(self.texts[i]))
    made += [4, 5]
    made = made + [6]
    return self.image(i), torch.LongTensor(made)


# What a sample is; what puts samples together, None for default_collate.
FITTING: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = [
    ("the tutorial's", _tutorial, (Padded(0), listed, joined, called)),
    ("spread", _spread, (Padded(7), called)),
    ("extended", _extended, (Padded(7),)),
    ("tokenizer", lambda self, i: (self.image(i), self.tokenize([str(self.texts[i])])[0]), (None, listed, called, mapped)),
    ("own method", lambda self, i: {"x": self.image(i), "y": self.encoded(self.texts[i]), "i": i}, (None,)),
    ("padded", lambda self, i: (self.image(i), self.vocab.padded(self.texts[i], self.length)), (None, joined)),
    ("padded by name", lambda self, i: (self.vocab.padded(length=5, text=self.texts[i]), self.image(i)), (None,)),
    ("a dict", lambda self, i: (self.image(i), self.vocab.found(self.captions.iloc[i])), (None, called)),
    ("an item of one", lambda self, i: (self.image(i), self.vocab.found(self.texts[i])["text"]), (None, called)),
    ("an array", lambda self, i: (self.image(i), self.vocab.as_array(self.frame.iloc[i, 1])), (None, called)),
    ("of an array", lambda self, i: (self.image(i), torch.from_numpy(self.vocab.as_array(self.texts[i])).long() * 2), (None,)),
    ("an order of its own", lambda self, i: (self.image(i), self.vocab.turned(self.texts[i])), (None, listed)),
    ("numbers", lambda self, i: (self.image(i), self.vocab.counted(self.texts[i]), random.random()), (None, called)),
    ("two", lambda self, i: (self.image(i), letters(self.texts[i]), torch.tensor(letters(self.texts[i], 3))), (None,)),
    ("arithmetic", lambda self, i: (self.image(i), self.vocab.padded(self.texts[i].lower())[1:] / 3 + 1), (None,)),
    ("unpacked", lambda self, i: (self.image(i), letters(self.texts[i])[0], -letters(self.texts[i])[1]), (None, called)),
]  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("captions")
    for k in range(COUNT):
        (root / f"{k:02}.jpg").write_bytes(save(picture(24 + k % 3, 20 + k % 2, k), "JPEG"))
    return root


def dataset_of(getitem: Any, root: Path) -> Any:
    return type("Sample", (Captions,), {"__getitem__": getitem})(root)


def _name(part: Any) -> str:
    """The same in each process."""
    return part if type(part) is str else getattr(part, "__name__", type(part).__name__)


CASES = [(name, code, collate) for name, code, collates in FITTING for collate in collates]


@pytest.mark.parametrize(("name", "code", "collate"), CASES, ids=_name)
@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_go_makes_images_beside_what_python_makes(name: str, code: Any, collate: Any, workers: int, root: Path) -> None:
    dataset = dataset_of(code, root)
    if workers and name == "unpacked":  # a Subset, now and then
        dataset = Subset(dataset, [3, 1, 7, 7, 2, 12])
    options = {} if collate is None else {"collate_fn": lambda: collate}
    arguments = loader_of(dataset, batch_size=4, shuffle=True, num_workers=workers, **options)
    events = check(Program(arguments, seed=workers))
    assert not errors(events)
    explained = str(goloader.DataLoader(**arguments()).explain())
    assert "of its values" in explained, explained


def test_two_processes_give_what_torch_gives(root: Path) -> None:
    check(
        Program(
            loader_of(
                dataset_of(_tutorial, root), batch_size=3, shuffle=True, num_workers=2, collate_fn=lambda: Padded(0)
            )
        )
    )


class Odd(Captions):
    """What its functions do has to be done where torch does it."""

    many: list[str] = []  # noqa: RUF012 - as people write

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.seen, self.n, self.lazy, self.kept = {}, 0, defaultdict(lambda: 3, self.vocab.stoi), Kept(self.vocab.stoi)
        self.matrix = torch.eye(4)

    def draws(self, text: str) -> list[int]:
        return [random.randrange(9) for _ in text][:2]

    def draws_by_torch(self, text: str) -> torch.Tensor:
        return torch.stack([torch.rand(1) for _ in text][:2])

    def remembers(self, text: str) -> int:
        for each in text.split():
            self.seen[each] = len(self.seen)
        return self.seen[text.split()[0]]

    def sets(self, text: str) -> int:
        for _ in text:
            self.n = self.n + 1
        return self.n

    def counts(self, text: str) -> int:
        for each in text.split():
            LOG.append(each)
        return len(LOG)

    def fills(self, text: str) -> int:
        return sum(self.lazy[each] for each in text.split())

    def asks(self, text: str) -> int:
        return sum(self.kept[each] for each in text.split())

    def shows(self, text: str) -> int:
        for each in text[:1]:
            print(each, end="")
        return len(text)

    def multiplies(self, text: str) -> torch.Tensor:
        made = torch.zeros(4)
        for k, each in enumerate(text[:4]):
            made[k] = ord(each)
        return made @ torch.eye(4)

    def asks_who(self, text: str) -> int:
        for _ in text:
            info = get_worker_info()
        return -1 if info is None else info.id

    def takes_long(self, text: str) -> int:
        return sum(k % 7 for k in range(30_000)) + len(text)

    def adds(self, text: str, to: list[int]) -> list[int]:
        for each in text[:2]:
            to.append(ord(each))
        return to

    def again(self, text: str) -> Any:
        for each in text:
            yield ord(each)

    def of_class(self, text: str) -> list[str]:
        for each in text[:1]:
            self.many.append(each)
        return [*self.many]


class Kept(dict):  # type: ignore[type-arg]
    def __missing__(self, key: str) -> int:
        self[key] = len(self)
        return len(self)


LOG: list[str] = []
LEFT: dict[str, Callable[..., Any]] = {
    "draws": lambda self, i: (self.image(i), self.draws(self.texts[i])),
    "draws by torch": lambda self, i: (self.image(i), self.draws_by_torch(self.texts[i])),
    "remembers": lambda self, i: (self.image(i), self.remembers(self.texts[i])),
    "sets": lambda self, i: (self.image(i), self.sets(self.texts[i])),
    "counts": lambda self, i: (self.image(i), self.counts(self.texts[i])),
    "fills": lambda self, i: (self.image(i), self.fills(self.texts[i])),
    "asks": lambda self, i: (self.image(i), self.asks(self.texts[i])),
    "shows": lambda self, i: (self.image(i), self.shows(self.texts[i])),
    "multiplies": lambda self, i: (self.image(i), self.multiplies(self.texts[i])),
    "asks who": lambda self, i: (self.image(i), self.asks_who(self.texts[i])),
    "takes long": lambda self, i: (self.image(i), self.takes_long(self.texts[i])),
    "adds": lambda self, i: (self.image(i), self.adds(self.texts[i], [1])),
    "once": lambda self, i: (self.image(i), [*self.again(self.texts[i])][:1]),
    "of the class": lambda self, i: (self.image(i), len(self.of_class(self.texts[i]))),
    "not listed": lambda self, i: (self.image(i), encode(self.texts[i])),
    "of what is drawn": lambda self, i: (self.image(i), self.vocab.padded(random.choice(self.texts))),
    "one of two": lambda self, i: (
        self.image(i), self.vocab.padded(self.texts[i]) if random.random() < 0.5 else torch.zeros(LENGTH)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LEFT)
def test_python_makes_samples_where_a_function_may_be_seen(name: str, root: Path) -> None:
    def dataset() -> Any:
        LOG.clear()
        Odd.many.clear()
        return type("Sample", (Odd,), {"__getitem__": LEFT[name]})(root)

    arguments = loader_of(dataset, batch_size=4, shuffle=True, collate_fn=lambda: called)
    check(Program(arguments), native=False)


def changing(batch: Any) -> Any:
    for each in batch:
        each[1][0] = 7
    return called(batch)


def _one_twice(self: Any, i: int) -> Any:
    numbers = self.vocab.padded(self.texts[i])
    return self.image(i), numbers, {"again": numbers}


@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_a_collate_fn_that_changes_samples_gets_torchs(workers: int, root: Path) -> None:
    arguments = loader_of(dataset_of(_one_twice, root), batch_size=4, num_workers=workers, collate_fn=lambda: changing)
    check(Program(arguments), native=False)
    arguments = loader_of(dataset_of(_one_twice, root), batch_size=4, num_workers=workers)
    check(Program(arguments))


def _strict(self: Any, i: int) -> Any:
    image = self.image(i)
    return image, torch.tensor(self.vocab.strict(self.texts[i])[:1]), random.random()


def _of_kinds(self: Any, i: int) -> Any:
    return self.image(i), kinds(self.texts[i], i)


def kinds(text: str, i: int) -> Any:
    for _ in text:
        if i == 9:
            return [1, 2]
    return torch.zeros(1 + (i == 6))


@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("unknown", ["nobody knows", "nobody knows it"])
@pytest.mark.parametrize("code", [_strict, _of_kinds])
def test_errors_are_those_of_the_dataset(code: Any, unknown: str, workers: int, root: Path) -> None:
    def dataset() -> Any:
        made = dataset_of(code, root)
        made.texts[:] = ["a dog" if k < 4 or k % 2 else unknown for k in range(COUNT)]
        return made

    collate = {} if code is _strict else {"collate_fn": lambda: called}
    for seed in range(2):
        arguments = loader_of(dataset, batch_size=3, shuffle=True, num_workers=workers, **collate)
        # Words of texts that have as many are looked up ahead, where one of them is an error: Python runs the code.
        events = check(Program(arguments, seed=seed), native=code is not _strict or unknown != "nobody knows")
        assert bool(errors(events)) == (code is _strict)


@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_functions_use_what_the_user_has_changed(workers: int, root: Path) -> None:
    made: list[Any] = []

    def dataset() -> Any:
        made.append(dataset_of(lambda self, i: (self.image(i), self.vocab.padded(self.texts[i])), root))
        return made[-1]

    def before(epoch: int, loader: Any) -> None:
        if epoch == 1:
            made[-1].vocab.stoi["dog"] = 77
        elif epoch == 2:
            made[-1].vocab.tokens = lambda text: [each for each in reversed(text.split(" "))]
        elif epoch == 3:
            made[-1].vocab.unknown, made[-1].vocab.stoi = 5, {"<UNK>": 1}

    arguments = loader_of(dataset, batch_size=4, shuffle=True, num_workers=workers)
    check(Program(arguments, epochs=4, before=before))


@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_what_is_changed_amid_an_epoch_is_seen_as_torch_sees_it(workers: int, root: Path) -> None:
    def change(dataset: Any, number: int) -> None:
        dataset.vocab.stoi["dog"] = number

    def run(kind: Any) -> list[Any]:
        make = lambda: dataset_of(lambda self, i: (self.image(i), self.vocab.padded(self.texts[i])), root)  # noqa: E731
        return list(changed(kind, make, change, batch_size=2, shuffle=True, num_workers=workers))

    assert run(goloader.DataLoader) == run(torch.utils.data.DataLoader)


def test_workers_that_were_begun_before_a_change_say_so(root: Path) -> None:
    dataset = dataset_of(lambda self, i: (self.image(i), self.vocab.padded(self.texts[i])), root)
    loader: Any = goloader.DataLoader(dataset, batch_size=1, num_workers=1, prefetch_factor=2)
    batches = iter(loader)
    next(batches)
    dataset.vocab.stoi["dog"] = 99
    with pytest.raises(RuntimeError, match="it was changed since the workers began"):
        list(batches)


def test_warnings_are_those_of_the_users_line(root: Path) -> None:
    def getitem(self: Any, i: int) -> Any:
        return self.image(i), i % self.divisors[i]

    def warned(kind: Any) -> list[tuple[str, str, int]]:
        dataset = dataset_of(getitem, root)
        dataset.divisors = np.array([3, 5, 2, 1, 0, 7, 0] * 2, np.int8)[:COUNT]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            loader = kind(dataset, batch_size=2)
            if kind is goloader.DataLoader:
                assert loader.explain().native
            list(loader)
        return [(str(each.message), each.filename, each.lineno) for each in caught]

    assert len(warned(torch.utils.data.DataLoader)) == 3
    assert warned(goloader.DataLoader) == warned(torch.utils.data.DataLoader)
