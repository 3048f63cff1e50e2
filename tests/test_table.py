"""Tables."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rollscope as rs
from rollscope import vocabulary as v
from rollscope.testing import memory_recorder


def rows_of(memory):
    return [row for event in memory.events for row in json.loads(event.attributes[v.TABLE_ROWS])]


def test_rows_are_maps_under_a_name_and_a_step(rollscope_memory):
    """Values of any kind become JSON."""
    rs.table("val/generations", rows=[{"prompt": "看", "reward": np.float32(0.5)}], step=12)
    event = rollscope_memory.event(v.EVENT_TABLE)
    assert event.attributes == {v.TABLE_NAME: "val/generations", v.STEP_INDEX: 12, v.TABLE_ROWS: '[{"prompt":"看","reward":0.5}]'}


def test_rows_come_in_many_shapes(rollscope_memory):
    """Sequences with columns, a choice of columns, data frames and generators."""

    class Frame:
        """Stand-in for a pandas data frame."""

        def to_dict(self, orient="dict"):
            return [{"a": 4}] if orient == "records" else {"a": {0: 4}}

    with rs.step(1):
        rs.table("t", [(1, 2)], columns=["a", "b"])
    rs.table("t", ({"a": n, "b": n} for n in (3,)), columns=["a"])
    rs.table("t", Frame())
    rs.table("t", {"a": 5})
    assert rows_of_tables(rollscope_memory) == [{"a": 1, "b": 2}, {"a": 3}, {"a": 4}, {"a": 5}]
    assert rollscope_memory.events[0].attributes[v.STEP_INDEX] == 1


def rows_of_tables(memory):
    return [row for event in memory.events if event.name == v.EVENT_TABLE for row in json.loads(event.attributes[v.TABLE_ROWS])]


def test_an_empty_table_is_a_table(rollscope_memory):
    """It is recorded with no rows."""
    rs.table("t", [])
    assert rollscope_memory.event(v.EVENT_TABLE).attributes[v.TABLE_ROWS] == "[]"


@given(st.lists(st.text(max_size=300), max_size=30))
def test_many_rows_become_several_records_in_order(texts):
    """No record is over the limit, no row is lost."""
    rows = [{"n": n, "text": text} for n, text in enumerate(texts)]
    with memory_recorder(environment={"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "2000"}) as memory:
        rs.table("t", rows, step=1)
    assert rows_of(memory) == rows
    assert all(len(event.attributes[v.TABLE_ROWS]) <= 2000 for event in memory.events)


def test_a_row_over_the_limit_is_cut(rollscope_memory):
    """Its neighbours are whole; the cut says so."""
    rs.table("t", [{"a": "x" * 1_000_000}, {"a": "y"}])
    first, second = rows_of(rollscope_memory)
    assert first["a"].endswith(" characters not recorded]")
    assert second == {"a": "y"}


@pytest.mark.parametrize("rows", [[(1, 2)], [1], 5])
def test_wrong_rows_are_counted_not_raised(rows):
    """Rows without columns cost the table, never the training."""
    with memory_recorder(strict=False) as memory:
        rs.table("t", rows)
    assert memory.events == []
    assert memory.journal.failed == {"table": 1}
