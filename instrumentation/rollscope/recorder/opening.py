"""Opening the log of one producer in the node folder."""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec

from ..errors import ConfigurationError
from ..identity import Identity
from ..journal import Journal, JournalError, check_local
from ..settings import Settings
from ..vocabulary import SCHEMA_URL
from .writer import OpenJournal

__all__ = ["check_folder", "log_folder", "opener"]


def log_folder(directory: Path, producer: str) -> Path:
    """Return where a producer's log lies."""
    return directory / "producers" / producer


def opener(settings: Settings) -> OpenJournal:
    """Return a function that opens the log of an identity, or the one that follows a deleted log. It raises `JournalError`, `OSError`."""

    def open_journal(identity: Identity, former: bytes = b"") -> Journal:
        meta: dict[str, object] = {
            "producer": identity.producer,
            "run": identity.run.id,
            "pid": identity.pid,
            "host": identity.host,
            "started": time.time_ns(),
            "resource": identity.resource(),
            "schema_url": SCHEMA_URL,
        }
        if settings.redaction:
            meta["redact"] = msgspec.to_builtins(settings.redaction)  # the shipper does it, whoever started it
        folder = log_folder(settings.directory, identity.producer)
        if former:
            Journal.go_on(folder, former)
        return Journal(folder, meta=meta, limit=settings.journal_bytes)

    return open_journal


def check_folder(directory: Path) -> None:
    """Make the node folder. Raises `ConfigurationError` when it is not a local folder that can be written."""
    try:
        check_local(directory)
        directory.mkdir(parents=True, exist_ok=True)
    except JournalError as error:
        raise ConfigurationError("the journal's folder cannot be used", str(directory), str(error)) from error
    except OSError as error:
        cause = f"the journal's folder cannot be made ({error.strerror})"
        raise ConfigurationError(cause, str(directory), "set ROLLSCOPE_DIR to a writable local folder") from error
    if not os.access(directory, os.W_OK | os.X_OK):
        raise ConfigurationError("the journal's folder is not writable", str(directory), "set ROLLSCOPE_DIR to a writable local folder")
