"""The canary: what we use of SwanLab without its promise is still there and does what we think."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from rollscope_exporters.backends.swanlab import _client, _compat
from rollscope_exporters.backends.swanlab._client import Client
from rollscope_exporters.backends.swanlab._config import SwanlabConfig
from rollscope_exporters.backends.swanlab._identity import Identity
from rollscope_exporters.backends.swanlab._points import Item, Media, Point
from rollscope_exporters.backends.swanlab._server import Server
from tests.exporters.backends.swanlab.reading import media, scalars

TIME = 1_767_225_600_000_000_005
IDENTITY = Identity("run-1", "name", "project", "", "", "", [], {})


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    made = Client("offline", Server.of(SwanlabConfig()), tmp_path / "run-20260101_000000_000000-run-1", IDENTITY)
    yield made
    made.finish("finished", "", 10)


def test_the_version_was_looked_at() -> None:
    """The installed SwanLab is one that this was checked with."""
    assert version("swanlab") in SpecifierSet(_compat.SUPPORTED)


def test_values_keep_their_own_time(client: Client) -> None:
    """The private event carries a time to the nanosecond into the file."""
    assert _compat.can_stamp(client._run)
    client.log([Point("a", 3, TIME, 0.5)])
    assert client.flush() == {("a", 3)}
    (point,) = scalars(client.folder)
    assert (point.key, point.step, point.time, point.value) == ("a", 3, TIME, 0.5)


def test_without_the_event_values_are_logged_as_of_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where SwanLab has no such event any more, its public `log` is used: everything arrives, with the time of logging."""
    monkeypatch.setattr(_client, "can_stamp", lambda run: False)
    client = Client("offline", Server.of(SwanlabConfig()), tmp_path / "run-20260101_000000_000000-run-1", IDENTITY)
    before = time.time_ns()
    client.log([Point("a", 3, TIME, 0.5), Point("t", 3, TIME, Media("text", (Item("told", "caption"),)))])
    assert client.flush() == {("a", 3), ("t", 3)}
    client.finish("finished", "", 10)
    (point,) = scalars(client.folder)
    assert point.time > before


def test_a_flush_brings_everything_into_the_file(client: Client) -> None:
    """What was logged a moment ago stands in the file when the flush returns, texts and tables too."""
    text, table = Media("text", (Item("你好", "c"),)), Media("table", (Item('{"rowData": []}', "c"),))
    for step in range(300):
        client.log([Point("a", step, TIME, float(step)), Point("b", step, TIME, text), Point("c", step, TIME, table)])
    assert len(client.flush()) == 900
    assert media(client.folder)["b"][299] == [("你好", "c")]
    assert media(client.folder)["c"][0] == [('{"rowData": []}', "c")]


@pytest.mark.parametrize(("moves", "arrives"), [(True, True), (False, False)])
def test_a_flush_waits_as_long_as_something_moves(client: Client, monkeypatch: pytest.MonkeyPatch, moves: bool, arrives: bool) -> None:
    """The library may take its time, as long as it gets on; where nothing moves it is given up."""
    gate = threading.Event()
    consumer = _compat._of(client._run, "_components").consumer
    write = consumer._flush
    monkeypatch.setattr(consumer, "_flush", lambda: (gate.wait(30), write()))
    looks = itertools.count()

    def progress() -> int:
        look = next(looks)
        if look == 3:
            gate.set()
        return look if moves else 0

    client.log([Point("a", 3, TIME, 0.5)])
    assert _compat.flush(client._run, 0.05, progress) is arrives
    gate.set()


def test_the_library_leaves_this_process_alone(tmp_path: Path) -> None:
    """Signals, the exception hook and the output are as they were while a run is open; nothing is measured or asked."""
    import signal
    import sys

    before = (signal.getsignal(signal.SIGINT), sys.excepthook, sys.stdout, sys.stderr)
    client = Client("offline", Server.of(SwanlabConfig()), tmp_path / "run-20260101_000000_000000-run-1", IDENTITY)
    assert (signal.getsignal(signal.SIGINT), sys.excepthook, sys.stdout, sys.stderr) == before
    client.finish("finished", "", 10)
    assert (signal.getsignal(signal.SIGINT), sys.excepthook) == before[:2]
    assert not (client.folder / "files" / "requirements.txt").exists()
