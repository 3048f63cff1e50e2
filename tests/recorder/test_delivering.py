"""A program is told when its node's shipper does not get through: in its status at once, in its log after a while, once."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

import rollscope.recorder as R
from rollscope.recorder.delivering import complain, shipper_status


def write(folder: Path, **changes: object) -> None:
    """The file that a shipper writes."""
    told = {"pid": os.getpid(), "state": "waiting", "endpoint": "http://c:4318/v1/logs", "error": "HTTP 401: it wants credentials"}
    folder.mkdir(exist_ok=True, parents=True)
    (folder / "shipper.json").write_text(json.dumps({**told, "error_since": time.time() - 60, "updated": time.time(), **changes}))


def test_status_has_what_the_shipper_says() -> None:
    """Where to, and why not; nothing while no shipper has said anything."""
    recorder = R.init("p", "e", circumstances=False)
    assert recorder is not None
    assert R.status()["shipper"] == {}
    write(recorder.settings.directory)
    shipper = R.status()["shipper"]
    assert isinstance(shipper, dict)
    assert (shipper["state"], shipper["alive"], shipper["error"]) == ("waiting", True, "HTTP 401: it wants credentials")


def test_one_line_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """With the cause and the cure, and where what was recorded waits."""
    write(tmp_path)
    for _ in range(3):
        complain(tmp_path)
    (line,) = [record.getMessage() for record in caplog.records]
    assert "HTTP 401: it wants credentials" in line
    assert str(tmp_path) in line


@pytest.mark.parametrize("changes", [{"error_since": None}, {"error_since": 2e9}, {"updated": 0}, {"error_since": "long"}])
def test_nothing_is_said_of_what_passes(tmp_path: Path, changes: dict[str, object], caplog: pytest.LogCaptureFixture) -> None:
    """A failure of seconds, an old status, a strange one."""
    if changes.get("error_since") == 2e9:
        changes = {"error_since": time.time() - 2}
    write(tmp_path, **changes)
    complain(tmp_path)
    assert not caplog.records


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b'{"pid": "x"}'])
def test_a_status_that_cannot_be_read_is_none(tmp_path: Path, content: bytes) -> None:
    """It is written by another process, which may have been killed over it."""
    (tmp_path / "shipper.json").write_bytes(content)
    assert shipper_status(tmp_path) in ({}, {"alive": False})
