"""MLflow: runs with metrics, parameters and artifacts; trajectories as traces that its chat view renders.

`_backend` drives; `_runs`, `_metrics`, `_tables` fill runs; `_chat` and `_otlp` turn trajectories into spans, `_info` into
trace information and assessments, `_traces` sends them; `_budget` decides which trajectories go; `_database` makes an SQLite
file whole or not at all. All that is private to MLflow is in `_compat`.
"""

from importlib.util import find_spec

if find_spec("mlflow") is None:  # looked for, not imported: its import takes seconds
    raise ModuleNotFoundError("MLflow is not installed", name="mlflow")

from ._backend import MlflowBackend
from ._config import MlflowConfig
from ._database import ensure_database

__all__ = ["MlflowBackend", "MlflowConfig", "ensure_database"]
