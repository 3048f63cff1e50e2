"""Values that are held for a moment."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from rollscope_exporters.backends.swanlab._hold import Hold
from rollscope_exporters.backends.swanlab._points import Point

floats = st.floats(allow_nan=False)
points = st.lists(st.builds(Point, st.sampled_from("abc"), st.integers(0, 5), st.integers(0, 9), floats), max_size=40)


@given(points, st.lists(st.integers(0, 40), max_size=4))
def test_the_last_value_wins_and_every_place_goes_once(said: list[Point], cuts: list[int]) -> None:
    """However a stream is cut into batches and restarts, each key and step held comes out once, with the value said last."""
    hold = Hold(10.0, (), 0.0)
    for place, point in enumerate(said):
        if place in cuts:
            hold = Hold(10.0, json.loads(json.dumps(hold.checkpoint(), allow_nan=False)), 0.0)
        hold.add([point], 0.0)
    assert hold.due(5.0) == []
    out = hold.due(11.0)
    assert {(point.key, point.step): point for point in out} == {(point.key, point.step): point for point in said}
    assert len(out) == len({(point.key, point.step) for point in said})
    assert hold.rest() == []


def test_what_is_no_json_number_survives_a_restart() -> None:
    """NaN and infinities come back out of the state."""
    hold = Hold(10.0, (), 0.0)
    hold.add([Point("a", 1, 0, float("nan")), Point("b", 1, 0, float("-inf"))], 0.0)
    again = Hold(10.0, json.loads(json.dumps(hold.checkpoint(), allow_nan=False)), 0.0)
    nan, infinite = again.rest()
    assert nan.value != nan.value
    assert infinite.value == float("-inf")


def test_the_state_stays_small() -> None:
    """Too many values at once: the oldest steps go first."""
    hold = Hold(1e9, (), 0.0)
    hold.add((Point(f"m{number}", step, 0, 0.0) for step in range(10) for number in range(300)), 0.0)
    assert {point.step for point in hold.due(0.0)} == {0, 1, 2, 3}
    assert len(hold.checkpoint()) == 1800


def test_restoring_forgets_what_came_since() -> None:
    """A batch that failed leaves the values as they were."""
    hold = Hold(10.0, (), 0.0)
    hold.add([Point("a", 1, 0, 1.0)], 0.0)
    kept = hold.copy()
    hold.add([Point("a", 1, 0, 2.0), Point("b", 2, 0, 2.0)], 1.0)
    hold.restore(kept)
    assert hold.rest() == [Point("a", 1, 0, 1.0)]
