"""Every use of SwanLab that its documentation does not promise, and nothing else.

Checked with swanlab 0.10.3; `tests/exporters/backends/swanlab/test_compat.py` is the canary for later ones.

- `MetricLogEvent` on the run's emitter: the way a value keeps its own time. `log` says "now" and nothing else; where the event is gone, it
  is used.
- the core's `upsert_columns` and `upsert_scalars`, called in the consumer's thread in the same way: the system view, for which `log` takes
  no values.
- the consumer's `_flush`, called in its own thread by an event of ours, and the store's `ensure_flushed`: the file is otherwise written
  when Python's buffer is full, and a killed process loses it.
- `swanlab.proto…record_pb2.Record`: records of that file.
- the attributes of `swanlab.Image`: the way an image keeps its bytes.
- the confirmation that `sync` only prints.
- `swanboard.db`, the dashboard's database: a folder that was copied into another one is not to be shown beside it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from swanlab import Settings
    from swanlab.sdk.internal.run import Run

SUPPORTED = ">=0.10.3,<0.11"
_KINDS: dict[int, Literal["text", "table", "image"]] = {2: "image", 4: "text", 6: "table"}
_FOLDERS = {"image": "image", "text": "text", "table": "echarts"}
_PROMPT = 0.02
"""Seconds after which the consumer writes what it has."""


def can_stamp(run: Run) -> bool:
    """Whether values can be logged with a time of their own."""
    try:
        from swanlab.sdk.internal.bus.events import MetricLogEvent
    except ImportError:
        return False
    return set(MetricLogEvent.__dataclass_fields__) >= {"data", "step", "timestamp"} and hasattr(_of(run, "_components"), "emitter")


def log_at(run: Run, data: Mapping[str, Any], step: int, time: int) -> None:
    """Log `data` as of `time` (Unix, ns). Keys must be such that SwanLab does not change them."""
    from google.protobuf.timestamp_pb2 import Timestamp
    from swanlab.sdk.internal.bus.events import MetricLogEvent

    stamp = Timestamp()
    stamp.FromNanoseconds(time)
    _of(run, "_components").emitter.emit(MetricLogEvent(data=dict(data), step=step, timestamp=stamp))


def log_system(run: Run, points: Iterable[tuple[str, int, int, float]]) -> None:
    """Log key, step, time (Unix, ns) and value of what belongs into the system view."""
    from google.protobuf.timestamp_pb2 import Timestamp
    from swanlab.proto.swanlab.metric.column.v1.column_pb2 import ColumnClass, ColumnRecord, ColumnType, SectionType
    from swanlab.proto.swanlab.metric.data.v1.data_pb2 import ScalarRecord, ScalarValue
    from swanlab.sdk.internal.bus.events import MetricLogEvent

    core = _of(_of(run, "_ctx"), "core")
    kind, of_system, section = ColumnType.COLUMN_TYPE_SCALAR, ColumnClass.COLUMN_CLASS_SYSTEM, SectionType.SECTION_TYPE_SYSTEM
    waiting = list(points)

    class Measured(MetricLogEvent):  # type: ignore[misc]
        """Read by the consumer's thread, which alone writes to the file."""

        @property
        def data(self) -> dict[str, Any]:
            scalars = []
            for key, step, time, value in waiting:
                stamp = Timestamp()
                stamp.FromNanoseconds(max(time, 0))
                scalars.append(ScalarRecord(key=key, step=step, timestamp=stamp, type=kind, value=ScalarValue(number=value)))
            core.upsert_columns(
                [ColumnRecord(column_class=of_system, column_type=kind, column_key=key, section_type=section) for key, *_ in waiting]
            )
            core.upsert_scalars(scalars)
            waiting.clear()
            return {}

        def __init__(self) -> None:
            self.step, self.timestamp = 0, Timestamp()

    _of(run, "_components").emitter.emit(Measured())


def make_prompt(run: Run) -> None:
    """Have the consumer write soon."""
    with suppress(AttributeError):
        _of(run, "_components").consumer._flush_timeout = _PROMPT


def flush(run: Run, seconds: float, progress: Callable[[], object]) -> bool:
    """Return when everything logged stands in the file, as far as the operating system goes.

    False when it does not get there: when `progress`, which says how far it is, stays the same for `seconds`.
    """
    from google.protobuf.timestamp_pb2 import Timestamp
    from swanlab.sdk.internal.bus.events import MetricLogEvent

    components = _of(run, "_components")
    done = threading.Event()
    written: list[bool] = []

    class Barrier(MetricLogEvent):  # type: ignore[misc]
        """Read by the consumer's thread after all that was emitted before it."""

        @property
        def data(self) -> dict[str, Any]:
            if not done.is_set():
                components.consumer._flush()
                written.append(components.consumer._batch_empty)
                done.set()
            return {}

        def __init__(self) -> None:
            self.step, self.timestamp = 0, Timestamp()

    components.emitter.emit(Barrier())
    before = progress()
    while not done.wait(seconds):
        now = progress()
        if now == before:
            return False
        before = now
    if not written[0]:
        return False
    _of(_of(_of(run, "_ctx"), "core"), "_store").ensure_flushed()
    return True


@dataclass(frozen=True, slots=True)
class LoggedStart:
    """How a run was begun."""

    identity: dict[str, Any]


@dataclass(frozen=True, slots=True)
class LoggedScalar:
    key: str
    step: int
    time: int
    value: float


@dataclass(frozen=True, slots=True)
class LoggedMedia:
    """Texts, tables or images; their content is in files."""

    key: str
    step: int
    time: int
    kind: Literal["text", "table", "image"]
    files: tuple[tuple[str, str], ...]
    """Name and caption of each."""


@dataclass(frozen=True, slots=True)
class LoggedEnd:
    state: Literal["finished", "failed", "aborted"]
    error: str


Logged = LoggedStart | LoggedScalar | LoggedMedia | LoggedEnd


def parse_record(raw: bytes) -> Logged | None:
    """A record of a run's file, None for the many that are none of these."""
    from swanlab.proto.swanlab.record.v1.record_pb2 import Record
    from swanlab.proto.swanlab.run.v1.run_pb2 import RunState

    record = Record()
    record.ParseFromString(raw)
    if record.HasField("scalar"):
        scalar = record.scalar
        return LoggedScalar(scalar.key, scalar.step, scalar.timestamp.ToNanoseconds(), scalar.value.number)
    if record.HasField("media") and record.media.type in _KINDS:
        media = record.media
        files = tuple((item.filename, item.caption) for item in media.value.items)
        return LoggedMedia(media.key, media.step, media.timestamp.ToNanoseconds(), _KINDS[media.type], files)
    if record.HasField("finish"):
        states: dict[int, Literal["failed", "aborted"]] = {RunState.RUN_STATE_CRASHED: "failed", RunState.RUN_STATE_ABORTED: "aborted"}
        return LoggedEnd(states.get(record.finish.state, "finished"), record.finish.error)
    return LoggedStart(_identity(record.start)) if record.HasField("start") else None


def _identity(start: Any) -> dict[str, Any]:
    names = ("project", "workspace", "name", "description", "job_type", "group", "id", "color")
    return {name: value for name in names if (value := getattr(start, name))} | {"tags": list(start.tags)}


def media_path(folder: Path, kind: Literal["text", "table", "image"], name: str) -> Path:
    """File of a text, table or image of a run's folder."""
    return folder / "media" / _FOLDERS[kind] / name


def picture(content: bytes, ending: str, caption: str) -> object:
    """An image of the very bytes; the constructor of `swanlab.Image` would decode and encode them."""
    import swanlab

    made = swanlab.Image.__new__(swanlab.Image)
    made.buffer, made.file_type, made.caption = BytesIO(content), ending, caption
    return made


def confirmed_sync(folder: Path, settings: Settings, start_step: int | None, until: float | None = None) -> None:
    """`swanlab.sync`, which says on the terminal only that the server did not take everything. Raises RuntimeError then."""
    import swanlab
    from swanlab.sdk.cmd import sync as command

    answers: list[Any] = []
    shown: Any = vars(command)["run_with_progress"]

    def remembered(*arguments: Any, **options: Any) -> Any:
        answers.append(shown(*arguments, **options))
        return answers[-1]

    vars(command)["run_with_progress"] = remembered
    try:
        swanlab.sync(folder, settings, start_step=start_step, start_time=until)
    finally:
        vars(command)["run_with_progress"] = shown
    if answers and not answers[-1].success:
        raise RuntimeError(answers[-1].message)


def _of(owner: Any, name: str) -> Any:
    return getattr(owner, name)


def forget_locally(root: Path, folders: Iterable[Path]) -> None:
    """Take `folders` out of the local dashboard, whose database is in `root`."""
    from swanboard.db import connect
    from swanboard.db.models import Chart, Experiment, Source, Tag

    names = [folder.name for folder in folders]
    if not names or not (root / "runs.swanlab").exists():
        return
    connect(autocreate=True, path=str(root))
    gone = [experiment.id for experiment in Experiment.select().where(Experiment.run_id.in_(names))]
    tags = [tag.id for tag in Tag.select().where(Tag.experiment_id.in_(gone))]
    Source.delete().where(Source.tag_id.in_(tags)).execute()
    Experiment.delete().where(Experiment.id.in_(gone)).execute()
    used = Source.select(Source.chart_id)
    Chart.delete().where(Chart.id.not_in(used)).execute()
