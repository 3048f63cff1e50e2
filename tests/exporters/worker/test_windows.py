"""One point of n steps."""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollscope_exporters.records import RunFinished, RunStarted, StepMetrics
from rollscope_exporters.worker._rules import Rules
from rollscope_exporters.worker._windows import GRACE, Windows

END = RunFinished(run="r", time=10**6, status="finished")
names = st.sampled_from(["loss", "score/max", "score/min", "tokens/sum", "lr"])
numbers = st.floats(-1e6, 1e6) | st.integers(-(10**6), 10**6)


def metrics(step: int, values: dict[str, object], producer: str = "p", time: int | None = None) -> StepMetrics:
    return StepMetrics(run="r", time=step if time is None else time, step=step, values=values, producer=producer)  # type: ignore[arg-type]


def run(windows: Windows, records: Iterable[StepMetrics], finish: bool = True) -> list[StepMetrics]:
    """What is handed on of `records` and at the end."""
    found = [one for record in records for one in windows.add(record)]
    return found + (windows.finished(END) if finish else [])


def one(records: Iterable[StepMetrics], steps: int = 10) -> dict[str, object]:
    """Values of the only point that `records` become."""
    (point,) = run(Windows(steps, Rules({})), records)
    return dict(point.values)


def test_a_window_takes_the_rule_of_each_name() -> None:
    """Mean, extremes, sum and the last one; the point stands at the last step, at its time."""
    values = [{"loss": float(n), "a/max": n, "a/min": n, "a/sum": n, "epoch": n, "done": n > 1} for n in range(5)]
    (point,) = run(Windows(5, Rules({})), [metrics(n, value, time=100 + n) for n, value in enumerate(values)])
    assert point.values == {"loss": 2.0, "a/max": 4, "a/min": 0, "a/sum": 10, "epoch": 4, "done": 0.6}
    assert (point.step, point.time, point.run, point.producer) == (4, 104, "r", "p")


def test_it_goes_out_when_a_step_beyond_comes() -> None:
    """Of whichever process; a window not yet full waits for the end of the run."""
    windows = Windows(5, Rules({}))
    assert not run(windows, [metrics(n, {"x": 1}) for n in range(6)], finish=False)
    assert [point.step for point in windows.add(metrics(4 + GRACE, {"x": 1}, producer="q"))] == [4]
    assert [(point.step, point.producer) for point in windows.finished(END)] == [(5, "p"), (6, "q")]


def test_names_that_are_missing_count_for_nothing() -> None:
    """The mean is that of the steps that have it; a name of no step is not there."""
    assert one([metrics(0, {"a": 1.0}), metrics(1, {"b": 5.0}), metrics(2, {"a": 3.0})]) == {"a": 2.0, "b": 5.0}


@pytest.mark.parametrize("name", ["x", "x/max", "x/min", "x/sum"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_nan_is_never_averaged_away(name: str, place: int) -> None:
    """Wherever in the window it stands."""
    values = [1.0, 2.0, 3.0]
    values[place] = math.nan
    assert math.isnan(one([metrics(n, {name: value}) for n, value in enumerate(values)])[name])  # type: ignore[arg-type]


def test_infinities_count_as_numbers() -> None:
    """Two of different sign have no mean."""
    assert one([metrics(0, {"x": math.inf, "x/min": math.inf}), metrics(1, {"x": 1.0, "x/min": 1.0})]) == {"x": math.inf, "x/min": 1.0}
    assert math.isnan(one([metrics(0, {"x": math.inf}), metrics(1, {"x": -math.inf})])["x"])  # type: ignore[arg-type]


def test_of_text_the_last_one_stands() -> None:
    """Also beside numbers of the same name, which then are reckoned anew."""
    assert one([metrics(1, {"phase": "b"}), metrics(0, {"phase": "a"})]) == {"phase": "b"}
    assert one([metrics(0, {"x": "a"}), metrics(1, {"x": 2.0}), metrics(2, {"x": 4.0})]) == {"x": 3.0}


def test_large_whole_numbers_stay_within_bounds() -> None:
    """Their sum becomes a float where 64 bits do not hold it, so that it can be kept."""
    windows = Windows(10, Rules({}))
    run(windows, [metrics(n, {"x/sum": 2**63 - 1, "x": 2**63 - 1}) for n in range(4)], finish=False)
    assert msgspec.msgpack.encode(windows.state())
    (point,) = windows.finished(END)
    assert point.values["x/sum"] == pytest.approx(4 * 2.0**63)
    assert point.values["x"] == pytest.approx(2.0**63)


def test_what_comes_too_late_stands_for_itself() -> None:
    """At its own step, at once; after the end of the run as it is."""
    windows = Windows(5, Rules({}))
    run(windows, [metrics(n, {"x": 1.0}) for n in range(12)], finish=False)
    (late,) = windows.add(metrics(2, {"x": 9.0}))
    assert (late.step, late.values) == (2, {"x": 9.0})
    windows.finished(END)
    straggler = metrics(11, {"x": 7.0})
    assert windows.add(straggler) == [straggler]


def test_a_new_attempt_begins_anew() -> None:
    """Steps that come a second time make windows of their own; the same announcement twice changes nothing."""
    windows, start = Windows(5, Rules({})), RunStarted(run="r", name="r", project="p", time=1)
    windows.started(start)
    run(windows, [metrics(n, {"x": 1.0}) for n in range(8)], finish=False)
    assert windows.started(start) == []
    assert [point.step for point in windows.started(msgspec.structs.replace(start, attempt=1))] == [7]
    assert run(windows, [metrics(n, {"x": 2.0}) for n in range(4, 6)], finish=False) == []
    assert [(point.step, point.values["x"]) for point in windows.finished(END)] == [(4, 2.0), (5, 2.0)]


def test_open_windows_go_out_when_the_configuration_no_longer_asks_for_them() -> None:
    """Nothing that was taken is forgotten."""
    before = Windows(10, Rules({}))
    run(before, [metrics(n, {"x": float(n)}) for n in range(3)], finish=False)
    after = Windows(1, Rules({}), before.state())
    assert not after.idle
    assert [point.values["x"] for point in run(after, [metrics(20, {"x": 7.0})], finish=False)] == [1.0, 7.0]
    assert after.idle


steps = st.lists(st.tuples(st.integers(0, 40), names, numbers, st.sampled_from("pq")), max_size=80)


@given(drawn=steps, length=st.integers(2, 12))
def test_nothing_is_lost_or_counted_twice(drawn: list[tuple[int, str, float, str]], length: int) -> None:
    """In whatever order steps come: sums add up, extremes are those of all, and every point lies within its steps."""
    records = [metrics(step, {name: value}, producer) for step, name, value, producer in drawn]
    points = run(Windows(length, Rules({})), records)
    for name, rule in (("tokens/sum", sum), ("score/max", max), ("score/min", min)):
        given_ = [value for _, each, value, _ in drawn if each == name]
        found = [point.values[name] for point in points if name in point.values]
        assert bool(given_) == bool(found)
        if given_:
            assert rule(found) == pytest.approx(rule(given_), abs=1e-3)  # type: ignore[arg-type]
    assert {point.step for point in points} <= {step for step, *_ in drawn}


@given(drawn=steps, length=st.integers(2, 12), order=st.randoms(use_true_random=False))
def test_the_order_within_the_grace_does_not_matter(drawn: list[tuple[int, str, float, str]], length: int, order: object) -> None:
    """Steps of one window that come in any order make the same point."""
    records = [metrics(step % length, {name: value}, time=place) for place, (step, name, value, _) in enumerate(drawn)]
    mixed = list(records)
    order.shuffle(mixed)  # type: ignore[attr-defined]
    straight, shuffled = (run(Windows(length, Rules({})), each) for each in (records, mixed))
    assert [(point.step, point.time) for point in straight] == [(point.step, point.time) for point in shuffled]
    for one_, other in zip(straight, shuffled, strict=True):
        assert dict(one_.values) == pytest.approx(dict(other.values), abs=1e-3)


@given(drawn=steps, length=st.integers(2, 12), cut=st.integers(0, 80))
def test_a_successor_goes_on(drawn: list[tuple[int, str, float, str]], length: int, cut: int) -> None:
    """From the state at any record on, a new process hands on what the old one would have."""
    records = [metrics(step, {name: value}, producer) for step, name, value, producer in drawn]
    first = Windows(length, Rules({}))
    begun = run(first, records[:cut], finish=False)
    state = msgspec.msgpack.decode(msgspec.msgpack.encode(first.state()))
    assert begun + run(Windows(length, Rules({}), state), records[cut:]) == run(Windows(length, Rules({})), records)
