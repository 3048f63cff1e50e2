"""Files against what was recorded of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from rollscope_exporters.uploads import ChangedError, check_file, place_of, reachable_files

from .checkpoints import checkpoint, recorded


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return checkpoint(tmp_path / "step 10", {"config.json": b"{}", "shards/a.bin": b"x" * 9})


def test_listed_files_are_those_of_the_record(place: Path) -> None:
    """A file that came later is not the checkpoint's; without a list, what is there is taken."""
    artifact = recorded(place)
    (place / "later").write_bytes(b"")
    assert [path for path, _, _ in reachable_files(artifact)] == ["config.json", "shards/a.bin"]
    assert [path for path, _, _ in reachable_files(recorded(place, listed=False))] == ["config.json", "later", "shards/a.bin"]
    assert [check_file(place_of(artifact), listed) for listed in reachable_files(artifact)] == [
        place / "config.json",
        place / "shards/a.bin",
    ]


def test_one_file_is_a_checkpoint_too(place: Path) -> None:
    """Its list names it."""
    file = place / "config.json"
    assert [check_file(file, listed) for listed in reachable_files(recorded(file))] == [file]


def test_what_changed_is_told(place: Path) -> None:
    """Another size, another time, gone, a pipe in its place."""
    artifact = recorded(place)
    config, shard = reachable_files(artifact)
    (place / "config.json").write_bytes(b"{ }")
    with pytest.raises(ChangedError, match=r"changed after it was recorded \(2 bytes then, 3 now\)"):
        check_file(place, config)
    os.utime(place / "shards" / "a.bin", ns=(1, 1))
    with pytest.raises(ChangedError, match="changed after"):
        check_file(place, shard)
    (place / "shards" / "a.bin").unlink()
    with pytest.raises(ChangedError, match=r"a\.bin is gone"):
        check_file(place, shard)
    os.mkfifo(place / "shards" / "a.bin")
    with pytest.raises(ChangedError, match="no regular file"):
        check_file(place, shard)


def test_a_place_out_of_reach_is_told(place: Path) -> None:
    """Gone, on another host, or no file system at all."""
    artifact = recorded(place)
    with pytest.raises(ChangedError, match="is gone"):
        reachable_files(replace(artifact, uri="file:///nowhere/at/all"))
    with pytest.raises(ChangedError, match=r"lies on node-7, which .* does not reach"):
        reachable_files(replace(artifact, uri="file:///nowhere/at/all", host="node-7"))
    with pytest.raises(ChangedError, match="s3://b/c is no file of a host"):
        place_of(replace(artifact, uri="s3://b/c"))


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", ""])
def test_names_stay_within_the_checkpoint(place: Path, name: str) -> None:
    """A record comes over the network: it may not name what lies elsewhere."""
    with pytest.raises(ChangedError, match="no path within a checkpoint"):
        check_file(place, (name, 1, 1))
