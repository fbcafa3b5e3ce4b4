"""Whether data is still what values were made of: of millions of items no one is looked at alone."""

import copy
import gc
import os
import random
import sys
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from pathlib import PosixPath
from typing import Any

import numpy as np
import pandas as pd
import pytest

from goloader.plan.datasets.known.sequences import Listed
from goloader.plan.datasets.own import sources
from goloader.plan.datasets.own.sources import stand
from goloader.plan.datasets.tree import alike
from goloader.plan.paths import Files
from goloader.plan.refusal import SourceRefusal


def frames(function: Callable[[], Any]) -> int:
    """Python functions and generators that were entered in a call, and not by the garbage collector."""
    count = 0

    def entered(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    gc.disable()
    sys.setprofile(entered)
    try:
        function()
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


KINDS: dict[str, Callable[[int], Any]] = {
    "dicts": lambda n: {"path": f"{n}.npy", "label": n},
    "lists": lambda n: [f"{n}.npy", n],
    "tuples": lambda n: (f"{n}.npy", n),
    "boxes": lambda n: {"path": f"{n}.npy", "boxes": [[n, 1.5], [n, 2.5]] * (n % 3)},
    "mixed": lambda n: {"path": f"{n}.npy"} if n % 2 else (f"{n}.npy", [n]),
    "ordered": lambda n: OrderedDict(path=f"{n}.npy", label=n),
}


@pytest.mark.parametrize("kind", KINDS)
def test_no_item_is_looked_at_alone(kind: str) -> None:
    few, many = ([KINDS[kind](n) for n in range(count)] for count in (100, 1000))
    assert frames(lambda: stand(few)) == frames(lambda: stand(many))
    stands = stand(few), stand(many)
    assert all(stands)
    some = np.arange(5, 95, 3)
    for at in (None, some):
        assert frames(lambda at=at: stands[0](few, at)) == frames(lambda at=at: stands[1](many, at))  # type: ignore[misc]


@pytest.mark.parametrize("kind", ["dicts", "lists"])
def test_no_record_is_looked_at_alone(kind: str) -> None:
    few, many = ([KINDS[kind](n) for n in range(count)] for count in (100, 1000))
    path = ("label" if kind == "dicts" else 1,)
    assert frames(lambda: Listed(few, path)) == frames(lambda: Listed(many, path))
    listed = Listed(few, path), Listed(many, path)
    assert listed[0].same(few, None) == [*range(100)]
    assert frames(lambda: listed[0].same(few, None)) == frames(lambda: listed[1].same(many, None))


def test_no_path_is_looked_at_alone() -> None:
    few, many = ([f"{n}.npy" for n in range(count)] for count in (100, 1000))
    assert frames(lambda: Files.of(few)) == frames(lambda: Files.of(many))


NUMBERS = (float, np.float64, np.float32, np.float16, np.int64, np.int32, np.uint8, np.bool_)


@pytest.mark.parametrize("kind", NUMBERS)
def test_no_number_is_looked_at_alone(kind: Any) -> None:
    few, again, many, more = ([kind(n % 200) for n in range(count)] for count in (100, 100, 1000, 1000))
    assert alike(few, again)
    assert frames(lambda: alike(few, again)) == frames(lambda: alike(many, more))


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_are_alike_where_each_is(kind: Any) -> None:
    rng = random.Random(0)
    values = [0.0, -0.0, float("nan"), 1.0, 3.0] if kind(0.5) else [0, 1, 3]
    others = [np.float64(1), np.float32(1), 1, 1.0, True, np.int64(1), np.bool_(True), None]
    for _ in range(300):
        one = [kind(rng.choice(values)) for _ in range(rng.randrange(1, 5))]
        two = [kind(rng.choice(values)) if rng.random() < 0.2 else kind(each) for each in one]
        if rng.random() < 0.2:
            two[rng.randrange(len(two))] = rng.choice(others)
        two = two[: rng.choice([None, None, None, -1])]
        assert alike(one, two) == (len(one) == len(two) and all(map(alike, one, two)))


@pytest.mark.parametrize("kind", [str, os.fsencode, PosixPath, np.str_])
def test_paths_are_kept_as_the_kernel_has_them(kind: Any) -> None:
    names = ["a/b.npy", "", "\u00e4\U0001f600", os.fsdecode(b"\xff\xfe.npy"), "/c d"]
    files = Files.of([kind(name) for name in names], range(len(names)))
    assert [*files] == [(os.fsdecode(kind(name)), number) for number, name in enumerate(names)]
    assert [*Files.of([kind(name) for name in names]).labels] == [0] * len(names)
    for wrong in ("a\0b", "\0", "a\0"):
        with pytest.raises(SourceRefusal):
            Files.of([kind(name) for name in ["a", wrong, "b"]])


def any_data(rng: random.Random, depth: int) -> Any:
    number = rng.randrange(1000, 9999)
    kind = rng.randrange(10 if depth else 4)
    if kind < 4:
        return (number, f"{number}", PosixPath(f"{number}"), number + 0.5)[kind]
    inner = [any_data(rng, depth - 1) for _ in range(rng.randrange(4))]
    named = {f"{place}": each for place, each in enumerate(inner)}
    wholes: tuple[Any, ...] = (inner, tuple(inner), named, OrderedDict(named), defaultdict(int, named), {number, "a"})
    return wholes[kind - 4]


def are_same(now: Any, kept: Any) -> bool:
    """Whether all that is in it is what was copied."""
    if type(now) is not type(kept):
        return False
    if type(kept) in (list, tuple):
        return len(now) == len(kept) and all(map(are_same, now, kept))
    if isinstance(kept, dict):
        return [*now] == [*kept] and all(are_same(now[name], kept[name]) for name in kept)
    return bool(now == kept) if type(kept) in (set, str, PosixPath) else now is kept


def change(rng: random.Random, whole: Any) -> None:
    """Changes something that is in a list, in a dict, or in a set; perhaps nothing."""
    if type(whole) is set:
        whole.add(rng.randrange(1000))
    elif whole and type(whole) in (list, tuple, dict, OrderedDict, defaultdict):
        names = [*whole] if isinstance(whole, dict) else range(len(whole))
        name = rng.choice(names)
        if type(whole) is tuple or rng.random() < 0.7:
            change(rng, whole[name])
        elif rng.random() < 0.3:
            del whole[name]
        else:
            whole[name] = any_data(rng, 1)


def copied(whole: Any) -> Any:
    """Copies lists, dicts and sets, and nothing else that is in them."""
    if type(whole) in (list, tuple):
        return type(whole)(map(copied, whole))
    if isinstance(whole, dict):
        made = copy.copy(whole)
        made.update({name: copied(each) for name, each in whole.items()})
        return made
    return {*whole} if type(whole) is set else whole


def test_any_change_is_seen() -> None:
    rng = random.Random(5)
    seen = 0
    for _ in range(400):
        data = [any_data(rng, 3) for _ in range(rng.randrange(1, 12))]
        stands, kept = stand(data), copied(data)
        assert stands is not None
        assert stands(data, None)
        for _ in range(4):
            change(rng, data)
            same = are_same(data, kept)
            assert stands(data, None) == same
            if len(data) == len(kept):
                each = [are_same(now, was) for now, was in zip(data, kept, strict=True)]
                for _ in range(4):
                    at = np.array(rng.choices(range(-len(data), len(data)), k=5))
                    assert stands(data, at) == all(each[place] for place in at)
            seen += not same
    assert seen > 100


def test_data_that_is_in_itself_is_not_known() -> None:
    record: dict[str, Any] = {"path": "0.npy"}
    records = [record, {"path": "1.npy"}]
    record["all"] = records
    assert stand(records) is None
    assert stand(record) is None


TABLES: dict[str, Callable[[], Any]] = {
    "rows": lambda: pd.DataFrame(np.arange(30.0).reshape(10, 3), columns=list("abc")),
    "columns": lambda: pd.DataFrame(np.arange(30.0, dtype=np.float32).reshape(3, 10).T, columns=list("abc")),
    "repeated": lambda: pd.concat(
        [pd.DataFrame(np.full((5, 3), n), index=[n] * 5, columns=list("abc")) for n in (1, 2)]
    ),
    "apart": lambda: pd.DataFrame({name: np.arange(10) for name in "abc"}),
    "series": lambda: pd.Series(np.arange(10.0)),
}
CHANGES: dict[str, Callable[[Any], Any]] = {
    "a value": lambda table: table.iloc.__setitem__(3, 7),
    "zeros": lambda table: table.iloc.__setitem__(slice(None), 0),
    "a label": lambda table: setattr(table, "index", [*table.index[:-1], 99]),
    "a column": lambda table: table.__setitem__("a" if table.ndim == 2 else 0, 5),
}
OF_FRAMES: dict[str, Callable[[Any], Any]] = {
    "a dtype": lambda table: table.__setitem__(
        "b", table["b"].astype("float64" if table["b"].dtype == "int64" else "int64")
    ),
    "a name": lambda table: setattr(table, "columns", list("abd")),
    "an order": lambda table: setattr(table, "columns", list("bac")),
}


@pytest.mark.parametrize("kind", TABLES)
def test_tables_of_one_dtype(kind: str) -> None:
    for name, change in {**CHANGES, **({} if kind == "series" else OF_FRAMES)}.items():
        table = TABLES[kind]()
        stands = stand(table)
        assert stands is not None
        assert stands(table, None) and stands(table, None)
        assert not stands(TABLES[kind](), None), "another one"
        change(table)
        assert not stands(table, None), name


@pytest.mark.parametrize("kind", ["rows", "columns", "series"])
def test_numbers_of_a_table_are_looked_at_in_one_go(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(sources, "_columns")
    table = TABLES[kind]()
    stands = stand(table)
    assert stands is not None and stands(table, None)
