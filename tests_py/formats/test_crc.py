"""CRC-32C against its definition, bit by bit."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from goloader._crc import checksums, crc32c


def plain(content: bytes) -> int:
    state = 0xFFFFFFFF
    for byte in content:
        state ^= byte
        for _ in range(8):
            state = state >> 1 ^ (0x82F63B78 if state & 1 else 0)
    return state ^ 0xFFFFFFFF


def test_the_check_value_of_rfc_3720() -> None:
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert [crc32c(b"ab1\xff"[:size]) for size in range(5)] == [plain(b"ab1\xff"[:size]) for size in range(5)]


@settings(max_examples=60)
@given(st.integers(0, 3000), st.integers(0, 2**32))
def test_it_is_its_definition_s(size: int, seed: int) -> None:
    content = np.random.default_rng(seed).bytes(size)
    assert crc32c(content) == plain(content)
    rows = np.frombuffer(content[: size // 8 * 8], np.uint8).reshape(-1, 8)
    assert checksums(rows).tolist() == [plain(row.tobytes()) for row in rows]
