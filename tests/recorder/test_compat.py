"""Canaries for the private parts of opentelemetry-api that the recorder relies on, and the way without them."""

from __future__ import annotations

from opentelemetry import _logs, context, metrics, trace
from opentelemetry.context import Context

from rollscope.recorder import _compat
from rollscope.recorder.foreign import providers
from rollscope.testing import Memory


def test_the_direct_way_is_in_use() -> None:
    """When this fails, a new opentelemetry-api moved its parts: the public way works, and is 0.2 µs a span slower."""
    assert _compat.FAST


def test_both_ways_do_the_same(memory: Memory) -> None:
    """Current span, our own span and the way back agree between the direct and the public way."""
    span = memory.recorder.start_span("work")
    for current, own, enter, leave in (_compat._public(), _compat._direct(*_compat._PARTS or ())):  # type: ignore[call-arg]
        assert enter(span) is span
        assert current() is span
        assert own() is span
        assert trace.get_current_span() is span
        assert dict(Context(context.get_current())) == dict(context.get_current())
        assert context.get_value("other", context.set_value("other", 1)) == 1
        leave(span._token)
        assert trace.get_current_span() is trace.INVALID_SPAN
        assert own() is None


def test_unset_global_providers_are_known_by_name() -> None:
    """Two of the three classes have no public name; this notices when one is renamed."""
    import subprocess
    import sys

    program = (
        "from opentelemetry import _logs, metrics, trace; "
        "print(*(type(p()).__name__ for p in (trace.get_tracer_provider, _logs.get_logger_provider, metrics.get_meter_provider)))"
    )
    names = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert set(names) == providers._UNSET
    assert all((trace, _logs, metrics))
