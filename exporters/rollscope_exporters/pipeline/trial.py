"""After a crash of the interpreter itself, or a hang: entries one by one, each named on disk before it is tried.

A request that ends the process (a fault in a native library), or that it never comes back from, would do so again at every start. Named
before it is taken, it is set aside at the second try.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from ..child import After

_FILE = "pipeline.trial"
_LENGTH: dict[After, int] = {"crash": 200, "hang": 20_000}
"""Entries taken one by one, a commit each. After a hang as many as one batch can hold of the smallest requests, so that the guilty one is
reached within one trial: each costs the deadline. A commit takes milliseconds."""


class Trial:
    """`active` only in a process that was started after a crash or a hang. `after`: which, None after an orderly end."""

    def __init__(self, storage: Path, after: After | None) -> None:
        self._file = storage / _FILE
        self._after = after
        self._left = _LENGTH[after] if after else 0
        self._suspect = _read(self._file) if after else 0
        if not after:
            self._file.unlink(missing_ok=True)

    @property
    def active(self) -> bool:
        """Whether entries are to be taken one by one."""
        return self._left > 0

    @property
    def reason(self) -> str:
        """Why an entry is set aside that `failed`."""
        return "the pipeline's process never came back from it" if self._after == "hang" else "ended the pipeline's process"

    def failed(self, sequence: int) -> bool:
        """Return whether the process before ended at this entry."""
        return self._suspect == sequence != 0

    def begin(self, sequence: int) -> None:
        """Name the entry that is about to be taken."""
        if self._left > 0:
            with contextlib.suppress(OSError):  # on a full disk the entry is not named, and would be tried once more
                self._file.write_text(str(sequence))

    def taken(self) -> None:
        """Note that the entry was taken in memory. From here on a hang may lie with the disk, and no entry is to pay for that."""
        if self._after == "hang":
            self._file.unlink(missing_ok=True)

    def passed(self) -> None:
        """Note that the entry is committed."""
        if self._left > 0:
            self._left -= 1
            self._suspect = 0
            self._file.unlink(missing_ok=True)


def _read(file: Path) -> int:
    with contextlib.suppress(OSError, ValueError):
        return int(file.read_text())
    return 0
