"""Records as TensorBoard events.

Its pages show 32 bits of a number, and its fast loader nothing else; so a scalar is a tensor of 32 bits that has the whole number beside
them, for programs that read the files.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...records import Scalar, StepMetrics, Table
from .._names import encode_name
from .._plain import as_json, plain, text
from ._pictures import HISTOGRAMS, IMAGES, MESSAGE_IMAGES

if TYPE_CHECKING:
    from tensorboard.compat.proto.event_pb2 import Event

TRAJECTORIES, MESSAGES, LATE, TABLES, TEXTS, RUN = "trajectories", "messages", "late_rewards", "tables", "texts", "run"
_SECTIONS = (TRAJECTORIES, MESSAGES, TABLES, TEXTS, RUN, HISTOGRAMS, IMAGES, MESSAGE_IMAGES)
_RESERVED = (*(f"{section}/" for section in _SECTIONS), LATE, "_hparams_/")
_LONGEST = 400


def first_event(time: int) -> bytes:
    """What every event file begins with."""
    from tensorboard.compat.proto.event_pb2 import Event

    encoded: bytes = Event(wall_time=time / 1e9, file_version="brain.Event:2").SerializeToString()
    return encoded


def tag_of(name: str, split: str = "") -> str:
    """Tag of a metric; under its split, unless that is the training split or the name says so already."""
    full = name if split in {"", "train"} or name.startswith(f"{split}/") else f"{split}/{name}"
    return encode_name(full, str.isprintable, _LONGEST, reserved=_RESERVED)


class EventMaker:
    """Makes events; what a tag is goes with its first value in each file."""

    def __init__(self) -> None:
        self._described: set[str] = set()

    def forget(self) -> None:
        """A new file begins."""
        self._described.clear()

    def metrics(self, record: StepMetrics, step: int) -> Iterable[bytes]:
        """One event for all scalars of a step, one for each text among them."""
        event = _event(step, record.time)
        for name, value in record.values.items():
            if isinstance(value, str):
                yield self.texts(f"{TEXTS}/{tag_of(name, record.split)}", [text(value)], step, record.time)
            else:
                self._add_scalar(event, name, tag_of(name, record.split), _number(value))
        if event.summary.value:
            encoded: bytes = event.SerializeToString()
            yield encoded

    def texts(self, tag: str, texts: Sequence[str], step: int, time: int) -> bytes:
        """One event of one or more texts; TensorBoard shows them as markdown, several as the rows of a table."""
        import numpy as np
        from tensorboard.plugins.text.summary_v2 import text_pb

        values = np.array([value.encode("utf-8") for value in texts], dtype=object)
        event = _event(step, time)
        event.summary.CopyFrom(text_pb(tag, values if len(texts) != 1 else values[0]))
        encoded: bytes = event.SerializeToString()
        return encoded

    def _add_scalar(self, event: Event, name: str, tag: str, number: float) -> None:
        value = event.summary.value.add(tag=tag)
        value.tensor.dtype = _float()
        value.tensor.float_val.append(number)
        value.tensor.double_val.append(number)
        if tag not in self._described:
            self._described.add(tag)
            value.metadata.display_name = text(name) if tag != name else ""
            value.metadata.plugin_data.plugin_name = "scalars"
            value.metadata.data_class = _scalar_class()


def hparams(config: Mapping[str, object], run: str, time: int) -> bytes:
    """A run's configuration for the tab HPARAMS: leaves by dotted path."""
    from tensorboard.plugins.hparams.summary_v2 import hparams_pb

    event = _event(0, time)
    event.summary.CopyFrom(hparams_pb(dict(_leaves("", config)), trial_id=run, start_time_secs=time / 1e9))
    encoded: bytes = event.SerializeToString()
    return encoded


def markdown(record: Table, most: int) -> str:
    """Rows under the columns that any of them has; text as it is, everything else as JSON."""
    columns = list(dict.fromkeys(name for row in record.rows for name in row))
    lines = [
        columns,
        ["---"] * len(columns),
        *([_cell(row[name]) if name in row else "" for name in columns] for row in record.rows[:most]),
    ]
    rows = ["| " + " | ".join(_escaped(cell) for cell in line) + " |" for line in lines] if columns else ["(no rows)"]
    left = len(record.rows) - most
    return "\n".join(rows) + (f"\n\n… {left} more rows" if left > 0 else "")


def code(value: object) -> str:
    """JSON for reading."""
    return f"```json\n{as_json(plain(value))}\n```"


def _event(step: int, time: int) -> Event:
    from tensorboard.compat.proto.event_pb2 import Event

    return Event(wall_time=max(time, 0) / 1e9, step=step)


def _number(value: Scalar) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if isinstance(value, int) and value > 0 else -math.inf


def _float() -> Any:
    from tensorboard.compat.proto import types_pb2

    return types_pb2.DT_FLOAT


def _scalar_class() -> Any:
    from tensorboard.compat.proto import summary_pb2

    return summary_pb2.DATA_CLASS_SCALAR


def _leaves(prefix: str, config: Mapping[str, object]) -> Iterable[tuple[str, bool | float | str]]:
    for key, value in config.items():
        path = text(f"{prefix}.{key}" if prefix else str(key))
        if isinstance(value, Mapping) and value:
            yield from _leaves(path, value)
        else:
            yield (
                path,
                value if isinstance(value, (bool, float, str)) else _number(value) if isinstance(value, int) else as_json(plain(value)),
            )


def _cell(value: object) -> str:
    if value is None:
        return ""
    return text(value) if isinstance(value, str) else as_json(plain(value))


def _escaped(cell: str) -> str:
    return text(cell).replace("\\", "\\\\").replace("|", "\\|").replace("\r", "").replace("\n", "<br>")
