"""SwanLab: metrics, a readable sample of trajectories, tables and the configuration; local, offline, synced or live.

What flows where: `_backend` takes records, `_run` is one run, `_points` and `_pictures` turn records into points (key, step, time, value),
`_hold` keeps the values of a step for a moment so that the last one wins, `_log` sees that each point is logged once, `_seen` knows which
there are, `_client` drives the library, `_history` reads its files back, `_upload` and `_sync` bring them to a server. SwanLab keeps the
first value of a key and step and can neither go on in an old file nor with an old step on its server; so a restart copies what there is
into a new folder, which then stands for the run.
"""

from ._backend import SwanlabBackend
from ._config import SwanlabConfig

__all__ = ["SwanlabBackend", "SwanlabConfig"]
