"""A log that is done with goes in one step, wherever its shipper is killed."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

import pytest

from rollscope import vocabulary as v

from .peers import http_peer, values
from .producers import open_log, span_end, step_metrics, write
from .shipping import ship


def test_a_removal_cut_short_says_nothing_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed at any change to a file, the next shipper repeats the last words at most, with all their counts, and cleans up."""
    steps, died_of = 0, set[str]()
    with http_peer() as peer:
        while True:
            journal = open_log(tmp_path, f"{steps:016x}")
            write(journal, span_end(), step_metrics(1, {"a": 1.0}))
            journal.count("dropped", "full", 3)
            journal.close()
            with monkeypatch.context() as patch:
                deaths = killed_at(patch, steps)
                with contextlib.suppress(Killed):
                    assert ship(tmp_path, peer)
            assert ship(tmp_path, peer)
            assert list((tmp_path / "producers").iterdir()) == []
            assert not (tmp_path / "done").exists()
            if not deaths:
                break
            steps += 1
            died_of.update(deaths)
    assert died_of >= {"replace", "unlink", "rmdir"}
    finals = [final for final in (values(record.attributes) for record in peer.logs(v.EVENT_HEARTBEAT)) if final[v.FINAL]]
    assert len(finals) > steps
    assert [(final[v.LAST_SEQUENCE], final[v.DROPPED]) for final in finals] == [(2, {"full": 3})] * len(finals)


class Killed(BaseException):
    """The shipper dies here."""


def killed_at(patch: pytest.MonkeyPatch, steps: int) -> list[str]:
    """Let `steps` changes to files go through and die before the next one; returns what it died of."""
    left, deaths = [steps], list[str]()

    def dying(name: str, real: Any) -> Any:
        def change(*arguments: Any, **options: Any) -> None:
            if not left[0]:
                deaths.append(name)
                raise Killed
            left[0] -= 1
            real(*arguments, **options)

        return change

    for name in ("mkdir", "replace", "rename", "unlink", "rmdir"):
        patch.setattr(os, name, dying(name, getattr(os, name)))
    return deaths
