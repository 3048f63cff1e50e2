"""TensorBoard: event files with scalars, a readable sample of trajectories, tables and the run's configuration.

`_events` turns records into events, `_file` keeps the event files of a run exact, `_run` is one run, `_backend` drives.
"""

from ._backend import TensorboardBackend
from ._config import TensorboardConfig

__all__ = ["TensorboardBackend", "TensorboardConfig"]
