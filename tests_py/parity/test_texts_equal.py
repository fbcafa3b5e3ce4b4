"""Classes of one's own that make tokens of the characters of a text: batches and errors are torch's."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset
from twins import Program, check, loader_of

import goloader

WORKERS = pytest.mark.parametrize("num_workers", [0, 1, 3])
TEXT = "To be, or not to be, that is the question: whether 'tis nobler in the mind to suffer"


class Text(Dataset[Any]):
    def __init__(self, text: str = TEXT, block: int = 7, numbers: Any = None) -> None:
        self.text, self.block = text, block
        self.stoi = {each: k for k, each in enumerate(sorted(set(text)))} if numbers is None else numbers

    def __len__(self) -> int:
        return len(self.text) - self.block


class Chunks(Text):
    def __getitem__(self, idx: int) -> Any:
        chunk = self.text[idx : idx + self.block + 1]
        dix = [self.stoi[s] for s in chunk]
        return torch.tensor(dix[:-1], dtype=torch.long), torch.tensor(dix[1:], dtype=torch.long)


class Encoded(Text):
    def encode(self, text: str) -> list[int]:
        return [self.stoi[c] for c in text]

    def __getitem__(self, i: int) -> Any:
        ids = self.encode(self.text[i * 3 : i * 3 + self.block])
        return {"ids": torch.LongTensor(ids), "mask": torch.tensor(ids) > 3, "sum": torch.FloatTensor(ids[::2]) / 4}

    def __len__(self) -> int:
        return (len(self.text) - self.block) // 3


class Looped(Text):
    def __getitem__(self, i: int) -> Any:
        x, y = [], []
        for character in self.text[i : i + self.block]:
            x.append(self.stoi[character])
        for character in self.text[i + 1 : i + 1 + self.block]:
            y.append(self.stoi[character])
        return np.array(x), np.asarray(y, dtype=np.float32)


class Known(Text):
    def __getitem__(self, i: int) -> Any:
        return torch.tensor([self.stoi.get(c, 2) for c in self.text[i : i + self.block]])


KINDS = [Chunks, Encoded, Looped, Known]


@WORKERS
@pytest.mark.parametrize("kind", KINDS)
def test_texts(kind: Any, num_workers: int) -> None:
    check(Program(loader_of(kind(), batch_size=6, shuffle=True, num_workers=num_workers)))


@pytest.mark.slow  # many seconds
def test_any_text_and_numbers() -> None:
    draw = random.Random(0)
    for _ in range(40):
        alphabet = draw.sample([*"abc\0é漢\ud800😀", chr(0x10FFFF)], draw.randint(1, 9))
        text = "".join(draw.choices(alphabet, k=draw.randint(12, 90)))
        ends = draw.choice([(0, 5), (-4, 4), (250, 260), (-(2**63), 2**63 - 1), (2**31, 2**40)])
        numbers = {each: draw.randint(*ends) for each in (*alphabet, "unused", "x")}
        dataset = draw.choice(KINDS)(text, draw.randint(2, 9), numbers)
        size, workers = draw.randint(1, 9), draw.choice([0, 0, 0, 0, 0, 0, 1])
        # torch makes no float of these, nor numpy such integers beside small ones: Python's matter.
        native = None if abs(ends[0]) >= 2**31 else True
        program = Program(loader_of(dataset, batch_size=size, shuffle=True, num_workers=workers), epochs=1)
        check(program, native=goloader.DataLoader(dataset).explain().native if native is None else native)


def renumber(dataset: Any) -> None:
    dataset.stoi["t"] = 99


def revalue(dataset: Any) -> None:
    dataset.stoi.update({each: float(number) for each, number in dataset.stoi.items()})


def forget(dataset: Any) -> None:
    del dataset.stoi["b"]


def replace(dataset: Any) -> None:
    dataset.stoi = dict.fromkeys(dataset.stoi, 7)


def rewrite(dataset: Any) -> None:
    dataset.text = dataset.text.upper().lower()


def shorten(dataset: Any) -> None:
    dataset.block -= 2


def subclass(dataset: Any) -> None:
    class Doubling(dict[str, int]):
        def __getitem__(self, key: str) -> int:
            return 2 * super().__getitem__(key)

    dataset.stoi = Doubling(dataset.stoi)


@pytest.mark.parametrize("change", [renumber, revalue, forget, replace, rewrite, shorten, subclass])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_changed_in_an_epoch_is_seen(kind: Any, change: Any) -> None:
    made = []
    for loader_kind in (goloader.DataLoader, DataLoader):
        dataset, shown = kind(TEXT.lower()), []
        loader = loader_kind(dataset, batch_size=4)
        assert loader_kind is DataLoader or loader.explain().native
        try:
            for number, batch in enumerate(loader):
                shown.append(repr(batch))
                if number == 2:
                    change(dataset)
        except Exception as error:
            shown.append(f"{type(error).__name__}: {error}")
        made.append(shown)
    assert made[0] == made[1]


def stay() -> dict[str, Any]:
    class Default(dict[str, int]):
        def __missing__(self, key: str) -> int:
            return 0

    class Own(str):
        pass

    return {
        "a character without a number": Chunks(TEXT, 7, {"a": 1}),
        "a dict of one's own": Chunks(TEXT, 7, Default()),
        "numbers that are none": Chunks(TEXT, 7, dict.fromkeys(TEXT, True)),
        "numbers that are floats": Chunks(TEXT, 7, dict.fromkeys(TEXT, 1.5)),
        "numbers that are too large": Chunks(TEXT, 7, dict.fromkeys(TEXT, 2**64)),
        "a large dict": Chunks(TEXT, 7, dict.fromkeys(map(chr, range(5000)), 3)),
        "a text of one's own": Chunks(Own(TEXT), 7),
        "bytes": Chunks(TEXT.encode(), 7, dict.fromkeys(TEXT.encode(), 1)),  # type: ignore[arg-type]
        "no text": Chunks("", 7, {"a": 1}),
    }


def test_characters_without_a_number_may_have_one() -> None:
    check(Program(loader_of(Known(TEXT, 7, {"t": 5, "x": -3}), batch_size=4), epochs=1))


@WORKERS
def test_a_list_of_characters(num_workers: int) -> None:
    dataset = Chunks(list(TEXT), 7)  # type: ignore[arg-type]
    check(Program(loader_of(dataset, batch_size=4, shuffle=True, num_workers=num_workers)))


@pytest.mark.parametrize("name", stay())
def test_what_is_more_than_a_text_stays_with_torch(name: str) -> None:
    dataset = stay()[name]
    check(Program(loader_of(dataset, batch_size=4), epochs=1), native=False)


class Branching(Text):
    def __getitem__(self, i: int) -> Any:
        return torch.tensor([self.stoi[c] for c in self.text[i : i + 7] if c != "e"])


class Nested(Text):
    def __getitem__(self, i: int) -> Any:
        return torch.tensor([self.stoi[c] + self.stoi[d] for c in self.text[i : i + 3] for d in self.text[i : i + 3]])


class Counting(Text):
    def __getitem__(self, i: int) -> Any:
        count = 0
        for _ in self.text[i : i + 7]:
            count += 1
        return torch.tensor(count)


class Bare(Text):
    def __getitem__(self, i: int) -> Any:
        return [self.stoi[c] for c in self.text[i : i + 7]]


class Without(Text):
    def __getitem__(self, i: int) -> Any:
        return [str(self.stoi.get(c)) for c in self.text[i : i + 7]]


class Other(Text):
    def __getitem__(self, i: int) -> Any:
        return torch.tensor([self.stoi[c] for c in self.text[: i + 3]][:3])


class First(Text):
    def __getitem__(self, i: int) -> Any:
        ids = [self.stoi[c] for c in self.text[i : i + 7]]
        return torch.tensor(ids[0])


class Joined(Text):
    def __getitem__(self, i: int) -> Any:
        ids = [self.stoi[c] for c in self.text[i : i + 7]]
        return torch.tensor(ids + ids)


class Doubled(Text):
    def __getitem__(self, i: int) -> Any:
        return torch.tensor([self.stoi[c] for c in self.text[i : i + 7]] * 2)


class Unpacked(Text):
    def __getitem__(self, i: int) -> Any:
        a, b, c = [self.stoi[c] for c in self.text[i : i + 3]]
        return torch.tensor([a, b, c])


class Longer(Text):
    def __getitem__(self, i: int) -> Any:
        ids = [1]
        for c in self.text[i : i + 7]:
            ids.append(self.stoi[c])
        return torch.tensor(ids)


class Summed(Text):
    def __getitem__(self, i: int) -> Any:
        ids = [self.stoi[c] for c in self.text[i : i + 7]]
        return torch.tensor(len(ids) + sum(ids) + max(ids))


MORE = [Branching, Nested, Counting, Bare, Without, Other, First, Joined, Doubled, Unpacked, Longer, Summed]


@pytest.mark.parametrize("kind", MORE)
def test_what_is_more_than_looking_up_stays_with_torch(kind: Any) -> None:
    check(Program(loader_of(kind(), batch_size=1), epochs=1), native=False)


class Words(Dataset[Any]):
    """Words as rows of one length."""

    def __init__(self, words: list[str], extent: int) -> None:
        self.words, self.extent = words, extent
        self.stoi = {each: n + 1 for n, each in enumerate("abcdefghij")}

    def __len__(self) -> int:
        return len(self.words)


class Makemore(Words):
    def encode(self, word: str) -> Any:
        return torch.tensor([self.stoi[w] for w in word], dtype=torch.long)

    def __getitem__(self, idx: int) -> Any:
        word = self.words[idx]
        ix = self.encode(word)
        x = torch.zeros(self.extent + 1, dtype=torch.long)
        y = torch.zeros(self.extent + 1, dtype=torch.long)
        x[1 : 1 + len(ix)] = ix
        y[: len(ix)] = ix
        y[len(ix) + 1 :] = -1
        return x, y


class AtTheEnd(Words):
    def __getitem__(self, i: int) -> Any:
        ids = np.array([self.stoi.get(c, 0) for c in self.words[i]], dtype=np.int32)
        row = np.full(self.extent, 7, dtype=np.int32)
        row[self.extent - len(ids) :] = ids
        mask = np.zeros(self.extent, dtype=np.float32)
        mask[: self.extent - len(ids)] = True
        return row, torch.from_numpy(row).float() / 3, mask


class InFloats(Words):
    def __getitem__(self, i: int) -> Any:
        ids = torch.tensor([self.stoi[c] for c in self.words[i]], dtype=torch.float32)
        row = torch.full((self.extent,), 0.5)
        row[: ids.size(0)] = ids
        row[-1:] = 2.5
        row[ids.shape[0] : -1] = -3
        return row.unsqueeze(0), i


class Beside(Words):
    """By the index, too, and one tensor twice."""

    def __getitem__(self, i: int) -> Any:
        ids = torch.tensor([self.stoi[c] for c in self.words[i]], dtype=torch.int64)
        row = torch.zeros(self.extent, dtype=torch.int64)
        row[i : i + 2] = 5
        row[self.extent - len(ids) :] = ids
        return row, row, ids.shape[0]


class Unknown(Words):
    """What is not in the dict has a number that is looked up, too."""

    def __init__(self, words: list[str], extent: int) -> None:
        super().__init__(words, extent)
        self.unknown = self.stoi.pop("j")

    def __getitem__(self, i: int) -> Any:
        ids = torch.tensor([self.stoi.get(c, self.stoi["a"]) for c in self.words[i]], dtype=torch.int64)
        others = torch.tensor([self.stoi.get(c, self.unknown) for c in self.words[i]], dtype=torch.int64)
        row, other = torch.zeros(self.extent, dtype=torch.int64), torch.zeros(self.extent, dtype=torch.int64)
        row[: len(ids)] = ids
        other[self.extent - len(others) :] = others
        return row, other


LAID = [Makemore, AtTheEnd, InFloats, Beside, Unknown]


def some_words(shortest: int, longest: int, count: int = 19) -> list[str]:
    draw = random.Random(longest)
    return ["cab", *("".join(draw.choices("abcdefghij", k=draw.randint(shortest, longest))) for _ in range(count))]


class Cut(Words):
    def __getitem__(self, i: int) -> Any:
        ids = [self.stoi[c] for c in self.words[i]]
        if len(ids) < self.extent:
            ids += [0] * (self.extent - len(ids))
        else:
            ids = ids[: self.extent]
        return torch.tensor(ids)


class Between(Words):
    """Between two numbers, in lists."""

    def __init__(self, words: list[str], extent: int) -> None:
        super().__init__(words, extent)
        self.rows = [[self.stoi[c] for c in each] for each in words]

    def __getitem__(self, i: int) -> Any:
        ids = [0] + self.rows[i] + [0]
        return torch.tensor(ids) if len(ids) > self.extent else torch.zeros(1)


@pytest.mark.parametrize("kind", [Cut, Between])
def test_words_by_whose_lengths_code_branches(kind: Any) -> None:
    dataset = kind(some_words(2, 9), 5)
    assert "LOOKED_AT" not in goloader.DataLoader(dataset, num_workers=1).explain().codes
    check(Program(loader_of(dataset, batch_size=1), epochs=1), native=None)


@WORKERS
@pytest.mark.parametrize("kind", LAID)
def test_rows_of_one_length(kind: Any, num_workers: int) -> None:
    for shortest, longest, extent in ((0, 6, 6), (2, 9, 12), (6, 6, 6)):
        dataset = kind(some_words(shortest, longest), extent)
        check(Program(loader_of(dataset, batch_size=6, shuffle=True, num_workers=num_workers)))


@pytest.mark.parametrize("kind", LAID)
def test_an_index_below_0_tells_other_ends(kind: Any) -> None:
    dataset = kind(some_words(1, 6), 40)
    for indices in ([3, -1, -20, 7], [-1, -3]):
        program = Program(loader_of(dataset, batch_size=2, sampler=indices), epochs=1)
        check(program, native=goloader.DataLoader(dataset, batch_size=2, sampler=indices).explain().native)


@pytest.mark.parametrize("kind", LAID)
def test_tensors_of_samples_are_of_their_own_memory(kind: Any) -> None:
    shown = []
    for loader_kind in (goloader.DataLoader, DataLoader):
        shown.append([])
        for sample in loader_kind(kind(some_words(1, 6), 9), batch_size=None):
            for field in sample:
                if isinstance(field, torch.Tensor):
                    field[...] += 1
            shown[-1].append(repr(sample))
    assert shown[0] == shown[1]


@pytest.mark.parametrize("kind", LAID)
def test_words_that_are_too_long_are_the_class_s_own_matter(kind: Any) -> None:
    dataset = kind(some_words(1, 9), 4)
    check(Program(loader_of(dataset, batch_size=2), epochs=1), native=False)


def lengthen(dataset: Any) -> None:
    dataset.words[15] += "ab"


def reletter(dataset: Any) -> None:
    dataset.words[14] = dataset.words[14].replace("a", "b").replace("c", "d") + "e"


def widen(dataset: Any) -> None:
    dataset.extent += 2


def recode(dataset: Any) -> None:
    dataset.stoi["a"] = 44


@pytest.mark.parametrize("change", [lengthen, reletter, widen, recode])
@pytest.mark.parametrize("kind", LAID)
def test_what_is_changed_of_words_in_an_epoch_is_seen(kind: Any, change: Any) -> None:
    made = []
    for loader_kind in (goloader.DataLoader, DataLoader):
        dataset, shown = kind(some_words(1, 6), 9), []
        for number, batch in enumerate(loader_kind(dataset, batch_size=4)):
            shown.append(repr(batch))
            if number == 1:
                change(dataset)
        made.append(shown)
    assert made[0] == made[1]
