"""Tables and files of a run as MLflow artifacts."""

from __future__ import annotations

import hashlib
import json
import tempfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from ...records import Artifact, Table
from ._json import as_json
from ._metrics import spelled
from ._otlp import clean_text

if TYPE_CHECKING:
    from mlflow import MlflowClient

_SHOWN_TABLES = "mlflow.loggedArtifacts"
_TAG_LIMIT = 7500


def table_path(table: Table) -> str:
    """Place of `table` in its run: one file per name, step and record, so that a repetition meets its own."""
    step = "" if table.step is None else f"step-{table.step:06d}-"
    identity = table.uid or as_json(table.rows)
    digest = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return f"tables/{spelled(table.name)}/{step}{digest}.json"


def table_json(table: Table) -> str:
    """Return rows in the shape that MLflow's table view reads; columns in the order of first appearance."""
    columns = list(dict.fromkeys(key for row in table.rows for key in row))
    return as_json({"columns": columns, "data": [[row.get(column) for column in columns] for row in table.rows]})


def log_table(client: MlflowClient, run_id: str, table: Table) -> None:
    path = table_path(table)
    client.log_text(run_id, table_json(table), path)
    tag = client.get_run(run_id).data.tags.get(_SHOWN_TABLES, "[]")
    client.set_tag(run_id, _SHOWN_TABLES, shown_tables(tag, path))


def shown_tables(tag: str, path: str) -> str:
    """Return the tag that names tables for MLflow's views, with `path` added; the oldest make room within the tag's limit."""
    entry = {"path": path, "type": "table"}
    entries = [known for known in _entries(tag) if known != entry] + [entry]
    while len(json.dumps(entries)) > _TAG_LIMIT and len(entries) > 1:
        entries.pop(0)
    return json.dumps(entries)


def log_artifact(client: MlflowClient, run_id: str, artifact: Artifact) -> None:
    """Store the content, or where it lies; what else is known of it becomes the tag `artifact.<name>`."""
    path = PurePosixPath(spelled(artifact.name))
    if artifact.content is not None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, path.name)
            file.write_bytes(artifact.content)
            client.log_artifact(run_id, str(file), str(path.parent) if path.parent.name else None)
    client.set_tag(run_id, spelled(f"artifact.{artifact.name}"), clean_text(_facts(artifact), 8000))


def _facts(artifact: Artifact) -> str:
    facts = {
        "type": artifact.type, "aliases": artifact.aliases, "digest": artifact.digest, "size": artifact.size, "uri": artifact.uri,
        "step": artifact.step,
    }  # fmt: skip
    return as_json({key: value for key, value in facts.items() if value not in (None, "", [])})


def _entries(tag: str) -> list[object]:
    try:
        entries = json.loads(tag)
    except ValueError:
        return []
    return entries if isinstance(entries, list) else []
