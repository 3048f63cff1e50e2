"""From the page cache to the disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ._lane import Lane
from ._segment import Segment


def sync_segments(current: Iterable[object], lanes: Iterable[Lane], cut: Callable[[Segment], None]) -> None:
    """Sync what was appended to `current` and to finished segments, then cut and let go of the latter. Raises `OSError`."""
    retired = [(lane, segment) for lane in lanes for segment in [*lane.retired]]
    for segment in (*(segment for _, segment in retired), *(segment for segment in current if isinstance(segment, Segment))):
        at = segment.at
        if at != segment.synced:
            segment.sync()
            segment.synced = at
    for lane, segment in retired:
        lane.retired.remove(segment)
        cut(segment)
        segment.release()
