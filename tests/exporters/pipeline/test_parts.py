"""Parts of open traces: in memory only while there is room."""

from __future__ import annotations

import random
from pathlib import Path

from rollscope_exporters.pipeline import PipelineSettings
from rollscope_exporters.records import Trajectory

from ..bridge import Bridge
from ..wire import process, requests
from .rollouts import ANSWER, CALL, END, MESSAGES, roll_out, start


def test_open_trajectories_live_in_the_store(tmp_path: Path) -> None:
    """With next to no memory allowed for parts, many trajectories open at once still come out whole."""
    bridge = Bridge(tmp_path, PipelineSettings(cache_bytes=1))
    with process() as worker:
        start(bridge, worker)
        for index in range(30):
            roll_out(index=index)
        items = worker.items()
    random.Random(1).shuffle(items)
    for start_at in range(0, len(items), 20):
        bridge.take(requests(items[start_at : start_at + 20]))
    found = bridge.of(Trajectory)
    assert sorted(trajectory.index or 0 for trajectory in found) == list(range(30))
    assert all(trajectory.messages == [*MESSAGES, CALL, ANSWER, END] for trajectory in found)
    assert bridge.store.db.execute("SELECT count(*) FROM parts").fetchone() == (0,)
    assert bridge.store.waiting() == 0
