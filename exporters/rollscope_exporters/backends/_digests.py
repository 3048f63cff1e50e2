"""Holds a step's trajectories until its digest is due, and late rewards until the next one is.

A step is due when metrics of `lag` steps later come, or a trajectory of a step beyond those; at the end of the run everything is. What
comes for a step after that makes a further digest of the same step, so nothing grows with the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from ..records import LateFacts, Trajectory
from ._digest import digest_row, joined, late_rows
from ._digest_images import fitting_images, image_lines, with_images
from ._digest_spans import span_rows
from ._sample import choose
from ._spool import Mark, Spool

NOT_SAMPLED = "digest_rows"
LATE_NOT_SHOWN = "late rewards beyond digest_rows"
IMAGES_NOT_SHOWN = "images of messages beyond image_bytes"
_LATE = "late"
_IMAGES = "images of "
"""Before the key of the rows whose images they are."""

Row: TypeAlias = "Mapping[str, object]"


@dataclass(frozen=True, slots=True)
class DigestRules:
    """How much a digest shows."""

    most: int
    """Trajectories of one step and split; 0 switches the digest off."""
    lag: int
    """Steps after which a step is due."""
    text_bytes: int
    """Of the readable conversation and of the decoded text of one row."""
    messages: bool
    """Keep messages as JSON too, whole."""
    image_bytes: int = 0
    """Of the images in one row's messages."""
    spans: bool = False
    """Keep who called whom and when."""


class Digest(NamedTuple):
    """What is due: trajectories of one step and split, or, with an empty split, rewards that came late."""

    split: str
    step: int | None
    time: int
    """Unix time, ns: end of the last trajectory."""
    rows: list[Row]


class Marks(NamedTuple):
    """Where to return to."""

    spool: dict[str, Mark]
    clock: int | None
    left_out: dict[str, int]


class Digests:
    """Digests of one run; `state` is what `checkpoint` returned last."""

    def __init__(self, rules: DigestRules, spool: Spool, state: Mapping[str, Any]) -> None:
        self._rules, self._spool = rules, spool
        self._clock: int | None = state.get("clock")
        self._left_out: dict[str, int] = dict(state.get("left_out", {}))
        self._held: dict[str, str] = {}
        self._learn()

    def mark(self) -> Marks:
        return Marks(dict(self._spool.marks), self._clock, dict(self._left_out))

    def restore(self, marks: Marks) -> None:
        """Forget everything that was told since `marks`."""
        self._spool.restore(marks.spool)
        self._clock, self._left_out = marks.clock, dict(marks.left_out)
        self._learn()

    def checkpoint(self) -> dict[str, Any]:
        return {"spool": self._spool.checkpoint(), "clock": self._clock, "left_out": dict(self._left_out)}

    @property
    def left_out(self) -> dict[str, int]:
        """How many rows were left out, by reason."""
        return self._left_out

    def add(self, record: Trajectory) -> list[Digest]:
        """Hold a trajectory; returns what it makes due."""
        due = self.passed(None if record.step is None else record.step - 1, record.end)
        if not self._rules.most:
            self._leave_out(NOT_SAMPLED, 1)
            return due
        key = f"{record.split or 'train'}/{'' if record.step is None else record.step}"
        row = digest_row(record, self._rules.text_bytes, self._rules.messages)
        row |= {"spans": span_rows(record)} if self._rules.spans else {}
        reward = record.reward
        self._spool.append(key, {"row": row | {"reward": reward if reward == reward else None}, "time": record.end})
        for line in image_lines(record.id, *fitting_images(record, self._rules.image_bytes)):
            self._spool.append(_IMAGES + key, line)
        self._held[record.id] = key
        return due

    def add_late(self, record: LateFacts) -> None:
        """Join late facts with the row that is still held, else hold them until the next digest."""
        for row in late_rows(record):
            self._spool.append(self._held.get(record.trajectory, _LATE), {"late": row})

    def passed(self, step: int | None, time: int) -> list[Digest]:
        """Return what is due now that metrics of `step` have come."""
        if step is None or (self._clock is not None and step <= self._clock):
            return []
        self._clock = step
        due = [key for key in self._keys() if self._is_due(key, step)]
        return [digest for key in due for digest in self._taken(key, time)]

    def rest(self, time: int) -> list[Digest]:
        """Return everything that is held."""
        return [digest for key in self._keys() for digest in self._taken(key, time)]

    def _keys(self) -> list[str]:
        return sorted((key for key in self._spool.marks if not key.startswith(_IMAGES)), key=_order)

    def _is_due(self, key: str, step: int) -> bool:
        of = _step(key)
        return key == _LATE or (of is not None and of <= step - self._rules.lag)

    def _taken(self, key: str, time: int) -> list[Digest]:
        held = self._spool.rows(key)
        self._spool.drop(key)
        if key == _LATE:
            return self._late([line["late"] for line in held], time)
        rows = joined_rows(held)
        self._held = {id: other for id, other in self._held.items() if other != key}
        chosen = choose(rows, self._rules.most)
        self._leave_out(NOT_SAMPLED, len(rows) - len(chosen))
        chosen, missing = with_images(chosen, self._spool.lines(_IMAGES + key))
        self._spool.drop(_IMAGES + key)
        self._leave_out(IMAGES_NOT_SHOWN, missing)
        last = max((ended for line in held if isinstance(ended := line.get("time"), int)), default=time)
        return [Digest(key.rpartition("/")[0], _step(key), last, chosen)]

    def _late(self, rows: list[Any], time: int) -> list[Digest]:
        shown = rows[: max(self._rules.most, 1) * 4]
        self._leave_out(LATE_NOT_SHOWN, len(rows) - len(shown))
        return [Digest("", self._clock, time, shown)] if shown else []

    def _leave_out(self, reason: str, number: int) -> None:
        if number:
            self._left_out[reason] = self._left_out.get(reason, 0) + number

    def _learn(self) -> None:
        """Which trajectories are held, from the files."""
        self._held = {
            str(row["trajectory"]): key
            for key in self._keys()
            for line in self._spool.rows(key)
            if isinstance(row := line.get("row"), dict)
        }


def joined_rows(held: list[dict[str, object]]) -> list[dict[str, object]]:
    """Return the rows among held lines, each with the late rewards that name its trajectory."""
    late: dict[object, list[Mapping[str, object]]] = {}
    for line in held:
        if isinstance(told := line.get("late"), dict):
            late.setdefault(told["trajectory"], []).append(told)
    return [joined(row, late.get(row["trajectory"], ())) for line in held if isinstance(row := line.get("row"), dict)]


def _step(key: str) -> int | None:
    step = key.rpartition("/")[2]
    return int(step) if key != _LATE and step else None


def _order(key: str) -> tuple[int, str]:
    step = _step(key)
    return (1 << 62 if step is None else step), key
