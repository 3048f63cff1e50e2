"""Which points a run has, in little memory: a compressed bitmap of steps for each key."""

from __future__ import annotations

from pyroaring import BitMap64


class Seen:
    """Keys and steps that are logged. Those of the `tail` were logged after the last checkpoint before a crash: they are expected again,
    and are no repetition then."""

    def __init__(self) -> None:
        self._steps: dict[str, BitMap64] = {}
        self._tail: set[tuple[str, int]] = set()

    def add(self, key: str, step: int) -> None:
        self._steps.setdefault(key, BitMap64()).add(step)

    def expect(self, key: str, step: int) -> None:
        """It is logged and will come again."""
        self.add(key, step)
        self._tail.add((key, step))

    def has(self, key: str, step: int) -> bool:
        steps = self._steps.get(key)
        return steps is not None and step in steps

    def comes_again(self, key: str, step: int) -> bool:
        """Whether this is the repetition that was expected; it is not expected any more then."""
        if (key, step) not in self._tail:
            return False
        self._tail.remove((key, step))
        return True
