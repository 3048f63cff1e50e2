"""The shipper: one process per node that reads the journals of its producers and sends them as OTLP.

`ensure_running` starts it, `python -m rollscope.shipper DIR` is it. In: log folders below `DIR/producers`. Out: OTLP requests,
acknowledged positions, `shipper.json`. `otlp/` encodes, `transport/` sends, `delivery` splits and gives up, `source` and `fleet`
read and acknowledge, `shipper` is the loop.
"""

from __future__ import annotations

from collections.abc import Sequence

from .launch import LOCK, ensure_running

__all__ = ["LOCK", "ensure_running", "main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the shipper in this process and return its exit code."""
    from .cli import main  # what the shipper needs is not loaded into a training process that only starts it

    return main(arguments)
