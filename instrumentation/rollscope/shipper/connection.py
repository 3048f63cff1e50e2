"""Where the shipper sends to: the configured endpoints, or whatever bridge is up on this node."""

from __future__ import annotations

from ..settings.endpoint import Endpoints
from .embedded import EmbeddedBridge
from .transport import Accepted, Peer, open_peer
from .transport.cures import shown


class Connection:
    """Knows the peer to use now, and opens it as often as there are senders."""

    def __init__(self, target: Endpoints | EmbeddedBridge) -> None:
        self._target = target
        self._endpoints: Endpoints | None = None
        self._accepted = Accepted()

    @property
    def collector(self) -> bool:
        """Whether the peer is not our own bridge, so that gauges for Prometheus are worth deriving."""
        return isinstance(self._target, Endpoints)

    @property
    def address(self) -> str:
        """Where things go, for people; without credentials."""
        endpoints = self._target if isinstance(self._target, Endpoints) else self._endpoints
        return shown(endpoints.logs.url) if endpoints else "embedded bridge, not up"

    @property
    def why_not(self) -> str:
        """Why the embedded bridge could not be started, empty where it could or none is needed."""
        return "" if isinstance(self._target, Endpoints) else self._target.why_not

    def look(self) -> bool | None:
        """Return whether the peer is another one than at the last look, None while the embedded bridge does not listen."""
        endpoints = self._target if isinstance(self._target, Endpoints) else self._target.endpoints()
        if endpoints is None:
            return None
        if endpoints == self._endpoints:
            return False
        self._endpoints, self._accepted = endpoints, Accepted()
        return True

    def open(self) -> Peer:
        """Return connections for one sender. Raises `TransportError` when the endpoints cannot be used."""
        assert self._endpoints is not None, "looked for before it is opened"
        return open_peer(self._endpoints, self._accepted)
