"""How large a record and its parts may grow."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ._environment import environment_int, parse_size

__all__ = ["Limits"]


class Limits(msgspec.Struct, frozen=True):
    """Every bound of one record. What is over a bound is shortened, marked and counted, never refused.

    The OpenTelemetry variables for attribute, event and link counts and for value length are honoured. Their default of 128
    attributes is not: it drops what was set first.
    """

    attributes: int = 1024
    """Attributes of a span, event or link; identity attributes are set last and always kept."""
    value_length: int = 256 << 10
    """Characters of a string value."""
    name_length: int = 256
    """Characters of a span, event or attribute name."""
    events: int = 1024
    """Events of a span; the first are kept."""
    links: int = 1024
    """Links of a span; the first are kept."""
    depth: int = 16
    """Nesting of lists and maps inside a value."""
    items: int = 10_000
    """Elements of one list or map inside a value."""
    repr_length: int = 4096
    """Characters of the description of an object that is no plain value."""
    stack_length: int = 8 << 10
    """Characters of a recorded stack trace; the innermost frames are kept."""
    record_bytes: int = 1 << 20
    """Bytes of one encoded record."""
    token_segment: int = 32 << 10
    """Token ids of one record; a longer segment becomes several."""

    artifact_bytes: int = 8 << 20
    """Bytes of a file that travels whole; a larger artifact is recorded by where it lies. `ROLLSCOPE_ARTIFACT_LIMIT`."""
    image_bytes: int = 4 << 20
    """Bytes of an encoded image; of a larger one only its digest and size are recorded. `ROLLSCOPE_IMAGE_LIMIT`."""

    @classmethod
    def from_environment(cls, env: Mapping[str, str]) -> Limits:
        """Return the defaults as the `OTEL_*` limit variables change them. Raises `ConfigurationError`."""
        return cls(
            attributes=environment_int(env, "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "OTEL_ATTRIBUTE_COUNT_LIMIT", default=cls().attributes),
            value_length=environment_int(
                env, "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", default=cls().value_length
            ),
            events=environment_int(env, "OTEL_SPAN_EVENT_COUNT_LIMIT", default=cls().events),
            links=environment_int(env, "OTEL_SPAN_LINK_COUNT_LIMIT", default=cls().links),
            artifact_bytes=parse_size(env.get("ROLLSCOPE_ARTIFACT_LIMIT") or cls().artifact_bytes, "ROLLSCOPE_ARTIFACT_LIMIT"),
            image_bytes=parse_size(env.get("ROLLSCOPE_IMAGE_LIMIT") or cls().image_bytes, "ROLLSCOPE_IMAGE_LIMIT"),
        )
