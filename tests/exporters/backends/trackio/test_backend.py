"""What the suite of all backends cannot ask of trackio."""

from __future__ import annotations

import base64
import json
import math
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
import pytest
from packaging.specifiers import SpecifierSet

from rollscope_exporters.backends.trackio import TrackioBackend, TrackioConfig, _compat
from rollscope_exporters.records import StepMetrics
from rollscope_exporters.testing import NOW, Sampler, deliver
from rollscope_exporters.testing.samples import png
from tests.airline import as_trajectory, load_conversations
from tests.exporters.backends.trackio.reading import logs, of_hosts, seen, traces


@pytest.fixture(autouse=True)
def _no_folder_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRACKIO_DIR", raising=False)


def backend(storage: Path, state: dict[str, Any] | None = None, **more: Any) -> TrackioBackend:
    return TrackioBackend(TrackioConfig.model_validate(more), storage, state or {})


def test_the_version_was_looked_at() -> None:
    """The installed trackio is one that this was checked with."""
    assert version("trackio") in SpecifierSet(_compat.SUPPORTED)


def test_a_row_of_one_identity_is_kept_once(tmp_path: Path) -> None:
    """The canary of exactness: writing a row twice leaves one, with its own time."""
    _compat.use_folder(tmp_path)
    row = _compat.Row("identity", 3, NOW, {"a": 1.0, "t": [_compat.trace([{"role": "user", "content": "x"}], {})]})
    _compat.write_rows("p", "name", "run-1", [row, row], {"lr": 1})
    _compat.write_rows("p", "name", "run-1", [row], None)
    (only,) = logs(tmp_path, "p", "run-1")
    assert (only["step"], only["a"]) == (3, 1.0)
    assert only["timestamp"].startswith("2026-01-01T00:00:00")
    assert len(traces(tmp_path, "p", "run-1")) == 1


def test_airline_conversations_come_out_letter_by_letter(tmp_path: Path) -> None:
    """48 conversations as traces, each with its messages, group, trial and reward."""
    conversations = load_conversations()
    sampler = Sampler(agent="airline")
    trajectories = [as_trajectory(conversation, sampler) for conversation in conversations]
    made = backend(tmp_path)
    deliver(made, [sampler.started(), *trajectories, sampler.finished()])
    made.checkpoint()
    found = seen(tmp_path / "trackio", "run-1")
    for conversation, trajectory in zip(conversations, trajectories, strict=True):
        assert found[trajectory.id].messages == conversation.messages
        assert found[trajectory.id].rewards == [("reward", conversation.reward)]
    metadata = {trace["metadata"]["trajectory"]: trace["metadata"] for trace in traces(tmp_path / "trackio", "samples", "run-1")}
    assert [metadata[one.id]["group"] for one in trajectories] == [conversation.group for conversation in conversations]


def test_values_that_json_has_not(tmp_path: Path) -> None:
    """NaN, infinities and huge integers come back as numbers."""
    sampler = Sampler()
    made = backend(tmp_path)
    deliver(
        made,
        [sampler.started(), StepMetrics(run="run-1", time=NOW, step=1, values={"nan": math.nan, "inf": -math.inf, "big": (1 << 64) - 1})],
    )
    row = next(row for row in logs(tmp_path / "trackio", "samples", "run-1") if "nan" in row)
    assert math.isnan(row["nan"])
    assert (row["inf"], row["big"]) == (-math.inf, 2.0**64)


def test_pages_know_of_pictures_and_hosts(tmp_path: Path) -> None:
    """trackio offers its pages for metrics, media, traces and hosts; an image's file is the one that was recorded."""
    from trackio.sqlite_storage import SQLiteStorage

    sampler = Sampler()
    measured = StepMetrics(run="run-1", time=NOW, values={"system/node-0/cpu.utilization": 0.5, "system/node-0/memory.usage": math.nan})
    made = backend(tmp_path)
    deliver(made, [sampler.started(), sampler.histogram(1), sampler.image(1), sampler.seeing(1), measured, measured, sampler.finished()])
    made.checkpoint()
    (row,) = of_hosts(tmp_path / "trackio", "samples", "run-1")
    assert row["node-0/cpu.utilization"] == 0.5
    assert math.isnan(row["node-0/memory.usage"])
    assert row["timestamp"].startswith("2026-01-01T00:00:00")
    assert {page for page, there in SQLiteStorage.get_tab_availability_flags("samples").items() if there} >= {
        "metrics", "system", "traces", "media",
    }  # fmt: skip
    (shown,) = (row["images/val/plot"] for row in logs(tmp_path / "trackio", "samples", "run-1") if "images/val/plot" in row)
    assert (tmp_path / "trackio" / "media" / shown["file_path"]).read_bytes() == sampler.image(1).content
    assert shown["caption"] == "step 1"


def test_images_of_messages_are_whole_again(tmp_path: Path) -> None:
    """A trace has the `data:` URI that was recorded, which trackio's page shows; above `image_bytes` the reference stays and is counted."""
    sampler = Sampler()
    seen_one, large = sampler.seeing(1, index=0), sampler.seeing(1, index=1, content=png(7) + bytes(1000))
    made = backend(tmp_path, image_bytes=500)
    deliver(made, [sampler.started(), seen_one, large])
    again = backend(tmp_path, json.loads(json.dumps(made.checkpoint())), image_bytes=500)
    deliver(again, [sampler.finished()])
    state = again.checkpoint()
    found = seen(tmp_path / "trackio", "run-1")

    def url(trajectory: str) -> str:
        messages: Any = found[trajectory].messages
        return str(messages[0]["content"][0]["image_url"]["url"])

    assert url(seen_one.id) == "data:image/png;base64," + base64.b64encode(png(0)).decode()
    assert url(large.id) in large.images
    assert state["left_out"] == {"images of messages beyond image_bytes": {"run-1": 1}}


def test_a_trace_has_its_spans(tmp_path: Path) -> None:
    """Root, turns, generations and tools stand under their parents, with their times."""
    sampler = Sampler()
    one = sampler.trajectory(1)
    deliver(backend(tmp_path), [sampler.started(), one, sampler.finished()])
    (found,) = traces(tmp_path / "trackio", "samples", "run-1")
    assert [(span["id"], span["parent_id"], span["name"]) for span in found["spans"]] == [
        (span.span_id, span.parent_id, span.name) for span in one.spans
    ]
    assert [span["kind"] for span in found["spans"]] == ["span", "span", "generation", "tool", "span", "generation"]
    assert found["spans"][0]["start_time"] == "2026-01-01T00:01:00+00:00"
    assert found["spans"][0]["duration_ms"] == (one.end - one.start) / 1e6


def test_what_cannot_be_shown_is_counted(tmp_path: Path) -> None:
    """An image without content and a histogram without a finite value are left out by name."""
    sampler = Sampler()
    lost = msgspec.structs.replace(sampler.image(1), content=None)
    empty = msgspec.structs.replace(sampler.histogram(1), edges=[], counts=[], count=0, nan=3)
    made = backend(tmp_path)
    deliver(made, [sampler.started(), lost, empty])
    assert made.checkpoint()["left_out"] == {"images without content": {"run-1": 1}, "histograms without a finite value": {"run-1": 1}}


def test_the_configuration_is_there(tmp_path: Path) -> None:
    """Nested as it was, what is ours apart, after a restart too."""
    import trackio

    sampler = Sampler()
    made = backend(tmp_path)
    deliver(made, [sampler.started()])
    again = backend(tmp_path, json.loads(json.dumps(made.checkpoint())))
    deliver(again, [sampler.started(attempt=1)])
    (run,) = trackio.Api().runs("samples")
    assert run.config is not None
    assert run.config["trainer"] == {"lr": 1e-6, "steps": 30}
    assert run.config["rollscope"]["attempt"] == 1


def test_two_projects_never_meet(tmp_path: Path) -> None:
    """trackio leaves dots out of file names; projects that differ in them stay two."""
    for project in ("a.b", "ab"):
        deliver(backend(tmp_path), [Sampler(f"run-{project}", project=project).started()])
    assert {path.stem for path in (tmp_path / "trackio").glob("*.db")} == {"ab", "a_x2e_b"}
