"""What the configuration leaves out or shortens."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from rollscope_exporters.records import (
    Artifact,
    Generation,
    Image,
    LateFacts,
    Record,
    RunStarted,
    Span,
    StepMetrics,
    TokenSegment,
    Trace,
    Trajectory,
    encode,
)
from rollscope_exporters.sampling import SAMPLE_RATE
from rollscope_exporters.settings import Settings
from rollscope_exporters.worker._left_out import LeftOut
from rollscope_exporters.worker._memory import EVERY_N_STEPS, FACTS, IMAGES, SPANS, Memory
from rollscope_exporters.worker._shape import MODELS, Shaper


def shaper(**sections: object) -> Shaper:
    """Return what applies a configuration."""
    settings = Settings.model_validate(sections)
    left_out = LeftOut()
    return Shaper(settings, "b", Memory(settings.metrics_of("b"), settings.trajectories_of("b"), left_out), left_out)


def shape(record: Record, **sections: object) -> Record | str:
    """Apply a configuration to one record: what it becomes, or why it goes nowhere."""
    found = shaper(**sections)(record, len(encode(record)))
    return found.records[0] if found.records else found.reason


def trajectory(id: str, group: str | None = None, turns: int = 1, text: str = "hi") -> Trajectory:
    """Return a trajectory of `turns` generations."""
    spans = [Span(trace_id=id, span_id="root", name="invoke_agent a", start=0, end=100)]
    spans += [Span(trace_id=id, span_id=f"g{n}", parent_id="root", name="chat", start=n * 10, end=n * 10 + 5) for n in range(turns)]
    messages = [{"role": "user" if n % 2 else "assistant", "content": f"{text} {n}"} for n in range(turns + 1)]
    generations = [Generation(span_id=f"g{n}", index=n, input=messages[: n + 1], output=[messages[n + 1]]) for n in range(turns)]
    return Trajectory(run="r", id=id, start=0, end=100, group=group, step=1, spans=spans, messages=messages, generations=generations)


def test_nothing_is_changed_by_default() -> None:
    """The same object comes out."""
    record = trajectory("t", turns=3)
    assert shape(record) is record


def test_steps_are_made_into_one() -> None:
    """But validation, and points that have no step, are handed on as they are."""
    config = {"metrics": {"every_n_steps": 5}}
    assert shape(StepMetrics(run="r", time=1, step=3, values={}), **config) == EVERY_N_STEPS
    for record in (StepMetrics(run="r", time=1, step=3, values={}, split="val"), StepMetrics(run="r", time=1, values={})):
        assert shape(record, **config) is record


@given(rate=st.floats(0.05, 0.95), groups=st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=20, unique=True))
def test_groups_are_sampled_whole(rate: float, groups: list[str]) -> None:
    """All of a group or nothing; what comes late shares its fate."""
    for group in groups:
        apply = shaper(trajectories={"sample_rate": rate})
        left_out = {apply(trajectory(f"{group}{n}", group), 100).reason for n in range(4)}
        assert left_out in ({""}, {SAMPLE_RATE})
        gone = left_out == {SAMPLE_RATE}
        late = [
            apply(LateFacts(run="r", trajectory=f"{group}0"), 100),
            apply(Trace(run="r", trace_id=f"{group}0", spans=[], late=True), 100),
            apply(Image(run="r", time=1, digest="sha256:0", trajectory=f"{group}0"), 100),
        ]
        assert [found.reason for found in late] == ([FACTS, SPANS, IMAGES] if gone else ["", "", ""])


def test_the_rate_is_about_what_is_kept() -> None:
    """Over many groups."""
    kept = sum(not isinstance(shape(trajectory("t", str(n)), trajectories={"sample_rate": 0.25}), str) for n in range(2000))
    assert 400 < kept < 600


def test_the_first_turns_are_kept() -> None:
    """With the conversation up to there, and a word about it."""
    record = shape(trajectory("t", turns=5), trajectories={"max_turns": 2})
    assert isinstance(record, Trajectory)
    assert [generation.index for generation in record.generations] == [0, 1]
    assert [span.span_id for span in record.spans] == ["root", "g0", "g1"]
    assert [message["content"] for message in record.messages] == ["hi 0", "hi 1", "hi 2"]
    assert record.facts["shortened"] == "2 of 5 turns kept (trajectories.max_turns)"


def tokens(id: str) -> Trajectory:
    """Return a trajectory of 4 turns with a large array at each."""
    segments = [TokenSegment(span_id=f"g{n}", time=1, role="output", count=1000, ids=b"1234" * 1000) for n in range(4)]
    return msgspec.structs.replace(trajectory(id, turns=4), tokens=segments)


def test_a_trajectory_that_is_too_large_loses_what_is_bulky() -> None:
    """Arrays first; a fact says what is gone, and the conversation is whole."""
    record = shape(tokens("t"), trajectories={"max_trajectory_bytes": "8KiB"})
    assert isinstance(record, Trajectory)
    assert not record.tokens
    assert record.messages == trajectory("t", turns=4).messages
    assert str(record.facts["shortened"]).startswith("token arrays left out or cut: ")


@given(turns=st.integers(1, 40), size=st.integers(0, 3000), limit=st.sampled_from([4096, 8192, 65536]))
def test_a_trajectory_is_kept_within_its_size(turns: int, size: int, limit: int) -> None:
    """Whatever it consists of, and it says so; one that fits is left alone."""
    whole = trajectory("t", turns=turns, text="ä" * size)
    record = shape(whole, trajectories={"max_trajectory_bytes": limit})
    assert isinstance(record, Trajectory)
    if len(encode(whole)) <= limit:
        assert record is whole
    else:
        assert len(encode(record)) <= limit + 512
        assert f"more than {limit} (trajectories.max_trajectory_bytes)" in str(record.facts["shortened"])
        assert (record.id, record.group, record.step) == (whole.id, whole.group, whole.step)


def test_checkpoints_are_left_out_referred_to_or_uploaded() -> None:
    """Small files are none of these."""
    checkpoint, file = Artifact(run="r", name="c", time=1, uid="u", size=100), Artifact(run="r", name="f", time=1)
    assert shape(checkpoint, artifacts={"models": "off"}) == MODELS
    assert shape(checkpoint) == checkpoint
    assert shape(checkpoint, artifacts={"models": "upload"}) == msgspec.structs.replace(checkpoint, upload=True)
    assert shape(checkpoint, artifacts={"models": "upload", "max_bytes": 99}) == checkpoint
    assert shape(file, artifacts={"models": "off"}) == file


def test_runs_get_the_name_and_tags_of_the_configuration() -> None:
    """Their own name is kept beside."""
    started = RunStarted(run="r", name="own", project="p", time=1, tags=["a"], config={"model": {"path": "Qwen/Qwen3-8B"}})
    found = shape(started, runs={"name": "{model.path}", "tags": ["a", "team"]})
    assert isinstance(found, RunStarted)
    assert (found.name, found.tags, found.circumstances) == ("Qwen3-8B", ["a", "team"], {"rollscope.name": "own"})


def test_long_text_is_cut_and_says_so() -> None:
    """Wherever it stands."""
    record = shape(trajectory("t", text="x" * 5000), trajectories={"max_bytes": "2KiB"})
    assert isinstance(record, Trajectory)
    for content in (record.messages[0]["content"], record.generations[0].input[0]["content"]):
        assert str(content).startswith("x" * 2048 + "…")
        assert "bytes cut by trajectories.max_bytes" in str(content)


def test_a_cleaned_record_is_still_that_record() -> None:
    """Its shape is kept: it goes through its encoding again."""
    record = trajectory("t", turns=3, text="long " * 1000)
    found = shape(record, trajectories={"max_bytes": 1024})
    assert found != record
    assert msgspec.convert(msgspec.to_builtins(found), Trajectory) == found
