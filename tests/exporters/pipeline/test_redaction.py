"""What other programs send is redacted before it is stored: the secret is in no file of the bridge."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import rollscope as rs
from rollscope.journal import Journal
from rollscope.redact import MASKED_ID, REDACTED
from rollscope.settings import Redaction
from rollscope.tokens import unpack_ids
from rollscope_exporters.pipeline import PipelineSettings
from rollscope_exporters.records import LogLine, Trace, Trajectory

from ..bridge import Bridge
from ..foreign import gauge_request, log_request, span_request
from ..wire import NOW, process, requests

SECRET = "sk-abc123XYZ"


def redacting(storage: Path, **redact: object) -> Bridge:
    """A pipeline that redacts."""
    return Bridge(storage, PipelineSettings(redaction=Redaction.of(redact, {})))


def stored(bridge: Bridge) -> bytes:
    """All that is in files."""
    bridge.store.close()
    found = b"".join(path.read_bytes() for path in bridge.storage.rglob("*") if path.is_file())
    bridge.open()
    return found


def test_nothing_of_it_is_stored(tmp_path: Path) -> None:
    """Not of spans, conversations, log lines or metrics, waiting or gone out; the ledger says how much was replaced."""
    bridge = redacting(tmp_path, patterns=[r"sk-\w+"], keys=["*.password"])
    said = [{"role": "user", "parts": [{"type": "text", "content": f"my key is {SECRET}"}]}]
    attributes = {
        f"invoke_agent {SECRET}": {"gen_ai.operation.name": "invoke_agent", "db.password": "hunter2"},
        "chat m": {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(said)},
    }
    tree = [(f"invoke_agent {SECRET}", None), ("chat m", f"invoke_agent {SECRET}")]
    bridge.take([span_request("program", tree, attributes=attributes)])
    bridge.take([gauge_request("program", {"loss": 1.0}, time=NOW, attributes={"user": SECRET})])
    bridge.take([log_request("program", [f"WARNING {SECRET}"])])
    assert SECRET.encode() not in stored(bridge)
    bridge.wait(10)
    found = stored(bridge)
    assert SECRET.encode() not in found
    assert b"hunter2" not in found
    (trajectory,) = bridge.of(Trajectory)
    assert REDACTED in str(trajectory.messages)
    assert bridge.of(LogLine)[0].body == f"WARNING {REDACTED}"
    (run,) = bridge.ledger().runs
    assert run.redacted["keys"] == 1
    assert run.redacted["patterns"] >= 4
    assert any(note.startswith("the bridge redacted") for note in run.notes)


def test_a_record_on_which_a_function_fails_is_set_aside(tmp_path: Path) -> None:
    """Counted by name; the others of its request go on."""
    bridge = redacting(tmp_path, function="tests.redact.functions:scrub")
    bridge.take([log_request("program", ["poison hunter2", "fine"])])
    bridge.take([span_request("program", [("work", None)], attributes={"work": {"a": "poison hunter2"}})])
    bridge.wait(10)
    assert b"hunter2" not in stored(bridge)
    assert [line.body for line in bridge.of(LogLine)] == ["fine"]
    assert not bridge.of(Trace)
    (run,) = bridge.ledger().runs
    assert run.set_aside == {"redaction failed: RuntimeError": 2}


@pytest.mark.parametrize("patterns", [[], [r"sk-\w+"]])
def test_what_cannot_be_read_is_kept_only_where_nothing_is_redacted(tmp_path: Path, patterns: list[str]) -> None:
    """Nobody can say what in it must not be kept."""
    bridge = redacting(tmp_path, patterns=patterns)
    journal = Journal(tmp_path / "inbox", meta={}, fsync=True)
    journal.append(msgspec.msgpack.encode(("logs", NOW, b"\xff" + SECRET.encode())), 0)
    journal.close()
    assert bridge.loop().turn()
    shutil.rmtree(tmp_path / "inbox")
    assert (SECRET.encode() in stored(bridge)) is not bool(patterns)
    assert bridge.ledger().rejected == {"undecodable request": 1}


def test_ids_that_come_without_text_are_masked(tmp_path: Path) -> None:
    """They cannot be looked at, and those of another's key stay whole."""
    bridge = redacting(tmp_path, patterns=[r"sk-\w+"])
    with process() as worker:
        with rs.trajectory(group="g", index=0) as trajectory:
            worker.memory.recorder.tokens(bytes.fromhex(trajectory.id), b"s" * 8, role="output", ids=[5, 6, 7])
        bridge.take(requests(worker.items()))
    bridge.wait(10)
    (found,) = bridge.of(Trajectory)
    assert [unpack_ids(segment.ids) for segment in found.tokens] == [[MASKED_ID] * 3]
    assert found.tokens[0].undecoded.startswith("redaction took the ids out")


def test_a_function_that_cannot_be_had_ends_the_pipeline_with_a_word(tmp_path: Path) -> None:
    """Before anything is read, with the exit code of a wrong configuration: nothing goes through unredacted."""
    command = [sys.executable, "-m", "rollscope_exporters.pipeline", "--storage", str(tmp_path)]
    env = {**os.environ, "ROLLSCOPE__REDACT__FUNCTION": "nowhere:f"}
    done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 78
    assert "redact.function 'nowhere:f' cannot be loaded" in done.stderr
