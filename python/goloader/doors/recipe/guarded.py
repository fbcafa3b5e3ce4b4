"""Whether code that runs now stands in a `try` of the user's, which may handle a file that cannot be decoded."""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType, FrameType

# Who calls the dataset: frames above are nobody's but ours and torch's.
_CALLER = "torch.utils.data._utils.fetch"
_PACKAGE = f"{__name__.partition('.')[0]}."

_JUMPS = ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT")

# Of each code object that was met, kept so that its id stays its own, the stretches that a handler covers: from byte to
# byte, and whether it may end an exception.
_known: dict[int, tuple[CodeType, tuple[tuple[int, int, bool], ...]]] = {}


def guarded(*, ended: bool = False) -> bool:
    """True if an exception raised now may be handled before it leaves the dataset's code; or ended there, silently."""
    frame, found = sys._getframe(1), False
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name == _CALLER:
            return found
        if not found and not name.startswith(_PACKAGE):
            at = frame.f_lasti
            met = any(begin <= at < end and (ends or not ended) for begin, end, ends in _handled(frame.f_code))
            found = met and not (ended and _reraises(name, frame))
        frame = frame.f_back  # type: ignore[assignment]
    return False


def _reraises(module: str, frame: FrameType) -> bool:
    """Whether it is a stage of webdataset's whose `handler` never returns: its reraise_exception."""
    code = getattr(frame.f_locals.get("handler"), "__code__", None) if module.startswith("webdataset.") else None
    return code is not None and not _returns(code)


@lru_cache(maxsize=64)  # asked for each array that is made in such a stage
def _returns(code: CodeType) -> bool:
    return any(each.opname.startswith("RETURN") for each in dis.get_instructions(code))


def _handled(code: CodeType) -> tuple[tuple[int, int, bool], ...]:
    known = _known.get(id(code))
    if known is None:
        known = _known[id(code)] = code, tuple(_stretches(code))
    return known[1]


def _stretches(code: CodeType) -> Iterator[tuple[int, int, bool]]:
    """Of a function, from byte to byte, what stands in a `try`, or in a `with suppress(...)`."""
    found = list(dis.get_instructions(code))
    if sys.version_info < (3, 11):
        # Blocks lie one behind the other: their handlers begin where they end.
        opens = ("SETUP_FINALLY", "SETUP_WITH") if _suppresses(code) else ("SETUP_FINALLY",)
        yield from ((each.offset, each.argval, True) for each in found if each.opname in opens)
        return
    places = {each.offset: at for at, each in enumerate(found)}
    entries = dis.Bytecode(code).exception_entries  # type: ignore[attr-defined] # Python 3.11
    table = [(each.start, each.end, each.target) for each in entries]
    for begin, end, handler in table:
        at = places.get(handler)
        # What begins otherwise ends a handler.
        if at is None or found[at].opname != "PUSH_EXC_INFO":
            continue
        if found[at + 1].opname != "WITH_EXCEPT_START" or _suppresses(code):
            yield begin, end, _ends(found, places, table, at)


def _ends(found: list[dis.Instruction], places: dict[int, int], table: list[tuple[int, int, int]], at: int) -> bool:
    """Whether the handler that begins there may end an exception: a `finally`, and one that raises, do not."""
    seen, left = set(), [at]
    while left:
        at = left.pop()
        while at not in seen:
            seen.add(at)
            each = found[at]
            if each.opname == "POP_EXCEPT" and found[at + 1].opname != "RERAISE":
                return True
            left += [places[handler] for begin, end, handler in table if begin <= each.offset < end]
            left += [places[each.argval]] if each.opcode in dis.hasjrel else []
            if each.opname in ("RERAISE", "RAISE_VARARGS", "RETURN_VALUE") or each.opname in _JUMPS:
                break
            at += 1
    return False


def _suppresses(code: CodeType) -> bool:
    """Whether a block may end an exception silently: files do not."""
    return not {"suppress", "ExitStack"}.isdisjoint(code.co_names)
