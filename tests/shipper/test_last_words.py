"""What is said of a process that ended: its last numbers, whether it had finished; then its log goes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace as Stand
from typing import Any, cast

import pytest

from rollscope import vocabulary as v
from rollscope.journal import Counters
from rollscope.records import Event
from rollscope.shipper import vitals
from rollscope.shipper.derived import DerivedGauges
from rollscope.shipper.last_words import LastWords
from rollscope.shipper.otlp import Item

from .peers import Answer, Received, http_peer, values
from .producers import NOW, open_log, span_end, span_start, step_metrics, write
from .shipping import PRODUCER, last_heartbeat, ship


def test_heartbeats_reach_a_collector_as_metrics_too(tmp_path: Path) -> None:
    """The last numbers of a producer that ended are sent before its log goes."""
    journal = open_log(tmp_path)
    write(journal, span_end(), step_metrics(1, {"a": 1.0}))
    journal.count("dropped", "full", 3)
    journal.close()
    with http_peer() as peer:
        assert ship(tmp_path, peer)
    points = {metric.name: metric for metric in peer.metrics() if metric.name.startswith("rl.telemetry.")}
    assert points[v.METRIC_RECORDS].sum.data_points[0].as_int == 2
    assert points[v.METRIC_DROPPED].sum.data_points[0].as_int == 3
    assert points[v.METRIC_ALIVE].gauge.data_points[0].as_double == 0


def test_last_numbers_are_no_sample_of_the_millisecond_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two in one millisecond Prometheus keeps the first, and the dead process would live on there."""
    reader: Any = Stand(counters=lambda: Counters(1, {}, {}, {}), damaged={})
    translation: Any = Stand(encoder=Stand(telemetry=lambda time, *_, **__: time))
    open_spans: Any = Stand(named=list)
    producer: Any = Stand(remembered=Stand(lost={}))
    clock = [NOW, NOW, NOW + 400_000, NOW + 5_000_000_000, NOW - 60_000_000_000]
    monkeypatch.setattr(vitals.time, "time_ns", lambda: clock.pop(0))
    found = vitals.Vitals(reader, producer, translation, open_spans)
    times = [cast(int, found.telemetry(0, final=final)) - NOW for final in (False, True, True, False, True)]
    assert times == [0, 1_000_000, 2_000_000, 5_000_000_000, -60_000_000_000]


def test_last_numbers_wait_for_a_metrics_pipeline_that_is_away() -> None:
    """Others stand aside for later ones then; these have none."""
    derived = DerivedGauges()
    derived.failing = True
    fleet: Any = Stand(
        ended=lambda: [1], last_numbers=lambda members: [Item("metrics", b"", b"", b"numbers", "numbers")], last_words=lambda members: []
    )
    sender: Any = Stand(free=lambda now: True, begin=lambda items, then: None)
    LastWords(sender, fleet, derived, cast(Any, None)).begin(0.0)
    assert len(derived) == 1


def test_a_final_heartbeat_is_repeated_until_it_is_accepted(tmp_path: Path) -> None:
    """The log is removed only when the peer has the last words, over any number of shippers."""

    def deaf_to_the_end(received: Received) -> Answer | None:
        return Answer(503) if b"rl.producer.final\x12\x02\x10\x01" in received.message.SerializeToString() else None

    journal = open_log(tmp_path)
    write(journal, span_end(), span_start())
    journal.close()
    with http_peer(deaf_to_the_end) as peer:
        for _ in range(2):
            assert not ship(tmp_path, peer, timeout=0.5)
            assert (tmp_path / "producers" / PRODUCER).is_dir()
        peer.script = None
        assert ship(tmp_path, peer)
    assert peer.sequences(PRODUCER) == [1]
    assert last_heartbeat(peer)[v.FINAL]
    group = [received for received in peer.taken if received.signal == "logs"][-1].message.resource_logs[0].resource
    assert values(group.attributes)[v.RUN_ID] == "run-1"
    assert not (tmp_path / "producers" / PRODUCER).exists()


@pytest.mark.parametrize(("finished", "abnormal"), [(True, False), (False, True)])
def test_a_driver_that_did_not_finish_its_run_is_abnormal(finished: bool, abnormal: bool, tmp_path: Path) -> None:
    """Whether the run was finished is remembered over restarts of the shipper."""
    journal = open_log(tmp_path)
    with http_peer() as peer:
        write(journal, Event(v.EVENT_RUN_STARTED, NOW, {}))
        assert ship(tmp_path, peer)
        if finished:
            write(journal, Event(v.EVENT_RUN_FINISHED, NOW, {}))
        journal.close()
        assert ship(tmp_path, peer)
    assert last_heartbeat(peer)[v.ABNORMAL] is abnormal


def test_a_worker_that_just_ends_is_not_abnormal(tmp_path: Path) -> None:
    """A process that began no run and left no span open ended well."""
    journal = open_log(tmp_path)
    write(journal, span_end())
    journal.close()
    with http_peer() as peer:
        assert ship(tmp_path, peer)
    assert not last_heartbeat(peer)[v.ABNORMAL]


def test_a_log_without_records_goes_silently(tmp_path: Path) -> None:
    """A process that recorded nothing, or a removal cut short, leaves nothing to say."""
    open_log(tmp_path).close()
    leftover = tmp_path / "producers" / "bbbbbbbbbbbbbbbb"
    leftover.mkdir()
    (leftover / "alive").touch()
    with http_peer() as peer:
        assert ship(tmp_path, peer)
    assert list((tmp_path / "producers").iterdir()) == []
