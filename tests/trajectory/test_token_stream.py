"""The stream of ids: what is recorded gives the stream back."""

from array import array

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollscope.arrays import LEAD
from rollscope.trajectory.token_stream import TokenStream

ids = st.lists(st.integers(-1, 160_000), max_size=40)
# A prompt that starts like the stream so far, or anywhere departs from it.
turns = st.lists(st.tuples(st.integers(0, 60), ids, ids, st.booleans()), max_size=8)


def packed(values):
    return array("i", values).tobytes()


def unpacked(values):
    if isinstance(values, bytes):
        found = array("i")
        found.frombytes(values)
        return found.tolist()
    return values


@given(turns)
def test_the_recorded_segments_rebuild_every_prompt(turns):
    """Kept ids plus the recorded ones give every prompt and output, whatever was edited and whichever form the engine used."""
    stream, known = TokenStream(), []
    for keep, extra, output, as_bytes in turns:
        form = packed if as_bytes else list
        prompt = known[:keep] + extra
        segment = stream.prompt(form(prompt))
        assert known[: segment.kept] + unpacked(segment.ids) == prompt
        assert unpacked(segment.lead) == prompt[max(segment.kept - LEAD, 0) : segment.kept]
        sampled = stream.output(form(output))
        assert (sampled.kept, unpacked(sampled.ids)) == (len(prompt), output)
        assert unpacked(sampled.lead) == prompt[max(len(prompt) - LEAD, 0) :]
        for each in (segment, sampled):
            assert each.encoded is None or msgspec.msgpack.decode(each.encoded) == unpacked(each.ids)
        known = prompt + output


@given(ids, ids, ids)
def test_only_new_ids_are_recorded(first, output, second):
    """A prompt that continues the stream costs its new ids only."""
    stream = TokenStream()
    stream.prompt(first)
    stream.output(output)
    segment = stream.prompt(first + output + second)
    assert segment.kept >= len(first + output)
    assert len(segment.ids) <= len(second)


@pytest.mark.parametrize("count", [0, 1, 15, 16, 17, 65_535, 65_536, 65_537])
def test_every_array_header_of_msgpack_is_cut_off(count):
    """Streams of any length are compared by their ids, not by how msgpack writes a length."""
    stream = TokenStream()
    stream.prompt([7] * count)
    assert stream.prompt([7] * count + [8]).kept == count
    assert stream.prompt([7] * count).kept == count


def test_the_callers_list_is_not_kept():
    """Ids that the caller appends to the same list later are new ids."""
    stream, prompt = TokenStream(), [1, 2, 3]
    stream.prompt(prompt)
    prompt += [4, 5]
    assert stream.prompt(prompt)[:3] == (3, [1, 2, 3], [4, 5])


def test_output_without_a_prompt_continues_the_stream():
    """Output ids alone join the stream behind what is known."""
    stream = TokenStream()
    stream.output([1, 2])
    assert stream.output([3])[:3] == (2, [1, 2], [3])
    assert stream.output(packed([4]))[:3] == (3, packed([1, 2, 3]), packed([4]))


@pytest.mark.parametrize("ids", [[], [0], [-1, 1 << 40, 3], list(range(15)), list(range(70_000)), [151_642] * 300, [True, 2]])
def test_ids_are_encoded_as_msgpack_does(ids: list[int]) -> None:
    """Whatever their number and size: the buffer that they are encoded into is cut to them, or grows."""
    assert TokenStream().output(ids).encoded == msgspec.msgpack.encode(ids)
