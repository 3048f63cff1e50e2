"""What the suite of all backends cannot ask of TensorBoard."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rollscope_exporters.backends import UnavailableError
from rollscope_exporters.backends.tensorboard import TensorboardBackend, TensorboardConfig
from rollscope_exporters.records import StepMetrics
from rollscope_exporters.testing import NOW, Sampler, deliver
from rollscope_exporters.testing.samples import png
from tests.airline import as_trajectory, load_conversations
from tests.exporters.backends.tensorboard.reading import accumulate, conversations, folders_of, scalars, texts


def backend(storage: Path, state: dict[str, Any] | None = None, **more: Any) -> TensorboardBackend:
    return TensorboardBackend(TensorboardConfig.model_validate(more), storage, state or {})


def events(storage: Path, run: str = "run-1") -> Any:
    (folder,) = folders_of(storage / "tensorboard", run)
    return accumulate(folder)


def test_airline_conversations_come_out_letter_by_letter(tmp_path: Path) -> None:
    """48 conversations: every message and tool call of each, and readable beside it."""
    told = load_conversations()
    sampler = Sampler(agent="airline")
    made = backend(tmp_path, digest_rows=48)
    deliver(made, [sampler.started(), *(as_trajectory(conversation, sampler) for conversation in told), sampler.finished()])
    made.checkpoint()
    found = events(tmp_path)
    by_first_word = sorted(conversations(found), key=json.dumps)
    assert by_first_word == sorted((conversation.messages for conversation in told), key=json.dumps)
    ((step, shown),) = texts(found, "trajectories/train")
    assert step == 1
    assert len(shown) == 48
    assert all(f"reward {conversation.reward}" in "\n".join(shown) for conversation in told)


def test_scalars_have_their_own_time_and_all_their_digits(tmp_path: Path) -> None:
    """The whole number stands beside the 32 bits that TensorBoard shows, at the time of its record."""
    sampler = Sampler()
    made = backend(tmp_path)
    values: dict[str, bool | int | float | str] = {"a": 0.1, "inf": math.inf, "yes": True, "word": "two"}
    deliver(made, [sampler.started(), StepMetrics(run="run-1", time=NOW + 500_000_000, step=3, values=values)])
    made.checkpoint()
    found = events(tmp_path)
    assert scalars(found, "a") == [(3, 0.1, NOW / 1e9 + 0.5)]
    assert scalars(found, "inf")[0][1] == math.inf
    assert scalars(found, "yes")[0][1] == 1.0
    assert texts(found, "texts/word") == [(3, ["two"])]


def test_a_process_begins_a_file_of_its_own(tmp_path: Path) -> None:
    """A viewer that follows a file by its offset is never given other bytes at a place it has read."""
    sampler = Sampler()
    made = backend(tmp_path)
    deliver(made, [sampler.started(), sampler.metrics(1)])
    state = json.loads(json.dumps(made.checkpoint()))
    (folder,) = folders_of(tmp_path / "tensorboard", "run-1")
    first = next(folder.iterdir()).read_bytes()
    deliver(made, [sampler.metrics(2)])
    again = backend(tmp_path, state)
    deliver(again, [sampler.metrics(2)])
    again.checkpoint()
    older, newer = sorted(folder.iterdir())
    assert older.read_bytes() == first
    assert newer.stat().st_size > 0
    assert [step for step, _, _ in scalars(events(tmp_path), "reward/mean")] == [1, 2]


def test_the_configuration_is_in_hparams(tmp_path: Path) -> None:
    """Leaves of the configuration stand in the HPARAMS tab by dotted path; the whole of it as text."""
    from tensorboard.plugins.hparams import plugin_data_pb2

    sampler = Sampler()
    made = backend(tmp_path)
    deliver(made, [sampler.started()])
    made.checkpoint()
    found = events(tmp_path)
    content = found.SummaryMetadata("_hparams_/session_start_info").plugin_data.content
    hparams = plugin_data_pb2.HParamsPluginData.FromString(content).session_start_info.hparams
    assert hparams["trainer.lr"].number_value == 1e-6
    assert hparams["model.path"].string_value == "qwen"
    assert '"command": "python train.py"' in texts(found, "run/about")[0][1][0]


def test_images_of_messages_stand_beside_the_digest(tmp_path: Path) -> None:
    """One event has those of all trajectories of a digest; what exceeds `image_bytes`, or came without content, is counted."""
    from tensorboard.util.tensor_util import make_ndarray

    sampler = Sampler()
    seen = [sampler.seeing(1, index=index) for index in range(2)]
    large = sampler.seeing(1, index=2, content=png(7) + bytes(1000))
    lost = msgspec.structs.replace(sampler.image(1), content=None)
    made = backend(tmp_path, image_bytes=500)
    deliver(made, [sampler.started(), *seen, large, lost, sampler.finished()])
    state = made.checkpoint()
    (event,) = events(tmp_path).Tensors("message_images/train")
    assert list(make_ndarray(event.tensor_proto)) == [b"2", b"1", png(0), png(1)]
    assert state["left_out"] == {"images without content": {"run-1": 1}, "images of messages beyond image_bytes": {"run-1": 1}}


def test_rows_that_are_not_shown_are_counted(tmp_path: Path) -> None:
    """A table is cut at `table_rows`; the others are left out by name."""
    sampler = Sampler()
    made = backend(tmp_path, table_rows=1)
    deliver(made, [sampler.started(), sampler.table(1), sampler.table(2)])
    assert made.checkpoint()["left_out"] == {"rows of tables beyond table_rows": {"run-1": 2}}


def test_late_rewards_are_told(tmp_path: Path) -> None:
    """A reward that comes before the digest stands in it, a later one in `late_rewards`."""
    sampler = Sampler()
    made = backend(tmp_path)
    early, late = sampler.trajectory(1, index=0), sampler.trajectory(1, index=1)
    deliver(
        made, [sampler.started(), early, late, sampler.late(early, 0.25), sampler.metrics(2), sampler.late(late, 0.75), sampler.finished()]
    )
    made.checkpoint()
    found = events(tmp_path)
    assert "judge: 0.25" in texts(found, "trajectories/train")[0][1][0]
    assert "judge: 0.75" in texts(found, "late_rewards")[0][1][0]


def test_a_place_that_cannot_be_written_waits(tmp_path: Path) -> None:
    """Where files cannot be made, the error names the place and the cure, and nothing is half written."""
    (tmp_path / "file").write_text("in the way")
    made = backend(tmp_path, path=str(tmp_path / "file" / "below"))
    with pytest.raises(UnavailableError, match=r"cannot write below .*backends\.tensorboard\.path"):
        made.write([Sampler().started()])
