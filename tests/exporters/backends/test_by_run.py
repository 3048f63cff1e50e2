"""One object per run: made once, its state and what it left out kept by run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rollscope_exporters.backends._by_run import ByRun


class Counted:
    """Counts what it was given."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self.number: int = state.get("number", 0)
        self.left_out = {"too many": self.number}

    def checkpoint(self) -> dict[str, Any]:
        return {"number": self.number}


def test_what_was_touched_comes_back() -> None:
    """A run's object is made once, goes on from its state in the next process, and counts from the checkpoint on."""
    runs = ByRun(lambda run, state: Counted(state), {})
    assert runs["a"] is runs["a"]
    runs["a"].number = 3
    assert runs.checkpoint() == {"runs": {}, "left_out": {"too many": {"a": 0}}}
    runs.touch("a")
    state = runs.checkpoint()
    assert state["runs"] == {"a": {"number": 3}}
    again = ByRun(lambda run, state: Counted(state), state)
    assert again["a"].number == 3
    assert again.checkpoint() == {"runs": {"a": {"number": 3}}, "left_out": {"too many": {"a": 3}}}
