"""Which trajectories a digest shows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rollscope_exporters.backends._sample import choose


def row(group: str | None, index: int, reward: float | None = None, outcome: str = "completed") -> dict[str, object]:
    return {"trajectory": f"{group}-{index}", "group": group, "index": index, "attempt": 0, "reward": reward, "outcome": outcome}


ROWS = st.lists(st.tuples(st.integers(0, 9), st.one_of(st.none(), st.floats(allow_nan=True))), max_size=80).map(
    lambda pairs: [row(f"g{group}", index, reward) for index, (group, reward) in enumerate(pairs)]
)


@given(ROWS, st.integers(1, 40), st.randoms(use_true_random=False))
def test_groups_are_whole_and_the_order_of_arrival_does_not_matter(rows: list[dict[str, object]], most: int, chance: object) -> None:
    """The same trajectories in any order give the same choice, in whole groups unless one alone is too large."""
    chosen = choose(rows, most)
    assert len(chosen) <= most
    shuffled = list(rows)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert {item["group"] for item in choose(shuffled, most)} == {item["group"] for item in chosen} or len(rows) > most
    groups = {item["group"] for item in chosen}
    for group in groups:
        members = [item for item in rows if item["group"] == group]
        taken = [item for item in chosen if item["group"] == group]
        assert len(taken) == len(members) or len(groups) == 1


def test_extremes_and_failures_are_shown() -> None:
    """The best, the worst and a failed trajectory are among the chosen."""
    rows = [row(f"g{group}", index, float(group)) for group in range(40) for index in range(4)]
    rows.append(row("broken", 0, 5.0, "failed"))
    chosen = {item["group"] for item in choose(rows, 16)}
    assert {"g0", "g39", "broken"} <= chosen


def test_a_group_that_is_too_large_is_shown_in_part() -> None:
    """Of one huge group the first rows are shown."""
    chosen = choose([row("g", index) for index in range(100)], 10)
    assert [item["index"] for item in chosen] == list(range(10))


def test_without_a_group_each_stands_alone() -> None:
    """A trajectory of no group is one."""
    assert len(choose([row(None, index) for index in range(5)], 3)) == 3
