"""One destination's process: rows out of the store, records into the backend, position onto the disk.

`python -m rollscope_exporters.worker --storage S --backend NAME [--run ID]`. The supervisor starts it; it ends when its
standard input closes. `Feed` reads, `Delivery` writes with retries and splitting, `PositionFile` remembers.
"""

from __future__ import annotations

from ._delivery import Delivery, RestartNeeded, Stopped
from ._feed import Batch, Feed, Item
from ._folders import worker_folder
from ._position import Position, PositionFile
from ._worker import Worker

__all__ = [
    "Batch",
    "Delivery",
    "Feed",
    "Item",
    "Position",
    "PositionFile",
    "RestartNeeded",
    "Stopped",
    "Worker",
    "worker_folder",
]
