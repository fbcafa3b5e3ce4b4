"""Whether code that runs now stands in a `try` of the user's, which may handle a file that cannot be decoded."""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from types import CodeType

# Who calls the dataset: frames above are nobody's but ours and torch's.
_CALLER = "torch.utils.data._utils.fetch"
_PACKAGE = f"{__name__.partition('.')[0]}."

# Of each code object that was met, kept so that its id stays its own, the stretches that a handler covers.
_known: dict[int, tuple[CodeType, tuple[tuple[int, int], ...]]] = {}


def guarded() -> bool:
    """True if an exception raised now may be handled before it leaves the dataset's code."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name == _CALLER:
            return False
        if not name.startswith(_PACKAGE):
            at = frame.f_lasti
            if any(begin <= at < end for begin, end in _handled(frame.f_code)):
                return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def _handled(code: CodeType) -> tuple[tuple[int, int], ...]:
    known = _known.get(id(code))
    if known is None:
        known = _known[id(code)] = code, tuple(_stretches(code))
    return known[1]


def _stretches(code: CodeType) -> Iterator[tuple[int, int]]:
    """Of a function, from byte to byte, what stands in a `try`, or in a `with suppress(...)`."""
    found = list(dis.get_instructions(code))
    if sys.version_info < (3, 11):
        # Blocks lie one behind the other: their handlers begin where they end.
        opens = ("SETUP_FINALLY", "SETUP_WITH") if _suppresses(code) else ("SETUP_FINALLY",)
        yield from ((each.offset, each.argval) for each in found if each.opname in opens)
        return
    names = {each.offset: at for at, each in enumerate(found)}
    for begin, end, handler in _table(code.co_exceptiontable):
        at = names.get(handler)
        # What begins otherwise ends a handler.
        if at is None or found[at].opname != "PUSH_EXC_INFO":
            continue
        if found[at + 1].opname != "WITH_EXCEPT_START" or _suppresses(code):
            yield begin, end


def _suppresses(code: CodeType) -> bool:
    """Whether a block may end an exception silently: files do not."""
    return not {"suppress", "ExitStack"}.isdisjoint(code.co_names)


def _table(content: bytes) -> Iterator[tuple[int, int, int]]:
    """(first byte, byte behind the last, handler) of each entry.

    Source: CPython, InternalDocs/exception_handling.md.
    """
    numbers, at = [], 0
    while at < len(content):
        number = content[at] & 0x3F
        while content[at] & 0x40:
            at += 1
            number = number << 6 | content[at] & 0x3F
        at += 1
        numbers.append(number)
    for start, length, handler, _ in zip(*[iter(numbers)] * 4, strict=True):
        yield 2 * start, 2 * (start + length), 2 * handler
