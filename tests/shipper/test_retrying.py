"""A peer that is away, busy or choosy: nothing is acknowledged before it has it, and all of it arrives."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

from rollscope import vocabulary as v
from rollscope.journal import LogReader

from .peers import Answer, Received, http_peer
from .producers import open_log, span_end, step_metrics, tokens, write
from .shipping import PRODUCER, last_heartbeat, ship, ship_in_vain


def test_nothing_is_acknowledged_before_the_peer_has_it(tmp_path: Path) -> None:
    """While the peer is down or busy everything stays in the journal; when it is back, all of it arrives."""
    journal = open_log(tmp_path)
    write(journal, *(span_end() for _ in range(20)), step_metrics(1, {"a": 1.0}))
    with http_peer(lambda received: Answer(503)) as peer:
        ship_in_vain(tmp_path, peer, lambda: len(peer.refused) >= 2)
        assert LogReader(tmp_path / "producers" / PRODUCER).acknowledged() == 0
        status = json.loads((tmp_path / "shipper.json").read_text())
        assert (status["state"], "HTTP 503" in status["error"], status["waiting"]) == ("ended", True, 21)
        peer.script = None
        assert ship(tmp_path, peer)
    assert sorted(peer.sequences(PRODUCER)) == list(range(1, 22))
    journal.close()


def test_a_peer_that_comes_and_goes_gets_everything(tmp_path: Path) -> None:
    """Whatever mix of refusals it answers with, each record is accepted at least once."""
    chance = random.Random(3)

    def moody(received: Received) -> Answer | None:
        status = chance.choice([503, 429, 502, 504, 500, None, None, None, None])
        return None if status is None else Answer(status, {"retry-after": "0"})

    journal = open_log(tmp_path)
    write(journal, *(span_end(attributes={"x": os.urandom(3000).hex()}) for _ in range(600)), step_metrics(1, {"a": 1.0}), tokens([1]))
    journal.close()
    with http_peer(moody) as peer:
        assert ship(tmp_path, peer)
    assert set(peer.sequences(PRODUCER)) == set(range(1, 603))


def test_a_collector_without_metrics_gets_the_rest(tmp_path: Path) -> None:
    """Derived gauges are extra: a peer that does not know `/v1/metrics` costs nothing but them."""
    journal = open_log(tmp_path)
    write(journal, step_metrics(1, {"a": 1.0}), span_end())
    journal.close()
    with http_peer(lambda received: Answer(404) if received.signal == "metrics" else None) as peer:
        assert ship(tmp_path, peer)
    assert sorted(peer.sequences(PRODUCER)) == [1, 2]
    assert last_heartbeat(peer)[v.DROPPED] == {}
