"""OTLP in: checked, appended to the inbox, synced to disk, acknowledged. Nothing is interpreted here.

`grpc_server` and `http_server` speak the two transports, `Intake` is what they share, `Inbox` makes it durable.
"""

from __future__ import annotations

from ._auth import Gate
from ._inbox import INBOX_LANE, Inbox
from ._receiver import ListenError, Receiver
from ._signals import SIGNALS

__all__ = [
    "INBOX_LANE",
    "SIGNALS",
    "Gate",
    "Inbox",
    "ListenError",
    "Receiver",
]
