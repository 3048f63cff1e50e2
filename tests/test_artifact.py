"""Artifacts."""

import hashlib
import random

import pytest

import rollscope as rs
from rollscope import vocabulary as v
from rollscope.background import background
from rollscope.content import CHUNK_BYTES
from rollscope.testing import memory_recorder


def joined(events):
    pieces = sorted(events, key=lambda event: event.attributes[v.ARTIFACT_CHUNK_INDEX])
    assert len(pieces) == pieces[0].attributes[v.ARTIFACT_CHUNK_COUNT]
    return b"".join(piece.attributes[v.ARTIFACT_CONTENT] for piece in pieces)


def test_a_small_file_travels_whole(rollscope_memory, tmp_path):
    """One record with content, digest, size, type and aliases."""
    path = tmp_path / "config.yaml"
    path.write_bytes(b"lr: 1e-6\n")
    rs.artifact(path, type="config", aliases=["best"], step=3)
    event = rollscope_memory.event(v.EVENT_ARTIFACT)
    assert event.attributes == {
        v.ARTIFACT_NAME: "config.yaml",
        v.ARTIFACT_TYPE: "config",
        v.ARTIFACT_ALIASES: ["best"],
        v.STEP_INDEX: 3,
        v.ARTIFACT_SIZE: 9,
        v.ARTIFACT_DIGEST: f"sha256:{hashlib.sha256(b'lr: 1e-6' + bytes([10])).hexdigest()}",
        v.ARTIFACT_CHUNK_COUNT: 1,
        v.ARTIFACT_CHUNK_INDEX: 0,
        v.ARTIFACT_CONTENT: b"lr: 1e-6\n",
    }


@pytest.mark.parametrize("size", [0, 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES])
def test_content_is_cut_into_pieces_that_join_again(rollscope_memory, size):
    """Whatever its size, content comes out as it went in; several pieces travel with the last priority."""
    content = random.Random(size).randbytes(size)
    with rs.step(7):
        rs.artifact(content, name="notes.bin")
    found = [event for event in rollscope_memory.events if event.name == v.EVENT_ARTIFACT]
    assert joined(found) == content
    assert found[0].attributes[v.STEP_INDEX] == 7
    assert rollscope_memory.journal.truncated == {}
    lanes = {lane for lane, number, _ in rollscope_memory.journal.entries if lane == 2}
    assert lanes == ({2} if len(found) > 1 else set())


def test_a_larger_file_is_read_in_the_background(rollscope_memory, tmp_path):
    """It was opened at once: deleting it afterwards loses nothing."""
    content = random.Random(1).randbytes(2_000_000)
    path = tmp_path / "model.bin"
    path.write_bytes(content)
    rs.artifact(path)
    path.unlink()
    assert background.drain(10) == 0
    assert joined(rollscope_memory.events) == content


def test_a_file_over_the_limit_is_named_where_it_lies(tmp_path):
    """URI and size, no content, and a word about why."""
    path = tmp_path / "checkpoint.pt"
    path.write_bytes(b"x" * 2000)
    with memory_recorder(environment={"ROLLSCOPE_ARTIFACT_LIMIT": "1KiB"}) as memory:
        rs.artifact(path, aliases="best")
        rs.artifact(tmp_path, name="checkpoints/12")
    large, folder = memory.events
    assert (large.attributes[v.ARTIFACT_URI], large.attributes[v.ARTIFACT_SIZE]) == (path.as_uri(), 2000)
    assert large.body == "content not sent: 2000 bytes, more than the 1024 that travel"
    assert v.ARTIFACT_CONTENT not in large.attributes
    assert (folder.attributes[v.ARTIFACT_NAME], folder.attributes[v.ARTIFACT_URI]) == ("checkpoints/12", tmp_path.as_uri())


def test_content_over_the_limit_is_counted():
    """There is no file to point to: size and digest are recorded, the loss is counted."""
    with memory_recorder(environment={"ROLLSCOPE_ARTIFACT_LIMIT": "1KiB"}) as memory:
        rs.artifact(b"x" * 2000, name="a")
    assert memory.event(v.EVENT_ARTIFACT).attributes[v.ARTIFACT_SIZE] == 2000
    assert memory.journal.dropped == {"big_artifact": 1}


@pytest.mark.parametrize("source", ["/nowhere/at/all", b"content without a name"])
def test_what_cannot_be_recorded_is_counted_not_raised(source):
    """A missing file or name costs the artifact, never the training."""
    with memory_recorder(strict=False) as memory:
        rs.artifact(source)
    assert memory.journal.failed == {"artifact": 1}
