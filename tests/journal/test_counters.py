"""The page of counts."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from rollscope.journal import Journal, LogReader
from rollscope.journal._counters import Counters, CountersPage, parse_counters, read_counters

kinds = st.sampled_from(["dropped", "truncated", "failed"])
calls = st.lists(st.tuples(kinds, st.text(min_size=1, max_size=10), st.integers(1, 1000)), max_size=40)


@given(calls=calls)
@settings(deadline=None)
def test_counts_by_reason(tmp_path_factory: object, calls: list[tuple[str, str, int]]) -> None:
    """Another process reads what was counted, also after the page was opened again."""
    path = tmp_path_factory.mktemp("page") / "counters"  # type: ignore[attr-defined]
    expected: dict[str, dict[str, int]] = {"dropped": {}, "truncated": {}, "failed": {}}
    half = len(calls) // 2
    for part in (calls[:half], calls[half:]):
        page = CountersPage(path)
        for kind, reason, n in part:
            page.count(kind, reason, n)  # type: ignore[arg-type]
            reason = reason.encode("utf-8", "replace")[:40].decode().rstrip("\0")
            expected[kind][reason] = expected[kind].get(reason, 0) + n
        page.close()

    assert read_counters(path) == Counters(0, expected["dropped"], expected["truncated"], expected["failed"])


def test_more_reasons_than_room(tmp_path: Path) -> None:
    """Counts of reasons beyond the page's room are kept together, so that the sum stays right."""
    page = CountersPage(tmp_path / "counters")
    for n in range(200):
        page.count("dropped", f"reason {n}")
    page.count("truncated", "also late", 3)
    counters = page.read()

    assert sum(counters.dropped.values()) + sum(counters.truncated.values()) == 203
    assert counters.dropped["other reasons"] > 100


def test_long_reasons_are_cut(tmp_path: Path) -> None:
    """A long reason is cut, and still one reason."""
    page = CountersPage(tmp_path / "counters")
    page.count("dropped", "é" * 100)
    page.count("dropped", "é" * 100)

    assert list(page.read().dropped.values()) == [2]


@given(noise=st.binary(max_size=5000))
def test_any_bytes_are_read(noise: bytes) -> None:
    """A damaged page is never an error."""
    assert isinstance(parse_counters(noise), Counters)
    assert isinstance(parse_counters(b"RSCOPE\x00C" + noise), Counters)


def test_read_beside_the_writer(tmp_path: Path) -> None:
    """Counts and the last sequence are seen by others at once."""
    journal = Journal(tmp_path, meta={})
    reader = LogReader(tmp_path)
    journal.append(b"x")
    journal.count("dropped", "why")
    journal.count("truncated", "long", 5)

    assert reader.counters() == journal.counters() == (1, {"why": 1}, {"long": 5}, {}, 0)
    journal.close()
