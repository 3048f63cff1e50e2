"""The classes of records travel apart, and what holds up one holds up no other."""

from __future__ import annotations

import json
import threading
from pathlib import Path

from rollscope import vocabulary as v
from rollscope.journal import LogReader
from rollscope.records import Event
from rollscope.settings import resolve_endpoints
from rollscope.shipper.shipper import Shipper

from .peers import Answer, Received, http_peer
from .producers import NOW, open_log, span_end, step_metrics, tokens, write
from .shipping import PRODUCER, event_names, ship, ship_in_vain, wait_for


def test_the_classes_travel_apart(tmp_path: Path) -> None:
    """Run and step records, spans with rewards, and tokens go in requests of their own; metrics of them besides."""
    journal = open_log(tmp_path)
    write(journal, tokens([1]), span_end(), Event("rl.reward", NOW, {}), step_metrics(1, {"a": 1.0}))
    journal.close()
    with http_peer() as peer:
        assert ship(tmp_path, peer)
    names = [(received.signal, event_names(received)) for received in peer.taken]
    ours = [name for name in names if name not in [("logs", {v.EVENT_HEARTBEAT}), ("metrics", set())]]
    assert len(ours) == 4
    assert all(name in ours for name in [("logs", {v.EVENT_STEP_METRICS}), ("traces", set()), ("logs", {v.EVENT_TOKENS})])
    assert ours.index(("traces", set())) < ours.index(("logs", {"rl.reward"}))


def test_a_metrics_pipeline_that_is_away_holds_up_nothing(tmp_path: Path) -> None:
    """Derived gauges wait apart: everything else is delivered once and acknowledged, and they follow when they can."""
    journal = open_log(tmp_path)
    write(journal, *(step_metrics(n, {"a": 1.0}) for n in range(5)), span_end())
    with http_peer(lambda received: Answer(503) if received.signal == "metrics" else None) as peer:
        shipper = Shipper(tmp_path, peer.endpoints)
        timer = threading.Timer(1.0, lambda: setattr(peer, "script", None))
        stopper = threading.Timer(4.0, shipper.stop)
        timer.start()
        stopper.start()
        shipper.run()
        timer.join()
        stopper.join()
    assert sorted(peer.sequences(PRODUCER)) == [1, 2, 3, 4, 5, 6]
    assert len([metric for metric in peer.metrics() if metric.name == v.METRIC_STEP_SCALAR]) == 5
    journal.close()


def test_a_failing_class_does_not_slow_the_others(tmp_path: Path) -> None:
    """While spans are refused, step metrics and tokens go on arriving."""
    journal = open_log(tmp_path)
    write(journal, span_end(), step_metrics(1, {"a": 1.0}), tokens([1]))
    with http_peer(lambda received: Answer(500) if received.signal == "traces" else None) as peer:
        ship_in_vain(tmp_path, peer, lambda: len(peer.sequences(PRODUCER)) >= 2)
        assert sorted(peer.sequences(PRODUCER)) == [2, 3]
        reader = LogReader(tmp_path / "producers" / PRODUCER)
        assert reader.acknowledged() == 2
        assert "HTTP 500" in json.loads((tmp_path / "shipper.json").read_text())["error"]
    journal.close()


def test_a_hanging_class_does_not_slow_the_others(tmp_path: Path) -> None:
    """While a request with tokens is not answered, run records and spans arrive and are acknowledged, each class in order."""
    journal = open_log(tmp_path)
    write(journal, tokens([1]), *(record for n in range(5) for record in (span_end(), step_metrics(n, {"a": 1.0}))))
    answered = threading.Event()

    def hang_on_tokens(received: Received) -> None:
        if v.EVENT_TOKENS in event_names(received):
            answered.wait(60.0)

    with http_peer(hang_on_tokens) as peer:
        shipper = Shipper(tmp_path, peer.endpoints)
        shipping = threading.Thread(target=shipper.drain, args=[60.0])
        shipping.start()
        reader = tmp_path / "producers" / PRODUCER
        wait_for(lambda: LogReader(reader).acknowledged() == 10)
        write(journal, step_metrics(5, {"a": 1.0}), span_end())
        wait_for(lambda: LogReader(reader).acknowledged() == 12)
        assert peer.sequences(PRODUCER).count(1) == 0
        answered.set()
        shipping.join()
    numbers = peer.sequences(PRODUCER)
    assert sorted(numbers) == list(range(1, 14))
    assert [n for n in numbers if n % 2 == 0 and n < 12] == [2, 4, 6, 8, 10]
    assert [n for n in numbers if n % 2 and 1 < n < 12] == [3, 5, 7, 9, 11]
    assert LogReader(reader).acknowledged() == 13
    journal.close()


def test_token_payloads_take_a_road_of_their_own_where_they_have_one(tmp_path: Path) -> None:
    """With an endpoint for tokens everything else goes to the main one, and nothing is sent twice."""
    journal = open_log(tmp_path)
    write(journal, span_end(), step_metrics(1, {"a": 1.0}), tokens([1, 2]), tokens([3]))
    journal.close()
    with http_peer() as main, http_peer() as payloads:
        endpoints = resolve_endpoints({"ROLLSCOPE_ENDPOINT": main.url, "ROLLSCOPE_ENDPOINT_TOKENS": payloads.url})
        assert endpoints is not None
        assert Shipper(tmp_path, endpoints).drain(30.0)
    assert sorted(payloads.sequences(PRODUCER)) == [3, 4]
    assert sorted(main.sequences(PRODUCER)) == [1, 2]
    assert {record.event_name for record in payloads.logs()} == {v.EVENT_TOKENS}


def test_a_road_for_tokens_that_is_closed_holds_up_nothing_else(tmp_path: Path) -> None:
    """While the token endpoint refuses, run records and spans arrive; the payloads follow when it is back."""
    journal = open_log(tmp_path)
    write(journal, tokens([1]), span_end(), step_metrics(1, {"a": 1.0}))
    journal.close()
    answers = iter([Answer(503)] * 2)
    with http_peer() as main, http_peer(lambda _: next(answers, None)) as payloads:
        endpoints = resolve_endpoints({"ROLLSCOPE_ENDPOINT": main.url, "ROLLSCOPE_ENDPOINT_TOKENS": payloads.url})
        assert endpoints is not None
        assert Shipper(tmp_path, endpoints).drain(30.0)
    assert (sorted(main.sequences(PRODUCER)), payloads.sequences(PRODUCER)) == ([2, 3], [1])
    assert len(payloads.refused) == 2
