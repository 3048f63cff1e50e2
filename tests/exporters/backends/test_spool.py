"""Rows that wait: exact after a crash."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rollscope_exporters.backends._spool import Spool

STEPS = st.lists(
    st.tuples(st.sampled_from(["append", "append", "append", "drop", "checkpoint", "crash"]), st.sampled_from("abc")), max_size=40
)


@given(STEPS)
def test_after_a_crash_it_holds_what_the_last_checkpoint_held(steps: list[tuple[str, str]]) -> None:
    """Whatever is appended and dropped, a successor starts from the last checkpoint, whose files are all there."""
    with TemporaryDirectory() as folder:
        spool, state = Spool(Path(folder), {}), dict[str, Any]()
        held: dict[str, list[int]] = {}
        kept: dict[str, list[int]] = {}
        for number, (step, key) in enumerate(steps):
            if step == "append":
                spool.append(key, {"n": number})
                held.setdefault(key, []).append(number)
            elif step == "drop":
                spool.drop(key)
                held.pop(key, None)
            elif step == "checkpoint":
                state, kept = spool.checkpoint(), {key: list(rows) for key, rows in held.items()}
            else:
                spool, held = Spool(Path(folder), state), {key: list(rows) for key, rows in kept.items()}
            assert {key: [row["n"] for row in spool.rows(key)] for key in "abc" if spool.rows(key)} == held


def test_files_of_dropped_rows_go_in_the_end(tmp_path: Path) -> None:
    """Two checkpoints after a drop nothing of it is left."""
    spool = Spool(tmp_path, {})
    spool.append("a", {"n": 1})
    spool.checkpoint()
    spool.drop("a")
    spool.checkpoint()
    spool.checkpoint()
    assert list(tmp_path.iterdir()) == []
