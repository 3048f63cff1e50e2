"""Every use of MLflow that its documentation does not promise, and nothing else.

Checked with MLflow 3.17 and read in 3.18; `tests/exporters/backends/mlflow/test_compat.py` is the canary for later ones.

- `Span.from_otel_proto` and the store's `log_spans`: the way an SQL store takes OTLP spans without a server.
- the store's `get_host_creds` and `http_request`: a POST to `/v1/traces` with the client's own credentials and TLS settings.
- the store's `start_trace`: an upsert of what OTLP cannot carry. Assessments in it are merged by their id, so ids that
  follow from the fact make a repetition harmless.
- the store's `set_trace_tag`: one tag, without reading and merging all there is.
- the store's `batch_get_trace_infos`: which traces exist, in one call.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span as OtlpSpan

if TYPE_CHECKING:
    from mlflow.entities import TraceInfo

SUPPORTED = ">=3.17,<3.19"

AT_ONCE = 4
"""Connections to a server that are busy at a time."""
_COMPRESS_FROM = 16 * 1024
Part = TypeVar("Part")
_LOOPBACK = ("://127.", "://localhost", "://[::1]")


class TraceStore:
    """Traces of one tracking store, with or without a server in between."""

    def __init__(self, uri: str) -> None:
        from mlflow.tracing.client import TracingClient

        self._remote = uri.startswith(("http://", "https://"))
        self._compress = self._remote and not any(part in uri for part in _LOOPBACK)
        self._store: Any = TracingClient(uri).store

    def send_spans(self, experiment_id: str, spans: Sequence[OtlpSpan]) -> None:
        """Store finished spans; one that exists is replaced."""
        if self._remote:
            self._post(experiment_id, spans)
        else:
            from mlflow.entities import Span

            self._store.log_spans(experiment_id, [Span.from_otel_proto(span) for span in spans])

    def upsert_infos(self, infos: Iterable[TraceInfo]) -> None:
        """Create traces' information or merge into it: later tags and metadata win, assessments merge by id."""
        for info in infos:
            self._store.start_trace(info)

    def each(self, call: Callable[[Part], object], parts: Iterable[Part]) -> None:
        """Call with every part, a few at once on a server: it takes one trace's information at a time, and most of it is waiting.

        Raises what the first failing call raised, when all have ended.
        """
        if not self._remote:
            for part in parts:
                call(part)
            return
        with ThreadPoolExecutor(AT_ONCE) as threads:
            for _ in threads.map(call, parts):
                pass

    def set_tags(self, trace_id: str, tags: Mapping[str, str]) -> None:
        """Set tags of a trace that exists."""
        for name, value in tags.items():
            self._store.set_trace_tag(trace_id, name, value)

    def infos(self, trace_ids: Sequence[str]) -> dict[str, TraceInfo]:
        """Return information on those of `trace_ids` that exist."""
        return {info.trace_id: info for info in self._store.batch_get_trace_infos(list(trace_ids))}

    def link(self, trace_ids: Sequence[str], run_id: str) -> None:
        """Show traces under a run; at most 100 ids."""
        self._store.link_traces_to_run(list(trace_ids), run_id)

    def _post(self, experiment_id: str, spans: Sequence[OtlpSpan]) -> None:
        from mlflow.utils.rest_utils import http_request, verify_rest_response

        request = ExportTraceServiceRequest()
        request.resource_spans.add().scope_spans.add().spans.extend(spans)
        body = request.SerializeToString()
        headers = {"Content-Type": "application/x-protobuf", "x-mlflow-experiment-id": experiment_id}
        if self._compress and len(body) > _COMPRESS_FROM:
            body, headers["Content-Encoding"] = gzip.compress(body, 1), "gzip"
        response: Any = http_request(  # type: ignore[no-untyped-call]
            self._store.get_host_creds(), "/v1/traces", "POST", data=body, extra_headers=headers
        )
        if response.status_code != 200:
            verify_rest_response(response, "/v1/traces")
