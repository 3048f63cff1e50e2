"""trackio: metrics, conversations as traces, tables, histograms, images and the configuration, in its local database.

`_rows` turns records into rows of its log, `_compat` writes them, `_run` is one run, `_backend` drives. Every row has an identity that
follows from its content, and trackio keeps one of each.
"""

from ._backend import TrackioBackend
from ._config import TrackioConfig

__all__ = ["TrackioBackend", "TrackioConfig"]
