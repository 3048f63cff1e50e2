"""Layout of `store.db`, its version, and how an older one is brought up to it.

Every table belongs to the pipeline, the only writer. A commit holds everything that follows from a stretch of the inbox, so the
tables are always consistent with `inbox.position`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from ._errors import NewerStoreError

VERSION = 2

TABLES = """
-- single values: `head` (highest outbox id), `trimmed` (lowest id that may still be there), `waiting` (see Store.waiting)
CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;

-- how far the inbox has been read, per lane of the log
CREATE TABLE inbox (lane INTEGER PRIMARY KEY, position BLOB NOT NULL);

-- what backends read; `sources` is a msgpack map producer -> numbered records the row stands for ('' for records without number)
CREATE TABLE outbox (
    id INTEGER PRIMARY KEY, run TEXT NOT NULL, signal TEXT NOT NULL, time INTEGER NOT NULL, size INTEGER NOT NULL,
    sources BLOB NOT NULL, payload BLOB NOT NULL);
CREATE INDEX outbox_run ON outbox (run, id);

-- rows of a run whose RunStarted has not gone out yet, oldest first
CREATE TABLE held (run TEXT NOT NULL, signal TEXT NOT NULL, sources BLOB NOT NULL, payload BLOB NOT NULL);
CREATE INDEX held_run ON held (run);

-- records that have left through the outbox, cumulative at the end of a block of 1024 outbox ids: a row for each block that changed
-- the number
CREATE TABLE totals (
    producer TEXT NOT NULL, run TEXT NOT NULL, signal TEXT NOT NULL, block INTEGER NOT NULL, records INTEGER NOT NULL,
    PRIMARY KEY (producer, run, signal, block)) WITHOUT ROWID;
CREATE INDEX totals_run ON totals (run, block);

-- `sources` of deleted outbox rows that some backend has set aside
CREATE TABLE kept (id INTEGER PRIMARY KEY, run TEXT NOT NULL, signal TEXT NOT NULL, sources BLOB NOT NULL);

-- what had already been deleted when a worker appeared: it never was its to deliver
CREATE TABLE joined (worker TEXT PRIMARY KEY, trimmed INTEGER NOT NULL, totals BLOB NOT NULL) WITHOUT ROWID;

CREATE TABLE runs (
    run TEXT PRIMARY KEY, name TEXT NOT NULL, project TEXT NOT NULL, attempt INTEGER NOT NULL, status TEXT NOT NULL,
    backends BLOB NOT NULL, started INTEGER NOT NULL, seen INTEGER NOT NULL, state BLOB NOT NULL) WITHOUT ROWID;

CREATE TABLE producers (producer TEXT PRIMARY KEY, run TEXT NOT NULL, state BLOB NOT NULL) WITHOUT ROWID;
CREATE INDEX producers_run ON producers (run);

-- received sequence numbers: one bitmap of 4096 a page; an empty one means that all of the page is there
CREATE TABLE pages (producer TEXT NOT NULL, page INTEGER NOT NULL, bits BLOB NOT NULL, PRIMARY KEY (producer, page)) WITHOUT ROWID;

-- OTLP resources, referred to by parts
CREATE TABLE resources (
    id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, run TEXT NOT NULL, producer TEXT NOT NULL, attributes BLOB NOT NULL);

-- traces: open ones (`open` = 1) have parts, delivered ones are remembered so that late comers are known as such
CREATE TABLE traces (
    trace TEXT PRIMARY KEY, run TEXT NOT NULL, open INTEGER NOT NULL, time INTEGER NOT NULL, meta BLOB NOT NULL) WITHOUT ROWID;
CREATE INDEX traces_open ON traces (trace) WHERE open = 1;
CREATE TABLE parts (id INTEGER PRIMARY KEY, trace TEXT NOT NULL, payload BLOB NOT NULL);
CREATE INDEX parts_trace ON parts (trace);

-- keys of foreign points and log lines that were taken, by the hour
CREATE TABLE seen (key BLOB PRIMARY KEY, hour INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX seen_hour ON seen (hour);

-- pieces of artifacts that are not whole yet
CREATE TABLE chunks (
    artifact BLOB NOT NULL, piece INTEGER NOT NULL, run TEXT NOT NULL, time INTEGER NOT NULL, record BLOB NOT NULL,
    content BLOB NOT NULL, PRIMARY KEY (artifact, piece));
CREATE INDEX chunks_run ON chunks (run);

-- images by content, once a run: what a trajectory or a later record refers to
CREATE TABLE images (
    run TEXT NOT NULL, digest TEXT NOT NULL, time INTEGER NOT NULL, size INTEGER NOT NULL, content BLOB NOT NULL,
    PRIMARY KEY (run, digest));
CREATE INDEX images_time ON images (time);
-- pieces of images that are not whole yet, and images whose content was sent before and has not come yet (`piece` -1)
CREATE TABLE image_pieces (
    image BLOB NOT NULL, piece INTEGER NOT NULL, run TEXT NOT NULL, digest TEXT NOT NULL, record BLOB NOT NULL, content BLOB NOT NULL,
    PRIMARY KEY (image, piece));
CREATE INDEX image_pieces_run ON image_pieces (run, digest);

-- inbox entries that could not be read or translated
CREATE TABLE rejected (
    id INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL, entry TEXT NOT NULL, signal TEXT NOT NULL, reason TEXT NOT NULL,
    payload BLOB NOT NULL);
CREATE TABLE rejections (reason TEXT PRIMARY KEY, records INTEGER NOT NULL) WITHOUT ROWID;
"""


def _add_images(db: sqlite3.Connection) -> None:
    for statement in _statements(TABLES):
        if " images" in statement or "image_pieces" in statement:
            db.execute(statement)


MIGRATIONS: dict[int, Callable[[sqlite3.Connection], None]] = {1: _add_images}
"""Version → the step that makes the next version of it, run inside one transaction."""


def version(db: sqlite3.Connection) -> int:
    """Layout version of an open database; 0 when it is empty."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def check(db: sqlite3.Connection, path: object) -> None:
    """Raise `NewerStoreError` when the layout is newer than this program."""
    if (found := version(db)) > VERSION:
        raise NewerStoreError(
            f"{path}: written by a newer rollscope (store layout {found}, this one knows {VERSION}); "
            f"update rollscope, or point `storage` to another folder"
        )


def upgrade(db: sqlite3.Connection) -> None:
    """Create the tables, or bring an older layout up to date, in one transaction."""
    if version(db) == VERSION:
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        found = version(db)
        if found == 0:
            for statement in _statements(TABLES):
                db.execute(statement)
        else:
            for step in range(found, VERSION):
                MIGRATIONS[step](db)
        db.execute(f"PRAGMA user_version = {VERSION}")
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise


def _statements(script: str) -> list[str]:
    lines = (line for line in script.splitlines() if not line.lstrip().startswith("--"))
    return [statement for part in "\n".join(lines).split(";") if (statement := part.strip())]
