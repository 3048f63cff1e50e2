"""What every call returns where nothing is recorded: one shared object that takes everything and does nothing."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from opentelemetry.trace import INVALID_SPAN_CONTEXT, NonRecordingSpan

__all__ = ["NOOP", "Noop"]


class Noop(NonRecordingSpan):
    """Stands for a span, step, phase, trajectory, turn, generation or tool call without a run.

    A test holds that it has every public name of all of them.
    """

    id = ""
    """A trajectory that is not recorded has no id; `reward` and `facts` ignore it."""
    index = 0
    name = ""
    agent = None
    trajectory = None

    @property
    def span(self) -> Noop:
        """The span of a scope."""
        return self

    def __enter__(self) -> Noop:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None

    async def __aenter__(self) -> Noop:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None

    def _same(self, *_: object, **__: object) -> Noop:
        return self

    def _nothing(self, *_: object, **__: object) -> None:
        return None

    turn = generation = tool = phase = _same
    set = event = log = outcome = reward = facts = tokens = output = usage = result = error = end = _nothing

    def __reduce__(self) -> str:
        return "NOOP"


NOOP: Any = Noop(INVALID_SPAN_CONTEXT)
