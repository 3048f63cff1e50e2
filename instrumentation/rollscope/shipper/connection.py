"""Where the shipper sends to: the configured endpoints, or whatever bridge is up on this node."""

from __future__ import annotations

from ..settings.endpoint import Endpoints
from .embedded import EmbeddedBridge
from .transport import Accepted, Peer, open_peer
from .transport.cures import shown

_LOOK_AGAIN = 0.1
_COMES_UP = 15.0
"""Seconds without a bridge after which that is told."""
_NEVER = float("inf")


class Connection:
    """Knows the peer to use now, and opens it as often as there are senders (times are seconds of the monotonic clock)."""

    def __init__(self, target: Endpoints | EmbeddedBridge) -> None:
        self._target = target
        self._endpoints: Endpoints | None = None
        self._accepted = Accepted()
        self._away_since = _NEVER
        self.look_at = 0.0
        """When to look again for a bridge that does not listen; in the past where one does."""

    @property
    def collector(self) -> bool:
        """Whether the peer is not our own bridge, so that gauges for Prometheus are worth deriving."""
        return isinstance(self._target, Endpoints)

    @property
    def address(self) -> str:
        """Where things go, for people; without credentials."""
        endpoints = self._target if isinstance(self._target, Endpoints) else self._endpoints
        return shown(endpoints.logs.url) if endpoints else "embedded bridge, not up"

    def look(self, now: float) -> bool | None:
        """Return whether the peer is another one than at the last look, None while the embedded bridge does not listen."""
        endpoints = self._target if isinstance(self._target, Endpoints) else self._target.endpoints()
        if endpoints is None:
            self.look_at = now + _LOOK_AGAIN
            self._away_since = min(self._away_since, now)
            return None
        self._away_since = _NEVER
        if endpoints == self._endpoints:
            return False
        self._endpoints, self._accepted = endpoints, Accepted()
        return True

    def why_away(self, now: float) -> str:
        """Return why the embedded bridge does not listen; empty while it may just be starting, or where none is needed."""
        if isinstance(self._target, Endpoints):
            return ""
        if self._target.why_not:
            return self._target.why_not
        late = now - self._away_since >= _COMES_UP
        return "the embedded bridge does not come up; bridge.log in its storage folder says why" if late else ""

    def open(self) -> Peer:
        """Return connections for one sender. Raises `TransportError` when the endpoints cannot be used."""
        assert self._endpoints is not None, "looked for before it is opened"
        return open_peer(self._endpoints, self._accepted)
