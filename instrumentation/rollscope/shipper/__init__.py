"""The shipper: one process per node that reads the journals of its producers and sends them as OTLP.

`ensure_running` starts it, `python -m rollscope.shipper DIR` is it. In: log folders below `DIR/producers`. Out: OTLP requests,
acknowledged positions, `shipper.json`.

One log: `source` reads and acknowledges it, `translation` redacts and encodes, `producer` is who writes it, `open_spans` and `vitals` what
is said of it besides. All logs: `fleet`, each a `member` of it. What goes out: `record_class`, `heartbeats`, `last_words`, `derived`, each
with a `sender`; `delivery` splits and gives up, `otlp/` is the format, `transport/` the wire, `connection` the peer. `shipper` is the loop,
`progress` makes lasting how far it is, `health` says how it goes.
"""

from __future__ import annotations

from collections.abc import Sequence

from .launch import LOCK, ensure_running

__all__ = ["LOCK", "ensure_running", "main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the shipper in this process and return its exit code."""
    from .cli import main  # what the shipper needs is not loaded into a training process that only starts it

    return main(arguments)
