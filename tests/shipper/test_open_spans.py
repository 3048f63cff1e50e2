"""Spans that began and did not end: told of while their process lives, closed when it has died."""

from __future__ import annotations

import time
from pathlib import Path

from rollscope import vocabulary as v

from .peers import http_peer, values
from .producers import NOW, open_log, span_end, span_start, write
from .shipping import last_heartbeat, ship


def test_open_spans_outlive_the_shipper_and_are_closed_for_the_dead(tmp_path: Path) -> None:
    """A span whose start an earlier shipper acknowledged is closed as aborted by a later one, at the time last seen."""
    journal = open_log(tmp_path)
    ended, left = span_start("ended"), span_start("left open", attributes={v.GROUP_ID: "g"})
    with http_peer() as peer:
        write(journal, ended, left)
        assert ship(tmp_path, peer)
        told = {span["name"] for span in last_heartbeat(peer)[v.OPEN_SPANS]}
        assert told <= {"ended", "left open"}
        write(journal, span_end("ended", trace_id=ended.trace_id, span_id=ended.span_id, end=NOW + 5))
        assert ship(tmp_path, peer)
        seen = time.time_ns()
        journal.close()
        assert ship(tmp_path, peer)
    spans = {span.name: span for span in peer.spans()}
    assert len(peer.spans()) == 2
    aborted = values(spans["left open"].attributes)
    assert aborted == {v.ABORTED: True, v.GROUP_ID: "g"}
    assert NOW <= spans["left open"].end_time_unix_nano <= max(NOW + 5, seen)
    assert last_heartbeat(peer)[v.ABNORMAL]
    assert [received.signal for received in peer.taken if received.signal != "metrics"][-1] == "logs"
