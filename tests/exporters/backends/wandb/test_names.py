"""Names that W&B takes, and the way back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollscope_exporters.backends import decode_name
from rollscope_exporters.backends.wandb._names import AXIS, ROW, alias_key, artifact_key, metric_key, project_key, run_key, tag_list


@given(st.text(max_size=60))
def test_a_metric_has_its_name_back(name: str) -> None:
    """Every short name is spelled in printable characters that lead back to it."""
    key = metric_key(name)
    assert key.isprintable()
    assert decode_name(key) == name


@pytest.mark.parametrize(
    "name", ["_step", "_runtime", "_timestamp", "_wandb", AXIS, ROW, "trajectories/train", "message_images/val", "late_rewards"]
)
def test_names_with_a_meaning_are_respelled(name: str) -> None:
    """A user's metric never meets a key that W&B or the backend uses itself."""
    assert metric_key(name) != name
    assert decode_name(metric_key(name)) == name


def test_a_split_stands_before_the_name() -> None:
    """Validation is told apart; training, and a name that says so already, are left alone."""
    assert metric_key("reward", "validation") == "validation/reward"
    assert metric_key("validation/reward", "validation") == "validation/reward"
    assert metric_key("reward", "train") == "reward"


@given(st.text(max_size=300))
def test_ids_fit_what_the_library_checks(name: str) -> None:
    """Ids of runs and names of projects and artifacts hold no refused character and are not too long."""
    assert not set(run_key(name)) & set("/\\#?%:;,'")
    assert len(run_key(name)) <= 64
    assert not set(project_key(name)) & set("\\#?%:\r\n")
    assert len(project_key(name)) <= 128
    assert all(part.isalnum() or part in "-_." for part in artifact_key(name))
    assert len(artifact_key(name)) <= 128
    assert not set(alias_key(name)) & set(":")


def test_tags_are_cut_and_told_once() -> None:
    """Empty and repeated tags go, long ones are cut."""
    assert tag_list(["a", "", " a ", "b" * 100]) == ["a", "b" * 64]
