"""The bridge's main process: the receiver, and the children that do the work behind it.

`Bridge` puts it together, `Crew` holds the children, `Child` is one process with restarts and a deadline, `plan` decides
which workers there should be.
"""

from __future__ import annotations

from ._bridge import Bridge, BridgeOptions
from ._child import Child, ChildSpec
from ._crew import Crew
from ._lock import LockedError, RemovedError, StorageError, StorageLock, read_bridge
from ._plan import Plan, plan

__all__ = [
    "Bridge",
    "BridgeOptions",
    "Child",
    "ChildSpec",
    "Crew",
    "LockedError",
    "Plan",
    "RemovedError",
    "StorageError",
    "StorageLock",
    "plan",
    "read_bridge",
]
