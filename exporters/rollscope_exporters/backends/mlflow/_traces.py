"""Sends traces: information first, then spans in requests of many, so that a trace is never shown half described."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from opentelemetry.proto.trace.v1.trace_pb2 import Span as OtlpSpan

from ...records import LateFacts, Trace, Trajectory
from ._chat import chat_spans
from ._compat import AT_ONCE
from ._config import MlflowConfig
from ._connection import Connection
from ._info import assessments, fact_tags, trace_id_of, trajectory_info
from ._otlp import key_values, to_otlp
from ._plain import foreign_span
from ._runs import Handle
from ._tokens import token_attributes, tokens_by_span

if TYPE_CHECKING:
    from mlflow.entities import TraceInfo

_REQUEST_BYTES = 4 * 1024 * 1024
_LINKS_PER_CALL = 100
_WORTH = 100
"""Spans below which a request is mostly the request itself."""


class TraceWriter:
    """Writes trajectories, traces and late facts of one run at a time."""

    def __init__(self, connection: Connection, config: MlflowConfig) -> None:
        self._connection = connection
        self._config = config

    def trajectories(self, handle: Handle, trajectories: list[Trajectory]) -> None:
        """Store each as a trace; one that exists is replaced, its assessments are merged."""
        chunks = _chunks(trajectories, self._config.spans_per_request)
        self._connection.traces.each(lambda chunk: self._store(handle, chunk), chunks)

    def _store(self, handle: Handle, trajectories: list[Trajectory]) -> None:
        self._connection.traces.upsert_infos(trajectory_info(trajectory, *handle) for trajectory in trajectories)
        limit = self._config.attribute_bytes
        self._send(
            handle.experiment_id,
            (
                to_otlp(span, name, attributes, limit)
                for trajectory in trajectories
                for span, name, attributes in chat_spans(trajectory, self._config.history_bytes, limit, self._config.image_bytes)
            ),
        )

    def traces(self, handle: Handle, traces: list[Trace]) -> list[Trace]:
        """Store traces and link them to the run. Returns late ones whose trace is not here: their trajectory was left out."""
        known = self._known(trace.trace_id for trace in traces if trace.late)
        taken = [trace for trace in traces if not trace.late or trace_id_of(trace.trace_id) in known]
        spans = (to_otlp(span, *foreign_span(span), self._config.attribute_bytes) for trace in taken for span in trace.spans)
        self._send(handle.experiment_id, spans)
        self._link(handle, [trace_id_of(trace.trace_id) for trace in taken if not trace.late])
        return [trace for trace in traces if trace.late and trace_id_of(trace.trace_id) not in known]

    def facts(self, handle: Handle, facts: list[LateFacts]) -> list[LateFacts]:
        """Add rewards and facts to traces that exist. Returns those whose trajectory was left out."""
        known = self._known(fact.trajectory for fact in facts)
        left_out = []
        for fact in facts:
            info = known.get(trace_id_of(fact.trajectory))
            if info is None:
                left_out.append(fact)
                continue
            if fact.rewards:
                info.assessments = assessments(fact.trajectory, fact.rewards)
                self._connection.traces.upsert_infos([info])
            self._connection.traces.set_tags(info.trace_id, fact_tags(fact.facts))
            self._add_tokens(handle, fact)
        return left_out

    def _add_tokens(self, handle: Handle, fact: LateFacts) -> None:
        """Give late text to the spans it belongs to: a span is replaced as a whole, so it is read back first."""
        segments = tokens_by_span(fact.tokens)
        if not segments:
            return
        amended = []
        for span in self._connection.client.get_trace(trace_id_of(fact.trajectory)).data.spans:
            if span.span_id in segments:
                proto: OtlpSpan = span.to_otel_proto()
                proto.attributes.extend(key_values(token_attributes(segments[span.span_id]), self._config.attribute_bytes))
                amended.append(proto)
        self._send(handle.experiment_id, amended)

    def _known(self, trace_ids: Iterable[str]) -> dict[str, TraceInfo]:
        names = list(dict.fromkeys(trace_id_of(trace_id) for trace_id in trace_ids))
        known: dict[str, TraceInfo] = {}
        for start in range(0, len(names), _LINKS_PER_CALL):
            known.update(self._connection.traces.infos(names[start : start + _LINKS_PER_CALL]))
        return known

    def _link(self, handle: Handle, trace_ids: list[str]) -> None:
        for start in range(0, len(trace_ids), _LINKS_PER_CALL):
            self._connection.traces.link(trace_ids[start : start + _LINKS_PER_CALL], handle.run_id)

    def _send(self, experiment_id: str, spans: Iterable[OtlpSpan]) -> None:
        for batch in _batches(spans, self._config.spans_per_request):
            self._connection.traces.send_spans(experiment_id, batch)


def _chunks(trajectories: Sequence[Trajectory], most: int) -> Iterator[list[Trajectory]]:
    """Split so that all connections have something to do, each with requests that are worth it."""
    spans = sum(len(trajectory.spans) for trajectory in trajectories)
    enough = min(most, max(_WORTH, -(-spans // AT_ONCE)))
    chunk: list[Trajectory] = []
    size = 0
    for trajectory in trajectories:
        chunk.append(trajectory)
        size += len(trajectory.spans)
        if size >= enough:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _batches(spans: Iterable[OtlpSpan], most: int) -> Iterator[list[OtlpSpan]]:
    batch: list[OtlpSpan] = []
    size = 0
    for span in spans:
        batch.append(span)
        size += span.ByteSize()
        if len(batch) >= most or size >= _REQUEST_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
