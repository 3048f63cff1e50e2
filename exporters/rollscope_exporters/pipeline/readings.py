"""Event attributes → the plain records they stand for. What an event lacks or has wrong raises `UnusableError`."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import msgspec

from rollscope import vocabulary as v

from ..assemble import Fact
from ..assemble.messages import load
from ..decode import Log, integer
from ..records import Histogram, LogLine, Reward, RunFinished, RunStarted, Scalar, Span, StepMetrics, Table

_COORDINATES = {"step": v.STEP_INDEX, "group": v.GROUP_ID, "index": v.TRAJECTORY_INDEX, "attempt": v.TRAJECTORY_ATTEMPT}
_HEX = frozenset("0123456789abcdef")


class UnusableError(Exception):
    """When an event cannot be used; the message is the reason, a fixed text that can be counted."""


def run_started(log: Log, run: str, resource: Mapping[str, object]) -> RunStarted:
    """`rl.run.started`; names come from the resource where the event has none."""
    found = {**resource, **log.attributes}
    tags = found.get(v.RUN_TAGS)
    backends = found.get(v.RUN_BACKENDS)
    return RunStarted(
        run=run,
        name=str(found.get(v.RUN_NAME) or run),
        project=str(found.get(v.PROJECT_NAME) or found.get(v.SERVICE_NAME) or "rollscope"),
        attempt=integer(found.get(v.RUN_ATTEMPT)) or 0,
        time=log.time,
        config=_mapping(found.get(v.RUN_CONFIG)),
        tags=[str(tag) for tag in tags] if isinstance(tags, list) else [],
        notes=str(found.get(v.RUN_NOTES, "")),
        backends=[str(name) for name in backends] if isinstance(backends, list) else [],
        circumstances=_mapping(found.get(v.RUN_CIRCUMSTANCES)),
        resource=dict(resource),
    )


def run_finished(log: Log, run: str) -> RunFinished:
    """`rl.run.finished`."""
    status = log.attributes.get(v.RUN_STATUS, "finished")
    if status not in ("finished", "failed", "aborted"):
        raise UnusableError(f"end of a run with a status that is none of finished, failed, aborted: {str(status)[:40]!r}")
    return RunFinished(run=run, time=log.time, status=status, error=str(log.attributes.get(v.RUN_ERROR, "")))


def metrics(log: Log, run: str, producer: str) -> StepMetrics:
    """`rl.step.metrics`."""
    values = load(log.attributes.get(v.METRICS))
    if not isinstance(values, dict):
        raise UnusableError("step metrics without a map of values")
    return StepMetrics(
        run=run,
        time=log.time,
        step=integer(log.attributes.get(v.STEP_INDEX)),
        values={str(name): _scalar(value) for name, value in values.items()},
        split=str(log.attributes.get(v.SPLIT_NAME, "")),
        producer=producer,
    )


def reward(log: Log) -> Reward:
    """`rl.reward`."""
    value = log.attributes.get(v.REWARD_VALUE)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise UnusableError("reward without a number")
    components = load(log.attributes.get(v.REWARD_COMPONENTS))
    return Reward(
        value=float(value),
        name=str(log.attributes.get(v.REWARD_SOURCE_NAME) or "reward"),
        components=_numbers(components) if isinstance(components, dict) else {},
        explanation=str(log.attributes.get(v.REWARD_EXPLANATION, "")),
        time=log.time,
        uid=str(log.attributes.get(v.LOG_RECORD_UID, "")),
    )


def fact(log: Log) -> Fact:
    """`rl.trajectory.facts`."""
    values = load(log.attributes.get(v.FACTS))
    if not isinstance(values, dict):
        raise UnusableError("facts of a trajectory without a map of values")
    return Fact({str(name): value for name, value in values.items()}, log.time)


def table(log: Log, run: str) -> Table:
    """`rl.table`."""
    rows = load(log.attributes.get(v.TABLE_ROWS))
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UnusableError("table whose rows are no JSON list of objects")
    return Table(
        run=run,
        name=str(log.attributes.get(v.TABLE_NAME) or "table"),
        step=integer(log.attributes.get(v.STEP_INDEX)),
        time=log.time,
        rows=rows,
        uid=str(log.attributes.get(v.LOG_RECORD_UID, "")),
    )


def histogram(log: Log, run: str) -> Histogram:
    """`rl.histogram`."""
    found = log.attributes
    name = found.get(v.HISTOGRAM_NAME)
    edges, counts = _numbers_in(found.get(v.HISTOGRAM_EDGES), "d"), _numbers_in(found.get(v.HISTOGRAM_COUNTS), "q")
    if not isinstance(name, str) or not name:
        raise UnusableError("histogram without a name")
    if len(edges) != len(counts) + bool(counts):
        raise UnusableError("histogram whose edges and counts do not go together")
    return Histogram(
        run=run,
        name=name,
        step=integer(found.get(v.STEP_INDEX)),
        time=log.time,
        edges=edges,
        counts=[int(count) for count in counts],
        count=integer(found.get(v.HISTOGRAM_COUNT)) or 0,
        sum=_double(found.get(v.HISTOGRAM_SUM)) or 0.0,
        min=_double(found.get(v.HISTOGRAM_MIN)),
        max=_double(found.get(v.HISTOGRAM_MAX)),
        nan=integer(found.get(v.HISTOGRAM_NAN)) or 0,
        positive_infinite=integer(found.get(v.HISTOGRAM_POSITIVE_INFINITE)) or 0,
        negative_infinite=integer(found.get(v.HISTOGRAM_NEGATIVE_INFINITE)) or 0,
        split=str(found.get(v.SPLIT_NAME, "")),
        uid=str(found.get(v.LOG_RECORD_UID, "")),
    )


def log_line(log: Log, run: str, producer: str) -> LogLine:
    """Return a log line, or an event that is the user's own: its name is `LogLine.name`, and a note's name stands in its body."""
    attributes = {name: value for name, value in log.attributes.items() if name != v.LOG_RECORD_UID}
    name, body = (log.body, "") if log.name == v.EVENT_NOTE else ("" if log.name == v.EVENT_LOG else log.name, log.body)
    return LogLine(
        run=run,
        time=log.time,
        severity=log.severity,
        body=body,
        name=name,
        trace_id=log.trace_id,
        span_id=log.span_id,
        attributes=attributes,
        producer=producer,
    )


def trajectory_of(log: Log) -> str:
    """Return the trace id of the trajectory an event is about."""
    if not (told := log.attributes.get(v.TRAJECTORY_ID)) and len(log.trace_id) == 32:
        return log.trace_id
    named = str(told or log.trace_id)
    if len(named) != 32 or not _HEX.issuperset(named):
        raise UnusableError(f"{log.name} that names no trajectory")
    return named


def coordinates(root: Span) -> str:
    """Return where a trajectory stands in its run, in words."""
    found = {name: root.attributes.get(key) for name, key in _COORDINATES.items()}
    return ", ".join(f"{name} {str(value)[:80]}" for name, value in found.items() if value is not None)


def _double(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _numbers_in(packed: object, code: str) -> list[float]:
    """Return little-endian numbers of 8 bytes; none where there are none."""
    if packed is None:
        return []
    if not isinstance(packed, bytes) or len(packed) % 8:
        raise UnusableError("histogram whose edges or counts are no packed numbers")
    return [value for (value,) in struct.iter_unpack(f"<{code}", packed)]


def _scalar(value: object) -> Scalar:
    if isinstance(value, (bool, int, float, str)):
        return value
    return msgspec.json.encode(value).decode()


def _numbers(values: Mapping[Any, object]) -> dict[str, float]:
    return {str(name): float(value) for name, value in values.items() if isinstance(value, (int, float))}


def _mapping(value: object) -> dict[str, object]:
    found = load(value)
    if isinstance(found, dict):
        return {str(name): inner for name, inner in found.items()}
    return {} if found is None else {"value": found}
