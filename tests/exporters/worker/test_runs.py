"""Which runs want a backend, also when they say so late."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from rollscope_exporters.records import SIGNALS, LogLine
from rollscope_exporters.worker import Feed
from rollscope_exporters.worker._feed import EARLY
from rollscope_exporters.worker._runs import Runs
from rollscope_exporters.worker._shape import Shaped

from .outbox import FilledStore, line


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[FilledStore]:
    """A store."""
    store = FilledStore(tmp_path)
    yield store
    store.close()


def asked(requested: Sequence[str] | None) -> bool:
    """Whether wandb is among what a run asked for; it is none of those a run gets that says nothing."""
    return requested is not None and "wandb" in requested


def test_a_run_announced_by_guess_is_looked_up_again(filled: FilledStore) -> None:
    """Until its driver has said what it wants, with the very row that says it."""
    runs = Runs(filled.store, asked)
    filled.announce("r1", None)
    filled.add([line("a")])
    assert not runs.wanted("r1")
    assert runs.undecided("r1")
    filled.announce("r1", ["wandb"])
    filled.add([line("b")])
    assert runs.wanted("r1")
    assert not runs.undecided("r1")


def test_an_answer_that_was_given_stays(filled: FilledStore) -> None:
    """None of a backend's runs is looked up for each of its rows."""
    runs = Runs(filled.store, asked)
    filled.announce("r1", ["wandb"])
    filled.announce("r2", [])
    filled.add([line("a")])
    assert (runs.wanted("r1"), runs.wanted("r2"), runs.wanted("unknown")) == (True, False, False)


def test_what_came_before_the_run_said_it_is_counted(filled: FilledStore) -> None:
    """A row that was passed over in good faith is named in the ledger, not lost in it."""
    runs = Runs(filled.store, asked)
    feed = Feed(filled.store, frozenset(SIGNALS), None, runs.wanted, lambda record, size: Shaped([record]), runs.undecided)
    filled.announce("r1", None)
    filled.add([line("early")])
    first = feed.next(0, 10, 1 << 20)
    assert ([item.what for item in first.items], [row.reason for row in first.passing], first.upto) == ([], [EARLY], 1)
    filled.announce("r1", ["wandb"])
    filled.add([line("late")])
    (item,) = feed.next(1, 10, 1 << 20).items
    assert isinstance(item.record, LogLine)
    assert item.record.body == "late"
