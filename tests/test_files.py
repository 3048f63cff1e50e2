"""Replacing files."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollscope.files import replace_file


@pytest.mark.parametrize("durable", [False, True])
def test_a_file_is_replaced_as_a_whole(tmp_path: Path, durable: bool) -> None:
    """The new content is there, and nothing beside it."""
    path = tmp_path / "state.json"
    path.write_bytes(b"old and longer")
    replace_file(path, b"new", durable=durable)
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_replacement_leaves_the_old_file(tmp_path: Path) -> None:
    """What cannot be written does not touch what is there."""
    path = tmp_path / "state.json"
    path.write_bytes(b"old")
    (tmp_path / "state.json.new").mkdir()
    with pytest.raises(IsADirectoryError):
        replace_file(path, b"new")
    assert path.read_bytes() == b"old"
