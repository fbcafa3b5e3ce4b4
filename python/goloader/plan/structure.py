"""What a sample looks like: containers, and in them numbers of fields.

A structure is a field's number, a tuple of structures, or a dict of them by name: (0, 1) is an image and its label,
{"x": 0, "y": (1, 2)} what a StackDataset of two datasets may give.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, Union

Structure = Union[int, "tuple[Structure, ...]", "dict[Any, Structure]"]


def count(structure: Structure) -> int:
    """How many fields there are."""
    if isinstance(structure, int):
        return 1
    return sum(map(count, structure.values() if isinstance(structure, dict) else structure))


def shifted(structure: Structure, by: int) -> Structure:
    """The same with other numbers: the first `by` fields are somebody else's."""
    made: Structure = _each(structure, lambda number: number + by)
    return made


def renumbered(structure: Structure, numbers: Mapping[int, int]) -> Structure:
    """The same with other numbers, by those that they had."""
    made: Structure = _each(structure, numbers.__getitem__)
    return made


def leaves(structure: Structure) -> Iterator[int]:
    """The numbers, from left to right."""
    if isinstance(structure, int):
        yield structure
    else:
        for each in structure.values() if isinstance(structure, dict) else structure:
            yield from leaves(each)


def in_tuples(structure: Structure) -> set[int]:
    """The numbers whose values default_collate has in a tuple: those of a tuple's items."""
    if isinstance(structure, int):
        return set()
    if isinstance(structure, dict):
        return set().union(*map(in_tuples, structure.values()))
    return {each for each in structure if isinstance(each, int)}.union(*map(in_tuples, structure))


def filled(structure: Structure, fields: Sequence[Any]) -> Any:
    """A sample of these fields."""
    return _each(structure, fields.__getitem__)


def fields_of(structure: Structure, batch: Any) -> list[Any]:
    """The fields of a batch that is put together so, from left to right."""
    if isinstance(structure, int):
        return [batch]
    if isinstance(structure, dict):
        return [field for name, each in structure.items() for field in fields_of(each, batch[name])]
    return [field for each, part in zip(structure, batch, strict=True) for field in fields_of(each, part)]


def _each(structure: Structure, number: Callable[[int], Any]) -> Any:
    if isinstance(structure, int):
        return number(structure)
    if isinstance(structure, dict):
        return {name: _each(each, number) for name, each in structure.items()}
    return tuple(_each(each, number) for each in structure)


def collator(structure: Structure) -> Callable[[Sequence[Any]], Any]:
    """What makes batches as `collated` does: of most structures without being called for each field."""
    if isinstance(structure, int):
        return itemgetter(structure)
    numbers = [each for each in (structure.values() if isinstance(structure, dict) else structure) if type(each) is int]
    if len(numbers) < len(structure):
        return partial(collated, structure)
    if isinstance(structure, dict):
        return lambda fields: {name: fields[number] for name, number in zip(structure, numbers, strict=True)}
    return lambda fields: [fields[number] for number in numbers]


def collated(structure: Structure, fields: Sequence[Any]) -> Any:
    """A batch of these fields as torch's default_collate puts it together: tuples become lists."""
    if isinstance(structure, int):
        return fields[structure]
    if isinstance(structure, dict):
        return {name: collated(each, fields) for name, each in structure.items()}
    return [collated(each, fields) for each in structure]
