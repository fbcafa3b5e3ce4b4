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
    """The checksum of bytes; about 1 ms for 100 KB."""
    text = np.frombuffer(content, np.uint8)
    if len(text) <= _PIECE:
        return int(checksums(text[None])[0])
    doublings = ((len(text) - 1) // _PIECE).bit_length()
    padded = np.zeros(_PIECE << doublings, np.uint8)  # zeros in front change nothing
    padded[-len(text) :] = text
    padded[-len(text) :][:4] ^= 0xFF  # to begin at 0xFFFFFFFF
    parts = _run(np.zeros(1 << doublings, np.uint32), padded.reshape(-1, _PIECE))
    for doubling in range(doublings):
        parts = _behind_zeros(parts[::2], doubling) ^ parts[1::2]
    return int(parts[0]) ^ 0xFFFFFFFF


def checksums(texts: NDArray[np.uint8]) -> Words:
    """The checksums of short texts of one length, [texts, bytes]."""
    return ~_run(np.full(len(texts), 0xFFFFFFFF, np.uint32), texts)


def _run(state: Words, texts: NDArray[np.uint8]) -> Words:
    table = _table()
    for column in texts.T:
        state = table[(state ^ column) & 0xFF] ^ (state >> 8)
    return state


@cache
def _table() -> Words:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(_POLYNOMIAL), table >> 1)
    return table


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
