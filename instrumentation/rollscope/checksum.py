"""The checksum of a record's payload: the recorder begins it, the journal goes on with it and checks it."""

from __future__ import annotations

from typing import Final
from zlib import adler32

__all__ = ["checksum"]

checksum: Final = adler32
"""A third of what the standard library's crc32 costs, twice a span, and it too finds every flipped bit."""
