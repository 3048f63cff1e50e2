"""Every use of W&B that its documentation does not promise, and nothing else.

Checked with wandb 0.31; `tests/exporters/backends/wandb/test_compat.py` is the canary for later ones.

- settings that begin with `x_`: how often the transaction log and uploads are written, how often uploads are tried, what is not captured.
- `wandb.proto`: records of the transaction log, which has had no reader of its own since 0.31.
- the queries `RunResumeStatus` and `RunFiles` of the server's GraphQL interface: how many history rows it has of a run, and the last of
  them; which files it has (one that was announced and never came has the MD5 sum `0`).
- `bind_to_run`, `to_json` and `seq_to_json` of media: a table that is bound before it is logged makes no artifact, and its row names its
  file.
- of an artifact: adding a file whose digest is known, its client id, and the handle that tells when the server has it.
- the file names `run-<id>.wandb` and `files/` below a run's folder.
- the service process behind the library: `own_client` keeps to one of our own; `abandon_client` ends it without waiting and lets the next
  run start another, where the library itself can only wait, for as long as an upload takes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ._names import ROW

if TYPE_CHECKING:
    from ._config import WandbConfig

SUPPORTED = ">=0.31,<0.32"

_ROWS_QUERY = """
query RunResumeStatus($project: String, $entity: String, $name: String!) {
  model(name: $project, entityName: $entity) {
    bucket(name: $name, missingOk: true) { historyLineCount historyTail }
  }
}
"""

_FILES_QUERY = """
query RunFiles($project: String, $entity: String, $name: String!, $files: [String]!, $limit: Int) {
  model(name: $project, entityName: $entity) {
    bucket(name: $name, missingOk: true) { files(names: $files, first: $limit) { edges { node { name md5 } } } }
  }
}
"""
_FILES_AT_ONCE = 50


def private_settings(config: WandbConfig) -> dict[str, Any]:
    """Settings without a promise, by name."""
    return {
        "x_transaction_log_flush_interval": config.flush_interval,
        "x_file_stream_transmit_interval": config.upload_interval,
        "x_file_stream_retry_max": config.upload_retries,
        "x_file_stream_retry_wait_max_seconds": 10,
        "x_file_stream_timeout_seconds": 30,
        "x_file_transfer_retry_max": config.upload_retries,
        "x_file_transfer_retry_wait_max_seconds": 10,
        "x_graphql_retry_max": config.upload_retries,
        "x_graphql_retry_wait_max_seconds": 10,
        "x_graphql_timeout_seconds": 20,
        "x_extra_http_headers": dict(config.headers) or None,
        "x_disable_stats": True,
        "x_disable_meta": True,
        "x_disable_machine_info": True,
        "x_save_requirements": False,
    }


@dataclass(frozen=True, slots=True)
class LoggedRow:
    """A history row in the transaction log."""

    items: Any

    @property
    def number(self) -> int:
        """Its number, -1 for a row without one. Only that value is decoded: a run has millions of others."""
        for item in self.items:
            if item.key == ROW or (len(item.nested_key) == 1 and item.nested_key[0] == ROW):
                return int(item.value_json)
        return -1

    @property
    def values(self) -> dict[str, Any]:
        """Its values by key, tables as the references that stand there."""
        return _values(self.items)

    @property
    def media(self) -> list[str]:
        """Names of the files it refers to. Only values that may be references are decoded."""
        values = _values(item for item in self.items if len(item.nested_key) > 1 or item.value_json.startswith("{")).values()
        found = [value.get("filenames", [value["path"]] if "path" in value else []) for value in values if isinstance(value, dict)]
        return [str(name) for names in found for name in names]


@dataclass(frozen=True, slots=True)
class LoggedEnd:
    """The end of a run, or the word that it is only interrupted."""

    kind: Literal["exit", "preempting"]
    exit_code: int = 0


def parse_record(raw: bytes) -> LoggedRow | LoggedEnd | None:
    """A record of the transaction log, None for the many that are neither."""
    from wandb.proto import wandb_internal_pb2

    record = wandb_internal_pb2.Record()  # type: ignore[attr-defined]
    record.ParseFromString(raw)
    kind = record.WhichOneof("record_type")
    if kind == "history":
        return LoggedRow(record.history.item)
    if kind == "exit":
        return LoggedEnd("exit", record.exit.exit_code)
    return LoggedEnd("preempting") if kind == "preempting" else None


def _values(items: Iterable[Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for item in items:
        *path, last = item.nested_key or [item.key]
        place = values
        for name in path:
            place = place.setdefault(name, {})
        place[last] = json.loads(item.value_json)
    return values


def log_path(folder: Path, run_id: str) -> Path:
    """Transaction log in a run's folder."""
    return folder / f"run-{run_id}.wandb"


def run_folders(root: Path, run_id: str) -> list[Path]:
    """Folders of one run below `root` (`…/wandb`), oldest first."""
    found = [path.parent for path in root.glob(f"*run-*/run-{run_id}.wandb") if not path.parent.is_symlink()]
    return sorted(found, key=lambda folder: folder.name.removeprefix("offline-"))


def media_path(folder: Path, name: str) -> Path:
    """File that a row refers to."""
    return folder / "files" / name


def server_rows(post: Any, entity: str, project: str, run_id: str) -> int:
    """How many numbered rows the server has of a run. `post(query, variables)` returns the answer's `data`."""
    data = post(_ROWS_QUERY, {"entity": entity or None, "project": project, "name": run_id})
    bucket = (data.get("model") or {}).get("bucket") or {}
    tail = json.loads(bucket.get("historyTail") or "[]")
    last = json.loads(tail[-1]) if tail else {}
    return int(last[ROW]) + 1 if ROW in last else int(bucket.get("historyLineCount") or 0)


def missing_files(post: Any, entity: str, project: str, run_id: str, names: Sequence[str]) -> Iterator[str]:
    """Those of `names` that the server has not got, whole. Raises `LookupError` when it does not tell."""
    for start in range(0, len(names), _FILES_AT_ONCE):
        asked = list(names[start : start + _FILES_AT_ONCE])
        data = post(_FILES_QUERY, {"entity": entity or None, "project": project, "name": run_id, "files": asked, "limit": len(asked)})
        bucket = (data.get("model") or {}).get("bucket") or {}
        nodes = [edge["node"] for edge in bucket["files"]["edges"]]
        there = {node["name"] for node in nodes if node["md5"] not in (None, "", "0")}
        yield from (name for name in asked if name not in there)


def bound(run: Any, key: str, number: int, media: Any) -> tuple[dict[str, Any], list[str]]:
    """Put a table, an image or a list of images into the run's folder; what row `number` refers to them with, and the files' names."""
    items = media if isinstance(media, list) else [media]
    for item in items:
        item.bind_to_run(run, key, number)
    if isinstance(media, list):
        reference = type(items[0]).seq_to_json(items, run, key, number)
        return reference, [str(name) for name in reference["filenames"]]
    reference = media.to_json(run)
    return reference, [str(reference["path"])]


def file_digest(file: Path) -> str:
    """Digest of a file as an artifact names it."""
    from wandb.sdk.lib.hashutil import md5_file_b64

    return md5_file_b64(file)


def add_file(artifact: Any, name: str, place: Path, digest: str) -> None:
    """Add a file from where it lies, neither read nor copied nor kept in the library's cache."""
    artifact._add_local_file(name, str(place), digest=digest, skip_cache=True, policy="immutable")


def client_id(artifact: Any) -> str:
    """What an artifact is called before the server has given it an id."""
    return str(artifact._client_id)


def artifact_id(raw: bytes) -> str:
    """The client id in a record of the transaction log; empty when that is no artifact."""
    from wandb.proto import wandb_internal_pb2

    record = wandb_internal_pb2.Record()  # type: ignore[attr-defined]
    record.ParseFromString(raw)
    return str(record.artifact.client_id) if record.WhichOneof("record_type") == "artifact" else ""


def is_committed(artifact: Any, timeout: float | None) -> bool:
    """Wait until the server has made a version of a logged artifact. Raises `ValueError` when that failed.

    After `timeout` seconds the upload is called off and False returned.
    """
    handle = artifact._save_handle
    if handle is None:  # offline
        return True
    try:
        said = handle.wait_or(timeout=timeout).response.log_artifact_response.error_message
    except TimeoutError:
        return False
    if said:
        raise ValueError(said)
    return True


def own_client() -> None:
    """Let this process start a service of its own, also when it inherited the address of another's."""
    from wandb.sdk import wandb_setup
    from wandb.sdk.lib.service import service_token

    singleton: Any = wandb_setup._singleton
    if singleton is None or singleton._connection is None:
        service_token.clear_service_in_env()


def is_alive() -> bool:
    """Whether the library's service process runs."""
    from wandb.sdk import wandb_setup

    singleton: Any = wandb_setup._singleton
    connection = singleton._connection if singleton else None
    return connection is not None and (connection._proc is None or connection._proc._process.poll() is None)


def abandon_client() -> None:
    """Kill the library's service process, if there is one, and forget it. What it wrote to the transaction log stays."""
    from wandb.sdk import wandb_setup
    from wandb.sdk.lib.service import service_token

    singleton: Any = wandb_setup._singleton
    connection = singleton._connection if singleton else None
    if connection is not None:
        if connection._cleanup:
            connection._cleanup()
        connection._finalizer._queue.put(None)
        if connection._proc:
            connection._proc._process.kill()
            connection._proc._process.wait()
        with suppress(Exception):  # of a connection that is closed already; there is nobody left to tell
            singleton._asyncer.run(connection._client.close)
        service_token.clear_service_in_env()
    wandb_setup._singleton = None
