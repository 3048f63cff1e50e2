"""What a journal raises when it is opened; nothing is raised after that, except by `Journal.sync`."""

from __future__ import annotations

import errno
from typing import Final

BYTE_LIMIT: Final = "byte limit"
DISK_FULL: Final = "disk full"
"""Reasons of refusals for want of room."""


class JournalError(Exception):
    """When a log cannot be opened or made durable; names the cause, the value and the cure."""


def cause(error: OSError) -> str:
    """Name what the disk refused."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DISK_FULL
    return errno.errorcode.get(error.errno or 0, "i/o error")
