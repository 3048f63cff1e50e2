"""The peer: one transport per signal and one for token payloads, to wherever the settings send them."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping

from ...settings.endpoint import SIGNALS, Channel, Endpoint, Endpoints, Signal
from .grpc import GrpcTransport
from .http import HttpTransport
from .outcome import Outcome, Transport, Verdict


class Accepted:
    """How many requests the other side has accepted, by channel, whoever sent them. Thread-safe."""

    def __init__(self) -> None:
        self._counts: Counter[Channel] = Counter()
        self._lock = threading.Lock()

    def add(self, channel: Channel) -> None:
        """Count one."""
        with self._lock:
            self._counts[channel] += 1

    def of(self, channel: Channel) -> int:
        """Return how many of `channel`."""
        return self._counts[channel]

    def any(self) -> bool:
        """Return whether there was one."""
        return bool(self._counts)


class Peer:
    """Connections to where everything goes, for one thread."""

    def __init__(self, transports: Mapping[Channel, Transport], accepted: Accepted | None = None) -> None:
        """`transports` has the three signals; token payloads go with logs unless they have a transport of their own.

        `accepted` is shared by all who send to the same place.
        """
        self._transports = transports
        self.accepted = Accepted() if accepted is None else accepted

    def send(self, channel: Channel, body: bytes) -> Outcome:
        """Send one request."""
        transport = self._transports.get(channel) or self._transports["logs"]
        outcome = transport.send(body)
        if outcome.verdict is Verdict.ACCEPTED:
            self.accepted.add(channel)
        return outcome

    def close(self) -> None:
        """Let go of all connections."""
        for transport in self._transports.values():
            transport.close()


def open_peer(endpoints: Endpoints, accepted: Accepted | None = None) -> Peer:
    """Return transports for `endpoints`; no connection is made yet. Raises `TransportError` when one cannot be used."""
    transports: dict[Channel, Transport] = {signal: _transport(endpoints.of(signal), signal) for signal in SIGNALS}
    if endpoints.tokens is not None:
        transports["tokens"] = _transport(endpoints.tokens, "logs")
    return Peer(transports, accepted)


def _transport(endpoint: Endpoint, signal: Signal) -> Transport:
    return GrpcTransport(endpoint, signal) if endpoint.protocol == "grpc" else HttpTransport(endpoint)
