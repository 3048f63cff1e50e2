"""Where lines go: a log file that is exact, and beside it a terminal or file that may vanish at any time."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path


class LogFile:
    """Appends lines; lines that a predecessor wrote after its last checkpoint are recognised and not written twice."""

    def __init__(self, path: Path, size: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._position = min(size, os.fstat(self._file).st_size)

    @property
    def size(self) -> int:
        """Bytes written, the end of the last known line."""
        return self._position

    def write(self, line: str) -> bool:
        """Append `line`; False when it stood there already. Raises `OSError`."""
        data = (line + "\n").encode("utf-8", "replace")
        if os.pread(self._file, len(data), self._position) == data:
            self._position += len(data)
            return False
        os.ftruncate(self._file, self._position)
        try:
            os.pwrite(self._file, data, self._position)
        except OSError:
            os.ftruncate(self._file, self._position)
            raise
        self._position += len(data)
        return True

    def sync(self) -> None:
        os.ftruncate(self._file, self._position)
        os.fsync(self._file)

    def close(self) -> None:
        os.close(self._file)


class Terminal:
    """A terminal device or file, opened by path. It never blocks and never fails: what it does not take is counted."""

    def __init__(self, path: Path | None) -> None:
        self.lost = 0
        self._file = -1
        self.is_terminal = False
        if path is not None:
            self._open(path)

    def write(self, line: str) -> None:
        """Write `line` at once or count it as lost (EIO after a hang-up, EPIPE, EAGAIN of a stopped terminal, a full disk)."""
        if self._file < 0:
            return
        data = (f"\r\x1b[2K{line}\r\n" if self.is_terminal else f"{line}\n").encode("utf-8", "replace")
        try:
            written = os.write(self._file, data)
        except OSError:
            written = 0
        self.lost += written < len(data)

    def close(self) -> None:
        if self._file >= 0:
            with contextlib.suppress(OSError):
                os.close(self._file)
            self._file = -1

    def _open(self, path: Path) -> None:
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
            self.is_terminal = stat.S_ISCHR(os.fstat(self._file).st_mode) and os.isatty(self._file)
        except OSError:
            self.lost += 1
