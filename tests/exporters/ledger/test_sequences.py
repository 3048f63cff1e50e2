"""The set of received numbers behaves like a set of ints, whatever the order, and fits into a database."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollscope_exporters.ledger.sequences import PAGE, SequenceSet

numbers = st.lists(st.integers(1, 3 * PAGE), max_size=60)


def database() -> sqlite3.Connection:
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE pages (producer TEXT, page INTEGER, bits BLOB, PRIMARY KEY (producer, page))")
    return db


def ranges(missing: set[int]) -> list[tuple[int, int]]:
    """Sorted ranges of a set."""
    found: list[tuple[int, int]] = []
    for number in sorted(missing):
        if found and found[-1][1] == number - 1:
            found[-1] = found[-1][0], number
        else:
            found.append((number, number))
    return found


@settings(deadline=None)
@given(numbers, st.integers(0, 4 * PAGE), st.sets(st.integers(0, 2)))
def test_it_is_a_set(added: list[int], upto: int, full_pages: set[int]) -> None:
    """Each number is new once; count, highest and what is missing are right, full pages included."""
    found, model = SequenceSet(), set()
    for page in full_pages:
        for number in range(max(1, page * PAGE), (page + 1) * PAGE):
            assert found.add(number)
            model.add(number)
    for number in added:
        assert found.add(number) == (number not in model)
        model.add(number)
    assert (found.count, found.highest) == (len(model), max(model, default=0))
    assert found.missing(upto, limit=10_000) == ranges(set(range(1, upto + 1)) - model)


@settings(deadline=None)
@given(numbers, numbers, st.booleans())
def test_saved_and_loaded_it_is_the_same(first: list[int], second: list[int], fill: bool) -> None:
    """What was saved in parts is loaded whole, and goes on from there."""
    db = database()
    found = SequenceSet()
    for number in [*(range(1, PAGE) if fill else ()), *first]:
        found.add(number)
    found.save(db, "p")
    for number in second:
        found.add(number)
    found.save(db, "p")
    again = SequenceSet.load(db, "p", first=found.first, count=found.count, highest=found.highest)
    assert again.missing(4 * PAGE, 10_000) == found.missing(4 * PAGE, 10_000)
    assert not any(again.add(number) for number in (*first, *second))


def test_full_pages_take_no_room() -> None:
    """A hundred thousand numbers in a row are a row or two in the database."""
    db = database()
    found = SequenceSet()
    for number in range(1, 100_001):
        found.add(number)
        if number % 1000 == 0:
            found.save(db, "p")
    rows = db.execute("SELECT count(*), sum(length(bits)) FROM pages").fetchone()
    assert rows == (1, PAGE // 8)


def test_the_list_of_missing_ones_is_bounded() -> None:
    """Only the first ranges are named."""
    found = SequenceSet()
    for number in range(2, 1000, 2):
        found.add(number)
    assert found.missing(1000, limit=3) == [(1, 1), (3, 3), (5, 5)]


def test_numbers_start_at_one() -> None:
    """0 and below are no sequence numbers."""
    with pytest.raises(ValueError, match="start at 1"):
        SequenceSet().add(0)
