"""OTLP's own schema, with some embedded messages left encoded.

On the wire an embedded message and a field of bytes are the same. Read as bytes, an attribute costs one object instead of three, and one
that was read before is found by its bytes without being parsed again. Most attributes of spans and points were; those of log records
(token ids, texts, maps of metrics) hardly ever, so they are parsed with their record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.logs.v1 import logs_pb2
from opentelemetry.proto.metrics.v1 import metrics_pb2
from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

_FILES: dict[ModuleType, frozenset[str]] = {
    common_pb2: frozenset({"attributes"}),
    resource_pb2: frozenset(),
    trace_pb2: frozenset({"attributes", "resource", "status"}),
    logs_pb2: frozenset({"resource", "body"}),
    metrics_pb2: frozenset({"attributes", "resource"}),
    trace_service_pb2: frozenset(),
    logs_service_pb2: frozenset(),
    metrics_service_pb2: frozenset(),
}
"""Each file after those that it imports → fields of its messages that are left as bytes."""
_Field = descriptor_pb2.FieldDescriptorProto


def _altered(module: ModuleType, encoded: frozenset[str]) -> bytes:
    file = descriptor_pb2.FileDescriptorProto()
    module.DESCRIPTOR.CopyToProto(file)
    for field in _fields(file.message_type):
        if field.name in encoded:
            field.type = _Field.TYPE_BYTES
            field.ClearField("type_name")
    return file.SerializeToString()


def _fields(messages: Iterable[descriptor_pb2.DescriptorProto]) -> Iterator[descriptor_pb2.FieldDescriptorProto]:
    for message in messages:
        yield from message.field
        yield from _fields(message.nested_type)


def _request(service: str, name: str) -> type[Any]:
    found: type[Message] = message_factory.GetMessageClass(
        _POOL.FindMessageTypeByName(f"opentelemetry.proto.collector.{service}.v1.{name}")
    )
    return found


_POOL = descriptor_pool.DescriptorPool()
for _file, _names in _FILES.items():
    _POOL.AddSerializedFile(_altered(_file, _names))

TraceRequest = _request("trace", "ExportTraceServiceRequest")
LogsRequest = _request("logs", "ExportLogsServiceRequest")
MetricsRequest = _request("metrics", "ExportMetricsServiceRequest")
