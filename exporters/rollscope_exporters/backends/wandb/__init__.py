"""Weights & Biases: metrics, tables, a readable sample of trajectories, artifacts; offline folders or a server.

What flows where: `_backend` takes records, `_rows` turns them into history rows, `_run` gives every row its number, `_writer` sees that it
stands on disk and on the server once, `_media` that the files of rows do, `_kept` that artifacts do, and `_ending` looks at all of them
when the run ends; `_checkpoints` uploads what is large beside them. `_client` drives the library, `_written` waits for its transaction
logs, `_history` reads them back.
"""

from importlib.util import find_spec

if find_spec("wandb") is None:  # looked for, not imported: its import takes seconds
    raise ModuleNotFoundError("W&B's library is not installed", name="wandb")

from ._backend import WandbBackend
from ._config import WandbConfig
from ._sync import sync

__all__ = ["WandbBackend", "WandbConfig", "sync"]
