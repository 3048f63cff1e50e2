"""After a crash of the interpreter itself, or a hang: entries one by one, each named on disk before it is tried.

A request that ends the process (a fault in a native library), or that it never comes back from (a pattern that backtracks without end),
would do so again at every start. Named before it is taken, it is set aside at the second try.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Literal

After = Literal["crash", "hang"]

_LENGTH = {"crash": 200, "hang": 20_000}
"""Entries taken one by one. After a hang as many as a batch of the smallest may have: to come to it costs the deadline each time."""


class Trial:
    """`active` only in a process that was started after a crash or a hang. `after`: which, None after an orderly end."""

    def __init__(self, file: Path, *, after: After | None) -> None:
        self._file = file
        self._left = _LENGTH[after] if after else 0
        self._suspect = _read(file) if after else 0
        self.reason = "kept the pipeline's process from going on" if after == "hang" else "ended the pipeline's process"
        """Why an entry is set aside that `failed`."""

    @property
    def active(self) -> bool:
        """Whether entries are to be taken one by one."""
        return self._left > 0

    def failed(self, sequence: int) -> bool:
        """Return whether the process before ended at this entry."""
        return self._suspect == sequence != 0

    def begin(self, sequence: int) -> None:
        """Name the entry that is about to be taken."""
        if self._left > 0:
            with contextlib.suppress(OSError):  # on a full disk the entry is not named, and would be tried once more
                self._file.write_text(str(sequence))

    def passed(self, sequence: int) -> None:
        """Note that `sequence` and everything before it is committed."""
        if self._left > 0:
            self._left -= 1
            self._suspect = 0
            self._file.unlink(missing_ok=True)


def _read(file: Path) -> int:
    with contextlib.suppress(OSError, ValueError):
        return int(file.read_text())
    return 0
