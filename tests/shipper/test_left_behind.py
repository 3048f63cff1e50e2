"""A record that cannot be sent is counted by name, and its neighbours arrive."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rollscope import vocabulary as v

from .peers import Answer, Received, http_peer
from .producers import encode, open_log, span_end, write
from .shipping import PRODUCER, last_heartbeat, ship


def test_unreadable_records_do_not_take_their_neighbours_along(tmp_path: Path) -> None:
    """Garbage and what has no OTLP form is counted by name; all else arrives."""
    journal = open_log(tmp_path)
    write(journal, span_end())
    journal.append(b"\xc1 no msgpack", 1)
    journal.append(encode(["e", 1, 2]), 1)
    write(journal, span_end(start=-1), span_end())
    journal.close()
    with http_peer() as peer:
        assert ship(tmp_path, peer)
    assert sorted(peer.sequences(PRODUCER)) == [1, 5]
    assert last_heartbeat(peer)[v.DROPPED] == {"evicted unreadable": 3}


def test_flipped_bits_are_counted(tmp_path: Path) -> None:
    """A record damaged on disk is counted as damaged; its neighbours arrive."""
    journal = open_log(tmp_path)
    write(journal, *(span_end(attributes={"mark": f"mark {n}"}) for n in range(3)))
    journal.close()
    (segment,) = (tmp_path / "producers" / PRODUCER).glob("p1-*.seg")
    segment.write_bytes(segment.read_bytes().replace(b"mark 1", b"mArk 1"))
    with http_peer() as peer:
        assert ship(tmp_path, peer)
    assert sorted(peer.sequences(PRODUCER)) == [1, 3]
    assert last_heartbeat(peer)[v.DROPPED] == {"damaged: checksum": 1}


def test_a_record_the_peer_never_takes_is_set_aside_and_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """One poisoned span among many is found, left behind and counted; the ledger hears of it."""

    def picky(received: Received) -> Answer | None:
        return Answer(400) if b"poison" in received.message.SerializeToString() else None

    journal = open_log(tmp_path)
    write(journal, *(span_end("poison" if n == 13 else "fine") for n in range(40)))
    journal.close()
    with http_peer(picky) as peer:
        assert ship(tmp_path, peer)
    assert sorted(peer.sequences(PRODUCER)) == [n for n in range(1, 41) if n != 14]
    assert last_heartbeat(peer)[v.DROPPED] == {"evicted refused": 1}
    assert json.loads((tmp_path / "shipper.json").read_text())["set_aside"] == {"refused": 1}
    assert "set aside: span 14" in caplog.text
