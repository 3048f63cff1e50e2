"""Rows of a run's log: what one record becomes."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

import msgspec

from ...images import restored
from ...records import Histogram, Image, RunStarted, Scalar, StepMetrics, Table
from .._digest_images import image_contents
from .._digest_text import late_line
from .._digests import Digest
from .._hosts import PREFIX, is_of_host
from .._names import encode_name
from .._plain import plain, text
from ._compat import Row, histogram, image, markdown, table, trace

TRAJECTORIES, TABLES, IMAGES, LATE, STATUS = "trajectories", "tables", "images", "late_rewards", "run/status"
_RESERVED = (f"{TRAJECTORIES}/", f"{TABLES}/", f"{IMAGES}/", LATE, "run/", "__")
_OF_TRACKIO = {"project", "run", "timestamp", "step", "time", "metrics"}
_LONGEST = 1000
_MOST_OF_IMAGES = 8 << 20
"""Characters that images take in one trace, where several messages show the same ones."""
_WIDEST = 1 << 63
_FACTS = (
    "trajectory", "group", "index", "attempt", "policy_version", "agent", "outcome", "error", "reward", "rewards", "turns", "tool_calls",
    "tool_errors", "input_tokens", "output_tokens", "text", "facts", "incomplete",
)  # fmt: skip


def metric_key(name: str, split: str = "") -> str:
    """Key of a metric; under its split, unless that is the training split or the name says so already."""
    full = name if split in {"", "train"} or name.startswith(f"{split}/") else f"{split}/{name}"
    return encode_name(full, str.isprintable, _LONGEST, reserved=_RESERVED + tuple(_OF_TRACKIO & {full}))


def project_key(name: str) -> str:
    """Two projects whose names differ only in what trackio leaves out of file names would be one."""
    return encode_name(name or "rollscope", lambda character: character.isalnum() or character in "-_", 100)


def metrics_row(record: StepMetrics, step: int) -> list[Row]:
    """The scalars of one step, or what one host measured at one moment."""
    if is_of_host(record):
        return [Row(identity_of(record), None, record.time, {_shortened(name): _scalar(value) for name, value in record.values.items()})]
    values = {metric_key(name, record.split): _scalar(value) for name, value in record.values.items()}
    return [Row(identity_of(record), step, record.time, values)] if values else []


def table_row(record: Table, step: int) -> Row:
    """A table with its rows as they are."""
    rows: Any = plain([{text(name): value for name, value in row.items()} for row in record.rows])
    return Row(identity_of(record), step, record.time, {f"{TABLES}/{metric_key(record.name)}": table(rows)})


def histogram_row(record: Histogram, step: int) -> Row:
    """The bins of a histogram as they are."""
    return Row(identity_of(record), step, record.time, {metric_key(record.name, record.split): histogram(record.counts, record.edges)})


def image_row(record: Image, step: int, project: str, run_folder: str) -> Row:
    """An image, its file by its digest."""
    name = f"{record.digest.removeprefix('sha256:')}.{encode_name(record.media_type.rpartition('/')[2], str.isalnum, 20)}"
    shown = image(project, run_folder, record.content or b"", name, text(record.caption))
    return Row(identity_of(record), step, record.time, {f"{IMAGES}/{metric_key(record.name)}": shown})


def digest_row(digest: Digest, step: int) -> Row:
    """A step's trajectories as traces: messages letter by letter, everything else as metadata."""
    identity = hashlib.sha256(json.dumps([digest.split, step, *digest.rows], sort_keys=True, default=str).encode()).hexdigest()
    if not digest.split:
        return Row(identity, step, digest.time, {LATE: markdown("\n\n".join(late_line(row) for row in digest.rows))})
    traces = [trace(_messages(row), {key: row[key] for key in _FACTS if key in row} | _shown(row), _spans(row)) for row in digest.rows]
    return Row(identity, step, digest.time, {f"{TRAJECTORIES}/{metric_key(digest.split)}": traces})


def status_row(status: str, step: int, time: int, identity: str) -> Row:
    return Row(identity, step, time, {STATUS: text(status)})


def config_of(record: RunStarted) -> dict[str, Any]:
    """The run's configuration, nested as it was; keys that begin with an underscore are trackio's own."""
    users = {f"_x5f_{key[1:]}" if key.startswith("_") else key: value for key, value in record.config.items()}
    about = {"run_id": record.run, "attempt": record.attempt, "tags": record.tags, "notes": record.notes}
    found: Any = plain({**users, "rollscope": {**about, "circumstances": record.circumstances}})
    return dict(found)


def identity_of(record: msgspec.Struct) -> str:
    """Equal for equal records."""
    return hashlib.sha256(msgspec.msgpack.encode(record)).hexdigest()


def _messages(row: Mapping[str, object]) -> list[dict[str, Any]]:
    """The messages, with those images that are there put back."""
    return restored(json.loads(str(row["messages"])), image_contents(row), _MOST_OF_IMAGES)


def _spans(row: Mapping[str, object]) -> list[Mapping[str, Any]]:
    spans = row.get("spans")
    return spans if isinstance(spans, list) else []


def _shortened(name: str) -> str:
    return encode_name(name.removeprefix(PREFIX), str.isprintable, _LONGEST)


def _shown(row: Mapping[str, object]) -> dict[str, object]:
    """What the dashboard shows of a trace."""
    seconds = row.get("seconds")
    status = "error" if row.get("outcome") in {"failed", "aborted"} else "ok"
    return {"status": status, "duration_ms": seconds * 1000 if isinstance(seconds, float) else None}


def _scalar(value: Scalar) -> Scalar:
    if isinstance(value, str):
        return text(value)
    if isinstance(value, int) and not -_WIDEST <= value < _WIDEST:
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    return value
