"""What it takes to start servers: ports that nobody listens on, and whether one answers yet."""

from __future__ import annotations

import contextlib
import socket
import urllib.request


def free_ports(count: int) -> list[int]:
    """Return ports that nobody listens on now, no two the same."""
    with contextlib.ExitStack() as open_ones:
        probes = [open_ones.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


def answers(url: str) -> bool:
    """Return whether `url` answers with 200."""
    with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=2) as response:
        return bool(response.status == 200)
    return False
