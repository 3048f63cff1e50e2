"""`log`: one record for all scalars of a step."""

import math

import numpy as np
import pytest

import rollscope as rs
from rollscope import vocabulary as v


def logged(memory):
    return [event.attributes for event in memory.events if event.name == v.EVENT_STEP_METRICS]


def test_one_call_is_one_record_of_the_first_priority(rollscope_memory):
    """All scalars of a call are in one map, with their step, in the lane that is never dropped."""
    rs.log({"actor/pg_loss": 0.1, "n": 3, "ok": True, "note": "x"}, step=12)
    assert logged(rollscope_memory) == [{v.METRICS: {"actor/pg_loss": 0.1, "n": 3, "ok": True, "note": "x"}, v.STEP_INDEX: 12}]
    assert [lane for lane, _, _ in rollscope_memory.journal.entries] == [0]


def test_nested_maps_numpy_and_odd_names_become_plain(rollscope_memory):
    """Maps are flattened with a slash, numpy scalars become numbers, NaN and Inf stay."""
    rs.log(
        {"a": {"b": np.float32(0.5), "c": {"d": np.int64(1)}}, "nan": math.nan, "inf": math.inf, 7: 1}, step=np.int64(3), split="validation"
    )
    (found,) = logged(rollscope_memory)
    metrics = found.pop(v.METRICS)
    assert math.isnan(metrics.pop("nan"))
    assert metrics == {"a/b": 0.5, "a/c/d": 1, "inf": math.inf, "7": 1}
    assert found == {v.STEP_INDEX: 3, v.SPLIT_NAME: "validation"}


def test_what_is_no_scalar_is_set_aside(rollscope_memory):
    """Its neighbours are recorded, the loss is counted."""
    rs.log({"a": 1.0, "b": [1], "c": None, "d": np.arange(3)}, step=1)
    assert logged(rollscope_memory)[0][v.METRICS] == {"a": 1.0}
    assert rollscope_memory.journal.truncated == {"not_scalar": 3}


def test_the_step_is_the_current_one(rollscope_memory):
    """Inside a step, or by its own `log`, no number is needed; outside there is none."""
    with rs.step(4) as step:
        rs.log({"a": 1})
        step.log({"b": 1}, split="test")
    rs.log({"c": 1})
    assert [found.get(v.STEP_INDEX) for found in logged(rollscope_memory)] == [4, 4, 4, None]


@pytest.mark.parametrize("wrong", [{"step": "x"}, {"step": 1.5}])
def test_a_wrong_step_is_counted_not_raised(wrong):
    """After `init` a mistake costs the record, never the training."""
    with rs.testing.memory_recorder(strict=False) as memory:
        rs.log({"a": 1}, **wrong)
    assert memory.journal.failed == {"log": 1}


def test_the_callers_map_stays_the_callers(rollscope_memory):
    """The map is read before the call returns; what changes later is not recorded."""
    metrics = {"a": 1}
    rs.log(metrics, step=1)
    metrics["a"] = 2
    assert logged(rollscope_memory)[0][v.METRICS] == {"a": 1}


def test_without_a_run_nothing_happens():
    """No run, no work: what is given is not even looked at."""
    looked = []

    class Scalars(dict):
        def items(self):
            looked.append(self)
            return super().items()

    rs.log(Scalars(a=1), step=1)
    assert looked == []
    with rs.testing.memory_recorder():
        rs.log(Scalars(a=1), step=1)
    assert looked
