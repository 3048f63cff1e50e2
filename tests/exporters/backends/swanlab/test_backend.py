"""What the suite of all backends cannot ask of SwanLab."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rollscope_exporters.backends.swanlab import SwanlabBackend, SwanlabConfig
from rollscope_exporters.backends.swanlab._backend import chosen_mode
from rollscope_exporters.backends.swanlab._run import NO_IMAGE
from rollscope_exporters.records import Record, StepMetrics
from rollscope_exporters.testing import NOW, Sampler, deliver
from rollscope_exporters.testing.samples import png
from tests.airline import as_trajectory, load_conversations
from tests.exporters.backends.swanlab.reading import config, folders_of, images, media, protobuf, scalars, status


def backend(storage: Path, state: dict[str, Any] | None = None, **more: Any) -> SwanlabBackend:
    return SwanlabBackend(SwanlabConfig.model_validate({"mode": "offline", "hold_seconds": 0, **more}), storage, state or {})


def values(storage: Path) -> dict[tuple[str, int], float]:
    (folder,) = folders_of(storage / "swanlog", "run-1")
    return {(point.key, point.step): point.value for point in scalars(folder)}


def told(storage: Path) -> dict[str, dict[int, list[tuple[str, str]]]]:
    (folder,) = folders_of(storage / "swanlog", "run-1")
    return media(folder)


def test_airline_conversations_come_out_letter_by_letter(tmp_path: Path) -> None:
    """48 conversations: every message and tool call of each in the digest, under its reward and group, and readable beside it."""
    conversations = load_conversations()
    sampler = Sampler(agent="airline")
    made = backend(tmp_path)
    trajectories = [as_trajectory(conversation, sampler) for conversation in conversations]
    assert deliver(made, [sampler.started(), *trajectories, sampler.finished()]) == []
    state = made.checkpoint()
    made.close()
    assert state["left_out"] == {}
    found = told(tmp_path)
    messages = {caption: json.loads(content) for content, caption in found["messages/train"][1]}
    assert messages == {one.id: other.messages for one, other in zip(trajectories, conversations, strict=True)}
    shown = {caption.split(" · ")[0]: (content, caption) for content, caption in found["trajectories/train"][1]}
    for conversation in conversations:
        content, caption = shown[f"{conversation.group} #{conversation.trial}"]
        assert f"reward {conversation.reward}" in caption
        for message in conversation.messages:
            if isinstance(message["content"], str):
                assert message["content"] in content


def test_values_keep_their_own_time(tmp_path: Path) -> None:
    """A point carries the time of its record to the nanosecond, also after a restart copied it."""
    sampler = Sampler()
    made = backend(tmp_path)
    deliver(made, [sampler.started(), StepMetrics(run="run-1", time=NOW + 7, step=1, values={"a": 1.0})])
    state = json.loads(json.dumps(made.checkpoint()))
    made.close()
    again = backend(tmp_path, state)
    deliver(again, [sampler.started(attempt=1)])
    again.checkpoint()
    (folder,) = folders_of(tmp_path / "swanlog", "run-1")
    again.close()
    assert [(point.key, point.time) for point in scalars(folder)] == [("a", NOW + 7)]


def test_the_last_of_several_values_is_logged(tmp_path: Path) -> None:
    """SwanLab would keep the first; within the time that values are held the last one wins."""
    sampler = Sampler()
    made = backend(tmp_path, hold_seconds=3600)
    deliver(made, [sampler.started(), sampler.metrics(1, {"a": 1.0}), sampler.metrics(1, {"b": 5.0}), sampler.metrics(1, {"a": 2.0})])
    state = json.loads(json.dumps(made.checkpoint()))
    made.close()
    again = backend(tmp_path, state, hold_seconds=3600)
    deliver(again, [sampler.metrics(1, {"b": 6.0}), sampler.finished()])
    again.checkpoint()
    again.close()
    assert values(tmp_path) == {("a", 1): 2.0, ("b", 1): 6.0}


def test_what_comes_too_late_is_counted(tmp_path: Path) -> None:
    """A second value for a key and step that is logged is left out, by name, and so is a step SwanLab cannot have."""
    sampler = Sampler()
    made = backend(tmp_path)
    deliver(made, [sampler.started(), sampler.metrics(1, {"a": 1.0})])
    deliver(made, [sampler.metrics(1, {"a": 2.0}), sampler.metrics(-1, {"a": 3.0}), sampler.metrics(1 << 50, {"a": 4.0})])
    state = made.checkpoint()
    made.close()
    assert values(tmp_path) == {("a", 1): 1.0}
    assert state["left_out"] == {
        "a value of this metric and step is there already": {"run-1": 1},
        "steps below 0 or above 2^48": {"run-1": 2},
    }


def test_values_that_are_no_numbers(tmp_path: Path) -> None:
    """NaN and infinities stay, huge integers become floats, words become texts."""
    sampler = Sampler()
    made = backend(tmp_path)
    deliver(made, [sampler.started(), sampler.metrics(1, {"nan": math.nan, "inf": -math.inf, "big": 10**400, "yes": True, "word": "two"})])
    made.checkpoint()
    made.close()
    found = values(tmp_path)
    assert math.isnan(found["nan", 1])
    assert (found["inf", 1], found["big", 1], found["yes", 1]) == (-math.inf, math.inf, 1.0)
    assert told(tmp_path)["texts/word"] == {1: [("two", "")]}


def test_two_tables_of_one_step_both_stay(tmp_path: Path) -> None:
    """SwanLab takes one value of a key and step, so the second table of a step has a key of its own."""
    sampler = Sampler()
    made = backend(tmp_path)
    other = msgspec.structs.replace(sampler.table(1), rows=[{"prompt": "3 + 3"}], uid="other")
    deliver(made, [sampler.started(), sampler.table(1), other])
    state = json.loads(json.dumps(made.checkpoint()))
    made.close()
    again = backend(tmp_path, state)
    deliver(again, [sampler.finished()])
    again.checkpoint()
    again.close()
    found = told(tmp_path)
    assert [json.loads(found[key][1][0][0])["rowData"][0]["prompt"] for key in ("tables/val/generations", "tables/val/generations/2")] == [
        "1 + 1",
        "3 + 3",
    ]


@pytest.mark.parametrize(
    ("mode", "key", "is_system"),
    [("offline", "__swanlab__.node-0/cpu.utilization", True), ("local", "system/node-0/cpu.utilization", False)],
)
def test_what_hosts_measure_is_in_the_system_view(tmp_path: Path, mode: str, key: str, is_system: bool) -> None:
    """Where SwanLab has one, columns of its own kind with the time of each value, after a restart too; in the local dashboard charts."""
    from swanlab.proto.swanlab.metric.column.v1.column_pb2 import ColumnClass

    if mode == "local":
        pytest.importorskip("swanboard")
    sampler = Sampler()
    measured = [StepMetrics(run="run-1", time=NOW + n * 10**9, values={"system/node-0/cpu.utilization": n / 4}) for n in (1, 2)]
    made = backend(tmp_path, mode=mode)
    deliver(made, [sampler.started(), measured[0]])
    state = json.loads(json.dumps(made.checkpoint()))
    made.close()
    again = backend(tmp_path, state, mode=mode)
    deliver(again, [measured[1], sampler.metrics(1, {"__swanlab__.mine": 1.0}), sampler.finished()])
    assert again.checkpoint()["left_out"] == {}
    again.close()
    (folder,) = folders_of(tmp_path / "swanlog", "run-1")
    assert [(point.step, point.time, point.value) for point in scalars(folder) if point.key == key] == [
        (1, NOW + 10**9, 0.25),
        (2, NOW + 2 * 10**9, 0.5),
    ]
    kinds = {record.column.column_key: record.column.column_class for record in protobuf(folder) if record.HasField("column")}
    assert [name for name, kind in kinds.items() if kind == ColumnClass.COLUMN_CLASS_SYSTEM] == [key] * is_system
    assert len([point for point in scalars(folder) if point.key.startswith("__swanlab__.")]) == 2 * is_system


def test_what_is_too_much_is_counted(tmp_path: Path) -> None:
    """Rows beyond `table_rows` and a text that SwanLab does not take are left out by name; many late rewards go on in further keys."""
    sampler = Sampler()
    huge = sampler.trajectory(1, messages=[{"role": "user", "content": "x" * (11 << 20)}])
    late = [sampler.trajectory(0, f"task-{index}") for index in range(120)]
    made = backend(tmp_path, table_rows=1, digest_lag=0)
    deliver(made, [sampler.started(), sampler.table(1), huge, sampler.metrics(1), *(sampler.late(one) for one in late), sampler.finished()])
    state = made.checkpoint()
    made.close()
    assert state["left_out"] == {"rows of tables beyond table_rows": {"run-1": 1}, "texts and tables of more than 10 MiB": {"run-1": 1}}
    assert [len(told(tmp_path)[key][1]) for key in ("late_rewards", "late_rewards/2")] == [108, 12]


def test_tags_that_swanlab_cuts_are_whole_in_the_configuration(tmp_path: Path) -> None:
    """SwanLab takes thirty; all of them stand beside the configuration."""
    sampler = Sampler()
    tags = [f"tag-{number}" for number in range(40)]
    made = backend(tmp_path)
    deliver(made, [msgspec.structs.replace(sampler.started(), tags=tags), sampler.finished()])
    made.checkpoint()
    made.close()
    (folder,) = folders_of(tmp_path / "swanlog", "run-1")
    assert config(folder)["rollscope"]["tags"] == tags


def test_names_that_were_cut_are_written_down(tmp_path: Path) -> None:
    """A metric whose name is too long has it in the configuration."""
    sampler = Sampler()
    long = "n" * 700
    made = backend(tmp_path)
    deliver(made, [sampler.started(), sampler.metrics(1, {long: 1.0})])
    made.checkpoint()
    made.close()
    (folder,) = folders_of(tmp_path / "swanlog", "run-1")
    ((key, _),) = values(tmp_path)
    assert config(folder)["rollscope"]["metric_names"] == {key: long}


def pictures(storage: Path) -> dict[str, dict[int, list[tuple[bytes, str]]]]:
    (folder,) = folders_of(storage / "swanlog", "run-1")
    return images(folder)


def test_images_keep_their_bytes(tmp_path: Path) -> None:
    """A PNG is the very file that was recorded, with its caption, also after a restart copied it."""
    sampler = Sampler()
    made = backend(tmp_path)
    deliver(made, [sampler.started(), sampler.image(1)])
    state = json.loads(json.dumps(made.checkpoint()))
    made.close()
    again = backend(tmp_path, state)
    deliver(again, [sampler.image(2), sampler.finished()])
    again.checkpoint()
    again.close()
    assert pictures(tmp_path)["images/val/plot"] == {step: [(sampler.image(step).content, f"step {step}")] for step in (1, 2)}


def test_images_of_other_formats_become_png(tmp_path: Path) -> None:
    """What SwanLab does not take is converted; what nobody can read, or came without content, is left out by name."""
    from PIL import Image as Pillow

    buffer = io.BytesIO()
    Pillow.new("RGB", (3, 2), "red").save(buffer, format="webp")
    sampler = Sampler()
    webp = msgspec.structs.replace(sampler.image(1, "webp", buffer.getvalue()), media_type="image/webp")
    broken = msgspec.structs.replace(sampler.image(1, "broken", b"no image"), media_type="image/webp")
    lost = msgspec.structs.replace(sampler.image(1, "lost"), content=None)
    made = backend(tmp_path)
    deliver(made, [sampler.started(), webp, broken, lost, sampler.finished()])
    state = made.checkpoint()
    made.close()
    (content, _), *more = pictures(tmp_path)["images/webp"][1]
    with Pillow.open(io.BytesIO(content)) as shown:
        assert (shown.format, shown.size, shown.getpixel((0, 0))[:3]) == ("PNG", (3, 2), pytest.approx((255, 0, 0), abs=2))
    assert not more
    assert set(pictures(tmp_path)) == {"images/webp"}
    assert state["left_out"] == {NO_IMAGE: {"run-1": 2}}


def test_images_of_messages_stand_beside_the_digest(tmp_path: Path) -> None:
    """Each is shown under its trajectory and the digest by which the messages refer to it; those above `image_bytes` are counted."""
    sampler = Sampler()
    seen, large = sampler.seeing(1, index=0), sampler.seeing(1, index=1, content=png(7) + bytes(1000))
    made = backend(tmp_path, image_bytes=500)
    deliver(made, [sampler.started(), seen, large])
    state = json.loads(json.dumps(made.checkpoint()))
    made.close()
    again = backend(tmp_path, state, image_bytes=500)
    deliver(again, [sampler.finished()])
    state = again.checkpoint()
    again.close()
    ((content, caption),) = pictures(tmp_path)["message_images/train"][1]
    ((reference, held),) = seen.images.items()
    assert content == held
    assert caption.startswith("task-seen #0 · reward 1.0")
    assert caption.split(" · ")[-1] in reference
    assert reference in told(tmp_path)["messages/train"][1][0][0]
    assert state["left_out"] == {"images of messages beyond image_bytes": {"run-1": 1}}


def test_late_rewards_are_told(tmp_path: Path) -> None:
    """A reward that comes before the digest stands in it, a later one in `late_rewards`."""
    sampler = Sampler()
    made = backend(tmp_path)
    early, late = sampler.trajectory(1, index=0), sampler.trajectory(1, index=1)
    records: list[Record] = [
        sampler.started(),
        early,
        late,
        sampler.late(early, 0.25),
        sampler.metrics(1),
        sampler.metrics(2),
        sampler.metrics(3),
    ]
    deliver(made, [*records, sampler.late(late, 0.75), sampler.finished()])
    made.checkpoint()
    made.close()
    found = told(tmp_path)
    assert "judge: 0.25" in found["trajectories/train"][1][0][0]
    assert "judge: 0.75" in found["late_rewards"][3][0][0]


def test_a_stopped_bridge_is_no_end_of_the_run(tmp_path: Path) -> None:
    """Closed while the run goes on, the folder says why; the next one goes on, and the real end has the run's own word."""
    sampler = Sampler()
    made = backend(tmp_path)
    deliver(made, [sampler.started(), sampler.metrics(1)])
    state = json.loads(json.dumps(made.checkpoint()))
    made.close()
    (folder,) = folders_of(tmp_path / "swanlog", "run-1")
    assert status(folder) == "running"
    again = backend(tmp_path, state)
    deliver(again, [sampler.finished("failed", "out of memory")])
    again.checkpoint()
    again.close()
    (folder,) = folders_of(tmp_path / "swanlog", "run-1")
    assert status(folder) == "failed"
    assert len(values(tmp_path)) == 3


def test_a_process_serves_one_run(tmp_path: Path) -> None:
    """The library holds one run in a process; a second one is an error that says so."""
    made = backend(tmp_path)
    deliver(made, [Sampler().started()])
    with pytest.raises(ValueError, match="a process serves one run, run-1, and not run-2 too"):
        made.write([Sampler("run-2").started()])
    made.close()


@pytest.mark.parametrize(
    ("environment", "mode"),
    [
        ({"SWANLAB_MODE": "offline", "SWANLAB_API_KEY": "k"}, "offline"),
        ({"SWANLAB_MODE": "online"}, "cloud"),
        ({"SWANLAB_API_KEY": "k"}, "sync"),
    ],
)
def test_the_mode_follows_the_environment(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], mode: str) -> None:
    """What `auto` comes to: what `SWANLAB_MODE` says, else `sync` with a key."""
    for name in ("SWANLAB_MODE", "SWANLAB_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert chosen_mode(SwanlabConfig()) == mode
