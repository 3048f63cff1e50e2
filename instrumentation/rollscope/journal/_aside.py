"""The way of a record whose writer interrupted another append of the same thread: a signal handler, a finaliser.

It can neither wait for the append that it stands on nor touch its segment, so it writes a file that holds this one record.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Container
from pathlib import Path
from types import CodeType, FrameType
from typing import Final, Literal

from ..descriptors import open_above
from ._format import RECORD, RECORD_SIZE, aligned, aside_name, pack_header, record_check

MOMENT: Final = 0.00005
"""Seconds between two looks whether another thread has finished its append, which takes 1 µs once it runs again."""
MOMENTS: Final = 400
"""Looks before something else is done."""


def holder(journal: object, writing: Container[CodeType]) -> Literal["me", "other", "nobody"]:
    """Return who is in the middle of an append to `journal`: a frame of `writing` on this thread's stack, on another's, or none."""
    if _holds(sys._getframe(1), journal, writing):
        return "me"
    me = threading.get_ident()
    others = any(_holds(frame, journal, writing) for thread, frame in sys._current_frames().items() if thread != me)
    return "other" if others else "nobody"


def _holds(frame: FrameType | None, journal: object, writing: Container[CodeType]) -> bool:
    while frame is not None:
        if frame.f_code in writing and frame.f_locals.get("self") is journal and frame.f_locals.get("current") is not None:
            return True
        frame = frame.f_back
    return False


def aside_size(meta: bytes, payload: bytes) -> int:
    """Return bytes that such a file takes."""
    return len(pack_header(0, 0, 0, meta)) + RECORD_SIZE + aligned(len(payload))


def write_aside(folder: Path, lane: int, number: int, meta: bytes, payload: bytes, sequence: Callable[[], int], *, fsync: bool) -> int:
    """Write `payload` into a file of its own and return its sequence, which is drawn when there is room; raises `OSError`."""
    path = folder / aside_name(lane, number)
    header = pack_header(lane, number, aside_size(meta, payload), meta)
    fd = open_above(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        os.posix_fallocate(fd, 0, aside_size(meta, payload))
        _write_all(fd, payload, len(header) + RECORD_SIZE)
        os.pwrite(fd, header, 0)
        drawn = sequence()
        os.pwrite(fd, RECORD.pack(len(payload), record_check(payload, drawn), drawn), len(header))
        if fsync:
            os.fsync(fd)
    except BaseException:
        with contextlib.suppress(OSError):
            path.unlink()
        raise
    finally:
        os.close(fd)
    return drawn


def _write_all(fd: int, data: bytes, offset: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(fd, view, offset)
        view, offset = view[written:], offset + written
