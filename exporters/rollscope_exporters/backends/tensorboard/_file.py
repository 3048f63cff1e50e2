"""The event files of one run: only whole records after a crash, each once.

TensorBoard follows a growing file by its offset and never returns to what it has read, so a file that was cut is not written again: every
process begins a file of its own. What an older one had written after its last checkpoint is cut off, for it comes again.
"""

from __future__ import annotations

import io
import os
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

_GLOB = "events.out.tfevents.*"
_WRITTEN_BY_US = ".rollscope"


class EventFiles:
    """Files of `folder`; `sizes` is what the last checkpoint returned, `{name: bytes}`."""

    def __init__(self, folder: Path, sizes: Mapping[str, int]) -> None:
        self._folder = folder
        self._name = ""
        self._unsynced = False
        self.sizes = dict(sizes)
        self.restore(sizes)

    def restore(self, sizes: Mapping[str, int]) -> None:
        """Return to `sizes`: longer files are cut, other files of ours go. Raises OSError."""
        self.sizes = dict(sizes)
        for path in self._folder.glob(f"{_GLOB}{_WRITTEN_BY_US}"):
            if path.name not in sizes:
                path.unlink()
            elif path.stat().st_size > sizes[path.name]:
                os.truncate(path, sizes[path.name])
        if self._name not in sizes:
            self._name = ""

    @property
    def is_new(self) -> bool:
        """Whether the next record begins a file."""
        return not self._name

    def append(self, events: Sequence[bytes]) -> None:
        """Write `events`, all or, with `restore`, none. Raises OSError."""
        if not events:
            return
        if not self._name:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._name = f"events.out.tfevents.{time.time_ns():020d}.{socket.gethostname()}.{os.getpid()}{_WRITTEN_BY_US}"
        data = _framed(events)
        with open(self._folder / self._name, "ab") as file:
            file.write(data)
        self.sizes[self._name] = self.sizes.get(self._name, 0) + len(data)
        self._unsynced = True

    def checkpoint(self) -> dict[str, int]:
        """Make everything durable."""
        if self._unsynced:
            with open(self._folder / self._name, "rb") as file:
                os.fsync(file.fileno())
            self._unsynced = False
        return dict(self.sizes)


def _framed(events: Sequence[bytes]) -> bytes:
    from tensorboard.summary.writer.record_writer import RecordWriter

    buffer = io.BytesIO()
    writer = RecordWriter(buffer)
    for event in events:
        writer.write(event)
    return buffer.getvalue()
