"""The loop of the process: one transaction a batch, nothing lost to a bad entry, a full store or a wrong version."""

from __future__ import annotations

import sqlite3
import struct
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import pytest

from rollscope import vocabulary as v
from rollscope.files import Disk
from rollscope.journal import Journal, LogReader
from rollscope_exporters.child import After
from rollscope_exporters.pipeline import Pipeline, PipelineSettings, upkeep
from rollscope_exporters.pipeline.loop import Loop
from rollscope_exporters.pipeline.settings import HOUR
from rollscope_exporters.records import RunFinished, StepMetrics
from rollscope_exporters.store import Store, schema

from ..bridge import SECOND, Bridge
from ..foreign import gauge_request
from ..ledger.test_ledger import run_through
from ..wire import process, requests

encode = msgspec.msgpack.Encoder().encode


def fill(storage: Path, count: int, now: int) -> None:
    """An inbox with `count` requests of one gauge each."""
    inbox = Journal(storage / "inbox", meta={}, limit=1 << 28, segment_bytes=1 << 16)
    for n in range(count):
        name, payload = gauge_request("program", {"loss": float(n)}, time=n + 1)
        inbox.append(encode((name, now, payload)), 0)
    inbox.close()


def with_a_run(storage: Path, *, delivered: bool, steps: int = 3) -> Bridge:
    """A bridge with all of a run that has ended, `delivered` to every backend or to none."""
    bridge = Bridge(storage)
    with process() as worker:
        run_through(worker, steps=steps)
        bridge.take(requests([*worker.items(), worker.heartbeat(final=True)]))
    if delivered:
        bridge.deliver()
    return bridge


def drain(loop: Loop) -> None:
    """Take everything there is."""
    while loop.turn():
        pass


def values(bridge: Bridge) -> list[object]:
    """The values that have reached the outbox."""
    bridge.restart()
    bridge.wait(10)
    return [record.values["loss"] for record in bridge.of(StepMetrics)]


def test_what_is_committed_is_acknowledged(tmp_path: Path) -> None:
    """After a commit the inbox has nothing left, and a second process begins behind it."""
    bridge = Bridge(tmp_path)
    fill(tmp_path, 50, bridge.now)
    drain(bridge.loop())
    assert LogReader(tmp_path / "inbox").drained()
    drain(bridge.loop())
    assert values(bridge) == list(range(50))


def test_a_clock_that_is_set_back_holds_up_nothing(tmp_path: Path) -> None:
    """What began to wait while the date was a day ahead waits anew, not for a day."""
    bridge = Bridge(tmp_path)
    inbox = Journal(tmp_path / "inbox", meta={}, limit=1 << 28)
    bridge.now += 24 * HOUR
    with process() as driver:
        driver.memory.recorder.event(v.EVENT_RUN_STARTED, {}, priority=0)
        driver.memory.recorder.event(v.EVENT_RUN_FINISHED, {v.RUN_STATUS: "finished"}, priority=0)
        for signal, payload in requests(driver.items()):
            inbox.append(encode((signal, bridge.now, payload)), 0)
    inbox.close()
    loop = bridge.loop()
    drain(loop)
    bridge.now -= 24 * HOUR
    loop.turn()
    assert not bridge.of(RunFinished)
    bridge.now += bridge.settings.finish
    loop.turn()
    assert [record.status for record in bridge.of(RunFinished)] == ["finished"]


def test_a_lost_acknowledgement_is_no_harm(tmp_path: Path) -> None:
    """Killed between commit and acknowledgement, the process goes on from the position in the store."""
    bridge = Bridge(tmp_path)
    fill(tmp_path, 50, bridge.now)
    loop = bridge.loop()
    loop._inbox.acknowledge = lambda: None  # type: ignore[method-assign]
    loop.turn()
    drain(bridge.loop())
    assert values(bridge) == list(range(50))


def test_an_entry_that_cannot_be_translated_is_set_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unforeseen error costs the one request that causes it, which is named; its neighbours in the batch arrive."""
    bridge = Bridge(tmp_path)
    fill(tmp_path, 20, bridge.now)
    take = Pipeline.take

    def failing(self: Pipeline, signal: str, payload: bytes, now: int) -> None:
        take(self, signal, payload, now)
        if payload == gauge_request("program", {"loss": 7.0}, time=8)[1]:
            raise ZeroDivisionError("unforeseen")

    monkeypatch.setattr(Pipeline, "take", failing)
    drain(bridge.loop())
    monkeypatch.undo()
    assert values(bridge) == [n for n in range(20) if n != 7]
    ledger = bridge.ledger()
    assert ledger.rejected == {"translation failed": 1}
    assert ledger.rejected_latest == ["inbox 8: translation failed: ZeroDivisionError: unforeseen"]


@pytest.mark.parametrize(
    ("after", "reason"), [("crash", "ended the pipeline's process"), ("hang", "the pipeline's process never came back from it")]
)
def test_an_entry_that_ends_the_process_is_set_aside_at_the_second_try(tmp_path: Path, after: After, reason: str) -> None:
    """After a crash of the interpreter, or a hang, entries are taken one by one; the one at which it ended is given up."""
    bridge = Bridge(tmp_path)
    fill(tmp_path, 5, bridge.now)

    class Crash(BaseException):
        """The end of the process."""

    def crash_at_third(signal: str, payload: bytes, now: int) -> None:
        if payload == gauge_request("program", {"loss": 2.0}, time=3)[1]:
            raise Crash

    for _ in range(3):
        loop = bridge.loop(after=after)
        take = loop._pipeline.take
        loop._pipeline.take = lambda s, p, n, take=take: (crash_at_third(s, p, n), take(s, p, n))[1]  # type: ignore[misc]
        try:
            drain(loop)
        except Crash:
            continue
        break
    assert values(bridge) == [0, 1, 3, 4]
    assert bridge.ledger().rejected == {reason: 1}


def test_a_damaged_inbox_is_counted(tmp_path: Path) -> None:
    """A flipped bit on the disk costs the request it hit, and the ledger says so."""
    bridge = Bridge(tmp_path)
    fill(tmp_path, 20, bridge.now)
    (segment, *_) = sorted((tmp_path / "inbox").glob("*.seg"))
    data = bytearray(segment.read_bytes())
    position = data.index(struct.pack("<d", 7.0))
    data[position] ^= 1
    segment.write_bytes(data)
    drain(bridge.loop())
    assert values(bridge) == [n for n in range(20) if n != 7]
    assert bridge.ledger().rejected == {"inbox damaged: checksum": 1}


def test_an_inbox_that_cannot_be_acknowledged_costs_nothing(tmp_path: Path) -> None:
    """When the mark cannot be written (a full disk), what was committed stays committed and no neighbour is blamed."""
    bridge = Bridge(tmp_path)
    fill(tmp_path, 20, bridge.now)
    loop = bridge.loop()

    def fail() -> None:
        raise OSError("no space left on device")

    loop._inbox.acknowledge = fail  # type: ignore[method-assign]
    drain(loop)
    assert values(bridge) == list(range(20))
    assert bridge.ledger().rejected == {}


def size(bridge: Bridge) -> int:
    """Bytes of the store."""
    return int(bridge.store.db.execute("SELECT (SELECT * FROM pragma_page_count) * (SELECT * FROM pragma_page_size)").fetchone()[0])


@pytest.mark.parametrize(("delivered", "limit", "waits"), [(False, 0.9, True), (True, 0.9, False), (True, 0.4, True)])
def test_a_full_store_lets_the_inbox_wait(tmp_path: Path, delivered: bool, limit: float, waits: bool) -> None:
    """While a backend has not taken what is there; where all have, only a store of twice its limit waits for what goes with time."""
    bridge = with_a_run(tmp_path, delivered=delivered)
    bridge.settings = PipelineSettings(store_bytes=int(size(bridge) * limit))
    fill(tmp_path, 5, bridge.now)
    assert bridge.loop().turn() is not waits
    assert (LogReader(tmp_path / "inbox").pending_bytes() > 0) is waits


@pytest.mark.parametrize("delivered", [False, True])
def test_a_nearly_full_disk_lets_the_inbox_wait(
    delivered: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The last of it is left to backends that work off what is in the store; said once, and over when there is room again."""
    caplog.set_level("INFO", "rollscope.pipeline")
    bridge = with_a_run(tmp_path, delivered=delivered)
    fill(tmp_path, 5, bridge.now)
    loop, free = bridge.loop(), [80]
    monkeypatch.setattr(upkeep, "disk", lambda folder: Disk(free[0] << 20, 1 << 40))
    for free[0] in (80, 80, 120):  # where it was short, a little more is not enough
        assert not loop.turn()
    assert LogReader(tmp_path / "inbox").pending_bytes() > 0
    free[0] = 160
    drain(loop)
    assert LogReader(tmp_path / "inbox").drained()
    first, second = [record.getMessage() for record in caplog.records if "disk" in record.getMessage()]
    assert first.startswith(f"the disk under {tmp_path} is nearly full: ")
    assert first.endswith("the last 96 MiB are left to the backends, so what arrives waits in the inbox")
    assert second == f"the disk under {tmp_path} has room again"


def test_the_store_shrinks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What deleted rows took is given back to the disk."""
    for module in ("ledger.totals", "pipeline.outbox"):
        monkeypatch.setattr(f"rollscope_exporters.{module}.BLOCK", 4)
    monkeypatch.setattr(upkeep, "STEP", 1000)
    bridge = with_a_run(tmp_path, delivered=True, steps=100)
    before = size(bridge)
    bridge.now += HOUR
    bridge.loop().turn()
    assert size(bridge) < before
    assert bridge.store.db.execute("PRAGMA freelist_count").fetchone() == (0,)


def test_a_full_store_lets_go_at_once_of_what_is_delivered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that wait for backends nobody has asked for yet must not make senders wait."""
    for module in ("ledger.totals", "pipeline.outbox"):
        monkeypatch.setattr(f"rollscope_exporters.{module}.BLOCK", 4)
    bridge = with_a_run(tmp_path, delivered=True, steps=20)
    bridge.now += SECOND
    drain(bridge.loop())
    assert bridge.rows()
    bridge.settings = PipelineSettings(store_bytes=1)
    drain(bridge.loop())
    assert len(bridge.rows()) < 4


def test_a_store_that_cannot_be_written_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk delays the batch and loses nothing."""
    bridge = Bridge(tmp_path)
    fill(tmp_path, 5, bridge.now)
    stop = threading.Event()
    failures = iter([True, True, False])
    transaction = Store.transaction

    def failing(self: Store) -> object:
        if next(failures, False):
            raise sqlite3.OperationalError("database or disk is full")
        return transaction(self)

    monkeypatch.setattr(Store, "transaction", failing)
    loop = bridge.loop()
    turn = loop.turn
    loop.turn = lambda: turn() or stop.set() or False  # type: ignore[func-returns-value, method-assign]
    loop.run(stop)
    monkeypatch.undo()
    assert values(bridge) == list(range(5))


def test_the_command_ends_with_its_pipe(tmp_path: Path) -> None:
    """The process takes what is in the inbox and ends when the supervisor's pipe closes."""
    bridge = Bridge(tmp_path)
    fill(tmp_path, 5, bridge.now)
    with subprocess.Popen(
        [sys.executable, "-m", "rollscope_exporters.pipeline", "--storage", str(tmp_path)], stdin=subprocess.PIPE
    ) as process:
        reader = LogReader(tmp_path / "inbox")
        while not reader.drained() or not (tmp_path / "inbox" / "acked").exists():
            reader = LogReader(tmp_path / "inbox")
        assert process.stdin
        process.stdin.close()
        assert process.wait(timeout=300) == 0
    assert values(bridge) == list(range(5))


def test_a_newer_store_is_refused(tmp_path: Path) -> None:
    """The command says that the store is newer and what to do, and does not touch it."""
    with Store.open(tmp_path / "store.db") as store:
        store.db.execute("PRAGMA user_version = 99")
    command = [sys.executable, "-m", "rollscope_exporters.pipeline", "--storage", str(tmp_path)]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=300)
    assert result.returncode == 78
    assert f"written by a newer rollscope (store layout 99, this one knows {schema.VERSION}); update rollscope" in result.stderr
