"""What befalls the node folder costs what is said of it, and stops no delivery."""

from __future__ import annotations

import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from rollscope import vocabulary as v
from rollscope.journal import LogReader
from rollscope.shipper.shipper import Shipper

from .peers import Answer, http_peer
from .producers import open_log, span_end, span_start, write
from .shipping import PRODUCER, last_heartbeat, ship, ship_in_vain


def test_a_full_disk_for_the_state_stops_no_delivery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When progress cannot be stored, records are delivered and later repeated, not lost."""

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    journal = open_log(tmp_path)
    write(journal, span_end())
    with http_peer() as peer:
        with monkeypatch.context() as patch:
            patch.setattr("rollscope.shipper.fleet.write_state", fail)
            ship_in_vain(tmp_path, peer, lambda: bool(peer.sequences(PRODUCER)))
        assert set(peer.sequences(PRODUCER)) == {1}
        assert ship(tmp_path, peer)
    assert LogReader(tmp_path / "producers" / PRODUCER).acknowledged() == 1
    journal.close()


def test_damaged_state_is_told_and_left(tmp_path: Path) -> None:
    """A state file that cannot be read costs what was remembered in it, nothing else."""
    (tmp_path / "shipper.state").write_bytes(b"\xc1nonsense")
    journal = open_log(tmp_path)
    write(journal, span_end())
    journal.close()
    with http_peer() as peer:
        assert ship(tmp_path, peer)
    assert peer.sequences(PRODUCER) == [1]


def test_a_node_folder_that_is_removed_ends_its_shipper(tmp_path: Path) -> None:
    """A shipper whose folder is gone has nothing to wait for, whatever its peer does."""
    folder = tmp_path / "journal"
    journal = open_log(folder)
    write(journal, span_end())
    with http_peer(lambda received: Answer(503)) as peer:
        remover = threading.Timer(0.5, shutil.rmtree, [folder])
        remover.start()
        Shipper(folder, peer.endpoints).run(grace=600.0)
        remover.join()
    journal.close()


def test_state_and_positions_that_are_deleted_cost_repetitions(tmp_path: Path) -> None:
    """The next shipper sends what is still there once more and tells of open spans it can still see; nothing is missing, nothing stays."""
    journal = open_log(tmp_path)
    with http_peer() as peer:
        write(journal, span_start("open"), span_end(), span_end())
        assert ship(tmp_path, peer)
        (tmp_path / "shipper.state").unlink()
        (tmp_path / "producers" / PRODUCER / "acked").unlink()
        write(journal, span_end())
        assert ship(tmp_path, peer)
        assert sorted(peer.sequences(PRODUCER)) == [1, 1, 2, 2, 3]
        assert [span["name"] for span in last_heartbeat(peer)[v.OPEN_SPANS]] == ["open"]
        journal.close()
        assert ship(tmp_path, peer)
    assert set(peer.sequences(PRODUCER)) == {1, 2, 3}
    assert not (tmp_path / "producers" / PRODUCER).exists()


def test_a_folder_that_turned_read_only_stops_no_delivery(tmp_path: Path) -> None:
    """A file system that was mounted anew after a fault: what can be read is delivered, and the status says what cannot be written."""
    folder = tmp_path / "journal"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(folder)], check=False, capture_output=True).returncode:
        pytest.skip("mounting needs root")
    journal = open_log(folder, limit=8 << 20)
    try:
        write(journal, *(span_end() for _ in range(5)))
        # Not while files are open for writing, so a second mount of the same place is what turns read-only.
        subprocess.run(["mount", "--bind", folder, folder], check=True)
        subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True)
        with http_peer() as peer:
            shipper = Shipper(folder, peer.endpoints)
            assert not shipper.drain(3.0)
            assert set(peer.sequences(PRODUCER)) == {1, 2, 3, 4, 5}
            assert "progress cannot be stored" in shipper.status.error
            assert "Read-only file system" in shipper.status.error
    finally:
        journal.close()
        subprocess.run(["umount", "--lazy", folder], check=False)
        subprocess.run(["umount", "--lazy", folder], check=False)
