"""`rollscope up`: everything that runs on one machine, in one terminal.

`_command` starts and ends it in order, `_pages` are the trackers' own pages, `_stack` is Jaeger, Prometheus and the Collector,
`_service` is one of these processes, `_table` says where to look.
"""

from __future__ import annotations

from ._command import add
from ._pages import mlflow_store

__all__ = ["add", "mlflow_store"]
