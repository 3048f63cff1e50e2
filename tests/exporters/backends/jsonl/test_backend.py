"""JSON lines that other programs read."""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rollscope_exporters.backends import UnavailableError
from rollscope_exporters.backends.jsonl import JsonlBackend, JsonlConfig, files_of
from rollscope_exporters.backends.jsonl._shape import json_line
from rollscope_exporters.records import StepMetrics
from rollscope_exporters.testing import Sampler, odd_records


def lines(folder: Path, run: str, signal: str) -> list[dict[str, Any]]:
    return [json.loads(line) for file in files_of(folder, run, signal) for line in file.read_text(encoding="utf-8").splitlines()]


def test_token_arrays_are_lists() -> None:
    """Ids, offsets and mask are integers, log-probabilities numbers of few digits, the text is there."""
    token = json.loads(json_line(Sampler().trajectory(turns=1)))["tokens"][0]
    count = token["count"]
    assert token["ids"] == list(range(1000, 1000 + count))
    assert token["logprobs"] == [-0.5] * count
    assert token["loss_mask"] == [1] * count
    assert token["offsets"] == list(range(1, count + 1))
    assert token["text"].endswith("<|im_end|>")


def test_numbers_that_json_lacks_are_words() -> None:
    """NaN and infinities become strings, so that every JSON reader takes the line."""
    record = StepMetrics(run="r", time=0, step=1, values={"a": float("nan"), "b": float("-inf"), "c": 0.1})
    assert json.loads(json_line(record))["values"] == {"a": "NaN", "b": "-Infinity", "c": 0.1}


def test_a_history_is_written_once() -> None:
    """A generation whose history is the beginning of the conversation says how long it is instead of repeating it."""
    trajectory = Sampler().trajectory(turns=3)
    edited = msgspec.structs.replace(trajectory.generations[1], input=[{"role": "user", "content": "edited"}])
    generations = [trajectory.generations[0], edited]
    read = json.loads(json_line(msgspec.structs.replace(trajectory, generations=generations)))
    assert read["messages"] == trajectory.messages
    assert read["generations"][0]["input_messages"] == 2
    assert "input" not in read["generations"][0]
    assert read["generations"][1]["input"] == edited.input


def test_every_odd_record_is_one_line_of_json() -> None:
    """NUL, emoji and line breaks inside values never break a line."""
    for record in odd_records(Sampler()):
        line = json_line(record)
        assert line.count(b"\n") == 1
        json.loads(line)


def test_artifacts_lie_beside_the_lines(tmp_path: Path) -> None:
    """Content is a file under the run, never outside of it; the line says what it is."""
    backend = JsonlBackend(JsonlConfig(), tmp_path, {})
    backend.write([Sampler().artifact("configs/a.yaml", b"x"), Sampler().artifact("../../../evil", b"y")])
    assert (tmp_path / "jsonl/run-1/artifacts/configs/a.yaml").read_bytes() == b"x"
    assert not any(path.name == "evil" and "jsonl" not in path.parts for path in tmp_path.rglob("*"))
    assert [line["name"] for line in lines(tmp_path / "jsonl", "run-1", "artifacts")] == ["configs/a.yaml", "../../../evil"]


def test_a_full_disk_leaves_the_files_as_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When space ends in the middle of a batch, nothing of the batch stays, and the next try writes it once."""
    backend = JsonlBackend(JsonlConfig(), tmp_path, {})
    backend.write([Sampler().metrics(1)])
    batch = [Sampler().metrics(2), Sampler().trace(2)]
    real, calls = os.write, []

    def full(file: int, data: bytes) -> int:
        calls.append(file)
        if len(calls) > 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(file, data)

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(UnavailableError, match="No space left"):
        backend.write(batch)
    monkeypatch.undo()
    backend.write(batch)
    assert [line["step"] for line in lines(tmp_path / "jsonl", "run-1", "metrics")] == [1, 2]
    assert len(lines(tmp_path / "jsonl", "run-1", "traces")) == 1


def test_a_run_whose_folder_is_removed_goes_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """In new files, whether it went before or behind the checkpoint, and whatever lies in its place meanwhile."""
    backend, folder = JsonlBackend(JsonlConfig(), tmp_path, {}), tmp_path / "jsonl/run-1"
    backend.write([Sampler().metrics(1)])
    shutil.rmtree(folder)
    state = backend.checkpoint()
    backend.write([Sampler().metrics(2)])
    backend.checkpoint()
    shutil.rmtree(folder)
    folder.write_text("in the way")
    with pytest.raises(UnavailableError, match="cannot write below"):
        backend.write([Sampler().metrics(3)])
    folder.unlink()
    backend.write([Sampler().metrics(3)])
    assert [line["step"] for line in lines(tmp_path / "jsonl", "run-1", "metrics")] == [3]
    assert state == {"runs": {"run-1": {"metrics": [0, 0]}}}
    assert len(caplog.messages) == 2


def test_a_full_disk_leaves_what_somebody_else_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the file that could not be written and in those that could."""
    backend = JsonlBackend(JsonlConfig(), tmp_path, {})
    backend.write([Sampler().metrics(1), Sampler().trace(1)])
    paths = [path for signal in ("metrics", "traces") for path in files_of(tmp_path / "jsonl", "run-1", signal)]
    for path in paths:
        with open(path, "a") as file:
            file.write('{"note": 1}\n')
    before = [path.read_bytes() for path in paths]
    real, calls = os.write, []

    def full(file: int, data: bytes) -> int:
        calls.append(file)
        if len(calls) > 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(file, data)

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(UnavailableError):
        backend.write([Sampler().metrics(2), Sampler().trace(2)])
    monkeypatch.undo()
    assert len(calls) == 2
    assert [path.read_bytes() for path in paths] == before
