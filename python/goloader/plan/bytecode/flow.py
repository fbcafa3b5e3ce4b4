"""Where instructions may go on: handlers of exceptions, and where the two ways of a branch meet."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Iterator
from dis import Instruction
from functools import lru_cache
from types import CodeType
from typing import Any

from .expressions import UnreadableError

# Functions of which it is known where they go on: a loader asks at each epoch, of some hundred of timm's.
_KEPT_MAX = 512


def check(code: CodeType, draws: bool) -> None:
    """Raises UnreadableError for code that is no plain function's, nor a comprehension's.

    draws  it may take any number of arguments, and handle exceptions: what it does then is never read
    """
    special = inspect.CO_COROUTINE | (0 if draws else inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    if code.co_name != "<genexpr>":
        special |= inspect.CO_GENERATOR
    if code.co_flags & (special | inspect.CO_ASYNC_GENERATOR):
        raise UnreadableError(f"takes or gives more in {code.co_name} than arguments and a value")
    handles = bool(getattr(code, "co_exceptiontable", b""))
    if not draws and handles and not all(map(_raises_on, _handlers(code))):
        raise UnreadableError("handles exceptions")


def _handlers(code: CodeType) -> Iterator[list[str]]:
    """How each handler of exceptions begins."""
    names = [(each.offset, each.opname) for each in instructions_of(code)]
    for entry in dis.Bytecode(code).exception_entries:  # type: ignore[attr-defined] # Python 3.11
        yield [name for offset, name in names if offset >= entry.target]


def _raises_on(handler: list[str]) -> bool:
    """True for the handler of a `with`, and for one that a compiler adds, which only cleans up."""
    if handler[0] == "PUSH_EXC_INFO":
        return handler[1] == "WITH_EXCEPT_START"
    return "RERAISE" in handler and {*handler[: handler.index("RERAISE")]} <= _CLEANING


# CALL_INTRINSIC_1 is that of a generator, which turns a StopIteration into a RuntimeError.
_CLEANING = {
    "CALL_INTRINSIC_1", "COPY", "POP_EXCEPT", "POP_TOP", "STORE_FAST", "STORE_FAST_STORE_FAST", "SWAP",
}  # fmt: skip


@lru_cache(maxsize=_KEPT_MAX)
def instructions_of(code: CodeType) -> tuple[Instruction, ...]:
    return tuple(dis.get_instructions(code))


@lru_cache(maxsize=_KEPT_MAX)
def _follow(code: CodeType) -> tuple[list[list[int]], set[int], set[int]]:
    """The places to which each instruction may go on; those that return; and those that may come to one of these."""
    instructions = instructions_of(code)
    places = {each.offset: place for place, each in enumerate(instructions)}
    follow: list[list[int]] = []
    for place, each in enumerate(instructions):
        ends = each.opname.startswith(("RETURN_VALUE", "RETURN_CONST", "RAISE", "RERAISE"))
        jumps = "JUMP" in each.opname or each.opname in ("FOR_ITER", "SETUP_WITH", "SETUP_FINALLY")
        always = jumps and each.opname.startswith("JUMP_") and "_IF_" not in each.opname
        on = [] if ends or always else [place + 1]
        follow.append([*on, *([places[each.argval]] if jumps and each.argval in places else [])])
    returns = {place for place, each in enumerate(instructions) if each.opname in ("RETURN_VALUE", "RETURN_CONST")}
    before: list[list[int]] = [[] for _ in instructions]
    for place, on in enumerate(follow):
        for to in on:
            if to < len(before):
                before[to].append(place)
    ending, work = set(returns), list(returns)
    while work:
        more = [place for place in before[work.pop()] if place not in ending]
        ending.update(more)
        work += more
    return follow, returns, ending


def ending(code: CodeType) -> set[int]:
    """The offsets of instructions that may come to a return."""
    return {instructions_of(code)[place].offset for place in _follow(code)[2]}


@lru_cache(maxsize=_KEPT_MAX)
def meets(code: CodeType) -> dict[int, int]:
    """Where the two ways of each branch meet that come to the function's end: the offset of the instruction, by that of
    the branch; none for ways that meet nowhere before it."""
    instructions = instructions_of(code)
    follow, returns, ending = _follow(code)
    last = len(instructions)
    # Which instructions all ways from one go through, itself included.
    through = {place: {last, place} if place in returns else {*ending, last} for place in ending}
    changed = True
    while changed:
        changed = False
        for place in sorted(ending - returns, reverse=True):
            found = {place} | set.intersection(*(through[on] for on in follow[place] if on in ending))
            changed = changed or found != through[place]
            through[place] = found
    meets = {}
    for place in ending:
        if len(follow[place]) > 1 and (common := through[place] - {place, last}):
            first = max(common, key=lambda each: len(through[each]))
            meets[instructions[place].offset] = instructions[first].offset
    return meets


def several(names: Any) -> tuple[str, ...]:
    return names if isinstance(names, tuple) else (names,)


def stored_by(instruction: Instruction) -> tuple[str, ...]:
    """The variables that an instruction sets."""
    if not instruction.opname.startswith(("STORE_FAST", "STORE_DEREF")):
        return ()
    names = several(instruction.argval)
    return names[:1] if instruction.opname == "STORE_FAST_LOAD_FAST" else names
