"""Killed at any moment, the pipeline goes on from its last commit: every record takes effect exactly once."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from rollscope.journal import Journal, LogReader
from rollscope_exporters import records
from rollscope_exporters.ledger import RunLedger, read_ledger
from rollscope_exporters.store import NoStoreError, Store

from ..bridge import Bridge
from ..wire import Request
from ..workload import effects, workload

PIPELINE = [sys.executable, "-m", "rollscope_exporters.pipeline"]


class Killed(Exception):
    """When the process dies, here."""


def straight(storage: Path, requests: list[Request]) -> Bridge:
    """The bridge that nobody disturbed."""
    bridge = Bridge(storage)
    for request in requests:
        bridge.take([request])
    bridge.wait(10)
    return bridge


def numbers(ledger: RunLedger) -> list[tuple[object, ...]]:
    """The counts of a ledger that do not depend on time."""
    return [(p.producer, p.produced, p.received, p.missing, p.duplicate, p.waiting, p.set_aside) for p in ledger.producers]


@pytest.mark.parametrize("seed", range(6))
def test_a_commit_is_all_or_nothing(tmp_path: Path, seed: int) -> None:
    """Dying inside a batch or between two of its writes undoes the batch; taken again, it takes effect once."""
    requests = workload(seed)
    expected = straight(tmp_path / "straight", requests)
    bridge = Bridge(tmp_path / "killed")
    rng = random.Random(seed)
    done = 0
    while done < len(requests):
        batch = requests[done : done + rng.randint(1, 12)]
        try:
            with bridge.pipeline.commit(lambda: bridge.now, bridge.now):
                for signal_name, payload in batch:
                    bridge.pipeline.take(signal_name, payload, bridge.now)
                    if rng.random() < 0.05:
                        raise Killed
                if rng.random() < 0.2:
                    bridge.pipeline._runs.save = _die  # type: ignore[method-assign]
            done += len(batch)
        except Killed:
            bridge.restart()
    bridge.restart()
    bridge.wait(10)
    assert effects(bridge.records()) == effects(expected.records())
    assert bridge.sources() == expected.sources()
    assert [numbers(run) for run in bridge.ledger().runs] == [numbers(run) for run in expected.ledger().runs]


def _die(*_: object) -> None:
    raise Killed


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_batches_do_not_matter(tmp_path: Path, size: int) -> None:
    """One request a commit or a thousand: the same comes of it."""
    requests = workload(99)
    expected = straight(tmp_path / "straight", requests)
    bridge = Bridge(tmp_path / "batches")
    for start in range(0, len(requests), size):
        bridge.take(requests[start : start + size])
    bridge.wait(10)
    assert effects(bridge.records()) == effects(expected.records())


@pytest.mark.reliability
def test_kill_9(tmp_path: Path) -> None:
    """The real process, killed over and over while its inbox is filled: the same records, the same ledger."""
    requests = workload(7, trajectories=300)
    expected = straight(tmp_path / "straight", requests)
    storage = tmp_path / "killed"
    inbox = Journal(storage / "inbox", meta={"kind": "inbox"}, limit=1 << 28, segment_bytes=1 << 16)
    rng = random.Random(7)
    encode = msgspec.msgpack.Encoder().encode
    filled, kills = 0, 0
    while filled < len(requests) or not drained(storage):
        with subprocess.Popen([*PIPELINE, "--storage", str(storage)], stdin=subprocess.PIPE) as pipeline:
            until = time.monotonic() + (rng.uniform(0.5, 1.2) if kills < 10 else 60)
            while time.monotonic() < until and not (filled >= len(requests) and drained(storage)):
                for name, payload in requests[filled : filled + 3]:
                    inbox.append(encode((name, time.time_ns(), payload)), 0)
                filled += 3
                time.sleep(0.02)
            pipeline.kill()
        kills += 1
    inbox.close()
    rest = Bridge(storage)
    rest.now = time.time_ns()
    rest.wait(10)
    assert kills >= 4
    assert effects(map(without_session, rest.records())) == effects(map(without_session, expected.records()))
    ledger, undisturbed = read_ledger(storage, "run-1").runs[0], expected.ledger("run-1").runs[0]
    assert numbers(ledger) == numbers(undisturbed)


def drained(storage: Path) -> bool:
    """Whether everything in the inbox has been committed and acknowledged."""
    reader = LogReader(storage / "inbox")
    try:
        if not reader.drained():
            return False
        with Store.open(storage / "store.db", read_only=True) as store:
            return store.head() > 0
    except NoStoreError:
        return False
    finally:
        reader.close()


def without_session(record: records.Record) -> records.Record:
    """The record without what depends on the time at which a foreign program's first request came."""
    if not record.run.startswith("otel-"):
        return record
    time_too = {"time": 0} if isinstance(record, records.RunStarted) else {}
    return msgspec.structs.replace(record, run="otel", **time_too)


@pytest.mark.parametrize("seed", range(3))
def test_a_broken_inbox_entry_is_set_aside(tmp_path: Path, seed: int) -> None:
    """Garbage among the requests is counted, kept to look at, and disturbs nothing."""
    requests = workload(seed)
    expected = straight(tmp_path / "straight", requests)
    bridge = Bridge(tmp_path / "garbage")
    inbox = Journal(bridge.storage / "inbox", meta={}, limit=1 << 28)
    encode = msgspec.msgpack.Encoder().encode
    for n, (name, payload) in enumerate(requests):
        inbox.append(encode((name, bridge.now, payload)), 0)
        if n % 10 == 0:
            inbox.append(random.Random(n).randbytes(50), 0)
            inbox.append(encode(("traces", bridge.now, b"\xff" * 20)), 0)
            inbox.append(encode(("pictures", bridge.now, b"")), 0)
    loop = bridge.loop()
    while loop.turn():
        pass
    bridge.restart()
    bridge.wait(10)
    assert effects(bridge.records()) == effects(expected.records())
    ledger = bridge.ledger()
    times = -(-len(requests) // 10)
    assert ledger.rejected == {"not an inbox entry": times, "undecodable request": 2 * times}
    assert "inbox" in ledger.rejected_latest[0]
