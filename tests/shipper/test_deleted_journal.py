"""Somebody removes a log under the shipper: what its process writes next is sent, and the peer is told what went."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rollscope import vocabulary as v
from rollscope.journal import Journal, LogReader
from rollscope.shipper import member
from rollscope.shipper.shipper import Shipper

from .peers import Answer, Peer, http_peer
from .producers import open_log, span_end, span_start, write
from .shipping import PRODUCER, last_heartbeat, wait_for


@contextmanager
def shipping(directory: Path, peer: Peer) -> Iterator[Shipper]:
    """A shipper that runs beside the test."""
    shipper = Shipper(directory, peer.endpoints)
    thread = threading.Thread(target=shipper.run, kwargs={"grace": 600.0})
    thread.start()
    try:
        yield shipper
    finally:
        shipper.stop(10.0)
        thread.join()


def replaced(folder: Path, journal: Journal) -> Journal:
    """The journal with which a process goes on that noticed."""
    shutil.rmtree(folder)
    Journal.go_on(folder, journal.succeed())
    return open_log(folder.parents[1])


def test_what_a_process_writes_into_its_next_journal_arrives(tmp_path: Path) -> None:
    """Numbers go on behind those of the deleted one, of which the heartbeat names the last; what had arrived is not sent again."""
    folder = tmp_path / "producers" / PRODUCER
    with http_peer() as peer, shipping(tmp_path, peer):
        journal = open_log(tmp_path)
        for turn in range(3):
            write(journal, span_end(), span_end())
            wait_for(lambda turn=turn: len(peer.sequences(PRODUCER)) == 3 + 3 * turn - 1)
            write(journal, span_start())
            journal = replaced(folder, journal)
            write(journal, span_end())
            wait_for(lambda turn=turn: len(peer.sequences(PRODUCER)) == 3 + 3 * turn)
        wait_for(lambda: last_heartbeat(peer)[v.DELETED_UPTO] == 8)
        assert peer.sequences(PRODUCER) == list(range(1, 10))
        wait_for(lambda: LogReader(folder).drained())
        journal.close()


def test_what_was_not_sent_is_told_to_be_gone(tmp_path: Path) -> None:
    """The peer was away: what lay in the deleted log does not arrive, and the heartbeat says up to where."""
    folder = tmp_path / "producers" / PRODUCER
    with http_peer(lambda received: Answer(503)) as peer, shipping(tmp_path, peer):
        journal = open_log(tmp_path)
        write(journal, *(span_end() for _ in range(5)))
        wait_for(lambda: len(peer.refused) > 0)
        journal = replaced(folder, journal)
        write(journal, span_end())
        peer.script = None
        wait_for(lambda: 6 in peer.sequences(PRODUCER))
        wait_for(lambda: peer.logs(v.EVENT_HEARTBEAT) != [] and last_heartbeat(peer)[v.DELETED_UPTO] == 5)
        assert last_heartbeat(peer)[v.LAST_SEQUENCE] == 6
        journal.close()


def test_the_log_of_a_dead_process_gets_its_last_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody makes it anew: the final heartbeat says how far it had come, and that the rest is gone."""
    monkeypatch.setattr(member, "_COMES_BACK", 1.0)
    folder = tmp_path / "producers" / PRODUCER
    journal = open_log(tmp_path)
    write(journal, span_end(), span_end())  # before the shipper's first look, whose count it keeps for a while
    with http_peer() as peer, shipping(tmp_path, peer):
        wait_for(lambda: peer.logs(v.EVENT_HEARTBEAT) != [] and len(peer.sequences(PRODUCER)) == 2)
        shutil.rmtree(folder)
        wait_for(lambda: last_heartbeat(peer)[v.FINAL])
    heartbeat = last_heartbeat(peer)
    assert (heartbeat[v.LAST_SEQUENCE], heartbeat[v.DELETED_UPTO]) == (2, 2)
    journal.close()
