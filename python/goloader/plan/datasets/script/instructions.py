"""Instructions of a script: which have to come before files are known, and which generators they draw from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...bytecode import UnreadableError


def flat(json: Any) -> Iterator[Any]:
    """Lists and dicts in a plan's JSON, what is around another first."""
    work = [json]
    while work:
        part = work.pop()
        if isinstance(part, (list, dict)):
            yield part
            work += reversed(part if isinstance(part, list) else part.values())


def registers_in(json: Any) -> Iterator[int]:
    return (each[1] for each in flat(json) if isinstance(each, list) and each[:1] == ["number"])


def _set_by(instructions: Any) -> set[int]:
    """The numbers that are set."""
    return {each["number"] for each in flat(instructions) if isinstance(each, dict) and each.get("do") == "let"}


def _wanted(instructions: Sequence[Any], first: set[int], generators: set[str]) -> bool:
    """Adds to `first` the numbers that its numbers are made of, and those that are drawn from the same generators.

    True if any of the instructions sets one of them.
    """
    found = False
    for each in reversed(instructions):  # what a number is made of comes before it
        if each["do"] == "let":
            drawn = generators_of(each["value"])
            if each["number"] in first or drawn & generators:
                first |= {each["number"], *registers_in(each["value"])}
                generators |= drawn
                found = True
        elif each["do"] == "repeat":
            drawn = generators_of(each)
            if drawn & generators or _set_by(each["turn"]) & first:
                first |= {*_set_by(each["turn"]), *registers_in(each)}
                generators |= drawn
                found = True
        elif each["do"] == "if":
            sides = [_wanted(each[side], first, generators) for side in ("then", "else")]
            if any(sides):
                first |= set(registers_in(each["condition"]))
                found = True
    return found


def _parted(instructions: Sequence[Any], first: set[int]) -> tuple[list[Any], list[Any]]:
    """Instructions that set numbers of `first`, and all others; both in their order."""
    parts: tuple[list[Any], list[Any]] = [], []
    for each in instructions:
        if each["do"] == "if":
            sides = _parted(each["then"], first), _parted(each["else"], first)
            for part, then, otherwise in zip(parts, *sides, strict=True):
                if then or otherwise:
                    part.append(each | {"then": then, "else": otherwise})
        else:
            parts[0 if _set_by([each]) & first else 1].append(each)
    return parts


def _looks_at_images(instruction: Any) -> bool:
    return any(
        each[:1] in (["width"], ["height"]) if isinstance(each, list) else each.get("do") == "apply"
        for each in flat(instruction)
    )


_RANDOM_OPS = {"augment", "auto_augment", "color_jitter", "random_apply"}


def generators_of(instructions: Any) -> set[str]:
    found = set()
    for each in flat(instructions):
        if isinstance(each, list) and each and isinstance(each[0], str) and each[0].partition(".")[0] in _DRAWN:
            found.add(each[0].partition(".")[0])
        if isinstance(each, dict) and each.get("do") in _STATES:
            found.add(each["generator"])
        if isinstance(each, dict) and str(each.get("op", "")).startswith(("random_", *_RANDOM_OPS)):
            found.add("torch")
    return found


_DRAWN = ("python", "numpy", "torch", "own")
# Instructions that put generators into states, or keep these.
_STATES = ("seed", "save", "restore")


def seeds(instructions: Any) -> bool:
    """Whether any puts a generator into a state."""
    return any(isinstance(each, dict) and each.get("do") in ("seed", "restore") for each in flat(instructions))


def split(body: list[Any], first: set[int]) -> tuple[list[Any], list[Any]]:
    """What is drawn before files are known, which these numbers say, and the rest. Raises UnreadableError.

    A generator is drawn from by one of the two, in the code's order: what else is drawn from those that choose files
    comes first, too.
    """
    if not first:
        return [], body
    generators: set[str] = set()
    known = -1
    while known != len(first) + len(generators):
        known = len(first) + len(generators)
        _wanted(body, first, generators)
    parts = _parted(body, first)
    if _looks_at_images(parts[0]):
        raise UnreadableError("looks at an image before it knows which others it opens")
    if generators & generators_of(parts[1]):
        raise UnreadableError("draws from one generator for its files and for its images")
    return parts
