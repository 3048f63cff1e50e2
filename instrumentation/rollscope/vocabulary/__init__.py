"""Every span, event, attribute and metric name, once, with type and unit.

`docs/vocabulary.md` is generated from this package; dashboards, Collector configuration and tests are checked against it.
"""

from ._registry import PROPOSALS, REGISTRY, Entry, Kind
from .attributes import *  # noqa: F403
from .signals import *  # noqa: F403

GEN_AI_GENERATION = "1.41.0"
"""Semantic-conventions release whose `gen_ai.*` names are used."""

SCHEMA_URL = f"https://opentelemetry.io/schemas/{GEN_AI_GENERATION}"

__all__ = ["GEN_AI_GENERATION", "PROPOSALS", "REGISTRY", "SCHEMA_URL", "Entry", "Kind"]
