"""CRC-32C (Castagnoli's polynomial), by numpy: worker processes that were forked must not enter Go.

A checksum that begins at 0 is linear, so the pieces of a text are worked out side by side, and joined two by two: what
stands in front of n bytes counts as if n zeros followed it. Source: RFC 3720, appendix B.4.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

_POLYNOMIAL = 0x82F63B78  # reversed
_PIECE = 64

Words = NDArray[np.uint32]


def crc32c(content: bytes) -> int:
    # It begins at 0xFFFFFFFF, which is as if the first four bytes were others; zeros in front of these change nothing.
    text = np.frombuffer(content, np.uint8)
    doublings = (max(len(text) - 1, 0) // _PIECE).bit_length()
    padded = np.zeros(_PIECE << doublings, np.uint8)
    padded[len(padded) - len(text) :] = text
    padded[len(padded) - len(text) :][:4] ^= 0xFF
    parts = _run(np.zeros(1 << doublings, np.uint32), padded.reshape(-1, _PIECE))
    if len(text) < 4:
        parts ^= np.uint32(0xFFFFFFFF >> 8 * len(text))
    for doubling in range(doublings):
        parts = _behind_zeros(parts[::2], doubling) ^ parts[1::2]
    return int(parts[0]) ^ 0xFFFFFFFF


def checksums(texts: NDArray[np.uint8]) -> Words:
    """The checksums of short texts of one length, a multiple of 4, [texts, bytes]."""
    return ~_run(np.full(len(texts), 0xFFFFFFFF, np.uint32), texts)


def _run(state: Words, texts: NDArray[np.uint8]) -> Words:
    low, high = _halves()
    for column in np.ascontiguousarray(texts).view("<u4").T:
        state = state ^ column
        state = low[state & 0xFFFF] ^ high[state >> 16]
    return state


@cache
def _table() -> Words:
    """What a byte adds."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(_POLYNOMIAL), table >> 1)
    return table


@cache
def _halves() -> tuple[Words, Words]:
    """What four zero bytes make of the lower and of the higher half of a checksum."""
    halves = []
    for shift in (0, 16):
        state = np.arange(1 << 16, dtype=np.uint32) << np.uint32(shift)
        for _ in range(4):
            state = _table()[state & 0xFF] ^ (state >> 8)
        halves.append(state)
    return halves[0], halves[1]


def _behind_zeros(parts: Words, doubling: int) -> Words:
    """What checksums become by _PIECE << doubling zeros."""
    tables, bytes_of = _zeros(doubling), parts[:, None] >> np.arange(0, 32, 8, dtype=np.uint32) & 0xFF
    found: Any = np.bitwise_xor.reduce(tables[np.arange(4), bytes_of], axis=1)
    return found  # type: ignore[no-any-return]


@cache
def _zeros(doubling: int) -> Words:
    """[4, 256]: what each byte of a checksum becomes."""
    if doubling:
        once = _zeros(doubling - 1)
        return _behind_zeros(once.reshape(-1), doubling - 1).reshape(4, 256)
    values = np.arange(256, dtype=np.uint32) << np.arange(0, 32, 8, dtype=np.uint32)[:, None]
    return _run(values.reshape(-1), np.zeros((1024, _PIECE), np.uint8)).reshape(4, 256)
