"""Console: one readable line a step, in a log file and where asked on the trainer's own terminal.

`_choose` picks the metrics, `_line` lays out, `_trajectories` counts, `_sink` writes without blocking, `_backend` drives.
"""

from ._backend import ConsoleBackend, ConsoleConfig

__all__ = ["ConsoleBackend", "ConsoleConfig"]
