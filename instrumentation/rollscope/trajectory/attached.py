"""A trajectory whose root runs in another process."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from opentelemetry.trace import SpanContext

from .. import vocabulary as v
from ..recorder import Recorder, Span
from .identity import Coordinates
from .trajectory import Trajectory

__all__ = ["span_elsewhere"]


def span_elsewhere(recorder: Recorder, context: SpanContext, identity: Mapping[str, Any]) -> Span:
    """Return a stand-in for a span of another process: spans below it join its trace and identity, it is never written itself."""
    ids = context.trace_id.to_bytes(16, "big"), context.span_id.to_bytes(8, "big")
    span = Span(recorder, "", *ids, recorder.now(), recorder.tick(), identity)
    if v.TRAJECTORY_ID in identity:
        span.trajectory = _Attached(recorder, span, identity)
    return span


class _Attached(Trajectory):
    """Its turns, calls, rewards and facts are recorded here; its messages and ids so far are known only where it began."""

    __slots__ = ()

    def __init__(self, recorder: Recorder, span: Span, identity: Mapping[str, Any]) -> None:
        place = Coordinates(
            step=identity.get(v.STEP_INDEX),
            group=identity.get(v.GROUP_ID),
            index=identity.get(v.TRAJECTORY_INDEX),
            attempt=identity.get(v.TRAJECTORY_ATTEMPT, 0),
            split=identity.get(v.SPLIT_NAME, "train"),
            policy_version=identity.get(v.POLICY_VERSION),
        )
        super().__init__(recorder, span, place, None)
        self.id = identity[v.TRAJECTORY_ID]
        self._turns = itertools.count(identity.get(v.TURN_INDEX, -1) + 1)

    @property
    def here(self) -> bool:
        """Always False."""
        return False
