"""Tests of the checksum of payloads."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rollscope.checksum import checksum


@given(st.binary(), st.binary())
def test_it_goes_on_where_another_ended(begun: bytes, rest: bytes) -> None:
    """A checksum continued over a second part is that of the whole."""
    assert checksum(rest, checksum(begun)) == checksum(begun + rest)


@given(st.binary(min_size=1), st.data())
def test_a_flipped_bit_is_found(payload: bytes, data: st.DataObject) -> None:
    """A single flipped bit changes the checksum."""
    place = data.draw(st.integers(0, 8 * len(payload) - 1))
    flipped = bytearray(payload)
    flipped[place // 8] ^= 1 << place % 8
    assert checksum(bytes(flipped)) != checksum(payload)
