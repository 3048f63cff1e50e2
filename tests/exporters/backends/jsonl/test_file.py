"""One JSONL file that can be put back to any checkpoint."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

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
