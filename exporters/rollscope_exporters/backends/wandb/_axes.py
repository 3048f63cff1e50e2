"""What the library is told about keys: the axis each is drawn over, and what its summary shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .._hosts import PREFIX
from ._names import AXIS, HOURS, ROW
from ._rows import Row

if TYPE_CHECKING:
    from wandb import Run as WandbRun


class Axes:
    """Keys of one run, defined in the folder that is open. `summaries`: key, or the beginning of keys and `*`, to a kind of summary."""

    def __init__(self, run: WandbRun, summaries: Mapping[str, str]) -> None:
        self._run, self._summaries = run, summaries
        self._defined: set[str] = set()
        run.define_metric(AXIS, hidden=True)
        run.define_metric(ROW, hidden=True, summary="none")
        run.define_metric(HOURS, hidden=True, summary="none")
        run.define_metric("*", step_metric=AXIS, step_sync=False)

    def define(self, row: Row) -> None:
        """Define by name what `*` does not fit: of several patterns that fit, the library takes any."""
        for key in row.keys() - self._defined:
            self._defined.add(key)
            summary = next((kind for pattern, kind in self._summaries.items() if _fits(key, pattern)), None)
            axis = HOURS if key.startswith(PREFIX) else AXIS
            if summary or axis != AXIS:
                self._run.define_metric(key, step_metric=axis, step_sync=False, summary=summary)


def _fits(key: str, pattern: str) -> bool:
    return key.startswith(pattern[:-1]) if pattern.endswith("*") else key == pattern
