"""The file in which a reader keeps how far it got.

Two places are written by turns, each with its number and checksum: who reads while one is written, or after a power cut, finds the other.
Replacing the file instead would make a journaling file system write it out at once, three milliseconds on ext4, for each log.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import msgspec

from ..descriptors import open_above
from ._format import Position

_NAME = "acked"
_PLACE = 512


class Acked(NamedTuple):
    """How far a lane was acknowledged."""

    position: Position
    records: int
    """Records acknowledged so far."""


def read_acked(folder: Path) -> dict[int, Acked]:
    """Return the state per lane; empty when there is none or the file is damaged, which costs repetitions, never records."""
    return _read(folder)[1]


def write_acked(folder: Path, acked: Mapping[int, Acked]) -> None:
    """Remember `acked`; raises `OSError`."""
    number = _read(folder)[0] + 1
    body = msgspec.json.encode([number, {str(lane): [list(state.position), state.records] for lane, state in sorted(acked.items())}])
    content = b"%08x %b\n" % (crc32(body), body)
    assert len(content) <= _PLACE, "three lanes of 64-bit numbers fit"
    fd = open_above(folder / _NAME, os.O_WRONLY | os.O_CREAT)
    try:
        os.pwrite(fd, content.ljust(_PLACE, b"\n"), number % 2 * _PLACE)
    finally:
        os.close(fd)


def _read(folder: Path) -> tuple[int, dict[int, Acked]]:
    try:
        content = (folder / _NAME).read_bytes()
    except OSError:
        return 0, {}
    return max((_parse(content[start : start + _PLACE]) for start in (0, _PLACE)), key=lambda found: found[0])


def _parse(content: bytes) -> tuple[int, dict[int, Acked]]:
    try:
        check, _, body = content.strip().partition(b" ")
        if int(check, 16) != crc32(body):
            return 0, {}
        number, lanes = msgspec.json.decode(body)
        return number, {int(lane): Acked(Position(*place), count) for lane, (place, count) in lanes.items()}
    except (msgspec.DecodeError, ValueError, TypeError, AttributeError):
        return 0, {}
