"""Names as Prometheus has them.

The same as the Collector's remote-write exporter makes of them without suffixes (github.com/prometheus/otlptranslator), so that
what the bridge serves itself, dashboards and rules have one spelling.
"""

from __future__ import annotations

import re

__all__ = ["label_name", "metric_name"]

_FOREIGN = re.compile(r"[^a-zA-Z0-9_:]+")
_FOREIGN_IN_LABEL = re.compile(r"[^a-zA-Z0-9_]")


def metric_name(name: str) -> str:
    """Name of a metric: `rl.step.scalar` → `rl_step_scalar`; no unit and no `_total` is added."""
    plain = "_".join(filter(None, _FOREIGN.split(name)))
    return f"_{plain}" if plain[:1].isdigit() else plain


def label_name(name: str) -> str:
    """Name of an attribute as a label: `rl.run.id` → `rl_run_id`."""
    plain = re.sub("__+", "_", _FOREIGN_IN_LABEL.sub("_", name))
    return f"key_{plain}" if plain[:1].isdigit() else plain
