"""`@traced` on every kind of function."""

import asyncio
import functools
import inspect
import multiprocessing
import pickle
import subprocess
import sys
import textwrap
import typing

import cloudpickle
import pytest
from opentelemetry import trace

import rollscope as rs
from rollscope import vocabulary as v
from rollscope.recorder import current_span


@rs.traced
def plain(a: int, b: int = 2) -> int:
    """Add."""
    return a + b


@rs.traced("named")
def named():
    return current_span().name


@rs.traced(kind="tool")
async def get_user(user_id: str, *, deep: bool = False) -> dict[str, object]:
    await asyncio.sleep(0)
    return {"id": user_id, "deep": deep}


class Service:
    factor = 3

    @rs.traced
    def method(self, x):
        return self.factor * x

    @staticmethod
    @rs.traced(capture=True)
    def inner_static(x):
        return x + 1

    @rs.traced(capture=True)
    @staticmethod
    def outer_static(x):
        return x + 1

    @classmethod
    @rs.traced(capture=True)
    def inner_class(cls, x):
        return cls.factor + x

    @rs.traced(capture=True)
    @classmethod
    def outer_class(cls, x):
        return cls.factor + x

    @rs.traced(capture="arguments")
    async def amethod(self, x, *rest, y=1, **more):
        return x


class Callable:
    def __call__(self, x):
        return x + 1


class AsyncCallable:
    async def __call__(self, x):
        return x + 1


def test_a_function_call_is_a_span(rollscope_memory):
    """Name, function and parent are recorded; arguments are not, unless asked for."""
    with rs.span("outer"):
        assert plain(1) == 3
    span = rollscope_memory.span("plain")
    assert span.attributes == {v.CODE_FUNCTION_NAME: f"{__name__}.plain"}
    assert span.parent_id == rollscope_memory.span("outer").span_id


def test_a_name_of_its_own(rollscope_memory):
    """The span has the given name and is current inside."""
    assert named() == "named"
    assert current_span() is None


async def test_a_tool_captures_arguments_and_result(rollscope_memory):
    """A tool is named as GenAI conventions have it, with what went in and came out."""
    await get_user("mia", deep=True)
    span = rollscope_memory.span("execute_tool get_user")
    assert span.attributes[v.GEN_AI_OPERATION_NAME] == "execute_tool"
    assert span.attributes[v.GEN_AI_TOOL_NAME] == "get_user"
    assert span.attributes[v.GEN_AI_TOOL_CALL_ARGUMENTS] == '{"user_id":"mia","deep":true}'
    assert span.attributes[v.GEN_AI_TOOL_CALL_RESULT] == '{"id":"mia","deep":true}'


def test_text_that_a_tool_returns_has_no_quotes(rollscope_memory):
    """A string result is recorded as it is."""
    rs.traced(kind="tool")(lambda: "72 °F")()
    assert rollscope_memory.spans[0].attributes[v.GEN_AI_TOOL_CALL_RESULT] == "72 °F"


def test_capture_has_a_limit(rollscope_memory):
    """What is longer is cut, stays JSON and is counted."""
    rs.traced(capture=True, limit=100)(lambda text: text)("x" * 1000)
    attributes = rollscope_memory.spans[0].attributes
    assert attributes[v.CODE_ARGUMENTS] == '{"text":"' + "x" * 50 + '…[950 characters not recorded]"}'
    assert len(attributes[v.CODE_RESULT]) <= 100
    assert rollscope_memory.journal.truncated["long_value"] == 2


def test_methods_keep_their_receiver_to_themselves(rollscope_memory):
    """Methods, static and class methods work in either order of decorators; self and cls are no arguments."""
    service = Service()
    assert [service.method(2), Service.inner_static(1), service.outer_static(1), Service.inner_class(1), service.outer_class(1)] == [
        6,
        2,
        2,
        4,
        4,
    ]
    assert [span.name for span in rollscope_memory.spans] == [
        "Service.method", "Service.inner_static", "Service.outer_static", "Service.inner_class", "Service.outer_class",
    ]  # fmt: skip
    assert [span.attributes.get(v.CODE_ARGUMENTS) for span in rollscope_memory.spans] == [None, *['{"x":1}'] * 4]


async def test_all_ways_of_passing_arguments(rollscope_memory):
    """Positional, further, named and keyword arguments are recorded under their names."""
    await Service().amethod(1, 2, 3, y=4, z=5)
    span = rollscope_memory.span("Service.amethod")
    assert span.attributes[v.CODE_ARGUMENTS] == '{"x":1,"*":[2,3],"y":4,"z":5}'
    assert v.CODE_RESULT not in span.attributes


async def test_callable_objects(rollscope_memory):
    """Objects with `__call__` and partial functions are traced by what they do."""
    assert rs.traced(Callable())(1) == 2
    assert await rs.traced(AsyncCallable())(1) == 2
    assert rs.traced(functools.partial(plain.__wrapped__, 1))() == 3
    assert [span.name for span in rollscope_memory.spans] == ["Callable", "AsyncCallable", "partial"]


def test_an_exception_is_recorded_and_goes_on(rollscope_memory):
    """The very exception reaches the caller; the span has its type, message and stack."""
    error = ValueError("no such flight")

    @rs.traced
    def fail():
        raise error

    with pytest.raises(ValueError, match="no such flight") as caught:
        fail()
    assert caught.value is error
    span = rollscope_memory.span("fail")
    assert (span.status, span.message, span.attributes[v.ERROR_TYPE]) == (2, "ValueError: no such flight", "ValueError")
    assert span.events[0][1] == "exception"


async def test_a_cancellation_is_no_error(rollscope_memory):
    """A cancelled coroutine is marked, its status stays unset."""

    @rs.traced
    async def wait():
        await asyncio.sleep(60)

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    span = rollscope_memory.span("wait")
    assert (span.status, span.attributes[v.CANCELLED], span.events) == (0, True, None)


# -- generators ---------------------------------------------------------------------------------------------------


def test_signature_hints_and_kind_stay():
    """Frameworks that look at a function find what was written."""
    assert str(inspect.signature(plain)) == "(a: int, b: int = 2) -> int"
    assert typing.get_type_hints(plain) == {"a": int, "b": int, "return": int}
    assert (plain.__name__, plain.__doc__, plain.__module__) == ("plain", "Add.", __name__)
    assert plain.__wrapped__(1, 1) == 2
    assert inspect.iscoroutinefunction(get_user)
    assert isinstance(Service.__dict__["outer_static"], staticmethod)
    assert isinstance(Service.__dict__["outer_class"], classmethod)
    with pytest.raises(TypeError):
        inspect.signature(plain).bind()


def test_cloudpickle_carries_it_by_value():
    """A decorated function of `__main__` reaches a process that does not have its module, as Ray sends it."""
    program = textwrap.dedent(
        """
        import cloudpickle, sys, rollscope as rs

        @rs.traced(kind="tool", attributes={"a": 1})
        def add(a, b=1):
            return a + b

        @rs.traced
        def each(n):
            yield from range(n)

        @rs.traced
        async def aeach(n):
            for i in range(n):
                yield i

        sys.stdout.buffer.write(cloudpickle.dumps((add, each, aeach)))
        """
    )
    payload = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True).stdout
    with rs.testing.memory_recorder() as memory:
        add, each, _ = pickle.loads(payload)
        assert add(1, b=2) == 3
        assert list(each(2)) == [0, 1]
    assert [span.name for span in memory.spans] == ["execute_tool add", "each"]


def test_pickle_finds_it_by_name():
    """A decorated function of a module is pickled as the module's."""
    assert pickle.loads(pickle.dumps(plain)) is plain
    assert cloudpickle.loads(cloudpickle.dumps(rs.traced(lambda x: x)))(2) == 2


def test_the_run_may_begin_after_decoration():
    """The decorator looks for the run at each call."""
    assert plain(1) == 3
    with rs.testing.memory_recorder() as memory:
        plain(1)
    assert memory.span("plain")


def test_a_foreign_current_span_is_the_parent(rollscope_memory):
    """A span that another OpenTelemetry program made current is the parent of the call."""
    context = trace.SpanContext(1, 2, True, trace.TraceFlags(1))
    with trace.use_span(trace.NonRecordingSpan(context)):
        plain(1)
    span = rollscope_memory.span("plain")
    assert (span.trace_id, span.parent_id) == ((1).to_bytes(16, "big"), (2).to_bytes(8, "big"))


@pytest.mark.parametrize("wrong", [3, int])
def test_what_cannot_be_decorated_is_refused_at_once(wrong):
    """A class or a plain value is an error where the decorator stands."""
    with pytest.raises(TypeError, match="decorates functions"):
        rs.traced()(wrong)


def test_an_unknown_kind_is_refused_at_once():
    """The error names the nearest kind."""
    with pytest.raises(rs.ConfigurationError, match="use tool"):
        rs.traced(kind="tol")(plain)


def test_content_capture_can_be_switched_off():
    """`capture=False` of the run goes before what a function asks for."""
    with rs.testing.memory_recorder(environment={"ROLLSCOPE_CAPTURE": "none"}) as memory:
        rs.traced(capture=True)(lambda x: x)(1)
    assert memory.spans[0].attributes.keys() == {v.CODE_FUNCTION_NAME}


def test_an_argument_that_cannot_be_looked_at(rollscope_memory):
    """An argument whose attributes raise costs its value, not the call."""

    class Angry:
        def __getattr__(self, name):
            raise RuntimeError("no")

        def __repr__(self):
            raise RuntimeError("no")

    assert rs.traced(capture="arguments")(lambda x: 1)(Angry()) == 1
    assert "Angry" in rollscope_memory.spans[0].attributes[v.CODE_ARGUMENTS]


def _in_child(queue):
    queue.put(plain(2))


def test_a_spawned_process_imports_it():
    """Decorated functions of a module work in a spawned process."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(queue,))
    child.start()
    assert queue.get(timeout=60) == 4
    child.join()
