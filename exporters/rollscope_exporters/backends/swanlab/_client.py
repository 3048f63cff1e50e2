"""Drives the library: one `swanlab.init` per folder, values into it, and an end that never takes longer than it may."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from .._logfile import LogFile
from .._protocol import UnavailableError
from ._compat import LoggedMedia, LoggedScalar, can_stamp, flush, log_at, log_system, make_prompt, parse_record, picture
from ._history import log_of
from ._identity import Identity
from ._names import SYSTEM
from ._points import Media, Point
from ._server import Server

if TYPE_CHECKING:
    from swanlab import Settings
    from swanlab.sdk.internal.run import Run

INTERRUPTED = "rollscope: the bridge stopped while the run went on"
_START_TIMEOUT = 60.0
_FLUSH_TIMEOUT = 30.0
"""Seconds without any progress; the local dashboard makes a folder and five database rows for each metric name, which takes its time."""
_STATES: dict[str, Literal["success", "crashed", "aborted"]] = {"finished": "success", "failed": "crashed", "aborted": "aborted"}

Result = TypeVar("Result")
LibraryMode = Literal["local", "offline", "online"]


class Client:
    """One folder of a run, open for writing."""

    def __init__(self, mode: LibraryMode, server: Server, folder: Path, identity: Identity) -> None:
        self.folder = folder
        folder.parent.mkdir(parents=True, exist_ok=True)
        if mode == "online":
            server.check()
        hook = sys.excepthook
        # In a thread of its own the library leaves signals alone.
        try:
            self._run: Run = within(_START_TIMEOUT, lambda: _open(mode, server, folder, identity))
        except Exception as error:
            raise UnavailableError(f"SwanLab does not start: {type(error).__name__}: {error}") from error
        finally:
            sys.excepthook = hook
        self._stamps = can_stamp(self._run)
        make_prompt(self._run)
        self._log: LogFile | None = None

    def log(self, points: Iterable[Point]) -> None:
        """Log `points`, those of one step and time together."""
        for (step, time), group in groupby(points, key=lambda point: (point.step, point.time)):
            data: dict[str, Any] = {}
            measured: list[tuple[str, int, int, float]] = []
            for point in group:
                if point.key.startswith(SYSTEM) and isinstance(point.value, float):
                    measured.append((point.key, step, time, point.value))
                    continue
                if point.key in data:
                    self._emit(data, step, time)
                    data = {}
                data[point.key] = _value(point.value)
            self._emit(data, step, time)
            if measured:
                log_system(self._run, measured)

    def flush(self) -> set[tuple[str, int]]:
        """Make everything durable; returns key and step of what has come into the file since the last time. Raises `UnavailableError`."""
        if not flush(self._run, _FLUSH_TIMEOUT, self._progress):
            raise UnavailableError(f"SwanLab's client does not write {self.folder} any more; is the disk full?")
        if self._log is None:
            self._log = LogFile(log_of(self.folder))
        found = {(item.key, item.step) for item in map(parse_record, self._log.read()) if isinstance(item, (LoggedScalar, LoggedMedia))}
        self._log.sync()
        return found

    def _progress(self) -> object:
        """What changes while the library writes: the file of the run, folders and database of the local dashboard."""
        seen = (log_of(self.folder), self.folder / "logs", *sorted(self.folder.parent.glob("runs.swanlab*")))
        return [(path.stat().st_size, path.stat().st_mtime_ns) for path in seen if path.exists()]

    def describe(self, identity: Identity) -> None:
        """Bring the configuration up to date."""
        self._run.config.update(identity.config)

    def finish(self, status: str, error: str, seconds: float) -> None:
        """End the folder. Raises TimeoutError when the library is still at it after `seconds`; it goes on in the background."""
        state = _STATES[status]
        within(seconds, lambda: self._run.finish(state=state, error=(error or status) if state != "success" else None))

    def _emit(self, data: dict[str, Any], step: int, time: int) -> None:
        if data and self._stamps and time > 0:
            log_at(self._run, data, step, time)
        elif data:
            self._run.log(data, step=step)


class Chart:
    """JSON of a chart, as SwanLab asks a chart for it."""

    def __init__(self, options: str) -> None:
        self._options = options

    def dump_options(self) -> str:
        return self._options


def settings_of(server: Server, **more: Any) -> Settings:
    """Settings that keep the library from looking at this machine, asking questions and reading our output."""
    import swanlab

    known = {"api_key": server.api_key, "api_host": server.api_host, "web_host": server.web_host} if server.api_key else {}
    return swanlab.Settings(
        interactive=False,
        probe=swanlab.Settings.Probe(
            hardware=False, runtime=False, requirements=False, conda=False, git=False, swanlab=False, monitor=False
        ),
        terminal=swanlab.Settings.Terminal(proxy_type="none"),
        **{key: value for key, value in known.items() if value},
        **more,
    )


def within(seconds: float, call: Callable[[], Result]) -> Result:
    """What `call` returns or raises; TimeoutError when it takes longer, and lets it run on."""
    results: list[Result] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:  # noqa: BLE001 - carried over to the caller's thread
            failures.append(error)

    thread = threading.Thread(target=run, name="swanlab", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise TimeoutError(f"SwanLab's client takes longer than {seconds:.0f} s")
    if failures:
        raise failures[0]
    return results[0]


def _open(mode: LibraryMode, server: Server, folder: Path, identity: Identity) -> Run:
    import swanlab

    os.environ["SWANLAB_LOG_DIR"] = str(folder.parent)
    return swanlab.init(
        mode=mode,
        log_dir=str(folder.parent),
        project=identity.project,
        workspace=server.workspace or None,
        name=identity.name,
        id=identity.id,
        resume="allow" if mode == "online" else None,
        group=identity.group or None,
        job_type=identity.job_type or None,
        description=identity.description or None,
        tags=identity.tags,
        config=identity.config,
        settings=settings_of(server, run=swanlab.Settings.Run(dir=folder.name)),
    )


def _value(value: float | Media) -> Any:
    import swanlab

    if not isinstance(value, Media):
        return value
    match value.kind:
        case "text":
            return [swanlab.Text(str(item.content), caption=item.caption) for item in value.items]
        case "table":
            return [swanlab.ECharts(Chart(str(item.content)), caption=item.caption) for item in value.items]
        case "image":
            return [picture(bytes(item.content), item.ending, item.caption) for item in value.items]  # type: ignore[arg-type]
