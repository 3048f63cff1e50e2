"""Arrays of tokens as bytes."""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollscope.tokens import pack_bits, pack_floats, pack_ids, unpack_ids


@given(st.lists(st.integers(-(2**31), 2**31 - 1)))
def test_ids_come_back(ids: list[int]) -> None:
    """Ids are little-endian int32 and come back from it; bytes stay bytes."""
    packed = pack_ids(ids)
    assert packed == b"".join(index.to_bytes(4, "little", signed=True) for index in ids)
    assert unpack_ids(packed) == unpack_ids(ids) == ids
    assert pack_ids(packed) is packed


@given(st.lists(st.booleans()))
def test_masks_are_bits_from_the_left(mask: list[bool]) -> None:
    """One bit a token, most significant first, the rest zero; a list and bytes give the same."""
    packed = pack_bits(mask)
    assert len(packed) == (len(mask) + 7) // 8
    assert "".join(f"{byte:08b}" for byte in packed)[: len(mask)] == "".join("01"[flag] for flag in mask)
    assert pack_bits(bytes(mask)) == packed


@given(st.lists(st.floats(width=16)))
def test_float16_values_are_exact(values: list[float]) -> None:
    """What float16 can hold comes back, NaN and infinities included."""
    back = struct.unpack(f"<{len(values)}e", pack_floats(values))
    assert all(a == b or (math.isnan(a) and math.isnan(b)) for a, b in zip(back, values, strict=True))


def test_what_float16_cannot_hold_becomes_infinite() -> None:
    """A log-probability of -1e9 is minus infinity, and its neighbours stay."""
    assert struct.unpack("<4e", pack_floats([-1e9, 0.5, 10**400, math.nan]))[:3] == (-math.inf, 0.5, math.inf)


def test_ids_beyond_32_bits_are_refused() -> None:
    """An id that is no int32 raises instead of becoming another id."""
    with pytest.raises(struct.error):
        pack_ids([2**31])
