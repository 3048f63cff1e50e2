"""Take over a log folder whose former writer is gone."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import NamedTuple

from ._acked import read_acked
from ._format import HEADER_SIZE, LANES, aligned, end_word, parse_name, read_header
from ._scan import is_zero, next_record, records


class Past(NamedTuple):
    """What an earlier writer left."""

    last_sequence: int
    numbers: list[int]
    """Highest segment number per lane, 0 for none."""
    aside: int
    """Highest number of a single-record file."""


def recover(folder: Path) -> Past:
    """Find where an earlier writer stopped, and mark its unfinished segments as finished so that readers pass on."""
    acked = read_acked(folder)
    numbers = [acked[lane].position.number if lane in acked else 0 for lane in range(LANES)]
    last, aside = 0, max((state.position.aside for state in acked.values()), default=0)
    chains: dict[tuple[str, int], list[Path]] = {}
    for name in sorted(os.listdir(folder)):
        parsed = parse_name(name)
        if parsed is None or parsed[1] >= LANES:
            continue
        kind, lane, number = parsed
        chains.setdefault((kind, lane), []).append(folder / name)
        if kind == "s":
            aside = max(aside, number)
        else:
            numbers[lane] = max(numbers[lane], number)
            _finish(folder / name)
    for paths in chains.values():
        # The newest may have been prepared and never used.
        last = max(last, next(filter(None, (_highest(path.read_bytes(), HEADER_SIZE) for path in reversed(paths))), 0))
    return Past(last, numbers, aside)


def _finish(path: Path) -> None:
    """Write the end mark into a segment that is still as long as it was made."""
    with contextlib.suppress(OSError), open(path, "r+b") as file:
        header = read_header(file.fileno())
        size = os.fstat(file.fileno()).st_size
        if header is not None and size != header.capacity:
            return
        data = file.read()
        first = header.first if header else aligned(HEADER_SIZE)
        found = records(data[first:], first, len(data))
        if header is not None and found.stop == "zero" and is_zero(data[found.offset :]) and found.offset + 8 <= size:
            file.seek(found.offset)
            file.write(end_word(found.offset).to_bytes(8, "little"))
            file.truncate(found.offset + 8)
        elif found.stop != "end":
            # Damaged inside: every byte is left to the reader.
            file.seek(aligned(size))
            file.write(end_word(aligned(size)).to_bytes(8, "little"))


def _highest(data: bytes, offset: int) -> int:
    highest = 0
    while True:
        found = records(data[offset:], offset, len(data))
        highest = max(highest, *(sequence for sequence, _, _ in found.records), 0)
        if found.stop not in ("damaged", "short", "zero"):
            return highest
        onward = next_record(data[found.offset + 8 :], found.offset + 8, highest)
        if onward is None:
            return highest
        offset = onward
