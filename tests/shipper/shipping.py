"""Running a shipper against a peer, and what tests ask of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rollscope import vocabulary as v
from rollscope.shipper.shipper import Shipper

from .peers import Peer, Received, values

PRODUCER = "aaaaaaaaaaaaaaaa"


def ship(directory: Path, peer: Peer, timeout: float = 120.0) -> bool:
    """Run a shipper until everything that is there was acknowledged."""
    return Shipper(directory, peer.endpoints).drain(timeout)


def ship_in_vain(directory: Path, peer: Peer, told: Callable[[], bool]) -> None:
    """Run shippers, of which none can get rid of everything, until `told` holds."""

    def tried() -> bool:
        assert not ship(directory, peer, timeout=1.0)
        return told()

    wait_for(tried)


def event_names(received: Received) -> set[str]:
    """Names of the events in a request; empty for other signals."""
    groups = received.message.resource_logs if received.signal == "logs" else ()
    return {record.event_name for group in groups for scope in group.scope_logs for record in scope.log_records}


def last_heartbeat(peer: Peer) -> dict[str, Any]:
    """Attributes of the latest heartbeat."""
    return values(peer.logs(v.EVENT_HEARTBEAT)[-1].attributes)


def wait_for(condition: Callable[[], bool], seconds: float = 120.0) -> None:
    """Return when `condition` holds; fails after `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.02)
