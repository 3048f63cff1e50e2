"""A program that closes descriptors which it did not open gets its own files whole, and so does the journal."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from rollscope.journal import Entry, Journal, LogReader, is_alive

ReadAll = Callable[..., list[Entry]]
Run = Callable[..., "subprocess.Popen[str]"]


def output(process: subprocess.Popen[str]) -> str:
    """What the program printed, once it has ended well."""
    with process:
        assert process.stdout is not None
        printed = process.stdout.read()
    assert process.returncode == 0
    return printed


@pytest.mark.parametrize("fsync", [False, True])
def test_files_opened_in_place_of_the_journals(tmp_path: Path, run_python: Run, read_all: ReadAll, fsync: bool) -> None:
    """After `os.closerange` the files that get those numbers have exactly the bytes their program wrote, and no record is lost."""
    program = f"""
        journal = Journal(folder / "log", meta={{}}, segment_bytes=32768, fsync={fsync})
        place = journal.hold(b"began", 0)
        for lane in range(3):
            journal.append(b"before", lane)
        os.closerange(3, 256)
        files = [open(folder / f"user{{n}}", "wb+", buffering=0) for n in range(30)]
        for file in files:
            file.write(b"C" * 300_000)
        for n in range(3000):
            journal.append(b"x" * 200, n % 3)
        for _ in range(20):
            journal.append(b"x" * 60_000)
        journal.append(b"ended", 1, place)
        journal.stay_alive()
        if {fsync}:
            journal.sync()
        assert not journal.deleted()
        journal.close()
        for file in files:
            file.write(b"D")
            file.seek(0)
            assert file.read() == b"C" * 300_000 + b"D", file.name
    """
    output(run_python(tmp_path, program))
    reader = LogReader(tmp_path / "log")

    assert [entry.sequence for entry in sorted(read_all(reader, acknowledge=True))] == [*range(1, 3025)]
    assert (reader.damaged, reader.counters().dropped, reader.held(), reader.drained()) == ({}, {}, [], True)


def test_files_of_a_forked_child(tmp_path: Path, run_python: Run) -> None:
    """A daemon that is forked after the first record, closes everything and opens files keeps them when the journal is abandoned."""
    program = """
        import ctypes
        journal = Journal(folder / "log", meta={})
        journal.append(b"one")
        child = ctypes.CDLL(None).fork()   # no hook runs: the child abandons later, by hand
        if child == 0:
            os.closerange(3, 256)
            files = [open(folder / f"user{n}", "wb", buffering=0) for n in range(30)]
            journal.abandon()
            for file in files:
                file.write(b"whole")
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert journal.append(b"two") == 2
        journal.close()
    """
    output(run_python(tmp_path, program))

    assert {path.read_bytes() for path in tmp_path.glob("user*")} == {b"whole"}


def test_only_the_lock_is_kept_open(tmp_path: Path) -> None:
    """Of a journal's files none but `alive` stays open, so that nothing can be closed by number that is not ours."""
    journal = Journal(tmp_path, meta={}, segment_bytes=8192)
    journal.hold(b"began", 0)
    for n in range(300):
        journal.append(b"x" * 200, n % 3)

    links = [os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}")]
    assert [os.path.basename(link) for link in links if link.startswith(f"{tmp_path}/")] == ["alive"]
    journal.close()


def test_alive_without_a_descriptor(tmp_path: Path, run_python: Run) -> None:
    """A writer whose descriptors were closed counts as alive until it ends, also where it has to take the lock again."""
    program = """
        from rollscope.journal import is_alive
        for mapped in (True, False):
            journal = Journal(folder / "log", meta={})
            if not mapped:
                journal._alive._map.close()  # as if it lay on overlayfs
            os.closerange(3, 256)
            print(is_alive(folder / "log" / "alive"))
            journal.stay_alive()
            print(is_alive(folder / "log" / "alive"))
            journal.close()
            print(is_alive(folder / "log" / "alive"))
    """
    assert output(run_python(tmp_path, program)).split() == ["True", "True", "False", "False", "True", "False"]


def test_alive_until_killed_without_a_descriptor(tmp_path: Path, run_python: Run) -> None:
    """Killed with its descriptors closed, a writer is dead at once."""
    program = """
        journal = Journal(folder, meta={})
        os.closerange(3, 256)
        print(journal.append(b"one"), flush=True)
        time.sleep(60)
    """
    process = run_python(tmp_path, program)
    assert process.stdout is not None
    process.stdout.readline()
    assert is_alive(tmp_path / "alive")
    process.kill()
    process.communicate()

    assert not is_alive(tmp_path / "alive")


def test_standard_descriptors_closed(tmp_path: Path, run_python: Run, read_all: ReadAll) -> None:
    """Where 0, 1 and 2 are closed before the journal is made, what the program prints does not get into it."""
    program = """
        for standard in range(3):
            os.close(standard)
        journal = Journal(folder, meta={}, segment_bytes=8192, fsync=True)
        journal.hold(b"began", 0)
        for n in range(300):
            for standard in range(3):
                try:
                    os.write(standard, b"progress " * 500)
                except OSError:
                    pass
            journal.append(b"x" * 200, n % 3)
        journal.sync()
        journal.close()
    """
    output(run_python(tmp_path, program))
    reader = LogReader(tmp_path)

    assert sorted(entry.sequence for entry in read_all(reader)) == [*range(1, 301)]
    assert reader.damaged == {}
