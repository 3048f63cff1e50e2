"""`python -m rollscope_exporters.worker`: put the parts together and run them."""

from __future__ import annotations

import argparse
import logging
import os
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from rollscope.locks import FileLock

from ..backends import Backend, UnavailableError
from ..beats import BEAT_FILE, BeatFile
from ..child import EXIT_RESTART, EXIT_SETTINGS, STOP_GRACE, add_after, begin
from ..settings import Settings, SettingsError, backend_class, backend_config, load, wanted_backends
from ..store import NoStoreError, Store, StoreError
from ._delivery import Delivery, RestartNeeded, Stopped, is_outage
from ._feed import Feed
from ._folders import LOCK_FILE, worker_folder
from ._left_out import LeftOut, LeftOutFile
from ._memory import Memory
from ._position import PositionFile
from ._runs import Runs
from ._shape import Shaper
from ._trial import Trial
from ._worker import Worker

log = logging.getLogger("rollscope.worker")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one worker until it is told to end."""
    options = _options(arguments)
    stop = begin(STOP_GRACE, supervised=options.supervised)
    try:
        settings = load(options.config, os.environ, {"storage": ("--storage", options.storage)}, backends=[options.backend])
        _run(settings, options, stop)
    except (SettingsError, StoreError, ValueError) as error:
        log.error("%s", error)
        return EXIT_SETTINGS
    except Stopped:
        return 0
    except (RestartNeeded, UnavailableError, sqlite3.Error, OSError) as error:
        if isinstance(error, OSError) and not is_outage(error):
            raise
        log.warning("%s cannot go on: %s", options.backend, error)
        return EXIT_RESTART
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m rollscope_exporters.worker", description="Deliver records into one backend.")
    parser.add_argument("--storage", type=Path, required=True, help="storage folder of the bridge")
    parser.add_argument("--backend", required=True, help="name of the backend")
    parser.add_argument("--run", help="serve this run only")
    parser.add_argument("--config", type=Path, help="configuration file")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a key of the backend's section")
    parser.add_argument("--supervised", action="store_true", help="end when standard input closes")
    add_after(parser, "deliver singly for a while")
    return parser.parse_args(arguments)


def _run(settings: Settings, options: argparse.Namespace, stop: threading.Event) -> None:
    folder = worker_folder(settings.storage, options.backend, options.run)
    folder.mkdir(parents=True, exist_ok=True)
    beat = BeatFile(folder / BEAT_FILE, os.getpid())
    with closing(FileLock(folder / LOCK_FILE)) as lock:
        while not lock.acquire():
            beat("waiting", reason="another worker still holds this position")
            if stop.wait(0.1):
                return
        beat("starting")
        try:
            _serve(settings, options, stop, beat, folder)
            beat("ended")
        except Stopped:
            beat("ended")
            raise
        except (RestartNeeded, UnavailableError, SettingsError, StoreError, ValueError, sqlite3.Error, OSError) as error:
            beat("waiting", reason=str(error), failures=1)
            raise


def _serve(settings: Settings, options: argparse.Namespace, stop: threading.Event, beat: BeatFile, folder: Path) -> None:
    kind = backend_class(options.backend)
    position = PositionFile(folder)
    position.current.signals = sorted(settings.signals(options.backend, kind.accepts))
    position.current.per_run = kind.per_run
    position.save()
    with _open_store(settings.storage / "store.db", beat, stop) as store:
        beat("starting")
        backend = kind(backend_config(options.backend, _section(settings, options)), settings.storage, position.current.state)
        try:
            _deliver(settings, options, stop, store=store, backend=backend, position=position, beat=beat, folder=folder)
        finally:
            backend.close()


def _deliver(
    settings: Settings,
    options: argparse.Namespace,
    stop: threading.Event,
    *,
    store: Store,
    backend: Backend,
    position: PositionFile,
    beat: BeatFile,
    folder: Path,
) -> None:
    ahead, left_out = _remember(settings, options.backend, position, folder)
    runs = Runs(store, lambda requested: options.backend in wanted_backends(requested, settings))
    feed = Feed(
        store,
        frozenset(position.current.signals),
        options.run,
        runs.wanted,
        Shaper(settings, options.backend, ahead, left_out),
        runs.undecided,
    )
    delivery = Delivery(backend, position, beat, stop.wait, settings.workers.max_pause)
    trial = Trial(folder, options.after)
    limits = settings.workers
    Worker(feed, delivery, position, beat, trial, rows=limits.batch_rows, bytes_=int(limits.batch_bytes)).run(stop)


def _remember(settings: Settings, backend: str, position: PositionFile, folder: Path) -> tuple[Memory, LeftOut]:
    """Return the memory that runs ahead, as it was at the position; the other one follows the position from now on."""
    metrics, trajectories, saved = settings.metrics_of(backend), settings.trajectories_of(backend), position.current.memory
    file = LeftOutFile(folder, position.current.left_out_ids)
    left_out = LeftOut(file.read())
    position.remember_with(Memory(metrics, trajectories, file, saved), file)
    return Memory(metrics, trajectories, left_out, saved), left_out


def _section(settings: Settings, options: argparse.Namespace) -> dict[str, object]:
    """Return the backend's own keys; `--set` adds to them."""
    section = dict((settings.backends or {}).get(options.backend, {}))
    for assignment in options.set:
        key, _, value = assignment.partition("=")
        section.setdefault(key, value)
    return section


def _open_store(path: Path, beat: BeatFile, stop: threading.Event) -> Store:
    """Open the store as soon as the pipeline has made it."""
    while not (store := _try_open(path)):
        beat("waiting", reason="the pipeline has not made the store yet")
        if stop.wait(0.2):
            raise Stopped("no store")
    return store


def _try_open(path: Path) -> Store | None:
    try:
        return Store.open(path, read_only=True)
    except NoStoreError:
        return None
