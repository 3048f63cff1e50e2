"""Metrics of an SDK meter provider, kept as the OTLP request that any exporter would send."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.sdk.metrics.export import MetricExporter, MetricExportResult, MetricsData

from .. import gate, session

__all__ = ["JournalMetricExporter"]


class JournalMetricExporter(MetricExporter):
    """Writes what a metric reader collects, in requests below the limit of a record."""

    def export(self, metrics_data: MetricsData, timeout_millis: float = 10_000, **kwargs: Any) -> MetricExportResult:
        """Write the points."""
        recorder = session.current()
        if recorder is not None:
            with gate.guard("foreign_metrics", "dropped"):
                for payload in split(encode_metrics(metrics_data), recorder.limits.record_bytes):
                    recorder.otlp("metrics", payload)
        return MetricExportResult.SUCCESS

    def shutdown(self, timeout_millis: float = 30_000, **kwargs: Any) -> None:
        """Nothing is held back."""

    def force_flush(self, timeout_millis: float = 10_000) -> bool:
        """Return True: what was collected is in the journal."""
        return True


def split(request: ExportMetricsServiceRequest, most: int) -> Iterator[bytes]:
    """Yield `request` whole if it is smaller than `most` bytes, else by metric, and a large metric by its points."""
    room = most - 64
    if request.ByteSize() <= room:
        yield request.SerializeToString()
        return
    for resource in request.resource_metrics:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                yield from _split_metric(resource, scope, metric, room)


def _split_metric(resource: Any, scope: Any, metric: Metric, room: int) -> Iterator[bytes]:
    one = ExportMetricsServiceRequest()
    outer = one.resource_metrics.add(schema_url=resource.schema_url)
    outer.resource.CopyFrom(resource.resource)
    inner = outer.scope_metrics.add(schema_url=scope.schema_url)
    inner.scope.CopyFrom(scope.scope)
    inner.metrics.add().CopyFrom(metric)
    if one.ByteSize() <= room:
        yield one.SerializeToString()
        return
    kind = metric.WhichOneof("data") or "gauge"
    points = getattr(metric, kind).data_points
    if len(points) < 2:
        gate.report("dropped", "big_metric", f"one point of the metric {metric.name!r} is larger than a record")
        return
    middle = len(points) // 2
    for part in (points[:middle], points[middle:]):
        half = Metric()
        half.CopyFrom(metric)
        del getattr(half, kind).data_points[:]
        getattr(half, kind).data_points.extend(part)
        yield from _split_metric(resource, scope, half, room)
