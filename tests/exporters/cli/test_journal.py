"""`rollscope journal`."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from rollscope.journal import Journal
from rollscope.records import Event, SpanEnd
from rollscope_exporters.cli import main

Output = pytest.CaptureFixture[str]


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A node folder with two logs, one of a living process."""
    for name in ("aaaa", "bbbb"):
        journal = Journal(tmp_path / "producers" / name, meta={"pid": 12})
        for number in range(3):
            span = SpanEnd(bytes(16), bytes(8), None, f"span {number}", 1, 1, 2, 0, None, {"n": number})
            journal.append(msgspec.msgpack.encode(span))
        journal.append(msgspec.msgpack.encode(Event("rl.run.started", 1, {})), 0)
        journal.close()
    return tmp_path


def test_ls_says_whose_they_are(node: Path, capsys: Output) -> None:
    """One line a log."""
    assert main(["journal", "ls", str(node), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["log"], row["pid"], row["alive"], row["last_sequence"]) for row in rows] == [
        ("aaaa", 12, False, 4),
        ("bbbb", 12, False, 4),
    ]
    assert rows[0]["pending_bytes"] > 0
    assert main(["journal", "ls", str(node / "producers")]) == 0
    assert "aaaa" in capsys.readouterr().out


def test_cat_prints_every_record(node: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """With its number and the names of its fields; ids in hex."""
    assert main(["journal", "cat", str(node / "producers" / "aaaa")]) == 0
    records = [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()]
    assert [(record["lane"], record["sequence"]) for record in records] == [(0, 4), (1, 1), (1, 2), (1, 3)]
    assert records[0]["record"]["kind"] == "Event"
    assert records[1]["record"]["name"] == "span 0"
    assert records[1]["record"]["span_id"] == "00" * 8


def test_verify_finds_a_flipped_bit(node: Path, capsys: Output) -> None:
    """And says so by its exit code."""
    assert main(["journal", "verify", str(node)]) == 0
    assert capsys.readouterr().out.splitlines() == ["aaaa: 4 records, good", "bbbb: 4 records, good"]
    segment = next((node / "producers" / "bbbb").glob("p1-*.seg"))
    content = bytearray(segment.read_bytes())
    content[content.index(b"span 1")] ^= 1
    segment.write_bytes(content)
    assert main(["journal", "verify", str(node), "--json"]) == 1
    rows = json.loads(capsys.readouterr().out)
    assert rows[0]["damaged"] == {}
    assert rows[1]["damaged"] == {"checksum": 1}


def test_a_folder_without_journals_is_named(tmp_path: Path, capsys: Output) -> None:
    """With what to name instead."""
    assert main(["journal", "ls", str(tmp_path)]) == 2
    assert "holds no journal; name a node folder such as" in capsys.readouterr().err
