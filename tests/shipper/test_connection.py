"""The peer to use now, and what is told while an embedded bridge does not listen."""

from __future__ import annotations

import os
from pathlib import Path

from rollscope.settings import resolve_endpoints
from rollscope.settings.endpoint import Endpoints
from rollscope.shipper.connection import Connection
from rollscope.shipper.embedded import EmbeddedBridge


class Away(EmbeddedBridge):
    """Stands for a bridge whose process was started and is not to be heard of."""

    listening: Endpoints | None = None

    def endpoints(self) -> Endpoints | None:
        """Start nothing."""
        return self.listening


def endpoints(url: str) -> Endpoints:
    """All signals to one address."""
    found = resolve_endpoints({"ROLLSCOPE_ENDPOINT": url})
    assert found is not None
    return found


def test_configured_endpoints_are_new_once() -> None:
    """They are there from the first look, and no look is waited for."""
    connection = Connection(endpoints("http://127.0.0.1:1"))
    assert [connection.look(now) for now in (100.0, 101.0)] == [True, False]
    assert (connection.look_at, connection.why_away(200.0)) == (0.0, "")


def test_a_bridge_that_stays_away_is_told_of_after_a_while(tmp_path: Path) -> None:
    """It is looked for ten times a second; that it does not come up is told after fifteen seconds, and forgotten when it does."""
    bridge = Away(tmp_path, os.environ, None)
    connection = Connection(bridge)
    assert connection.look(100.0) is None
    assert connection.look_at == 100.1
    assert connection.look(114.9) is None
    assert connection.why_away(114.9) == ""
    assert connection.why_away(115.0) == "the embedded bridge does not come up; bridge.log in its storage folder says why"
    bridge.listening = endpoints("http://127.0.0.1:1")
    assert connection.look(116.0) is True
    assert connection.why_away(200.0) == ""
    bridge.listening = None
    assert connection.look(201.0) is None
    assert connection.why_away(202.0) == ""


def test_a_bridge_at_another_address_is_another_peer(tmp_path: Path) -> None:
    """After a restart it listens elsewhere, and everything is tried at once with it."""
    bridge = Away(tmp_path, os.environ, None)
    connection = Connection(bridge)
    looks = []
    for port in (1, 1, 2):
        bridge.listening = endpoints(f"http://127.0.0.1:{port}")
        looks.append(connection.look(100.0))
    assert looks == [True, False, True]
