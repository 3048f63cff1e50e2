"""What became of a request, in words that HTTP and gRPC share."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol


class TransportError(ValueError):
    """When an endpoint cannot be used at all: a missing package, an unreadable certificate. Raised at start."""


class Verdict(Enum):
    """What to do next."""

    ACCEPTED = "accepted"
    RETRY = "retry"
    """The peer cannot be reached, is overloaded, or does not know us: try again later, all of it."""
    FAILED = "failed"
    """The peer failed on it: try again a few times, then look for the record that makes it fail."""
    TOO_LARGE = "too large"
    REFUSED = "refused"
    """The peer will never take it: find the record and set it aside."""
    UNSUPPORTED = "unsupported"
    """The peer does not take this signal."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The peer's answer to one request."""

    verdict: Verdict
    detail: str = ""
    retry_after: float | None = None
    """Seconds that the peer asked us to wait."""
    rejected: int = 0
    """Records of an accepted request that the peer did not take (OTLP partial success)."""


class Transport(Protocol):
    """Sends encoded requests of one signal to one endpoint."""

    def send(self, body: bytes) -> Outcome:
        """Send one encoded `Export…ServiceRequest` within the endpoint's time limit. Never raises for what the peer does."""

    def close(self) -> None:
        """Let go of connections."""
