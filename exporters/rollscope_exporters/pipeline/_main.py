"""`python -m rollscope_exporters.pipeline`: put the parts together and run them."""

from __future__ import annotations

import argparse
import logging
import os
import sqlite3
import stat
import sys
import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from rollscope.locks import FileLock

from ..beats import PIPELINE_BEAT, BeatFile
from ..child import EXIT_SETTINGS, add_after, begin
from ..settings import Problem, Settings, SettingsError, load, wanted_backends
from ..store import Store, StoreError
from .loop import Loop
from .numbering import continue_numbering
from .redaction import Cleaner
from .settings import PipelineSettings
from .trial import Trial

_GRACE = 8.0
"""Seconds for the last commit after the parent is gone."""

_DAMAGED = (
    "%s is damaged: %s. Everything that arrives stays in the inbox meanwhile. Stop the bridge, move store.db, store.db-wal and "
    "store.db-shm away and start it again; what backends have taken stays with them, and what only this file held is lost "
    "(`sqlite3 store.db .recover` may save it)"
)

log = logging.getLogger("rollscope.pipeline")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the pipeline until it is told to end, by a signal or by the end of standard input where that is a pipe."""
    options = _options(arguments)
    stop = begin(_GRACE, supervised=stat.S_ISFIFO(os.fstat(sys.stdin.fileno()).st_mode))
    try:
        return _run(load(options.config, os.environ, {"storage": ("--storage", options.storage)}, backends=()), options, stop)
    except (SettingsError, StoreError) as error:
        log.error("%s", error)
        return EXIT_SETTINGS
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):  # a full disk, a lock: another try may succeed
            raise
        log.error(_DAMAGED, options.storage / "store.db", error)
        return EXIT_SETTINGS


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m rollscope_exporters.pipeline", description="Translate the inbox into the store.")
    parser.add_argument("--storage", type=Path, required=True, help="storage folder of the bridge")
    parser.add_argument("--config", type=Path, help="configuration file")
    parser.add_argument("--read-artifacts", action="store_true", help="read files of this host that records only name")
    add_after(parser, "take requests singly")
    return parser.parse_args(arguments)


def _run(settings: Settings, options: argparse.Namespace, stop: threading.Event) -> int:
    storage = settings.storage
    storage.mkdir(parents=True, exist_ok=True)
    beat = BeatFile(storage / PIPELINE_BEAT, os.getpid())
    with closing(FileLock(storage / "pipeline.lock")) as lock:
        while not lock.acquire():
            beat("waiting", reason="another pipeline still works on this storage")
            if stop.wait(0.1):
                return 0
        beat("starting")
        _work(settings, options, stop, beat)
    return 0


def _work(settings: Settings, options: argparse.Namespace, stop: threading.Event, beat: BeatFile) -> None:
    def wanted(requested: list[str] | None) -> list[str]:
        return wanted_backends(requested, settings)

    storage = settings.storage
    with Store.open(storage / "store.db") as store:
        made = _settings(settings, options)
        try:
            Cleaner(made.redaction)
        except ValueError as error:
            raise SettingsError([Problem("", "", str(error))]) from error
        continue_numbering(store, storage)
        trial = Trial(storage, options.after)
        Loop(storage, store, made, wanted, trial=trial, beat=beat).run(stop)


def _settings(settings: Settings, options: argparse.Namespace) -> PipelineSettings:
    folders = [os.environ["ROLLSCOPE_DIR"]] if os.environ.get("ROLLSCOPE_DIR") else []
    return PipelineSettings(
        read_artifacts=options.read_artifacts,
        store_bytes=int(settings.limits.inbox),
        redaction=settings.redact.redaction,
        token2text=settings.trajectories.token2text,
        tokenizers=(*folders, str(settings.storage / "journal")),
    )
