"""From journal to peer: everything once, and the last words last."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from rollscope import vocabulary as v
from rollscope.journal import LogReader
from rollscope.shipper.shipper import Shipper

from .peers import Received, http_peer, values
from .producers import open_log, span_end, span_start, step_metrics, tokens, write
from .shipping import PRODUCER, last_heartbeat, ship


def test_a_dead_producer_is_sent_whole_and_its_log_removed(tmp_path: Path) -> None:
    """Each record arrives once, then the final heartbeat, and then the log goes."""
    journal = open_log(tmp_path)
    write(journal, span_start(), *(span_end() for _ in range(50)), step_metrics(1, {"a": 1.0}), tokens([1, 2]))
    journal.count("dropped", "full", 3)
    journal.count("truncated", "value_length", 2)
    journal.close()
    with http_peer() as peer:
        assert ship(tmp_path, peer)
    assert sorted(peer.sequences(PRODUCER)) == list(range(1, 53))
    heartbeat = last_heartbeat(peer)
    assert heartbeat[v.FINAL]
    assert heartbeat[v.LAST_SEQUENCE] == 52
    assert (heartbeat[v.DROPPED], heartbeat[v.TRUNCATED]) == ({"full": 3}, {"value_length": 2})
    assert values(peer.logs(v.EVENT_TOKENS)[0].attributes)[v.TOKENS_UNDECODED] == "no tokenizer was given to the run"
    assert list((tmp_path / "producers").iterdir()) == []


def test_a_live_producer_is_acknowledged_and_kept(tmp_path: Path) -> None:
    """What was sent is not sent again by the next shipper, and the log stays while its process lives."""
    journal = open_log(tmp_path)
    with http_peer() as peer:
        write(journal, *(span_end() for _ in range(10)))
        assert ship(tmp_path, peer)
        assert not last_heartbeat(peer)[v.FINAL]
        reader = LogReader(tmp_path / "producers" / PRODUCER)
        assert (reader.acknowledged(), reader.drained()) == (10, True)
        write(journal, span_end())
        assert ship(tmp_path, peer)
        journal.close()
        assert ship(tmp_path, peer)
    assert peer.sequences(PRODUCER) == list(range(1, 12))
    assert last_heartbeat(peer)[v.FINAL]


def test_many_logs_share_requests_and_few_files(tmp_path: Path) -> None:
    """Two hundred producers arrive whole, in far fewer requests, without a file kept open for each."""
    for n in range(200):
        journal = open_log(tmp_path, f"{n:016x}")
        write(journal, step_metrics(1, {"a": 1.0}), span_end(), tokens([1]))
        journal.close()
    with http_peer() as peer:
        shipper = Shipper(tmp_path, peer.endpoints)
        most = 0

        def watch(received: Received) -> None:
            nonlocal most
            most = max(most, len(os.listdir("/proc/self/fd")))

        peer.script = watch
        before = len(os.listdir("/proc/self/fd"))
        assert shipper.drain(60.0)
    assert Counter(peer.numbered()) == Counter({(f"{n:016x}", sequence): 1 for n in range(200) for sequence in (1, 2, 3)})
    finals = [record for record in peer.logs(v.EVENT_HEARTBEAT) if values(record.attributes)[v.FINAL]]
    assert len(finals) == 200
    assert len(peer.taken) < 20
    assert most - before < 100
    assert list((tmp_path / "producers").iterdir()) == []
