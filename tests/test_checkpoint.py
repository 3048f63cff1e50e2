"""Checkpoints: named at once, looked at later."""

import hashlib
import json
import os

import pytest

import rollscope as rs
from rollscope import vocabulary as v
from rollscope.checkpoint import checkpoints
from rollscope.testing import memory_recorder


@pytest.fixture
def checkpoint(tmp_path):
    folder = tmp_path / "step-10"
    (folder / "shards").mkdir(parents=True)
    (folder / "config.json").write_bytes(b"{}")
    (folder / "shards" / "a.bin").write_bytes(b"x" * 5000)
    return folder


def files_of(event):
    return json.loads(event.attributes[v.ARTIFACT_FILES])


def test_a_folder_is_named_at_once_and_listed_later(rollscope_memory, checkpoint):
    """Place, type, aliases and step first; then every file with size, time and digest, and a digest of all."""
    rs.artifact(checkpoint, type="model", aliases=["best"], step=10)
    assert checkpoints.drain(30) == 0
    first, second = rollscope_memory.events
    assert first.attributes.items() >= {
        v.ARTIFACT_NAME: "step-10", v.ARTIFACT_TYPE: "model", v.STEP_INDEX: 10, v.ARTIFACT_URI: checkpoint.as_uri()
    }.items()  # fmt: skip
    assert first.attributes[v.ARTIFACT_ALIASES] == ["best"]
    assert second.attributes[v.ARTIFACT_UID] == first.attributes[v.ARTIFACT_UID]
    assert second.attributes[v.ARTIFACT_SIZE] == 5002
    expected = [["config.json", b"{}"], ["shards/a.bin", b"x" * 5000]]
    assert files_of(second) == [
        [name, len(content), (checkpoint / name).stat().st_mtime_ns, f"sha256:{hashlib.sha256(content).hexdigest()}"]
        for name, content in expected
    ]
    listed = "".join(f"{path}\0{digest}\n" for path, _, _, digest in files_of(second))
    assert second.attributes[v.ARTIFACT_DIGEST] == f"sha256:{hashlib.sha256(listed.encode()).hexdigest()}"
    assert not any(v.ARTIFACT_CONTENT in event.attributes for event in rollscope_memory.events)


def test_a_small_model_file_does_not_travel_either(rollscope_memory, checkpoint):
    """A checkpoint is a checkpoint at any size; its digest is the file's own."""
    rs.artifact(checkpoint / "config.json", type="checkpoint")
    assert checkpoints.drain(30) == 0
    first, second = rollscope_memory.events
    assert first.attributes[v.ARTIFACT_SIZE] == 2
    assert second.attributes[v.ARTIFACT_DIGEST] == f"sha256:{hashlib.sha256(b'{}').hexdigest()}"


def test_a_place_elsewhere_is_taken_as_it_is(rollscope_memory):
    """Object stores are not asked."""
    rs.artifact("s3://bucket/run/step-10/", type="model")
    event = rollscope_memory.event(v.EVENT_ARTIFACT)
    assert (event.attributes[v.ARTIFACT_URI], event.attributes[v.ARTIFACT_NAME]) == ("s3://bucket/run/step-10/", "step-10")


@pytest.mark.parametrize(("mode", "events", "digested"), [("digest", 2, True), ("reference", 2, False), ("off", 0, False)])
def test_the_switch(checkpoint, mode, events, digested):
    """`ROLLSCOPE_MODELS` says whether files are read, only listed, or nothing is recorded."""
    with memory_recorder(environment={"ROLLSCOPE_MODELS": mode}) as memory:
        rs.artifact(checkpoint, type="model")
        assert checkpoints.drain(30) == 0
    assert len(memory.events) == events
    if events:
        assert bool(files_of(memory.events[-1])[0][3]) is digested


def test_the_end_of_a_run_waits_for_no_digest(checkpoint):
    """A file that would take minutes to read: its list comes without digest, at once."""
    with open(checkpoint / "huge.bin", "wb") as file:
        os.truncate(file.fileno(), 1 << 40)  # sparse: a terabyte that takes no room
    with memory_recorder() as memory:
        rs.artifact(checkpoint, type="model")
        checkpoints.settle()
    second = memory.events[-1]
    assert v.ARTIFACT_DIGEST not in second.attributes
    assert ["huge.bin", 1 << 40] in [entry[:2] for entry in files_of(second)]


def test_a_checkpoint_that_is_not_there_is_counted():
    """As any file."""
    with memory_recorder(strict=False) as memory:
        rs.artifact("/nowhere/at/all", type="model")
    assert memory.journal.failed == {"artifact": 1}
