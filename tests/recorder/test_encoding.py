"""Tests of the way of a record into bytes: quick where it is plain, cleaned where not, bounded always."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rollscope import vocabulary as v
from rollscope.records import SpanEnd
from rollscope.settings import Limits
from rollscope.testing import Memory, memory_recorder


def test_a_refused_record_is_cleaned_and_marked(memory: Memory) -> None:
    """A lone surrogate in an attribute, an event, a link, the name or the message does not cost the record."""
    span = memory.recorder.start_span("na\ud800me", attributes={"a": "x\udfff"})
    span.add_event("e\ud800", {"b": "\ud800"})
    span.set_status(span_error(), "m\ud800")
    span.end()
    record = memory.spans[0]
    assert (record.name, record.message) == ("na\ufffdme", "m\ufffd")
    assert record.attributes == {"a": "x\ufffd", v.ATTRIBUTES_DROPPED: True}
    assert record.events is not None
    assert tuple(record.events[0])[1:] == ("e\ufffd", {"b": "\ufffd"})
    assert memory.journal.truncated["surrogate"] >= 5


def span_error() -> Any:
    from opentelemetry.trace import StatusCode

    return StatusCode.ERROR


def test_numpy_scalars_are_numbers_without_a_mark(memory: Memory) -> None:
    """Nothing is lost, so nothing is said."""
    memory.recorder.event("e", {"loss": np.float32(0.5), "map": {"n": np.int64(3)}})
    assert memory.event("e").attributes == {"loss": 0.5, "map": {"n": 3}}
    assert not memory.journal.truncated


def test_a_long_string_is_cut_to_the_limit_and_marked(memory: Memory) -> None:
    """A 1 MiB string keeps its beginning; its neighbours are whole."""
    memory.recorder.start_span("work", attributes={"big": "x" * (1 << 20), "small": "y"}).end()
    record = memory.span("work")
    assert record.attributes == {"big": "x" * Limits().value_length, "small": "y", v.ATTRIBUTES_DROPPED: True}
    assert memory.journal.truncated == {"long_value": 1}


def test_a_long_string_within_the_limit_is_whole(memory: Memory) -> None:
    """Large is not too large."""
    text = "é" * Limits().value_length
    memory.recorder.event("e", {"text": text})
    assert memory.event("e").attributes == {"text": text}
    assert not memory.journal.truncated


def test_the_standard_length_limit_is_honoured() -> None:
    """`OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT` cuts strings at any depth."""
    with memory_recorder(environment={"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "3"}) as memory:
        memory.recorder.event("e", {"a": "abcdef", "b": ["abcdef"]})
        assert memory.event("e").attributes == {"a": "abc", "b": ["abc"], v.ATTRIBUTES_DROPPED: True}


def test_a_name_of_300_letters_is_cut(memory: Memory) -> None:
    """Names of spans and attributes have a bound of their own."""
    memory.recorder.start_span("n" * 300, attributes={"k" * 300: 1}).end()
    record = memory.spans[0]
    assert record.name == "n" * 256
    assert record.attributes == {"k" * 256: 1, v.ATTRIBUTES_DROPPED: True}


def test_a_record_over_1_mib_is_shortened_until_it_fits(memory: Memory) -> None:
    """Many values, each within its limit, still make one bounded record; identity stays."""
    attributes = {f"a{number}": "x" * 200_000 for number in range(20)}
    memory.recorder.start_span("work", attributes=attributes, identity={v.GROUP_ID: "g"}).end()
    (_, _, start), (_, _, end) = memory.journal.entries
    assert max(len(start), len(end)) <= Limits().record_bytes
    record = memory.span("work")
    assert record.attributes[v.GROUP_ID] == "g"
    assert record.attributes[v.ATTRIBUTES_DROPPED] is True
    assert len(record.attributes) == 22
    assert memory.journal.truncated["big_record"] == 1


@pytest.mark.parametrize(
    "attributes",
    [
        {"blob": b"x" * (3 << 20)},
        {"list": ["y" * 1000] * 5000},
        {"map": {str(number): "z" * 300 for number in range(9000)}},
        {f"a{number}": list(range(1000)) for number in range(900)},
        {"deep": [[[["w" * 200_000] * 10] * 3] * 3]},
    ],
)
def test_no_shape_of_value_exceeds_the_record_limit(memory: Memory, attributes: dict[str, object]) -> None:
    """Bytes, lists, maps, many attributes, nesting: all are bounded."""
    memory.recorder.start_span("work", attributes=attributes).end()
    assert len(memory.spans) == 1
    assert all(len(payload) <= Limits().record_bytes for _, _, payload in memory.journal.entries)


def test_a_key_that_is_no_string_becomes_one(memory: Memory) -> None:
    """A program that passes integers as names loses nothing."""
    span = memory.recorder.start_span("work", attributes={1: "a"})  # type: ignore[dict-item]
    span.set_attribute(2, "b")  # type: ignore[arg-type]
    span.end()
    assert memory.span("work").attributes == {"1": "a", "2": "b", v.ATTRIBUTES_DROPPED: True}


def test_a_map_that_cannot_be_read_is_counted(lenient: Memory) -> None:
    """Attributes that are no map cost their event, not the program."""
    lenient.recorder.event("e", 5)  # type: ignore[arg-type]
    assert lenient.journal.failed == {"event": 1}


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.binary() | st.builds(object),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(), max_size=4), inner, max_size=4),
    max_leaves=8,
)


@given(st.text(st.characters(), max_size=300), st.dictionaries(st.text(st.characters(), max_size=4), anything, max_size=5))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_record_can_be_decoded_again(name: str, attributes: dict[str, object]) -> None:
    """Whatever a program records, the reader of the journal gets a record of the right shape."""
    with memory_recorder() as memory:
        span = memory.recorder.start_span(name, attributes=attributes)
        span.add_event(name, attributes)
        span.end()
        memory.recorder.event(name, attributes, body=name)
        records = memory.records
    assert [type(record).__name__ for record in records] == ["SpanStart", "SpanEnd", "Event"]
    assert isinstance(records[1], SpanEnd)
    assert set(records[1].attributes) - {v.ATTRIBUTES_DROPPED} <= {clean(key) for key in attributes}


def clean(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
