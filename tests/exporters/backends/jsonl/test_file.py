"""One JSONL file that can be put back to any checkpoint."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollscope_exporters.backends.jsonl._file import LineFile, Mark

batches = st.lists(
    st.lists(st.binary(min_size=1, max_size=40).map(lambda data: data.hex().encode() + b"\n"), min_size=1, max_size=4), max_size=12
)


def content(folder: Path) -> list[bytes]:
    files = [*sorted(folder.glob("s.[0-9]*.jsonl")), folder / "s.jsonl"]
    return [line for file in files if file.exists() for line in file.read_bytes().splitlines(keepends=True)]


@given(batches, st.data(), st.integers(50, 400))
def test_any_checkpoint_can_be_returned_to(written: list[list[bytes]], data: st.DataObject, rotate: int) -> None:
    """Reopened with the mark of any moment, the files hold exactly the lines before it, whatever was written and rotated since."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        file, marks = LineFile(folder, "s", rotate, Mark()), [Mark()]
        for batch in written:
            file.append(batch)
            marks.append(file.mark)
        assert content(folder) == [line for batch in written for line in batch]
        moment = data.draw(st.integers(0, len(written)))
        again = LineFile(folder, "s", rotate, marks[moment])
        assert content(folder) == [line for batch in written[:moment] for line in batch]
        again.append([b"new\n"])
        assert content(folder)[-1] == b"new\n"


def test_files_rotate_by_size(tmp_path: Path) -> None:
    """A file that would outgrow its size gives way; older files keep their numbers, and a batch is never split."""
    file = LineFile(tmp_path, "s", 100, Mark())
    for _ in range(3):
        file.append([b"x" * 59 + b"\n"])
    file.append([b"y" * 300 + b"\n"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s.0001.jsonl", "s.0002.jsonl", "s.0003.jsonl", "s.jsonl"]
    assert file.mark == Mark(3, 301)


@pytest.fixture
def file(tmp_path: Path) -> LineFile:
    """A file of three lines of ten bytes."""
    file = LineFile(tmp_path / "run", "s", 1000, Mark())
    file.append([b"000000000\n", b"111111111\n", b"222222222\n"])
    return file


@pytest.fixture
def active(tmp_path: Path) -> Path:
    return tmp_path / "run" / "s.jsonl"


def append(path: Path, data: bytes) -> None:
    """As somebody else does."""
    with open(path, "ab") as file:
        file.write(data)


@pytest.mark.parametrize(
    ("size", "left"),
    [(15, b"000000000\n11111\n"), (19, b"000000000\n111111111\n"), (20, b"000000000\n111111111\n"), (0, b"")],
)
def test_a_file_cut_short_goes_on_in_a_line_of_its_own(
    file: LineFile, active: Path, size: int, left: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """At what is left of it, half a line or none; one warning names the file and both sizes."""
    os.truncate(active, size)
    for line in (b"new\n", b"next\n"):
        file.append([line])
    assert active.read_bytes() == left + b"new\nnext\n"
    assert file.mark == Mark(0, len(left) + 9)
    (message,) = caplog.messages
    assert f"{active} was left with 30 bytes and has {size}:" in message


@pytest.mark.parametrize(("foreign", "left"), [(b"note\n", b"note\n"), (b"half", b"half\n")])
def test_what_somebody_else_appends_stays(
    file: LineFile, active: Path, foreign: bytes, left: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """Also at the next start, when only what was written since the checkpoint goes."""
    before = active.read_bytes()
    append(active, foreign)
    file.append([b"new\n"])
    file.sync()
    checkpoint = file.mark
    file.append([b"twice\n"])
    again = LineFile(active.parent, "s", 1000, checkpoint)
    assert active.read_bytes() == before + left + b"new\n"
    again.append([b"twice\n"])
    assert active.read_bytes() == before + left + b"new\ntwice\n"
    assert len(caplog.messages) == 1


@pytest.mark.parametrize("rest", [b"", b"half"])
def test_a_checkpoint_at_half_a_line_can_be_returned_to(file: LineFile, active: Path, rest: bytes) -> None:
    """The newline that was set behind what somebody else left is cut off with the lines behind it, and comes again with them."""
    append(active, rest)
    file.sync()
    checkpoint, before = file.mark, active.read_bytes()
    file.append([b"twice\n"])
    again = LineFile(active.parent, "s", 1000, checkpoint)
    assert active.read_bytes() == before
    again.append([b"twice\n"])
    assert active.read_bytes() == before + (b"\n" if rest else b"") + b"twice\n"


@pytest.mark.parametrize("removed", ["file", "folder"])
@pytest.mark.parametrize("started_again", [False, True])
def test_what_was_removed_begins_anew(
    file: LineFile, active: Path, removed: str, started_again: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """With the same warning, in the same process or the next."""
    active.unlink() if removed == "file" else shutil.rmtree(active.parent)
    if started_again:
        file = LineFile(active.parent, "s", 1000, file.mark)
    assert not caplog.messages
    for line in (b"new\n", b"next\n"):
        file.append([line])
    assert active.read_bytes() == b"new\nnext\n"
    (message,) = caplog.messages
    assert "30 bytes and has 0:" in message


def test_a_file_removed_before_its_checkpoint_holds_nothing_up(file: LineFile, active: Path, caplog: pytest.LogCaptureFixture) -> None:
    """There is nothing left to make durable; the mark says so."""
    shutil.rmtree(active.parent)
    file.sync()
    file.sync()
    assert file.mark == Mark(0, 0)
    assert len(caplog.messages) == 1


def test_a_removed_file_is_not_rotated(file: LineFile, active: Path) -> None:
    """Its size is what counts, not the one that was believed."""
    active.unlink()
    file.append([b"x" * 980 + b"\n"])
    assert [path.name for path in active.parent.iterdir()] == ["s.jsonl"]


def test_a_line_is_never_cut_at_a_start(file: LineFile, active: Path, caplog: pytest.LogCaptureFixture) -> None:
    """When the believed end lies within a line, all of the file stays, and the next line says so."""
    whole = b"an inserted line\n" + active.read_bytes()
    active.write_bytes(whole)
    again = LineFile(active.parent, "s", 1000, file.mark)
    assert active.read_bytes() == whole
    again.append([b"new\n"])
    assert active.read_bytes() == whole + b"new\n"
    (message,) = caplog.messages
    assert "30 bytes and has 47:" in message


def test_an_untouched_file_is_not_spoken_of(file: LineFile, active: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Neither when it is rotated nor when it is cut back to its checkpoint."""
    file.sync()
    checkpoint = file.mark
    for _ in range(50):
        file.append([b"x" * 99 + b"\n"])
    LineFile(active.parent, "s", 1000, checkpoint).append([b"new\n"])
    assert [path.name for path in active.parent.iterdir()] == ["s.jsonl"]
    assert active.stat().st_size == 34
    assert not caplog.messages


def test_a_failed_write_undoes_its_own_only(file: LineFile, active: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk in the middle of a line, behind half a line of somebody else: that stays."""
    append(active, b"half")
    before, real = active.read_bytes(), os.write

    def full(descriptor: int, data: bytes) -> int:
        if len(data) < 5:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(descriptor, data[:3])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space left"):
        file.append([b"new line\n"])
    monkeypatch.undo()
    assert active.read_bytes() == before
    file.append([b"new line\n"])
    assert active.read_bytes() == before + b"\nnew line\n"


foreign = st.one_of(
    st.tuples(st.just("cut"), st.integers(0, 200)), st.tuples(st.just("append"), st.binary(max_size=20)), st.just(("remove", None))
)


@given(st.lists(st.one_of(st.sampled_from([b"line\n", b"a longer line\n"]), foreign), max_size=20), st.integers(50, 200))
def test_whatever_else_happens_each_record_begins_a_line(events: list[bytes | tuple[str, object]], rotate: int) -> None:
    """Lines written after the last change are there, whole, and the mark is the size of the file."""
    with TemporaryDirectory() as name:
        file, active, since = LineFile(Path(name), "s", rotate, Mark()), Path(name) / "s.jsonl", list[bytes]()
        for event in events:
            if isinstance(event, bytes):
                file.append([event])
                since.append(event)
                assert file.mark.size == active.stat().st_size
            elif active.exists():
                since.clear()
                disturb(active, *event)
        assert content(Path(name))[len(content(Path(name))) - len(since) :] == since


def disturb(path: Path, how: str, what: object) -> None:
    """Do to a file what its owner does not expect."""
    if isinstance(what, bytes):
        append(path, what)
    elif isinstance(what, int):
        os.truncate(path, min(what, path.stat().st_size))
    else:
        path.unlink()
