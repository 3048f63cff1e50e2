"""What began and is not over."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rollscope.checksum import checksum
from rollscope.journal import Entry, Journal, LogReader, Place
from rollscope.journal import _held as held_module
from rollscope.journal._held import Held

ReadAll = Callable[..., list[Entry]]


def hold(journal: Journal, payload: bytes) -> Place | None:
    return journal.hold(payload, checksum(payload))


def test_it_is_seen_until_a_record_says_that_it_is_over(tmp_path: Path) -> None:
    """A reader beside the writer sees what is held from the call that holds it to the one that ends it."""
    journal = Journal(tmp_path, meta={})
    reader = LogReader(tmp_path)
    first, second = hold(journal, b"first"), hold(journal, b"second " * 500)
    assert sorted(reader.held()) == [b"first", b"second " * 500]

    assert journal.append(b"first and its end", over=first) == 1
    assert reader.held() == [b"second " * 500]
    journal.append(b"second and its end", over=second)
    assert hold(journal, b"third") is first
    assert reader.held() == [b"third"]
    journal.close()
    assert (reader.held(), reader.damaged) == ([b"third"], {})


def test_kill(tmp_path: Path, run_python: Callable[[Path, str], subprocess.Popen[str]], read_all: ReadAll) -> None:
    """`kill -9` right after a call loses nothing that the call held."""
    program = """
        from rollscope.checksum import checksum
        journal = Journal(folder, meta={})
        for n in range(1000):
            payload = b"%d" % n * 100
            place = journal.hold(payload, checksum(payload))
            if n % 7:
                journal.append(payload, over=place)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    with run_python(tmp_path, program):
        pass
    reader = LogReader(tmp_path)

    assert len(read_all(reader)) == sum(n % 7 > 0 for n in range(1000))
    assert sorted(reader.held()) == sorted(b"%d" % n * 100 for n in range(0, 1000, 7))


def test_killed_at_every_line_of_the_append_that_ends_it(tmp_path: Path, read_all: ReadAll) -> None:
    """Whenever the writer dies in it, the record is there or what it would have ended is still held: never both, never neither."""
    journal = Journal(tmp_path / "log", meta={})
    for _ in range(3):
        journal.append(b"before")
    places = [hold(journal, b"other"), hold(journal, b"began")]
    copies: list[Path] = []

    def on_line(frame: FrameType, event: str, _: object) -> object:
        if event == "line":
            copies.append(tmp_path / f"copy{len(copies)}")
            sys.settrace(None)
            shutil.copytree(tmp_path / "log", copies[-1])
            sys.settrace(on_call)
        return on_line

    def on_call(frame: FrameType, event: str, _: object) -> object:
        return on_line if frame.f_code is Journal.append.__code__ else None

    tracing = sys.gettrace()
    sys.settrace(on_call)
    try:
        journal.append(b"began and ended", 1, places[1])
    finally:
        sys.settrace(tracing)
    journal.close()
    found = []
    for copy in copies:
        reader = LogReader(copy)
        recorded = b"began and ended" in [entry.payload for entry in read_all(reader)]
        found.append(recorded)
        assert sorted(reader.held()) == [*([] if recorded else [b"began"]), b"other"]
        # A later reader, which never saw the acknowledged record, knows it as well.
        for lane in (0, 1, 2):
            reader.acknowledge(lane, reader.position(lane), 3 + recorded if lane == 1 else 0)
        assert sorted(LogReader(copy).held()) == sorted(reader.held())
    assert found == sorted(found)
    assert len(set(found)) == 2


sizes = st.one_of(st.integers(1, 3000), st.sampled_from([1008, 1009, 16 << 10, 300_000]))


@given(steps=st.lists(st.tuples(st.booleans(), sizes), max_size=80))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_order_of_beginnings_and_ends(steps: list[tuple[bool, int]], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Held is exactly what began and did not end, whatever its size, over any number of files."""
    folder = tmp_path_factory.mktemp("log")
    journal = Journal(folder, meta={})
    open_now: list[tuple[bytes, Place | None]] = []
    for number, (begin, size) in enumerate(steps):
        if begin or not open_now:
            payload = (b"%d " % number * size)[:size]
            open_now.append((payload, hold(journal, payload)))
        else:
            payload, place = open_now.pop(size % len(open_now))
            journal.append(payload, over=place)
    reader = LogReader(folder)

    assert Counter(reader.held()) == Counter(payload for payload, _ in open_now)
    journal.close()
    shutil.rmtree(folder)


@given(position=st.integers(0, 16 + 300 - 1), bit=st.integers(0, 7))
@settings(max_examples=200, deadline=None)
def test_a_flipped_bit_is_found(position: int, bit: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No held record comes back other than it was; one that is damaged is counted once its writer is dead. Its neighbour comes back."""
    folder = tmp_path_factory.mktemp("log")
    journal = Journal(folder, meta={})
    _, _, _, _, start = hold(journal, b"held " * 60) or pytest.fail("refused")
    hold(journal, b"neighbour")
    journal.close()
    path = next(folder.glob("*.held"))
    data = bytearray(path.read_bytes())
    data[start - 16 + position] ^= 1 << bit
    path.write_bytes(data)
    reader = LogReader(folder)

    assert reader.held() == [b"neighbour"]
    assert reader.damaged == {"beginning": 1}
    shutil.rmtree(folder)


def test_damage_to_the_head_of_the_file_is_found(tmp_path: Path) -> None:
    """A file whose own head is damaged is counted, not guessed at."""
    journal = Journal(tmp_path, meta={})
    hold(journal, b"held")
    journal.close()
    path = next(tmp_path.glob("*.held"))
    whole = path.read_bytes()
    for bit in range(8 * (32 + 1)):
        data = bytearray(whole)
        data[bit // 8] ^= 1 << bit % 8
        path.write_bytes(data)
        reader = LogReader(tmp_path)
        assert (reader.held(), reader.damaged) == ([], {"beginning": 1})


def test_a_file_cut_short_is_found_and_a_foreign_one_left_alone(tmp_path: Path) -> None:
    """What is left of the one is read, and the loss is named; the other hinders neither a reader nor the next writer."""
    journal = Journal(tmp_path, meta={})
    for n in range(10):
        hold(journal, b"%d" % n)
    journal.close()
    (file,) = tmp_path.glob("o*.held")
    (tmp_path / "o00000001 (copy).held").write_bytes(file.read_bytes())
    file.write_bytes(file.read_bytes()[:5000])
    reader = LogReader(tmp_path)
    assert 0 < len(reader.held()) < 10
    assert reader.damaged == {"beginning": 1}
    Journal(tmp_path, meta={}).close()


def test_a_living_writer_may_be_just_changing_it(tmp_path: Path) -> None:
    """What looks damaged while its writer lives is left out and not counted."""
    journal = Journal(tmp_path, meta={})
    words, at, *_ = hold(journal, b"held") or pytest.fail("refused")
    words[at] ^= 1 << 40
    reader = LogReader(tmp_path)

    assert (reader.held(), reader.damaged) == ([], {})
    journal.close()
    assert (reader.held(), reader.damaged) == ([], {"beginning": 1})


def test_it_says_whose_it_is(tmp_path: Path) -> None:
    """A writer that was killed within the first thing it did is known by its name."""
    journal = Journal(tmp_path, meta={"producer": "p"})
    hold(journal, b"began")

    assert not list(tmp_path.glob("*.seg"))
    assert LogReader(tmp_path).meta() == {"producer": "p"}
    journal.close()


def test_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What finds no room is refused and counted; its end is recorded all the same."""
    with monkeypatch.context() as patched:
        patched.setattr(held_module, "_MOST", 200_000)
        journal = Journal(tmp_path / "many", meta={})
        places = [hold(journal, b"x" * 1000) for _ in range(200)]
    assert places.count(None) == 200 - 3 * 63
    assert journal.append(b"end", over=places[-1]) == 1
    assert journal.counters().truncated == {"refused beginnings: too many at once": 11}
    journal.close()
    full = Journal(tmp_path / "full", meta={}, limit=100_000, segment_bytes=8192)
    assert [hold(full, b"x") is None, hold(full, b"x" * 9000) is None, hold(full, b"x" * 9000) is None] == [False, True, True]
    assert full.counters().truncated == {"refused beginnings: byte limit": 2}
    full.close()
    assert hold(full, b"x") is None
    large = Journal(tmp_path / "large", meta={})
    assert hold(large, bytes(3 << 20)) is None
    assert large.counters().truncated == {"refused beginnings: record too large": 1}
    large.close()


def test_a_refused_end_gives_its_place_back(tmp_path: Path) -> None:
    """What is over is over, also where the record that says so found no room and was counted."""
    journal = Journal(tmp_path, meta={}, limit=100_000, segment_bytes=4096)
    place = hold(journal, b"began")
    while journal.append(b"x" * 1000) > 0:
        pass

    assert journal.append(b"x" * 1000, over=place) == -1
    assert LogReader(tmp_path).held() == []
    journal.close()


def test_a_place_of_a_journal_that_is_closed(tmp_path: Path) -> None:
    """A journal takes the end of what another one held, without a hole in its numbers; there it stays held."""
    former, journal = Journal(tmp_path / "former", meta={}), Journal(tmp_path / "next", meta={})
    place = hold(former, b"began")
    former.close()

    assert [journal.append(b"end", over=place), journal.append(b"next")] == [1, 2]
    assert LogReader(tmp_path / "former").held() == [b"began"]
    journal.close()


def test_interrupted_at_every_line(tmp_path: Path) -> None:
    """Whatever line of it is interrupted by another one in the same thread (a signal handler), all are held."""
    journal = Journal(tmp_path, meta={})
    hold(journal, b"first")
    inside: list[Place | None] = []

    def on_line(frame: FrameType, event: str, _: object) -> object:
        if event == "line":
            sys.settrace(None)
            inside.append(hold(journal, b"inside"))
            sys.settrace(on_call)
        return on_line

    def on_call(frame: FrameType, event: str, _: object) -> object:
        return on_line if frame.f_code is Held.put.__code__ else None

    tracing = sys.gettrace()
    sys.settrace(on_call)
    try:
        hold(journal, b"interrupted")
    finally:
        sys.settrace(tracing)

    assert Counter(LogReader(tmp_path).held()) == Counter({b"first": 1, b"interrupted": 1, b"inside": len(inside)})
    assert len(inside) > 4
    journal.close()
