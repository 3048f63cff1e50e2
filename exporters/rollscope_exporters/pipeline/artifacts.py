"""Artifacts: pieces put together, files that are only named read where that is allowed."""

from __future__ import annotations

import hashlib
import os
import socket
import sqlite3
import stat
from collections import Counter
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec.structs import replace

from rollscope import vocabulary as v
from rollscope.content import content_digest

from ..decode import Log, integer
from ..records import Artifact
from .outbox import Outbox
from .readings import UnusableError
from .redaction import Cleaner
from .resources import Source
from .settings import PipelineSettings

_encode = msgspec.msgpack.Encoder().encode


class _Piece(msgspec.Struct, array_like=True):
    """What is kept of a piece besides its content."""

    artifact: Artifact
    count: int
    sources: dict[str, int]


_decode = msgspec.msgpack.Decoder(_Piece).decode
_decode_files = msgspec.json.Decoder(list[tuple[str, int, int, str]]).decode


class Artifacts:
    """Artifacts on their way; pieces of unfinished ones are in the store."""

    def __init__(self, db: sqlite3.Connection, outbox: Outbox, settings: PipelineSettings, cleaner: Cleaner | None = None) -> None:
        self._db = db
        self._outbox = outbox
        self._settings = settings
        self._cleaner = cleaner
        self._host = socket.gethostname()

    def add(self, log: Log, source: Source, now: int) -> None:
        """Take one `rl.artifact` event: a whole artifact, a piece of one, or a reference. Must run inside the commit's transaction."""
        artifact = _artifact(log, source.run)
        count = integer(log.attributes.get(v.ARTIFACT_CHUNK_COUNT)) or 1
        content = log.attributes.get(v.ARTIFACT_CONTENT)
        sources = source.counted(log.sequence)
        if artifact.uid:
            artifact = replace(artifact, host=str(source.attributes.get(v.HOST_NAME, "")))
        if artifact.uid and count > 1:
            self._add_piece(artifact, count, integer(log.attributes.get(v.ARTIFACT_CHUNK_INDEX)) or 0, b"", sources, now)
        elif artifact.uid:
            self._outbox.add(artifact, sources)
        elif not isinstance(content, bytes):
            self._outbox.add(self._by_reference(artifact, source), sources)
        elif count == 1:
            self._send(artifact, content, sources)
        else:
            self._add_piece(artifact, count, integer(log.attributes.get(v.ARTIFACT_CHUNK_INDEX)) or 0, content, sources, now)

    def _add_piece(self, artifact: Artifact, count: int, index: int, content: bytes, sources: dict[str, int], now: int) -> None:
        whose = (artifact.run, sorted(sources), artifact.name, artifact.digest, artifact.size, count)
        key = hashlib.blake2b(_encode((artifact.run, artifact.uid) if artifact.uid else whose), digest_size=16).digest()
        if artifact.size > self._settings.artifact_bytes:
            content = b""  # only its reference will go out; the pieces are counted, not kept
        record = _encode(_Piece(artifact, count, sources))
        row = (key, index, artifact.run, now, record, content)
        query = "INSERT OR IGNORE INTO chunks (artifact, piece, run, time, record, content) VALUES (?, ?, ?, ?, ?, ?)"
        if not self._db.execute(query, row).rowcount:
            raise UnusableError("piece of an artifact that was there already")
        if self._db.execute("SELECT count(*) FROM chunks WHERE artifact = ?", (key,)).fetchone()[0] >= count:
            self._join(key)

    def give_up(self, run: str) -> None:
        """Send what there is of the unfinished artifacts of `run`: their missing pieces will not come."""
        for (key,) in self._db.execute("SELECT DISTINCT artifact FROM chunks WHERE run = ?", (run,)).fetchall():
            self._join(key)

    def _join(self, key: bytes) -> None:
        rows = self._db.execute("SELECT record, content FROM chunks WHERE artifact = ? ORDER BY piece", (key,)).fetchall()
        self._db.execute("DELETE FROM chunks WHERE artifact = ?", (key,))
        pieces = [_decode(record) for record, _ in rows]
        sources: Counter[str] = Counter()
        for piece in pieces:
            sources.update(piece.sources)
        artifact, count = pieces[0].artifact, pieces[0].count
        if artifact.uid:
            self._outbox.add(pieces[-1].artifact, sources)  # the later one lists the files
        elif len(pieces) < count:
            self._outbox.add(_without_content(artifact, f"{len(pieces)} of {count} pieces came"), sources)
        else:
            self._send(artifact, b"".join(content for _, content in rows), sources)

    def _send(self, artifact: Artifact, content: bytes, sources: Mapping[str, int]) -> None:
        size, limit = max(len(content), artifact.size), self._settings.artifact_bytes
        digest = content_digest(content)
        if size > limit:
            artifact = _without_content(artifact, f"{size} bytes are over the bridge's limit of {limit}")
        elif artifact.digest and artifact.digest != digest:
            artifact = _without_content(artifact, "it is not what its digest says")
        else:
            artifact = replace(artifact, content=content, digest=digest, size=len(content))
        self._outbox.add(artifact, sources)

    def _by_reference(self, artifact: Artifact, source: Source) -> Artifact:
        """Return the artifact with its content where the file is ours to read and is still what the record says."""
        path = _path(artifact.uri)
        if not self._settings.read_artifacts or not path or source.attributes.get(v.HOST_NAME) != self._host:
            return artifact
        content = _read(path, self._settings.artifact_bytes)
        if content is None or (artifact.digest and artifact.digest != content_digest(content)):
            return artifact
        if self._cleaner:
            content = self._cleaner.file(artifact.name, content)
        return replace(artifact, content=content, size=len(content), digest=content_digest(content))


def _without_content(artifact: Artifact, reason: str) -> Artifact:
    return replace(artifact, uri=artifact.uri or f"content not kept: {reason}")


def _artifact(log: Log, run: str) -> Artifact:
    found = log.attributes
    name = found.get(v.ARTIFACT_NAME)
    if not isinstance(name, str) or not name:
        raise UnusableError("artifact without a name")
    aliases = found.get(v.ARTIFACT_ALIASES)
    return Artifact(
        run=run,
        name=name,
        time=log.time,
        type=str(found.get(v.ARTIFACT_TYPE) or "file"),
        aliases=[str(alias) for alias in aliases] if isinstance(aliases, list) else [],
        digest=str(found.get(v.ARTIFACT_DIGEST, "")),
        size=integer(found.get(v.ARTIFACT_SIZE)) or 0,
        uri=str(found.get(v.ARTIFACT_URI, "")),
        step=integer(found.get(v.STEP_INDEX)),
        uid=str(found.get(v.ARTIFACT_UID, "")),
        files=_files(found.get(v.ARTIFACT_FILES)),
    )


def _files(text: object) -> list[tuple[str, int, int, str]]:
    if not isinstance(text, str):
        return []
    try:
        return _decode_files(text)
    except (msgspec.DecodeError, msgspec.ValidationError):
        raise UnusableError("artifact whose list of files cannot be read") from None


def _path(uri: str) -> str:
    """Return the path of a `file:` URI or of a plain absolute path, else empty."""
    if uri.startswith("/"):
        return uri
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.scheme == "file" else ""


def _read(path: str, limit: int) -> bytes | None:
    """Return content of a regular file of our own user, None when it is not one, too large or gone."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with open(descriptor, "rb") as file:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode) or about.st_uid != os.geteuid() or about.st_size > limit:
            return None
        return file.read(limit)
