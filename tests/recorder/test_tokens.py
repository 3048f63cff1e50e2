"""Tests of token records: any array in, bounded records out, the stream unchanged."""

from __future__ import annotations

import math
from array import array

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rollscope as rs
from rollscope.recorder.tokens import token_rows
from rollscope.records import Tokens
from rollscope.testing import Memory

HEAD = (b"t" * 16, b"s" * 8, 5, "output")


def ids_of(values: list[int] | bytes) -> list[int]:
    return values if isinstance(values, list) else np.frombuffer(values, "<i4").tolist()


def test_lists_are_recorded_as_they_are(memory: Memory) -> None:
    """Packing a list is the shipper's work."""
    memory.recorder.tokens(
        b"t" * 16, b"s" * 8, role="output", ids=[1, 2], kept=3, lead=[9], logprobs=[-0.5, -1], loss_mask=[1, 0], tokenizer="d"
    )
    assert memory.tokens == [Tokens(b"t" * 16, b"s" * 8, memory.clock.wall, "output", 3, [9], [1, 2], [-0.5, -1], [1, 0], None, "d", {})]


def test_arrays_are_recorded_as_packed_bytes(memory: Memory) -> None:
    """Little-endian int32 ids, float16 values, one byte a mask; lead in the same form."""
    memory.recorder.tokens(
        b"t" * 16, b"s" * 8, role="output", ids=np.array([1, 70_000]), lead=[5],
        logprobs=np.array([-0.5, -1.0], dtype=np.float32), loss_mask=np.array([True, False]), advantages=np.array([0.25, 2]),
    )  # fmt: skip
    (record,) = memory.tokens
    assert ids_of(record.ids) == [1, 70_000]
    assert ids_of(record.lead) == [5]
    assert np.frombuffer(record.logprobs, "<f2").tolist() == [-0.5, -1.0]  # type: ignore[call-overload]
    assert record.loss_mask == b"\1\0"
    assert np.frombuffer(record.advantages, "<f2").tolist() == [0.25, 2.0]  # type: ignore[call-overload]


@pytest.mark.parametrize("ids", [(1, 2), array("i", [1, 2]), range(1, 3), [np.int64(1), np.int32(2)]])
def test_other_sequences_are_read(memory: Memory, ids: object) -> None:
    """Tuples, arrays, ranges and lists of numpy scalars are ids too."""
    memory.recorder.tokens(b"t" * 16, b"s" * 8, role="prompt", ids=ids, logprobs=[np.float32(-1), -2])
    assert ids_of(memory.tokens[0].ids) == [1, 2]
    assert memory.tokens[0].logprobs == [-1, -2]


def test_a_value_that_is_no_float_costs_no_ids(memory: Memory) -> None:
    """An integer beyond all floats becomes infinite, in a record whose ids are encoded already too."""
    with rs.trajectory(group="g", index=0) as trajectory, trajectory.turn(), trajectory.generation(model="m") as generation:
        generation.tokens(prompt=[1], output=[2, 3], logprobs=[-(10**400), -1])
    output = memory.tokens[-1]
    assert (ids_of(output.ids), output.logprobs) == ([2, 3], [-math.inf, -1])


def test_values_that_do_not_match_the_ids_are_left_out_and_counted(memory: Memory) -> None:
    """The ids are worth more than their values."""
    memory.recorder.tokens(b"t" * 16, b"s" * 8, role="output", ids=[1, 2], logprobs=[-1.0])
    assert memory.tokens[0].logprobs is None
    assert memory.journal.truncated == {"length_mismatch": 1}


def test_a_tensor_on_a_device_is_not_read(lenient: Memory) -> None:
    """No GPU here: a class of torch's name stands in for a CUDA tensor. The record is dropped and counted, nothing waits."""
    device = type("device", (), {"type": "cuda"})()
    tensor = type("Tensor", (), {"__module__": "torch", "device": device})()
    lenient.recorder.tokens(b"t" * 16, b"s" * 8, role="output", ids=tensor)
    assert lenient.tokens == []
    assert lenient.journal.failed == {"tokens": 1}


@given(
    st.lists(st.integers(0, 2**31 - 1), max_size=50),
    st.integers(1, 20),
    st.integers(0, 100),
    st.lists(st.integers(0, 1000), max_size=12),
    st.booleans(),
)
def test_a_segment_cut_in_pieces_is_the_same_stream(ids: list[int], most: int, kept: int, lead: list[int], packed: bool) -> None:
    """Each piece says how much of the context stays before it and which ids those end with; together they are the whole."""
    given_ids = np.array(ids, dtype=np.int64) if packed else ids
    rows = list(token_rows(HEAD, kept, lead, given_ids, ([float(i) for i in ids], None, None), None, {}, most))
    pieces = [Tokens(*row[1:]) for row in rows]
    context = lead
    assert [number for piece in pieces for number in ids_of(piece.ids)] == ids
    for piece in pieces:
        assert len(ids_of(piece.ids)) <= most
        assert ids_of(piece.lead) == context[-8:]
        assert isinstance(piece.lead, bytes) == isinstance(piece.ids, bytes)
        context = context + ids_of(piece.ids)
    assert [piece.kept for piece in pieces] == [kept + sum(len(ids_of(p.ids)) for p in pieces[:n]) for n in range(len(pieces))]
