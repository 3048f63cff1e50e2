"""One sync serves many requests, and nothing is acknowledged before it."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from rollscope.files import disk
from rollscope.journal import JournalError, LogReader
from rollscope_exporters.receiver import INBOX_LANE, Inbox
from rollscope_exporters.receiver._inbox import InboxFullError
from tests.fixtures.small_disk import full_disk

WRITER = """
import asyncio, sys
from pathlib import Path
from rollscope_exporters.receiver import Inbox

async def put(inbox, n):
    await inbox.put("traces", n.to_bytes(8, "big") * 200)
    print(n, flush=True)

async def main():
    inbox = Inbox(Path(sys.argv[1]), 1 << 30)
    n = 0
    while True:
        await asyncio.gather(*(put(inbox, n + i) for i in range(16)))
        n += 16

asyncio.run(main())
"""


def payloads(folder: Path) -> list[bytes]:
    """Return what the inbox holds, oldest first."""
    reader, found = LogReader(folder, {}), []
    while entries := reader.read(INBOX_LANE, 1 << 20):
        found += [msgspec.msgpack.decode(entry.payload)[2] for entry in entries]
    reader.close()
    return found


async def test_requests_share_a_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one sync runs, all who come wait for the next one together."""
    inbox, syncs = Inbox(tmp_path / "inbox", 1 << 26), []
    real = inbox._journal.sync
    monkeypatch.setattr(inbox._journal, "sync", lambda: (syncs.append(1), real()))
    await asyncio.gather(*(inbox.put("logs", b"%d" % n) for n in range(200)))
    assert len(syncs) <= 2
    assert payloads(tmp_path / "inbox") == [b"%d" % n for n in range(200)]
    await inbox.close()


async def test_a_full_inbox_says_so_and_goes_on(tmp_path: Path) -> None:
    """What was acknowledged before stays; when there is room again, it is used."""
    inbox, taken = Inbox(tmp_path / "inbox", 1 << 20), 0
    for _ in range(100):
        try:
            await inbox.put("traces", bytes(50_000))
        except InboxFullError:
            break
        taken += 1
    reader = LogReader(tmp_path / "inbox")
    entries = []
    while batch := reader.read(INBOX_LANE, 1 << 20):
        entries += batch
    assert len(entries) == taken > 5
    reader.acknowledge(INBOX_LANE, entries[-1].end, len(entries))
    reader.close()
    for _ in range(100):
        try:
            await inbox.put("traces", bytes(50_000))
            break
        except InboxFullError:
            await asyncio.sleep(0.05)
    else:
        pytest.fail("no room although everything was acknowledged")
    await inbox.close()


async def test_a_failing_disk_reaches_the_caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sync that fails acknowledges nothing."""
    inbox = Inbox(tmp_path / "inbox", 1 << 26)

    def broken() -> None:
        raise JournalError("cannot sync: Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(inbox._journal, "sync", broken)
        with pytest.raises(JournalError, match="Input/output"):
            await inbox.put("traces", b"x")
    await inbox.put("traces", b"y")
    await inbox.close()


async def test_nothing_is_acknowledged_into_a_folder_that_is_gone(tmp_path: Path) -> None:
    """Its files take what is written even then, and nobody will find it."""
    inbox = Inbox(tmp_path / "inbox", 1 << 26)
    await inbox.put("traces", b"x")
    shutil.rmtree(tmp_path / "inbox")
    with pytest.raises(JournalError, match="was removed while its bridge runs"):
        await inbox.put("traces", b"y")
    await inbox.close()


async def test_a_caller_that_leaves_does_not_disturb_the_others(tmp_path: Path) -> None:
    """A cancelled request is kept all the same."""
    inbox = Inbox(tmp_path / "inbox", 1 << 26)
    tasks = [asyncio.create_task(inbox.put("traces", b"%d" % n)) for n in range(10)]
    await asyncio.sleep(0)
    tasks[3].cancel()
    done = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(result) for result in done].count(asyncio.CancelledError) == 1
    assert payloads(tmp_path / "inbox") == [b"%d" % n for n in range(10)]
    await inbox.close()


@pytest.mark.reliability
def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    """Killed in mid-stream and started again, the inbox holds everything acknowledged, once and in order."""
    acknowledged: set[int] = set()
    for _ in range(3):
        process = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path / "inbox")], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        start = max(acknowledged, default=0)
        lines = [process.stdout.readline() for _ in range(300)]
        os.kill(process.pid, signal.SIGKILL)
        lines += process.stdout.read().splitlines(keepends=True)
        process.stdout.close()
        process.wait()
        acknowledged |= {int(line) for line in lines if line.endswith("\n")}
        assert len(acknowledged) > start
    held = [int.from_bytes(payload[:8], "big") for payload in payloads(tmp_path / "inbox")]
    assert acknowledged <= set(held)


async def test_a_full_disk_is_named_and_its_end_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Which folder, how full, what to do: to the sender and, once, in the log; when there is room again it goes on by itself."""
    caplog.set_level("INFO", "rollscope.receiver")
    inbox = Inbox(tmp_path / "inbox", 8 << 20)
    await inbox.put("traces", b"x" * 100)
    with monkeypatch.context() as patch:
        patch.setattr(os, "posix_fallocate", full_disk)
        with pytest.raises(InboxFullError) as refused:
            await inbox.put("traces", b"x" * (1200 << 10))
        with pytest.raises(InboxFullError):
            await inbox.put("traces", b"x" * (1200 << 10))
    said = str(refused.value)
    assert said.startswith(f"the disk under {tmp_path / 'inbox'} has no room for the inbox: ")
    assert "MiB are free there, the last 160 MiB are left to the store; with 161 MiB and more it goes on by itself" in said
    await asyncio.sleep(1.1)
    await inbox.put("traces", b"x" * (1200 << 10))
    assert [record.getMessage() for record in caplog.records] == [said, "the inbox takes requests again"]
    await inbox.close()


@pytest.mark.reliability
async def test_the_last_of_a_disk_is_left_to_the_store(small_disk: Path) -> None:
    """Half of a small one: without room the store could not work off what is here. What was taken before is kept."""
    inbox = Inbox(small_disk / "inbox", 2 << 20)
    taken: list[int] = []

    async def flood() -> None:
        while True:
            await inbox.put("traces", b"x" * 50_000)
            taken.append(1)

    with pytest.raises(InboxFullError, match="MiB are left to the store"):
        await flood()
    assert disk(small_disk).free >= disk(small_disk).whole // 2
    assert len(list(payloads(small_disk / "inbox"))) == len(taken) > 0
    await inbox.close()
