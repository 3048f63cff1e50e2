"""Texts of the configuration in which `{key}` stands for something the run said of itself."""

from __future__ import annotations

from ..records import RunStarted
from ..templates import PLACE, look_up
from ._plain import text


def filled(template: str, record: RunStarted) -> str:
    """`template` with its keys replaced out of the run's config, circumstances or resource, dots leading into nested maps; empty when one
    of them is nowhere."""
    sources = (record.config, record.circumstances, record.resource)
    values = {
        key: next((value for source in sources if (value := look_up(source, key)) is not None), None) for key in PLACE.findall(template)
    }
    if None in values.values():
        return ""
    return text(PLACE.sub(lambda match: str(values[match.group(1)]), template))
