"""Uploads beside a backend: once each, resumed where they were, given up with a reason."""

from __future__ import annotations

import multiprocessing
import signal
from pathlib import Path

import pytest

from rollscope_exporters.backends import RejectedError, UnavailableError, _uploader
from rollscope_exporters.backends._uploader import Uploader
from rollscope_exporters.uploads import Order, read_uploads
from tests.exporters.uploads.checkpoints import FolderTarget, checkpoint, recorded

FILES = {"a.bin": b"a" * 100, "b/c.bin": b"c" * 50, "z.bin": b"z"}


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_uploader, "_FIRST_PAUSE", 0.01)


def test_a_checkpoint_arrives_once(tmp_path: Path) -> None:
    """However often it is ordered, by whatever process."""
    place = checkpoint(tmp_path / "ckpt", FILES)
    target = FolderTarget(tmp_path / "there")
    uploader = Uploader(tmp_path, "folder", target)
    for _ in range(2):
        uploader.order(recorded(place), {})
    assert uploader.drain(30)
    Uploader(tmp_path, "folder", target).order(recorded(place), {})
    assert uploader.drain(30)
    assert target.calls == ["upload a.bin", "upload b/c.bin", "upload z.bin", "finish u1"]
    assert {name: (target.folder / name).read_bytes() for name in FILES} == FILES
    assert read_uploads(tmp_path) == []


def _order_and_die(storage: Path, place: Path, there: Path) -> None:
    uploader = Uploader(storage, "folder", FolderTarget(there, die_behind="b/c.bin"))
    uploader.order(recorded(place), {})
    uploader.drain(60)


@pytest.mark.reliability
def test_a_kill_costs_one_file_at_most(tmp_path: Path) -> None:
    """Killed behind a file that was not noted yet, the next process goes on without being asked: that file again, the others once."""
    place = checkpoint(tmp_path / "ckpt", FILES)
    process = multiprocessing.get_context("spawn").Process(target=_order_and_die, args=(tmp_path, place, tmp_path / "there"))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    target = FolderTarget(tmp_path / "there")
    assert Uploader(tmp_path, "folder", target).drain(30)
    assert target.calls == ["upload a.bin", "upload b/c.bin", "upload b/c.bin", "upload z.bin", "finish u1"]


def test_what_changed_is_given_up_and_named(tmp_path: Path) -> None:
    """Before it went, or while it went; the next checkpoint is not held up."""
    place = checkpoint(tmp_path / "ckpt", FILES)

    class Meddling(FolderTarget):
        """Changes a file while it is uploaded."""

        def upload(self, order: Order, file: Path, name: str) -> None:
            super().upload(order, file, name)
            if name == "z.bin" and order.artifact.uid == "u2":
                file.write_bytes(b"another")

    target = Meddling(tmp_path / "there")
    gone, meddled = recorded(place, uid="u1"), recorded(place, uid="u2")
    (place / "a.bin").rename(place / "x.bin")
    uploader = Uploader(tmp_path, "folder", target)
    uploader.order(gone, {})
    assert uploader.drain(30)
    (place / "x.bin").rename(place / "a.bin")
    uploader.order(meddled, {})
    uploader.order(recorded(checkpoint(tmp_path / "other", FILES), uid="u3"), {})
    assert uploader.drain(30)
    first, second = (upload.failed for upload in read_uploads(tmp_path))
    assert first == f"{place}/a.bin is gone"
    assert second == f"{place}/z.bin was changed after it was recorded (1 bytes then, 7 now)"
    assert target.calls[-1] == "finish u3"


def test_an_outage_is_waited_out(tmp_path: Path) -> None:
    """A destination that is away is tried again; one that refuses, or fails five times for no reason it names, is not."""

    class Moody(FolderTarget):
        """Fails as it is told."""

        failures: tuple[Exception, ...] = ()

        def upload(self, order: Order, file: Path, name: str) -> None:
            if self.failures:
                error, *rest = self.failures
                self.failures = tuple(rest)
                raise error
            super().upload(order, file, name)

    place = checkpoint(tmp_path / "ckpt", {"a": b"1"})
    target = Moody(tmp_path / "there")
    uploader = Uploader(tmp_path, "folder", target)
    for uid, failures in (("u1", (UnavailableError("away"),) * 8), ("u2", (RejectedError("too large"),)), ("u3", (ValueError("odd"),) * 5)):
        target.failures = failures
        uploader.order(recorded(place, uid=uid), {})
        assert uploader.drain(30)
    assert target.calls == ["upload a", "finish u1"]
    assert [upload.failed for upload in read_uploads(tmp_path)] == ["refused: too large", "ValueError: odd"]


def test_closing_leaves_the_rest_for_the_next(tmp_path: Path) -> None:
    """It ends before the next file, and goes on at the next start."""
    place = checkpoint(tmp_path / "ckpt", FILES)

    class Closing(FolderTarget):
        """Closes its uploader in the middle."""

        def upload(self, order: Order, file: Path, name: str) -> None:
            super().upload(order, file, name)
            uploader.close()

    uploader = Uploader(tmp_path, "folder", Closing(tmp_path / "there"))
    uploader.order(recorded(place), {})
    assert not uploader.drain(30)
    target = FolderTarget(tmp_path / "there")
    assert Uploader(tmp_path, "folder", target).drain(30)
    assert target.calls == ["upload a.bin", "upload b/c.bin", "upload z.bin", "finish u1"]


def test_each_run_works_off_its_own(tmp_path: Path) -> None:
    """Where each run has a worker of its own, they share the folder of orders and none does another's."""
    place = checkpoint(tmp_path / "ckpt", {"a.bin": b"a"})
    Uploader(tmp_path, "folder", FolderTarget(tmp_path / "one"), "run-1").order(recorded(place, uid="u1"), {})
    target = FolderTarget(tmp_path / "two")
    uploader = Uploader(tmp_path, "folder", target, "run-2")
    uploader.order(recorded(place, uid="u2", run="run-2"), {})
    assert uploader.drain(30)
    assert target.calls == ["upload a.bin", "finish u2"]
    assert [order.artifact.uid for order in uploader.finished()] == ["u2"]
