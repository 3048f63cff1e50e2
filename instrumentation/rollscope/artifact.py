"""Files of the run: small ones travel, large ones are named where they lie."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import IO, TYPE_CHECKING, Any

from . import vocabulary as v
from .background import background
from .content import content_digest, pieces
from .importing import importing
from .metrics import whole
from .recorder import Recorder, current, guarded, report
from .records import PRIORITY_SPAN, PRIORITY_TOKENS
from .step_point import current_step

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["INLINE_BYTES", "artifact"]

INLINE_BYTES = 1 << 20
"""A file of this size is read in the caller (about 2 ms), a larger one in the background."""
_CHECKPOINT_TYPES = frozenset({"model", "checkpoint"})


@guarded("artifact")
def artifact(
    source: str | os.PathLike[str] | bytes,
    *,
    name: str | None = None,
    type: str = "file",
    aliases: Iterable[str] = (),
    step: int | None = None,
) -> None:
    """Record a file of the run.

    source: path, or content. name: path within the run's artifacts, the file's name unless given (content needs one).
    type: `file`, `model`, … aliases: such as `best`. step: the current one unless given.

    A file up to `limits.artifact_bytes` (8 MiB) travels whole; it is opened at once and, above 1 MiB, read in the background, so it
    must not be overwritten in place meanwhile. A larger one, or a folder, is recorded by its URI, without a digest.

    A checkpoint (type `model` or `checkpoint`, given by path or URI) never travels, whatever its size: its place is recorded at once, its
    files with sizes and digests when they have been looked at in the background (`ROLLSCOPE_MODELS`). Whether the bridge uploads it
    from there is the bridge's setting `artifacts.models`. It must stay as it is until then.
    """
    recorder = current()
    if recorder is None:
        return
    attributes: dict[str, Any] = {v.ARTIFACT_TYPE: type, v.ARTIFACT_ALIASES: [aliases] if isinstance(aliases, str) else list(aliases)}
    point = current_step()
    if step is not None or point is not None:
        attributes[v.STEP_INDEX] = whole(step) if step is not None else point and point.index
    if isinstance(source, (bytes, bytearray, memoryview)):
        if not name:
            raise ValueError("an artifact given as content needs a name")
        _content(recorder, {**attributes, v.ARTIFACT_NAME: name}, bytes(source))
    elif type in _CHECKPOINT_TYPES:
        with importing:
            from .checkpoint import record_checkpoint  # few programs record checkpoints

        place = os.fspath(source)
        record_checkpoint(recorder, {**attributes, v.ARTIFACT_NAME: name or os.path.basename(place.rstrip("/")) or type}, place)
    else:
        from pathlib import Path  # loaded by `init` already; `import rollscope` does without

        path = Path(source)
        _file(recorder, {**attributes, v.ARTIFACT_NAME: name or path.name}, path)


def _content(recorder: Recorder, attributes: dict[str, Any], content: bytes) -> None:
    if len(content) > recorder.limits.artifact_bytes:
        # There is no file to point to: its size and digest are all that can be said.
        attributes.update({v.ARTIFACT_SIZE: len(content), v.ARTIFACT_DIGEST: content_digest(content)})
        _refer(recorder, attributes, len(content))
        report("dropped", "big_artifact", f"an artifact given as content has {len(content)} bytes; write it to a file and give the path")
    else:
        _send(recorder, attributes, content)


def _file(recorder: Recorder, attributes: dict[str, Any], path: Path) -> None:
    if path.is_dir():
        _refer(recorder, {**attributes, v.ARTIFACT_URI: path.absolute().as_uri()}, None)
        return
    stream = path.open("rb")
    size = os.fstat(stream.fileno()).st_size
    if size > recorder.limits.artifact_bytes:
        stream.close()
        _refer(recorder, {**attributes, v.ARTIFACT_URI: path.absolute().as_uri(), v.ARTIFACT_SIZE: size}, size)
    elif size <= INLINE_BYTES:
        _read_and_send(recorder, attributes, stream, size)
    elif not background.submit(recorder, lambda: _read_and_send(recorder, attributes, stream, size), "artifact"):
        stream.close()


def _read_and_send(recorder: Recorder, attributes: dict[str, Any], stream: IO[bytes], size: int) -> None:
    with stream:
        content = stream.read(size + 1)
    if len(content) != size:
        report("truncated", "artifact_changed", f"{attributes[v.ARTIFACT_NAME]} changed its size while it was read")
    _send(recorder, attributes, content[:size])


def _send(recorder: Recorder, attributes: dict[str, Any], content: bytes) -> None:
    """Write the content in pieces; each says all there is to know, so that they can be joined in any order."""
    parts = list(pieces(content))
    whole_of = {**attributes, v.ARTIFACT_SIZE: len(content), v.ARTIFACT_DIGEST: content_digest(content), v.ARTIFACT_CHUNK_COUNT: len(parts)}
    # A configuration file must not wait behind token payloads; a large file must not hold up spans.
    priority = PRIORITY_SPAN if len(parts) == 1 else PRIORITY_TOKENS
    for place, part in enumerate(parts):
        recorder.event(v.EVENT_ARTIFACT, {**whole_of, v.ARTIFACT_CHUNK_INDEX: place, v.ARTIFACT_CONTENT: part}, priority=priority)


def _refer(recorder: Recorder, attributes: dict[str, Any], size: int | None) -> None:
    what = "a folder" if size is None else f"{size} bytes, more than the {recorder.limits.artifact_bytes} that travel"
    recorder.event(v.EVENT_ARTIFACT, attributes, body=f"content not sent: {what}")
