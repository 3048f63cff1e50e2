"""Images: pieces put together, content kept once a run, and found again for what refers to it."""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec
from msgspec.structs import replace

from rollscope import vocabulary as v
from rollscope.content import content_digest

from ..decode import Log, integer
from ..images import digest_of, references
from ..records import Image, Trajectory
from .outbox import Outbox
from .readings import UnusableError
from .resources import Source

KEPT_BYTES = 2 << 30
"""Content kept of all runs; the oldest goes first, and what refers to it later goes without."""
TRAJECTORY_BYTES = 16 << 20
"""Images that go along with one trajectory; the messages keep their references to the others."""

_WAITING = -1
_encode = msgspec.msgpack.Encoder().encode


class _Piece(msgspec.Struct, array_like=True):
    """What is kept of a piece besides its content."""

    image: Image
    count: int
    sources: dict[str, int]


_decode = msgspec.msgpack.Decoder(_Piece).decode


class Images:
    """Images on their way, and those that came. Everything is in the store: this must run inside the commit's transaction."""

    def __init__(self, db: sqlite3.Connection, outbox: Outbox) -> None:
        self._db = db
        self._outbox = outbox
        self._runs = {run for (run,) in db.execute("SELECT DISTINCT run FROM images")}
        self._bytes = int(db.execute("SELECT coalesce(sum(size), 0) FROM images").fetchone()[0])

    def add(self, log: Log, source: Source, now: int) -> None:
        """Take one `rl.image` event: a whole image, a piece of one, or a reference to one that was sent before."""
        image = _image(log, source.run)
        count = integer(log.attributes.get(v.IMAGE_CHUNK_COUNT)) or 0
        content = log.attributes.get(v.IMAGE_CONTENT)
        sources = source.counted(log.sequence)
        if not isinstance(content, bytes):
            self._refer(image, sources)
        elif count == 1:
            self._arrive(image, content, sources, now)
        else:
            self._add_piece(image, count, integer(log.attributes.get(v.IMAGE_CHUNK_INDEX)) or 0, content, sources, now)

    def give_up(self, run: str) -> None:
        """Send, as it is, what waits for content that will not come any more."""
        rows = self._db.execute("SELECT image, record FROM image_pieces WHERE run = ? ORDER BY rowid", (run,)).fetchall()
        self._db.execute("DELETE FROM image_pieces WHERE run = ?", (run,))
        joined: dict[bytes, tuple[Image, Counter[str]]] = {}
        for key, record in rows:
            piece = _decode(record)
            joined.setdefault(key, (piece.image, Counter()))[1].update(piece.sources)
        for image, sources in joined.values():
            self._outbox.add(replace(image, note="its content never came"), sources)

    def within(self, trajectory: Trajectory) -> Trajectory:
        """`trajectory` with the images its messages refer to."""
        if trajectory.run not in self._runs:
            return trajectory
        found: dict[str, bytes] = {}
        room = TRAJECTORY_BYTES
        for reference in references(trajectory.messages, trajectory.generations):
            content = self._content(trajectory.run, digest_of(reference))
            if content is not None and len(content) <= room:
                found[reference] = content
                room -= len(content)
        return replace(trajectory, images=found) if found else trajectory

    @staticmethod
    def forget(db: sqlite3.Connection, before: int) -> None:
        """Delete content that came before `before` (Unix ns)."""
        db.execute("DELETE FROM images WHERE time < ?", (before,))

    def _refer(self, image: Image, sources: Mapping[str, int]) -> None:
        if image.note or image.trajectory:
            # Of a message's image the content has gone out once already, with the record that brought it.
            self._outbox.add(image, sources)
        elif (content := self._content(image.run, image.digest)) is not None:
            self._outbox.add(replace(image, content=content), sources)
        else:
            self._store(_key(image, sources, 0), _WAITING, _Piece(image, 0, dict(sources)), b"")

    def _add_piece(self, image: Image, count: int, index: int, content: bytes, sources: dict[str, int], now: int) -> None:
        key = _key(image, sources, count)
        if not self._store(key, index, _Piece(image, count, sources), content):
            raise UnusableError("piece of an image that was there already")
        rows = self._db.execute("SELECT record, content FROM image_pieces WHERE image = ? ORDER BY piece", (key,)).fetchall()
        if len(rows) < count:
            return
        self._db.execute("DELETE FROM image_pieces WHERE image = ?", (key,))
        total: Counter[str] = Counter()
        for record, _ in rows:
            total.update(_decode(record).sources)
        self._arrive(image, b"".join(part for _, part in rows), total, now)

    def _arrive(self, image: Image, content: bytes, sources: Mapping[str, int], now: int) -> None:
        if image.digest != content_digest(content):
            self._outbox.add(replace(image, note="its content is not what its digest says"), sources)
            return
        self._keep(image, content, now)
        self._outbox.add(replace(image, content=content, size=len(content)), sources)
        waiting = "FROM image_pieces WHERE run = ? AND digest = ? AND piece = ?"
        which = (image.run, image.digest, _WAITING)
        for (record,) in self._db.execute(f"SELECT record {waiting}", which).fetchall():
            piece = _decode(record)
            self._outbox.add(replace(piece.image, content=content), piece.sources)
        self._db.execute(f"DELETE {waiting}", which)

    def _keep(self, image: Image, content: bytes, now: int) -> None:
        query = "INSERT OR IGNORE INTO images VALUES (?, ?, ?, ?, ?)"
        if self._db.execute(query, (image.run, image.digest, now, len(content), content)).rowcount:
            self._runs.add(image.run)
            self._bytes += len(content)
            if self._bytes > KEPT_BYTES:
                self._make_room()

    def _make_room(self) -> None:
        rows = self._db.execute("SELECT rowid, size FROM images ORDER BY time, rowid LIMIT 1000").fetchall()
        for rowid, size in rows:
            if self._bytes <= KEPT_BYTES:
                return
            self._db.execute("DELETE FROM images WHERE rowid = ?", (rowid,))
            self._bytes -= size

    def _content(self, run: str, digest: str) -> bytes | None:
        row = self._db.execute("SELECT content FROM images WHERE run = ? AND digest = ?", (run, digest)).fetchone()
        return row[0] if row else None

    def _store(self, key: bytes, index: int, piece: _Piece, content: bytes) -> bool:
        row = (key, index, piece.image.run, piece.image.digest, _encode(piece), content)
        return bool(self._db.execute("INSERT OR IGNORE INTO image_pieces VALUES (?, ?, ?, ?, ?, ?)", row).rowcount)


def _key(image: Image, sources: Iterable[str], count: int) -> bytes:
    """Equal for the pieces of one image, sent at one moment by one producer. A reference is a record of its own."""
    whose = (image.run, sorted(sources), image.name, image.digest, image.time, image.trajectory, count, "" if count else image.uid)
    return hashlib.blake2b(_encode(whose), digest_size=16).digest()


def _image(log: Log, run: str) -> Image:
    found = log.attributes
    digest = found.get(v.IMAGE_DIGEST)
    if not isinstance(digest, str) or not digest.startswith("sha256:"):
        raise UnusableError("image without a digest")
    return Image(
        run=run,
        name=str(found.get(v.IMAGE_NAME, "")),
        step=integer(found.get(v.STEP_INDEX)),
        time=log.time,
        caption=str(found.get(v.IMAGE_CAPTION, "")),
        media_type=str(found.get(v.IMAGE_TYPE) or "image/png"),
        digest=digest,
        size=integer(found.get(v.IMAGE_SIZE)) or 0,
        width=integer(found.get(v.IMAGE_WIDTH)) or 0,
        height=integer(found.get(v.IMAGE_HEIGHT)) or 0,
        trajectory=log.trace_id if not found.get(v.IMAGE_NAME) else "",
        note=log.body,
        uid=str(found.get(v.LOG_RECORD_UID, "")),
    )
