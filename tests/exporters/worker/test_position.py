"""The position survives, whole, and says what was set aside and left out."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from rollscope_exporters.positions import SetAside, read_workers
from rollscope_exporters.worker import PositionFile, _position, worker_folder
from rollscope_exporters.worker._feed import Passing

from .outbox import line


def test_it_is_read_back(tmp_path: Path) -> None:
    """Position, state and names."""
    file = PositionFile(tmp_path)
    file.advance(7)
    file.checkpointed({"size": 3, "left_out": {"budget": {"r1": 2}}})
    file.set_aside(SetAside(5, "r1", "logs", "bad"), line("bad"))
    file.save()
    again = PositionFile(tmp_path).current
    assert (again.position, again.state["size"]) == (7, 3)
    assert again.left_out == {"budget": {"r1": 2}}
    assert again.set_aside == [SetAside(5, "r1", "logs", "bad")]


def test_others_read_it_too(tmp_path: Path) -> None:
    """The pipeline and the ledger find every worker's file, also of a run whose id is no file name."""
    for folder in (worker_folder(tmp_path, "jsonl"), worker_folder(tmp_path, "swanlab", "a/b c")):
        folder.mkdir(parents=True)
        file = PositionFile(folder)
        file.current.signals = ["logs"]
        file.advance(3)
        file.set_aside(SetAside(2, "r", "logs", "bad"), line("bad"))
        file.save()
    states = {state.name: state for state in read_workers(tmp_path)}
    assert set(states) == {"jsonl", "swanlab/a/b c"}
    assert states["jsonl"].position == 3
    assert states["jsonl"].signals == {"logs"}
    assert states["jsonl"].set_aside[0].reason == "bad"


def test_what_was_left_out_counts_when_the_position_passes_it(tmp_path: Path) -> None:
    """So that nothing counts twice after a crash in the middle of a batch."""
    file = PositionFile(tmp_path)
    file.expect([Passing(3, "r1", "rate"), Passing(9, "r1", "rate")])
    file.advance(5)
    assert file.current.left_out == {"rate": {"r1": 1}}
    file.advance(9)
    file.advance(9)
    assert file.current.left_out == {"rate": {"r1": 2}}


def test_a_record_set_aside_is_kept_beside_it_once(tmp_path: Path) -> None:
    """As a JSON line, within bounds; a repetition after a crash is the same one."""
    file = PositionFile(tmp_path)
    for _ in range(2):
        file.set_aside(SetAside(5, "r1", "logs", "bad"), line("bad"))
    (kept,) = (tmp_path / "set_aside.jsonl").read_text().splitlines()
    assert msgspec.json.decode(kept)["record"]["body"] == "bad"
    assert len(file.current.set_aside) == 1


def test_a_record_that_is_no_json_is_described(tmp_path: Path) -> None:
    """Setting it aside must not fail."""
    PositionFile(tmp_path).set_aside(SetAside(5, "r1", "logs", "bad"), {"x": object()})
    assert "<object object" in msgspec.json.decode((tmp_path / "set_aside.jsonl").read_bytes())["record"]


def test_the_names_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Further records are counted."""
    monkeypatch.setattr(_position, "NAMED", 2)
    file = PositionFile(tmp_path)
    for id in range(5):
        file.set_aside(SetAside(id, "r1", "logs", "bad"), None)
    assert len(file.current.set_aside) == 2
    assert file.current.left_out == {"set aside, no longer named": {"r1": 3}}


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    """With what to do; it is never taken for a beginning."""
    (tmp_path / "position.json").write_text("{")
    with pytest.raises(ValueError, match=r"position\.json is no position file .*restore it, or delete it"):
        PositionFile(tmp_path)
