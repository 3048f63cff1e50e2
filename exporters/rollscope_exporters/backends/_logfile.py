"""Reads a log in LevelDB's format after a header of seven bytes, as W&B and SwanLab keep one, while it is written.

Blocks of 32 KiB; in them pieces `crc32 u32, length u16, type u8, data` of records: whole, first, middle or last. A piece that has not
been written in full, or a block's unused end, is the end for now.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

_HEADER = 7
_BLOCK = 32 * 1024
_PIECE = struct.Struct("<IHB")
_WHOLE, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4


class LogFile:
    """One transaction log, read from the beginning and then on from where the last read ended."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset = _HEADER

    def read(self) -> Iterator[bytes]:
        """Yield records that have come since the last read. A damaged piece ends the reading for good: what follows cannot be trusted."""
        try:
            with open(self.path, "rb") as file:
                data = _Pieces(file.fileno(), self._offset)
                while (record := data.record()) is not None:
                    self._offset = data.offset
                    yield record
        except FileNotFoundError:
            return

    def sync(self) -> None:
        """Have the kernel put what was written on the disk."""
        file = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(file)
        finally:
            os.close(file)


class _Pieces:
    def __init__(self, file: int, offset: int) -> None:
        self._file, self.offset = file, offset
        self._start, self._block = -1, b""

    def record(self) -> bytes | None:
        """Return the next whole record, or None; `offset` then stays before it."""
        begin, parts = self.offset, list[bytes]()
        while (piece := self._piece()) is not None:
            kind, data = piece
            parts = [data] if kind in (_WHOLE, _FIRST) else [*parts, data]
            if kind in (_WHOLE, _LAST):
                return b"".join(parts)
        self.offset = begin
        return None

    def _piece(self) -> tuple[int, bytes] | None:
        left = _BLOCK - self.offset % _BLOCK
        if left < _PIECE.size:
            self.offset += left
        self._load(self.offset - self.offset % _BLOCK)
        at = self.offset - self._start
        if len(self._block) < at + _PIECE.size:
            return None
        crc, length, kind = _PIECE.unpack_from(self._block, at)
        end = at + _PIECE.size + length
        data = self._block[at + _PIECE.size : end]
        if not _WHOLE <= kind <= _LAST or len(data) < length or zlib.crc32(bytes([kind]) + data) != crc:
            return None
        self.offset = self._start + end
        return kind, data

    def _load(self, start: int) -> None:
        if start != self._start:
            self._start, self._block = start, os.pread(self._file, _BLOCK, start)
