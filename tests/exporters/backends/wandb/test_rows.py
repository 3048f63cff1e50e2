"""Records as history rows, values as W&B takes them, and what it is told of a run."""

from __future__ import annotations

import json
import math

import pytest
from pydantic import ValidationError

from rollscope_exporters.backends._digest import conversation, digest_row, joined, late_rows
from rollscope_exporters.backends.wandb import WandbConfig
from rollscope_exporters.backends.wandb._identity import identity_of
from rollscope_exporters.backends.wandb._plain import cell, plain, scalar
from rollscope_exporters.backends.wandb._rows import Cells, metrics_row, respelled, table_rows
from rollscope_exporters.records import LateFacts
from rollscope_exporters.testing import NOW, Sampler

CONFIG = WandbConfig()


def test_a_step_is_one_row_with_its_place_and_time() -> None:
    """Values under their names, the step on the axis, the record's own time; NaN and infinities stay."""
    row = metrics_row(Sampler().metrics(3, {"a": math.nan, "b": math.inf, "c": 1 << 70, "d": "x\0"}))
    assert row is not None
    assert math.isnan(float(str(row.pop("a"))))
    assert row == {"b": math.inf, "c": float(1 << 70), "d": "x␀", "trainer/global_step": 3, "_timestamp": NOW / 1e9 + 180}


def test_an_empty_step_is_no_row() -> None:
    """Nothing recorded, nothing logged."""
    assert metrics_row(Sampler().metrics(3, {})) is None


def test_a_name_that_was_cut_is_written_down() -> None:
    """Two long names that differ at the end keep different keys, each with its original."""
    record = Sampler().metrics(1, {"n" * 300: 1.0, "n" * 299 + "m": 2.0, "short": 3.0})
    assert sorted(respelled(record).values()) == ["n" * 299 + "m", "n" * 300]


def test_a_large_table_comes_in_pieces() -> None:
    """W&B shows ten thousand rows of a table: what has more becomes several."""
    table = Sampler().table(1)
    many = type(table)(run="r", name="t", step=1, time=1, rows=[{"n": number} for number in range(25_000)])
    pieces = [row["t"] for row in table_rows(many)]
    assert [len(piece.rows) for piece in pieces if isinstance(piece, Cells)] == [10_000, 10_000, 5_000]


def test_values_become_json() -> None:
    """What JSON has no word for becomes text; deep and foreign values too."""
    deep: object = "end"
    for _ in range(40):
        deep = [deep]
    assert plain({"a": math.nan, 2: b"\0", "c": {1, 2} and (1, None), "d": 1 << 80}) == {
        "a": "NaN",
        "2": "AA==",
        "c": [1, None],
        "d": str(1 << 80),
    }
    json.dumps(plain(deep))
    assert cell({"a": 1}) == '{"a": 1}'
    assert scalar(True) is True


def test_a_digest_row_reads_well() -> None:
    """Who, how it ended, what it cost, and the conversation with its calls."""
    trajectory = Sampler().trajectory(1, turns=3)
    row = digest_row(trajectory, 10_000, True)
    assert (row["turns"], row["tool_calls"], row["tool_errors"], row["outcome"]) == (3, 2, 0, "completed")
    assert row["output_tokens"] == 36
    assert '→ add({"a": 0, "b": 1})' in str(row["conversation"])
    assert json.loads(str(row["messages"])) == trajectory.messages
    assert "messages" not in digest_row(trajectory, 10_000, False)


def test_parts_of_a_message_are_named() -> None:
    """Text is read as text, anything else by its type."""
    assert (
        conversation([{"role": "user", "content": [{"type": "text", "text": "see"}, {"type": "image_url"}]}]) == "[user]\nsee\n[image_url]"
    )


def test_late_facts_join_a_row() -> None:
    """The last reward given is the row's, all of them are listed, facts are merged."""
    sampler = Sampler()
    trajectory = sampler.trajectory(1, reward=0.0)
    row = joined(digest_row(trajectory, 1000, False), late_rows(sampler.late(trajectory, 0.7)))
    assert row["reward"] == 0.7
    facts = LateFacts(run="r", trajectory=trajectory.id, facts={"rl.trajectory.filtered": True})
    assert joined(row, late_rows(facts))["reward"] == 0.7
    assert dict(joined(row, late_rows(facts))["facts"])["rl.trajectory.filtered"] is True  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("template", "group"),
    [("{wandb.group}", ""), ("{model.path}-{trainer.lr}", "qwen-1e-06"), ("fixed", "fixed"), ("{git.commit}", "0123abc")],
)
def test_a_group_is_filled_from_what_is_known(template: str, group: str) -> None:
    """Keys of configuration and circumstances are put in; one that is nowhere gives no group."""
    assert identity_of(Sampler().started(), WandbConfig(group=template), {}).group == group


def test_the_configuration_is_kept_nested() -> None:
    """The user's keys as they are, ours under one key."""
    found = identity_of(Sampler().started(), CONFIG, {}).config
    assert found["trainer"] == {"lr": 1e-6, "steps": 30}
    assert found["rollscope"] == {
        "run_id": "run-1", "attempt": 0,
        "circumstances": {"command": "python train.py", "git": {"commit": "0123abc", "dirty": False}, "python": "3.11"},
    }  # fmt: skip


def test_an_address_without_a_scheme_is_refused() -> None:
    """The mistake is named with the cure."""
    with pytest.raises(ValidationError, match="give scheme and host"):
        WandbConfig(base_url="wandb.example.com")
