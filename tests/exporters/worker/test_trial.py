"""Which record is to blame: lives of a worker, played without processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from rollscope_exporters.child import After
from rollscope_exporters.records import Record
from rollscope_exporters.worker import Delivery, Item
from rollscope_exporters.worker._trial import BEHIND, ENDS, LENGTH, Trial

from .outbox import line

AFTER: dict[str, After] = {"crash": "crash", "hang": "hang"}


class End(BaseException):
    """The process ended at a record, and how."""


class World:
    """Rows by name, a position that lives on disk, and what a backend holds: it loses what was not settled when a process ends."""

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        self.folder = folder
        self.names = list(names)
        self.position = 0
        self.held: list[str] = []
        self.unsettled: list[str] = []
        self.aside: list[str] = []
        self.doubt = ""
        self.bad: Callable[[str], str] = lambda name: name.rstrip("0123456789")
        """Name → `hang` or `crash` where the process ends at it, `refused` where the backend does not take it."""
        self.signal = "logs"

    def items(self) -> list[Item]:
        """What is behind the position; a name that begins with `odd` cannot be decoded."""
        return [Item(n, "r", self.signal, *_record(name)) for n, name in enumerate(self.names, 1) if n > self.position]

    def write(self, items: Sequence[Item]) -> str | None:
        """As `Delivery.write`."""
        for item in items:
            name = self.names[item.id - 1]
            if (end := self.bad(name)) in AFTER:
                raise End(end)
            if end == "refused":
                return "not to my taste"
            self.unsettled.append(name)
        return None

    def settle(self, outcomes: Sequence[tuple[Item, str | None]]) -> None:
        """As `Delivery.settle`."""
        self.aside += [self.names[item.id - 1] for item, reason in outcomes if reason is not None]
        self.position = outcomes[-1][0].id
        self.held += self.unsettled
        self.unsettled = []

    def deliver(self, items: Sequence[Item]) -> None:
        """As `Delivery.deliver`, for one."""
        self.settle([(items[-1], items[0].error if items[0].record is None else self.write(items))])

    def live(self, after: After | None) -> After | None:
        """One process: how it ended, None where everything was delivered."""
        trial = Trial(self.folder, after)
        try:
            while items := self.items():
                rows, _ = trial.limits(LENGTH, 1)
                if trial.on:
                    trial.deliver(items[:rows], self)  # type: ignore[arg-type]  # it has what is called of a Delivery
                else:
                    self.settle([(items[:rows][-1], self.write(items[:rows]))])
        except End as end:
            self.unsettled = []
            return AFTER[str(end)]
        return None

    def run(self, lives: int = 200) -> int:
        """Live until everything is delivered, return how many lives that took."""
        after: After | None = None
        for life in range(lives):
            after = self.live(after)
            if after is None:
                return life + 1
        raise AssertionError((self.position, self.held, self.aside))


def _record(name: str) -> tuple[Record | None, str]:
    return (None, "cannot be decoded") if name.startswith("odd") else (line(name), "")


@pytest.mark.parametrize(
    "names",
    [
        ["a", "hang", "b"],
        ["hang1", "hang2", "a"],
        ["hang1", "hang2", "hang3", "hang4", "a", "b"],
        ["hang1", "crash", "a", "hang2", "b"],
        [*(f"hang{n}" for n in range(BEHIND)), "a"],
        ["crash1", "crash2", "hang", "a"],
        ["hang", "odd", "a"],
        ["a", "hang", "odd1", "odd2", "hang2", "b"],
        [f"n{n}" for n in range(LENGTH - 1)] + ["hang", *(f"m{n}" for n in range(LENGTH))],
    ],
)
def test_the_guilty_are_set_aside_and_the_others_arrive_once(tmp_path: Path, names: list[str]) -> None:
    """Alone, side by side, beside ones that crash and ones that cannot be decoded."""
    world = World(tmp_path, names)
    world.run()
    guilty = [name for name in names if name.startswith(("hang", "crash", "odd"))]
    assert world.aside == guilty
    assert sorted(world.held) == sorted(name for name in names if name not in guilty)


@pytest.mark.parametrize("after", ["crash", "hang"])
def test_a_process_that_fails_to_start_has_tried_nothing(tmp_path: Path, after: After) -> None:
    """It blames nobody, and takes nothing away of what is known."""
    world = World(tmp_path, ["n1", "hang", "n2", "n3"])
    last: After | None = None
    for _ in range(40):
        last = world.live(last)
        if last is None:
            break
        Trial(tmp_path, last)
        last = after
    assert (world.aside, sorted(world.held)) == (["hang"], ["n1", "n2", "n3"])

    world = World(tmp_path, [f"n{n}" for n in range(20)])
    world.bad = lambda name: "hang"
    last = None
    for _ in range(60):
        Trial(tmp_path, world.live(last))
        last = after
    assert (world.aside, world.position) == ([], 0)


@pytest.mark.parametrize("end", ["refused", "crash"])
def test_what_never_reached_the_backend_clears_nobody(tmp_path: Path, end: str) -> None:
    """Records behind that are refused, or crash, say nothing of a server that does not answer; refused out of its turn is not refused."""
    world = World(tmp_path, ["n1", "n2", "odd1", "n3"])
    world.bad = lambda name: "hang" if name == "n1" else end
    last: After | None = None
    for _ in range(60):
        last = world.live(last)
    assert (world.position, world.aside) == (0, [])
    world.bad = lambda name: ""
    assert world.live(last) is None
    assert (sorted(world.held), world.aside) == (["n1", "n2", "n3"], ["odd1"])


def test_a_runs_start_is_never_set_aside_for_a_hang(tmp_path: Path) -> None:
    """All that follows needs it; for a crash it is, as nothing would follow otherwise."""
    world = World(tmp_path, ["hang", "a", "b"])
    world.signal = "runs"
    with pytest.raises(AssertionError):
        world.run()
    assert (world.position, world.aside) == (0, [])
    world = World(tmp_path, ["crash", "a", "b"])
    world.signal = "runs"
    world.run()
    assert (world.held, world.aside) == (["a", "b"], ["crash"])


@pytest.mark.parametrize("lives", range(2 * (ENDS + BEHIND)))
def test_a_backend_that_comes_back_costs_nothing(tmp_path: Path, lives: int) -> None:
    """However many processes hung before, at whichever record: nothing is set aside."""
    world = World(tmp_path, [f"n{n}" for n in range(20)])
    world.bad = lambda name: "hang"
    after: After | None = None
    for _ in range(lives):
        after = world.live(after)
    world.bad = lambda name: ""
    assert world.live(after) is None
    assert world.aside == []
    assert sorted(world.held) == sorted(world.names)


@pytest.mark.parametrize("tries", range(ENDS + BEHIND))
def test_a_backend_that_comes_back_at_a_record_costs_nothing(tmp_path: Path, tries: int) -> None:
    """As when a server answers while a record is being tried, which may be one behind."""
    world = World(tmp_path, [f"n{n}" for n in range(20)])
    left = iter(range(tries))
    world.bad = lambda name: "hang" if next(left, None) is not None else ""
    world.run()
    assert world.aside == []
    assert sorted(world.held) == sorted(world.names)


def test_the_last_record_is_told_of_until_another_comes(tmp_path: Path) -> None:
    """There is nothing to compare it with; the status says where it stands, and the next record decides."""
    world = World(tmp_path, ["a", "hang"])
    with pytest.raises(AssertionError):
        world.run(20)
    assert "the process ended or got stuck at logs" in world.doubt
    assert world.aside == []
    world.names.append("b")
    for _ in range(2):
        world.live("hang")
    assert (world.held, world.aside) == (["a", "b"], ["hang"])


def test_a_file_of_something_else_is_no_hindrance(tmp_path: Path) -> None:
    """A damaged one, and one of another version."""
    for content in (b"", b"{", b'{"id": "x"}', b"[]", b"\xff"):
        (tmp_path / "trial.json").write_bytes(content)
        world = World(tmp_path, ["a", "b"])
        assert world.live("hang") is None
        assert world.held == ["a", "b"]


def test_what_the_world_plays_is_what_a_delivery_has() -> None:
    """Else these tests would be about nothing."""
    assert all(callable(getattr(Delivery, name)) for name in ("write", "settle", "deliver"))
