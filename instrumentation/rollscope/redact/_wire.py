"""Redacting OTLP messages in place: every list of attributes in them, wherever it stands."""

from __future__ import annotations

from typing import Any

from opentelemetry.proto.common.v1 import common_pb2

from ._redactor import Redactor

_PAIR, _VALUE = common_pb2.KeyValue.DESCRIPTOR.full_name, common_pb2.AnyValue.DESCRIPTOR.full_name


def redact_message(redactor: Redactor, message: Any) -> None:
    """Redact the values of all `KeyValue` lists below `message`."""
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        if field.message_type.full_name == _PAIR:
            for pair in value:
                pair.key = redactor.name(pair.key)
                _redact_pair(redactor, pair)
        elif field.is_repeated if hasattr(field, "is_repeated") else field.label == field.LABEL_REPEATED:
            for each in value:
                redact_message(redactor, each)
        else:
            redact_message(redactor, value)


def _redact_pair(redactor: Redactor, pair: Any) -> None:
    if redactor.matches_key(pair.key):
        pair.value.Clear()
        pair.value.string_value = next(iter(redactor.attributes({pair.key: ""}).values()))
    else:
        _redact_value(redactor, pair.key, pair.value)


def _redact_value(redactor: Redactor, key: str, value: Any) -> None:
    kind = value.WhichOneof("value")
    if kind == "string_value":
        value.string_value = next(iter(redactor.attributes({key: value.string_value}).values()))
    elif kind == "array_value":
        for each in value.array_value.values:
            _redact_value(redactor, key, each)
    elif kind == "kvlist_value":
        for pair in value.kvlist_value.values:
            _redact_pair(redactor, pair)
