"""Checkpoints: named where they lie, never sent. What they consist of is looked up in the background, after the call.

Two records: the first one, written at once, says where and what; the second, when the files have been looked at, lists them with size,
time of modification and, where wanted, digest. A bridge that uploads checkpoints can tell by it whether a file is still the same.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from . import vocabulary as v
from .background import Background
from .jsonable import json_bytes
from .recorder import Recorder, report

__all__ = ["checkpoints", "record_checkpoint"]

_READ_BYTES = 4 << 20
_MOST_FILES = 10_000
_WAIT = 0.15
"""Seconds that the end of a run waits for lists of files; digests it does not wait for."""


class File(NamedTuple):
    """One file of a checkpoint."""

    path: str
    """Below the checkpoint's folder; the file's name where it is one file."""
    size: int
    modified: int
    """Unix ns."""
    digest: str
    """`sha256:…`, empty where the file was not read."""


class _Checkpoints(Background):
    """A queue of its own: reading a large file must not hold up images and histograms."""

    def __init__(self) -> None:
        super().__init__(limit=256)
        self.closing = threading.Event()

    def settle(self) -> None:
        """Stop reading; write what is known of the files."""
        self.closing.set()
        left = self.drain(_WAIT)
        self.closing.clear()
        if left:
            report("truncated", "checkpoint_unread", f"{left} checkpoints were not looked at when the run ended; their place is recorded")


checkpoints = _Checkpoints()
"""The one of this process."""

os.register_at_fork(after_in_child=checkpoints._reset)


def record_checkpoint(recorder: Recorder, attributes: dict[str, Any], source: str | os.PathLike[str]) -> None:
    """Record a checkpoint by its place: a file, a folder, or a URI such as `s3://…`, which is taken as it is."""
    mode = recorder.settings.models
    if mode == "off":
        return
    place = os.fspath(source)
    if "://" in place:
        recorder.event(v.EVENT_ARTIFACT, {**attributes, v.ARTIFACT_URI: place, v.ARTIFACT_UID: _uid(recorder)})
        return
    path = Path(place).absolute()
    about = path.stat()
    known = {**attributes, v.ARTIFACT_URI: path.as_uri(), v.ARTIFACT_UID: _uid(recorder), v.ARTIFACT_CHUNK_COUNT: 2}
    if not path.is_dir():
        known[v.ARTIFACT_SIZE] = about.st_size
    now = recorder.now()
    number = recorder.event(v.EVENT_ARTIFACT, {**known, v.ARTIFACT_CHUNK_INDEX: 0}, time=now)
    if number > 0:
        checkpoints.submit(recorder, lambda: _describe(recorder, known, path, now, digest=mode == "digest"), "checkpoint")


def _describe(recorder: Recorder, known: dict[str, Any], path: Path, time: int, *, digest: bool) -> None:
    """Write the second record."""
    files = list(_files(path))
    if digest:
        files = [_read(path, file) for file in files]
    encoded = json_bytes(files).decode()
    more: dict[str, Any] = {v.ARTIFACT_SIZE: sum(file.size for file in files), v.ARTIFACT_CHUNK_INDEX: 1}
    if len(files) < _MOST_FILES and len(encoded) <= recorder.limits.value_length:
        more[v.ARTIFACT_FILES] = encoded
    else:
        report("truncated", "big_checkpoint", f"{path} has {len(files)} files or more; they are not listed")
    if whole := _digest_of(files, one=not path.is_dir()):
        more[v.ARTIFACT_DIGEST] = whole
    recorder.event(v.EVENT_ARTIFACT, {**known, **more}, time=time)


def _files(path: Path) -> Iterator[File]:
    if not path.is_dir():
        about = path.stat()
        yield File(path.name, about.st_size, about.st_mtime_ns, "")
        return
    count = 0
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            file = Path(folder, name)
            about = file.stat()
            yield File(file.relative_to(path).as_posix(), about.st_size, about.st_mtime_ns, "")
            if (count := count + 1) >= _MOST_FILES:
                return


def _read(path: Path, file: File) -> File:
    """`file` with its digest; without, when the run ends meanwhile. What is read is not kept in the page cache."""
    seen = sha256()
    with open(path / file.path if path.is_dir() else path, "rb", buffering=0) as stream:
        while not checkpoints.closing.is_set():
            piece = stream.read(_READ_BYTES)
            if not piece:
                os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                return file._replace(digest=f"sha256:{seen.hexdigest()}")
            seen.update(piece)
    return file


def _digest_of(files: list[File], *, one: bool) -> str:
    """Of one file its own; of a folder that of the list of paths and digests. Empty where one file has none."""
    if not files or not all(file.digest for file in files):
        return ""
    if one:
        return files[0].digest
    listed = "".join(f"{file.path}\0{file.digest}\n" for file in files)
    return f"sha256:{sha256(listed.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _uid(recorder: Recorder) -> str:
    return recorder.ids.span_id().hex()
