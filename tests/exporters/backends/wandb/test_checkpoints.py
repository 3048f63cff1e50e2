"""Checkpoints as artifact versions of W&B."""

from __future__ import annotations

import base64
import hashlib
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from rollscope_exporters.backends import BusyError, UnavailableError
from rollscope_exporters.backends.wandb import WandbBackend, WandbConfig, _checkpoints
from rollscope_exporters.backends.wandb._compat import abandon_client
from rollscope_exporters.backends.wandb._run import Run
from rollscope_exporters.testing import Sampler
from rollscope_exporters.uploads import read_uploads
from tests.exporters.backends.wandb.folders import inspect, run_folders
from tests.exporters.uploads.checkpoints import checkpoint, recorded

pytestmark = pytest.mark.integration


def make(storage: Path, state: Mapping[str, object] | None = None) -> WandbBackend:
    return WandbBackend(WandbConfig(mode="offline", flush_interval=0.05), storage, state or {})


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[WandbBackend]:
    yield make(tmp_path)
    abandon_client()


def md5(content: bytes) -> str:
    return base64.b64encode(hashlib.md5(content, usedforsecurity=False).digest()).decode()


def artifacts(storage: Path) -> list[dict[str, Any]]:
    """Artifacts in the transaction logs."""
    return [record["artifact"] for folder in run_folders(storage, "run-1") for record in inspect(folder) if record["type"] == "artifact"]


def end(backend: WandbBackend) -> None:
    """Deliver the end of the run as a worker does: it waits for uploads."""
    until = time.monotonic() + 60
    while True:
        try:
            return backend.write([Sampler().finished()])
        except BusyError:
            assert time.monotonic() < until
            time.sleep(0.05)


def test_files_are_added_from_where_they_lie(backend: WandbBackend, tmp_path: Path) -> None:
    """Each under its path in the checkpoint, none copied, with the digest of its content and the aliases of the call."""
    place = checkpoint(tmp_path / "ckpt", {"config.json": b"{}", "shards/a.bin": b"x" * 99})
    backend.write([Sampler().started(), recorded(place, aliases=("best",))])
    end(backend)
    backend.checkpoint()
    backend.close()
    (found,) = artifacts(tmp_path)
    entries = {entry["path"]: (entry["local_path"], entry["digest"]) for entry in found["manifest"]["contents"]}
    assert entries == {name: (str(place / name), md5((place / name).read_bytes())) for name in ("config.json", "shards/a.bin")}
    assert (found["type"], sorted(found["aliases"])) == ("model", ["best", "latest"])
    assert read_uploads(tmp_path) == []


def test_hashing_does_not_hold_up_rows(backend: WandbBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a file of any size is read for its digest, rows are written and checkpointed; only the end of the run waits, as busy."""
    started, may_end = threading.Event(), threading.Event()

    def slow(file: Path) -> str:
        started.set()
        assert may_end.wait(60)
        return md5(file.read_bytes())

    monkeypatch.setattr(_checkpoints, "file_digest", slow)
    backend.write([Sampler().started(), recorded(checkpoint(tmp_path / "ckpt", {"a.bin": b"a"}))])
    assert started.wait(30)
    backend.write([Sampler().metrics(1)])
    assert backend.checkpoint()["rows"] == 1
    with pytest.raises(BusyError, match="on its way"):
        backend.write([Sampler().finished()])
    may_end.set()
    end(backend)
    backend.close()
    assert len(artifacts(tmp_path)) == 1


def test_a_digest_is_taken_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that starts again behind the digests does not read the files a second time."""
    read: list[str] = []

    def digest(file: Path) -> str:
        read.append(file.name)
        return md5(file.read_bytes())

    def lost(self: Run, *artifact: object) -> None:
        raise UnavailableError("killed here")

    monkeypatch.setattr(_checkpoints, "file_digest", digest)
    place = checkpoint(tmp_path / "ckpt", {"a.bin": b"a", "b.bin": b"b"})
    first = make(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(Run, "publish", lost)
        first.write([Sampler().started(), recorded(place)])
        state = first.checkpoint()
        until = time.monotonic() + 30
        while len(read) < 2 and time.monotonic() < until:
            time.sleep(0.02)
        first.close()
    second = make(tmp_path, state)
    second.write([Sampler().metrics(1)])
    end(second)
    second.close()
    abandon_client()
    assert read == ["a.bin", "b.bin"]
    assert [len(found["manifest"]["contents"]) for found in artifacts(tmp_path)] == [2]


def test_what_changed_is_given_up_by_name(backend: WandbBackend, tmp_path: Path) -> None:
    """The run goes on without it, and the ledger names it."""
    place = checkpoint(tmp_path / "ckpt", {"config.json": b"{}"})
    artifact = recorded(place)
    (place / "config.json").write_bytes(b"{ }")
    backend.write([Sampler().started(), artifact])
    end(backend)
    backend.close()
    (upload,) = read_uploads(tmp_path, "run-1")
    assert "was changed after it was recorded" in upload.failed
    assert artifacts(tmp_path) == []
