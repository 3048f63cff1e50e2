"""Tests of where ids come from."""

from __future__ import annotations

import os
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollscope.ids import EntropyIds, run_id, trajectory_trace_id


def draw(ids: EntropyIds, count: int = 1000) -> list[bytes]:
    return [ids.span_id() for _ in range(count)] + [ids.trace_id() for _ in range(count)]


def test_ids_have_their_size_and_do_not_repeat() -> None:
    """Span ids are 8 bytes, trace ids 16, over many blocks of entropy."""
    ids = draw(EntropyIds())
    assert {len(each) for each in ids} == {8, 16}
    assert len(set(ids)) == len(ids)


def test_seeding_random_and_numpy_does_not_repeat_ids() -> None:
    """Two ranks that seed alike draw different ids."""
    numpy = pytest.importorskip("numpy")
    drawn = []
    for _ in range(2):
        random.seed(42)
        numpy.random.seed(42)
        drawn += draw(EntropyIds(), 100)
    assert len(set(drawn)) == len(drawn)


def test_drawing_ids_leaves_the_generators_of_the_program_alone() -> None:
    """A seeded experiment stays the same experiment when it is recorded."""
    random.seed(1)
    expected = random.random()
    random.seed(1)
    draw(EntropyIds())
    assert random.random() == expected


def test_a_forked_child_draws_other_ids_once_it_reseeds() -> None:
    """Parent and child share no pool."""
    ids = EntropyIds()
    draw(ids, 3)
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        ids.reseed()
        os.write(writer, b"".join(ids.span_id() for _ in range(100)))
        os._exit(0)
    os.waitpid(pid, 0)
    child = os.read(reader, 800)
    os.close(reader)
    os.close(writer)
    drawn = {child[i : i + 8] for i in range(0, 800, 8)}
    assert len(drawn) == 100
    assert drawn.isdisjoint(ids.span_id() for _ in range(1000))


def test_run_ids_are_16_hex_digits() -> None:
    """A run id can be a part of a path."""
    assert len(bytes.fromhex(run_id())) == 8


coordinates = st.fixed_dictionaries(
    {
        "step": st.none() | st.integers(0, 10**6),
        "group": st.none() | st.text(),
        "index": st.none() | st.integers(0, 10**4),
        "attempt": st.integers(0, 5),
        "split": st.sampled_from(["train", "validation", "test"]),
    }
)


@given(st.text(), coordinates, coordinates)
def test_trajectory_ids_are_equal_exactly_where_the_coordinates_are(run: str, one: dict, other: dict) -> None:  # type: ignore[type-arg]
    """Two processes that never spoke agree; two trajectories never meet."""
    same = trajectory_trace_id(run, **one) == trajectory_trace_id(run, **other)
    assert same == (one == other)
    assert len(trajectory_trace_id(run, **one)) == 16


def test_trajectory_ids_do_not_mix_up_neighbouring_parts() -> None:
    """Group `1` at index 2 is not group `12`; a missing part is not an empty one."""
    ids = {
        trajectory_trace_id("r", step=1, group="1", index=2),
        trajectory_trace_id("r", step=1, group="12", index=None),
        trajectory_trace_id("r", step=None, group="112", index=None),
        trajectory_trace_id("r", step=None, group="", index=None),
        trajectory_trace_id("r", step=None, group=None, index=None),
        trajectory_trace_id("r", step=None, group="\udc80", index=None),
    }
    assert len(ids) == 6


def test_trajectory_ids_stay_as_they_are() -> None:
    """The derivation is a promise between versions: a resumed run must find its trajectories again."""
    assert trajectory_trace_id("run", step=1, group="g", index=0).hex() == "7d8b6c46882e6e9bc48ed309df372215"
