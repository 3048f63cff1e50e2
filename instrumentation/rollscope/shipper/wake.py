"""A sleep that a signal handler can end: `threading.Event` would take a lock that the interrupted code may hold."""

from __future__ import annotations

import contextlib
import os
import select


class Wake:
    """A pipe to oneself."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)

    def set(self) -> None:
        """End the sleep that is, or the next one."""
        with contextlib.suppress(BlockingIOError):
            os.write(self._write, b"!")

    def sleep(self, seconds: float) -> None:
        """Sleep up to `seconds`."""
        if select.select([self._read], [], [], max(0.0, seconds))[0]:
            os.read(self._read, 64)

    def close(self) -> None:
        """Close the pipe."""
        os.close(self._read)
        os.close(self._write)
