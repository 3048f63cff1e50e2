"""Every use of trackio that its documentation does not promise, and nothing else.

Checked with trackio 0.43; `tests/exporters/backends/trackio/test_compat.py` is the canary for later ones.

- `SQLiteStorage.bulk_log` and `bulk_log_system`, which `trackio.log` and trackio's importers end in: they take the time of each row and an
  identity of which the database keeps one; `log` has neither. They return when the rows are in the database.
- the constants for the folder, which are read from the environment when the package is imported.
- `_to_dict` of tables, traces, texts and histograms, and the same for images: what `log` makes of them.
- `project_media_dir`, below which files of media lie.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

from rollscope.files import replace_file

SUPPORTED = ">=0.43,<0.44"


class Row(NamedTuple):
    """One row of a run's log."""

    identity: str
    step: int | None
    """None for what hosts measure, which trackio draws over time."""
    time: int
    """Unix time, ns."""
    values: dict[str, Any]


def use_folder(folder: Path) -> None:
    """Have trackio keep everything in `folder`."""
    from trackio import sqlite_storage, utils

    folder.mkdir(parents=True, exist_ok=True)
    for module in (sqlite_storage, utils):
        vars(module).update(TRACKIO_DIR=folder, MEDIA_DIR=folder / "media")


def write_rows(project: str, name: str, run_id: str, rows: Sequence[Row], config: Mapping[str, Any] | None) -> None:
    """Add `rows` that are not there yet."""
    from trackio.sqlite_storage import SQLiteStorage

    of_steps = [row for row in rows if row.step is not None]
    SQLiteStorage.bulk_log(
        project=project,
        run=name,
        run_id=run_id,
        steps=[row.step or 0 for row in of_steps],
        config=dict(config) if config is not None else None,
        **_columns(of_steps),
    )
    SQLiteStorage.bulk_log_system(project=project, run=name, run_id=run_id, **_columns([row for row in rows if row.step is None]))


def _columns(rows: Sequence[Row]) -> dict[str, Any]:
    return {
        "metrics_list": [row.values for row in rows],
        "timestamps": [_iso(row.time) for row in rows],
        "log_ids": [row.identity for row in rows],
    }


def image(project: str, run_folder: str, content: bytes, name: str, caption: str) -> dict[str, Any]:
    """An image as a value. Its file is called `name`; the same content under the same name changes nothing. Raises OSError."""
    import trackio
    from trackio.utils import project_media_dir

    folder = project_media_dir(project)
    path = folder / run_folder / name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, content)
    return {"_type": trackio.Image.TYPE, "file_path": str(path.relative_to(folder.parent)), "caption": caption}


def histogram(counts: Sequence[int], edges: Sequence[float]) -> dict[str, Any]:
    """A histogram as a value."""
    import trackio

    made: dict[str, Any] = trackio.Histogram(np_histogram=(list(counts), list(edges)))._to_dict()
    return made


def table(rows: list[Any]) -> dict[str, Any]:
    """A table as a value."""
    import trackio

    made: dict[str, Any] = trackio.Table(data=rows)._to_dict(project="", run="", step=0)
    return made


def trace(messages: list[dict[str, Any]], metadata: dict[str, Any], spans: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """A conversation as a value; `spans` are what made it, with `start` and `end` in Unix ns."""
    import trackio

    timed = [
        {key: value for key, value in span.items() if key not in ("start", "end")}
        | {"start_time": _iso(span["start"]), "end_time": _iso(span["end"]), "duration_ms": (span["end"] - span["start"]) / 1e6}
        for span in spans
    ]
    made: dict[str, Any] = trackio.Trace(messages, metadata, timed)._to_dict(project="", run="", step=0)
    return made


def markdown(text: str) -> dict[str, Any]:
    """A text as a value."""
    import trackio

    made: dict[str, Any] = trackio.Markdown(text)._to_dict()
    return made


def _iso(time: int) -> str:
    return datetime.fromtimestamp(max(time, 0) / 1e9, timezone.utc).isoformat()
