"""Finding records in bytes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rollscope.journal._format import RECORD, aligned, end_word, record_check
from rollscope.journal._scan import next_record, records

payloads = st.lists(st.binary(min_size=1, max_size=60), max_size=12)


def lay(items: list[bytes], first: int = 1) -> bytes:
    """Lay records one behind the other as the writer does."""
    parts = []
    for sequence, payload in enumerate(items, first):
        parts.append(RECORD.pack(len(payload), record_check(payload, sequence), sequence) + payload.ljust(aligned(len(payload)), b"\0"))
    return b"".join(parts)


@given(items=payloads, base=st.integers(0, 1000).map(lambda n: n * 8), tail=st.integers(0, 40))
def test_round_trip(items: list[bytes], base: int, tail: int) -> None:
    """Records come out as they were laid, with the offset behind each, up to the zeros."""
    data = lay(items)

    found = records(data + bytes(tail), base, 1 << 20)

    assert [(sequence, payload) for sequence, payload, _ in found.records] == list(enumerate(items, 1))
    assert found.offset == base + len(data)
    assert found.stop == ("zero" if tail >= 8 else "short")
    assert [end for _, _, end in found.records] == [base + len(lay(items[:n])) for n in range(1, len(items) + 1)]


@given(items=payloads, base=st.integers(0, 1000).map(lambda n: n * 8), junk=st.binary(max_size=20))
def test_end_mark(items: list[bytes], base: int, junk: bytes) -> None:
    """The end mark ends a segment, whatever lies behind it."""
    data = lay(items)

    found = records(data + end_word(base + len(data)).to_bytes(8, "little") + junk, base, 1 << 20)

    assert (found.stop, found.offset, len(found.records)) == ("end", base + len(data), len(items))


@given(items=payloads.filter(bool), data=st.data())
def test_cut_anywhere_gives_a_whole_prefix(items: list[bytes], data: st.DataObject) -> None:
    """Cut at any byte, the records before the cut come out whole and nothing else does."""
    laid = lay(items)
    cut = data.draw(st.integers(0, len(laid) - 1))

    found = records(laid[:cut], 0, 1 << 20)

    count = len(found.records)
    assert [payload for _, payload, _ in found.records] == items[:count]
    assert found.stop in ("short", "zero")
    assert count == len(items) or len(lay(items[: count + 1])) - aligned(len(items[count])) + len(items[count]) > cut


@given(items=payloads.filter(bool), budget=st.integers(1, 200))
def test_budget(items: list[bytes], budget: int) -> None:
    """A batch keeps to its bytes, except that it always holds one record."""
    found = records(lay(items) + bytes(16), 0, budget)

    taken = [len(payload) for _, payload, _ in found.records]
    assert taken
    assert len(taken) == 1 or sum(taken) <= budget


@given(before=st.binary(min_size=8, max_size=200), items=payloads.filter(bool))
def test_resynchronises(before: bytes, items: list[bytes]) -> None:
    """Behind damage of any kind the next whole record is found."""
    junk = before[: len(before) & -8]

    offset = next_record(junk + lay(items, first=5), 64, last_sequence=3)

    assert offset is not None
    assert offset <= 64 + len(junk)
    assert records((junk + lay(items, first=5))[offset - 64 :], offset, 1 << 20).records


def test_nothing_to_find() -> None:
    """Where no record follows, none is made up."""
    assert next_record(bytes(4096), 0, 0) is None
    assert next_record(b"\x10\0\0\0abcdefghijklmnopqrstuvwxyz", 0, 0) is None
    assert next_record(lay([b"old"], first=2), 0, last_sequence=9) is None
