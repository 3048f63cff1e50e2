"""What SwanLab is told of a run: its names, and its configuration made fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ...records import RunStarted
from .._plain import plain, text
from .._templates import filled
from ._config import SwanlabConfig
from ._names import project_key, run_key, tag_list

OURS = "rollscope"
"""Key of the configuration that holds what is not the user's."""
_LONGEST, _LONGEST_NOTES = 512, 1024


class Identity(NamedTuple):
    """A run at its start."""

    id: str
    name: str
    project: str
    group: str
    job_type: str
    description: str
    tags: list[str]
    config: dict[str, object]


def identity_of(record: RunStarted, config: SwanlabConfig, names: Mapping[str, str]) -> Identity:
    """`names` maps keys of metrics that were cut to the names as recorded."""
    return Identity(
        id=run_key(record.run),
        name=text(record.name).strip()[:_LONGEST] or record.run,
        project=project_key(config.project or record.project or "rollscope"),
        group=filled(config.group, record)[:_LONGEST],
        job_type=filled(config.job_type, record)[:_LONGEST],
        description=text(record.notes).strip()[:_LONGEST_NOTES],
        tags=tag_list(record.tags),
        config=_config_of(record, names),
    )


def _config_of(record: RunStarted, names: Mapping[str, str]) -> dict[str, object]:
    """The run's configuration, nested as it was; `rollscope` holds its id, attempt and circumstances."""
    ours: dict[str, object] = {
        "run_id": record.run, "name": record.name, "attempt": record.attempt, "circumstances": record.circumstances,
    }  # fmt: skip
    if tag_list(record.tags) != record.tags:
        ours["tags"] = record.tags  # what SwanLab cuts
    found = _without_none(plain({**record.config, OURS: ours | ({"metric_names": dict(names)} if names else {})}))
    assert isinstance(found, dict)
    return found


def _without_none(value: object) -> object:
    """SwanLab turns None into an empty map."""
    if isinstance(value, dict):
        return {key: _without_none(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_none(item) for item in value]
    return "None" if value is None else value
