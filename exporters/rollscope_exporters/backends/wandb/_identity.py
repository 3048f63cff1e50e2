"""What W&B is told of a run: its names, and its configuration made fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ...records import RunStarted
from .._plain import text
from .._templates import filled
from ._config import WandbConfig
from ._names import project_key, run_key, tag_list
from ._plain import plain

OURS = "rollscope"
"""Key of the configuration that holds what is not the user's."""
_LONGEST = 128


class Identity(NamedTuple):
    """What W&B is told about a run at its start."""

    id: str
    name: str
    project: str
    group: str
    job_type: str
    notes: str
    tags: list[str]
    config: dict[str, object]


def identity_of(record: RunStarted, config: WandbConfig, names: Mapping[str, str]) -> Identity:
    """`names` maps keys of metrics that were cut to the names as recorded."""
    return Identity(
        id=run_key(record.run),
        name=text(record.name)[:_LONGEST] or record.run,
        project=project_key(config.project or record.project),
        group=filled(config.group, record)[:_LONGEST],
        job_type=filled(config.job_type, record)[:_LONGEST],
        notes=text(record.notes),
        tags=tag_list(record.tags),
        config=config_of(record, names),
    )


def config_of(record: RunStarted, names: Mapping[str, str]) -> dict[str, object]:
    """The run's configuration, nested as it was; `rollscope` holds its id, attempt and circumstances."""
    ours = {"run_id": record.run, "attempt": record.attempt, "circumstances": record.circumstances}
    users = {f"_x5f_{key[1:]}" if key == "_wandb" else key or "_x_": value for key, value in record.config.items()}
    found = plain({**users, OURS: ours | ({"metric_names": dict(names)} if names else {})})
    assert isinstance(found, dict)
    return found
