"""Traced generators: the span covers the iteration and is current only while the body runs."""

import asyncio
import contextlib
import inspect

import pytest

import rollscope as rs
from rollscope.recorder import current_span


@rs.traced
def count(n):
    """Yield what is current inside, return the sum of what was sent."""
    total = 0
    for _ in range(n):
        sent = yield current_span().name
        total += sent or 0
    return total


@rs.traced
async def acount(n):
    total = 0
    for _ in range(n):
        sent = yield (current_span().name, total)
        total += sent or 0


def test_a_generators_span_is_current_in_its_body_only(rollscope_memory):
    """The consumer keeps its own current span, the body has the generator's, values and results pass both ways."""
    with rs.span("consumer"):
        iteration = count(3)
        seen = [next(iteration), iteration.send(2)]
        assert current_span().name == "consumer"
        seen.append(iteration.send(5))
        with pytest.raises(StopIteration) as end:
            iteration.send(1)
    assert seen == ["count", "count", "count"]
    assert end.value.value == 8
    assert rollscope_memory.span("count").parent_id == rollscope_memory.span("consumer").span_id


def test_a_span_open_across_a_yield_does_not_leak(rollscope_memory):
    """A `with` span inside the body is current in the body before and after the yield, and nowhere else."""
    inside = []

    @rs.traced
    def body():
        with rs.span("inner"):
            yield 1
            inside.append(current_span().name)
        inside.append(current_span().name)
        yield 2

    for _ in body():
        assert current_span() is None
        with rs.span("between"):
            pass
    assert inside == ["inner", "body"]
    assert [span.parent_id for span in rollscope_memory.spans if span.name == "between"] == [None, None]
    assert rollscope_memory.span("inner").parent_id == rollscope_memory.span("body").span_id


@pytest.mark.parametrize("end", ["close", "drop"])
def test_a_generator_that_is_left_early_has_not_failed(rollscope_memory, end):
    """Closing or forgetting a generator ends its span without an error; its `finally` runs inside."""
    cleaned = []

    @rs.traced
    def body():
        try:
            yield 1
            yield 2
        finally:
            cleaned.append(current_span().name)

    iteration = body()
    next(iteration)
    if end == "close":
        iteration.close()
    del iteration
    assert cleaned == ["body"]
    assert rollscope_memory.span("body").status == 0


def test_exceptions_pass_a_generator_both_ways(rollscope_memory):
    """The body may handle what the consumer throws in; what it does not handle ends the span as an error."""

    @rs.traced
    def body():
        with contextlib.suppress(KeyError):
            yield 1
        yield 2

    iteration = body()
    assert [next(iteration), iteration.throw(KeyError("k"))] == [1, 2]
    with pytest.raises(RuntimeError, match="stop"):
        iteration.throw(RuntimeError("stop"))
    assert rollscope_memory.span("body").message == "RuntimeError: stop"


def test_a_generator_that_was_never_begun_is_no_span(rollscope_memory):
    """Making a generator runs nothing."""
    count(3)
    assert rollscope_memory.records == []


async def test_async_generators(rollscope_memory):
    """Values pass both ways, the span is current in the body only and ends with it."""
    iteration = acount(3)
    seen = [await iteration.__anext__(), await iteration.asend(4)]
    assert current_span() is None
    assert seen == [("acount", 0), ("acount", 4)]
    assert [item async for item in iteration] == [("acount", 4)]
    assert rollscope_memory.span("acount").status == 0


async def test_an_async_generator_across_tasks(rollscope_memory):
    """Each resumption may come from another task: nothing is held in the context of the first."""
    iteration = acount(3)
    for _ in range(3):
        assert (await asyncio.create_task(iteration.__anext__()))[0] == "acount"
    await asyncio.create_task(iteration.aclose())
    assert rollscope_memory.span("acount").status == 0
    assert rollscope_memory.journal.truncated == {}


async def test_an_async_generator_that_fails_or_is_thrown_into(rollscope_memory):
    """What the consumer throws in reaches the body, and what the body raises is the span's error."""

    @rs.traced
    async def body():
        with contextlib.suppress(KeyError):
            yield 1
        yield 2

    iteration = body()
    assert [await iteration.__anext__(), await iteration.athrow(KeyError("k"))] == [1, 2]
    with pytest.raises(RuntimeError, match="stop"):
        await iteration.athrow(RuntimeError("stop"))
    assert rollscope_memory.span("body").message == "RuntimeError: stop"


async def test_generators_without_a_run():
    """Without a run generators work as if they were not decorated."""

    @rs.traced
    def body():
        return (yield (yield 1))

    @rs.traced
    async def abody():
        yield (yield 1)

    iteration, aiteration = body(), abody()
    assert [next(iteration), iteration.send(5)] == [1, 5]
    assert [await aiteration.__anext__(), await aiteration.asend(5)] == [1, 5]
    await aiteration.aclose()


# -- what stays as it was -----------------------------------------------------------------------------------------


def test_kind_stays():
    """What looks at a function before it calls it sees the generator function it was."""
    assert inspect.isgeneratorfunction(count)
    assert inspect.isasyncgenfunction(acount)
