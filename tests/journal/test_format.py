"""The bytes of a segment."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rollscope.journal import _format as fmt


@given(lane=st.integers(0, 2), number=st.integers(0, 2**32 - 1), capacity=st.integers(0, 2**63), meta=st.binary(max_size=300))
def test_header_round_trip(lane: int, number: int, capacity: int, meta: bytes) -> None:
    """A header says what was put into it, and its first record is aligned."""
    packed = fmt.pack_header(lane, number, capacity, meta)

    assert fmt.unpack_header(packed + b"rest") == fmt.Header(lane, number, capacity, meta, len(packed))
    assert len(packed) % 8 == 0


@given(meta=st.binary(max_size=40), data=st.data())
def test_flipped_bit_in_header_is_seen(meta: bytes, data: st.DataObject) -> None:
    """No single flipped bit in header or meta goes unnoticed."""
    packed = bytearray(fmt.pack_header(1, 7, 1 << 20, meta))
    used = fmt.HEADER_SIZE + len(meta)
    bit = data.draw(st.integers(0, used * 8 - 1))
    packed[bit // 8] ^= 1 << bit % 8

    assert fmt.unpack_header(bytes(packed)) is None


@given(meta=st.binary(max_size=40), data=st.data())
def test_cut_header_is_seen(meta: bytes, data: st.DataObject) -> None:
    """A header that was cut anywhere is none."""
    packed = fmt.pack_header(1, 7, 1 << 20, meta)

    assert fmt.unpack_header(packed[: data.draw(st.integers(0, fmt.HEADER_SIZE + len(meta) - 1))]) is None


@given(payload=st.binary(min_size=1, max_size=40), sequence=st.integers(0, 2**63), data=st.data())
def test_check_covers_payload_and_sequence(payload: bytes, sequence: int, data: st.DataObject) -> None:
    """Any flipped bit of payload or of the 64-bit sequence changes the check."""
    bit = data.draw(st.integers(0, 64 + 8 * len(payload) - 1))
    whole = bytearray(sequence.to_bytes(8, "little") + payload)
    whole[bit // 8] ^= 1 << bit % 8

    assert fmt.record_check(bytes(whole[8:]), int.from_bytes(whole[:8], "little")) != fmt.record_check(payload, sequence)


def test_names() -> None:
    """File names are read back, and foreign files are not taken for segments."""
    assert fmt.parse_name(fmt.segment_name(2, 17)) == ("p", 2, 17)
    assert fmt.parse_name(fmt.aside_name(0, 123456789)) == ("s", 0, 123456789)
    foreign = ("alive", "acked", "p1-x.seg", "p1-00000001.tmp", "q1-00000001.seg", "px-00000001.seg")
    assert [fmt.parse_name(name) for name in foreign] == [None] * 6
