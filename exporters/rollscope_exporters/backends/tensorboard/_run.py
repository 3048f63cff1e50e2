"""One run: its folder, its event files, the digests it holds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ...records import Histogram, Image, LateFacts, Record, RunFinished, RunStarted, StepMetrics, Table, Trajectory
from .._digest_text import body, late_line
from .._digests import Digest, DigestRules, Digests
from .._digests import Marks as DigestMarks
from .._names import encode_name
from .._spool import Spool
from ._config import TensorboardConfig
from ._events import LATE, MESSAGES, RUN, TABLES, TRAJECTORIES, EventMaker, code, first_event, hparams, markdown, tag_of
from ._file import EventFiles
from ._pictures import histogram_event, image_event, message_images_event

NO_IMAGE = "images without content"
ROWS = "rows of tables beyond table_rows"


class Marks(NamedTuple):
    """Where to return to."""

    sizes: dict[str, int]
    digests: DigestMarks
    left_out: dict[str, int]


class Run:
    """`state` is what `checkpoint` returned last; without one, what stands in the folder is of no account."""

    def __init__(self, config: TensorboardConfig, root: Path, run: str, state: Mapping[str, Any]) -> None:
        self._config, self._root, self._run = config, root, run
        self._folder: str = state.get("folder", "")
        self._start: int | None = state.get("start")
        rules = DigestRules(config.digest_rows, config.digest_lag, config.text_bytes, config.messages, config.image_bytes)
        digests = state.get("digests", {})
        self._digests = Digests(rules, Spool(root / ".rollscope" / _file_name(run), digests.get("spool", {})), digests)
        self._files = EventFiles(root / self._folder, state.get("files", {})) if self._folder else None
        self._events = EventMaker()
        self._left_out: dict[str, int] = dict(state.get("left_out", {}))

    @property
    def left_out(self) -> dict[str, int]:
        """How much was left out, by reason."""
        return {**self._digests.left_out, **self._left_out}

    def mark(self) -> Marks:
        return Marks(dict(self._files.sizes) if self._files else {}, self._digests.mark(), dict(self._left_out))

    def restore(self, marks: Marks) -> None:
        """Forget everything since `marks`."""
        self._digests.restore(marks.digests)
        self._left_out = dict(marks.left_out)
        if self._files:
            self._files.restore(marks.sizes)
        self._events.forget()

    def checkpoint(self) -> dict[str, Any]:
        files = self._files.checkpoint() if self._files else {}
        rest = {"digests": self._digests.checkpoint(), "left_out": dict(self._left_out)}
        return {"folder": self._folder, "start": self._start, "files": files, **rest}

    def write(self, record: Record) -> None:
        """Append what `record` becomes. Raises OSError."""
        files = self._opened(record)
        if files.is_new:
            self._events.forget()
        events = self._made(record)
        files.append([first_event(_time(record)), *events] if events and files.is_new else events)

    def _made(self, record: Record) -> list[bytes]:
        match record:
            case RunStarted():
                return self._started(record)
            case RunFinished():
                return [*self._shown(self._digests.rest(record.time)), self._status(record.status, record.time, record.error)]
            case StepMetrics():
                return [*self._shown(self._digests.passed(record.step, record.time)), *self._events.metrics(record, self._step(record))]
            case Trajectory():
                return self._shown(self._digests.add(record))
            case LateFacts():
                self._digests.add_late(record)
                return []
            case Table():
                shown = markdown(record, self._config.table_rows)
                self._leave_out(ROWS, max(len(record.rows) - self._config.table_rows, 0))
                return [self._events.texts(f"{TABLES}/{tag_of(record.name)}", [shown], self._step(record), record.time)]
            case Histogram():
                return [histogram_event(record, tag_of(record.name, record.split), self._step(record))]
            case Image():
                return self._image(record) if record.name else []  # those of messages stand in the digest
            case _:
                raise TypeError(f"not accepted: {type(record).__name__}")

    def _image(self, record: Image) -> list[bytes]:
        if record.content is not None:
            return [image_event(record, self._step(record))]
        self._leave_out(NO_IMAGE, 1)
        return []

    def _leave_out(self, reason: str, number: int) -> None:
        if number:
            self._left_out[reason] = self._left_out.get(reason, 0) + number

    def _started(self, record: RunStarted) -> list[bytes]:
        facts = {"run": record.run, "name": record.name, "project": record.project, "attempt": record.attempt, "tags": record.tags}
        about = {**facts, "notes": record.notes, "circumstances": record.circumstances, "config": record.config}
        return [
            hparams(record.config, record.run, record.time),
            self._events.texts(f"{RUN}/about", [code(about)], record.attempt, record.time),
            self._status("running", record.time),
        ]

    def _status(self, status: str, time: int, error: str = "") -> bytes:
        return self._events.texts(f"{RUN}/status", [f"{status}: {error}" if error else status], self._seconds(time), time)

    def _shown(self, digests: list[Digest]) -> list[bytes]:
        return [event for digest in digests if digest.rows for event in self._digest(digest)]

    def _digest(self, digest: Digest) -> list[bytes]:
        step = self._seconds(digest.time) if digest.step is None else digest.step
        if not digest.split:
            return [self._events.texts(LATE, [late_line(row) for row in digest.rows], step, digest.time)]
        split = encode_name(digest.split, str.isprintable)
        events = [self._events.texts(f"{TRAJECTORIES}/{split}", [_preformatted(row) for row in digest.rows], step, digest.time)]
        if self._config.messages:
            texts = [str(row["messages"]) for row in digest.rows]
            events.append(self._events.texts(f"{MESSAGES}/{split}", texts, step, digest.time))
        return [*events, *message_images_event(digest, step)]

    def _step(self, record: StepMetrics | Table | Histogram | Image) -> int:
        return self._seconds(record.time) if record.step is None else record.step

    def _seconds(self, time: int) -> int:
        """Place of what has no step: whole seconds since the run began."""
        return max(time - (self._start or time), 0) // 1_000_000_000

    def _opened(self, record: Record) -> EventFiles:
        if self._files is None:
            name = record.name if isinstance(record, RunStarted) else ""
            project = record.project if isinstance(record, RunStarted) else ""
            self._start = _time(record)
            self._folder = "/".join(filter(None, [_file_name(project), _file_name(f"{name}-{self._run}" if name else self._run)]))
            self._files = EventFiles(self._root / self._folder, {})
        return self._files


def _preformatted(row: Mapping[str, object]) -> str:
    """Markdown would swallow what looks like markup in a conversation, so it is code, by indenting: that needs no fence to be escaped."""
    return "\n".join(f"    {line}" for line in body(row).splitlines())


def _time(record: Record) -> int:
    return record.start if isinstance(record, Trajectory) else int(getattr(record, "time", 0))


def _file_name(name: str) -> str:
    return (
        encode_name(name, lambda character: character.isalnum() or character in "-_. ", 120, edges=". ").replace("/", "_x2f_")
        if name
        else ""
    )
