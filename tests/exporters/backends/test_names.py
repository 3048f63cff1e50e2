"""Reversible spelling of names."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollscope_exporters.backends import decode_name, encode_name
from rollscope_exporters.backends._names import mlflow_character
from rollscope_exporters.backends.mlflow._metrics import spelled as mlflow
from rollscope_exporters.backends.swanlab._names import metric_key as swanlab
from rollscope_exporters.backends.tensorboard._events import tag_of as tensorboard
from rollscope_exporters.backends.trackio._rows import metric_key as trackio
from rollscope_exporters.backends.wandb._names import metric_key as wandb

MLFLOW = re.compile(r"^[/\w.\- :]*$")
names = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("_x4at@/.0"), max_size=60)


@given(names)
def test_every_name_comes_back(name: str) -> None:
    """What was spelled for MLflow decodes to the name as recorded."""
    assert decode_name(encode_name(name, mlflow_character, 10_000)) == name


@given(names)
def test_mlflow_takes_every_spelling(name: str) -> None:
    """A spelling has only characters MLflow takes, is a normal path and is not empty or too long."""
    spelled = encode_name(name, mlflow_character)
    assert MLFLOW.match(spelled)
    assert posixpath.normpath(spelled) == spelled
    assert not spelled.startswith(("/", ".."))
    assert 0 < len(spelled) <= 250


@given(names, names)
def test_two_names_never_meet(one: str, other: str) -> None:
    """Different names have different spellings, also when both are cut."""
    long = "n" * 240
    assert (one == other) == (encode_name(long + one, mlflow_character) == encode_name(long + other, mlflow_character))


@pytest.mark.parametrize(
    ("name", "spelled"),
    [
        ("actor/pg_loss", "actor/pg_loss"),
        ("val/acc/mean@16", "val/acc/mean_at_16"),
        ("look_at_me", "look_x5f_at_me"),
        ("a=b", "a_x3d_b"),
        ("奖励/平均", "奖励/平均"),
        ("/a//b/", "_x2f_a_x2f_/b_x2f_"),
        ("..", "_x2e__x2e_"),
        ("", "_x_"),
    ],
)
def test_spellings_stay_readable(name: str, spelled: str) -> None:
    """Common names are left alone, `@` reads as `at`, and what MLflow refuses is spelled by its code."""
    assert encode_name(name, mlflow_character) == spelled


@given(names | st.sampled_from(["tables/a", "_x74_ables/a", " a ", ".a.", "./", " "]))
def test_edges_and_reserved_beginnings_come_back(name: str) -> None:
    """A spelling without blanks and dots at its ends and without reserved beginnings still decodes to the name."""
    spelled = encode_name(name, str.isprintable, 10_000, edges=" ./", reserved=("tables/", "__swanlab__."))
    assert spelled.strip(" ./") == spelled
    assert not spelled.startswith(("tables/", "__swanlab__."))
    assert decode_name(spelled) == name


RULES = [mlflow, swanlab, tensorboard, trackio, wandb]
trackers = pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.__module__).split(".")[2])
odd = names | st.sampled_from(
    [
        "_step",
        "_x5f_step",
        "_runtime",
        "tables/a",
        "_x74_ables/a",
        "late_rewards",
        "trainer/global_step",
        "rollscope/row",
        " a",
        "a ",
        "a.",
        "a/",
        "A",
        "a",
    ]
)


@trackers
@given(one=odd, other=odd)
def test_no_tracker_mixes_two_names(rule: Callable[[str], str], one: str, other: str) -> None:
    """Different names have different keys in each of them, reserved ones too, and long ones that are cut."""
    assert (one == other) == (rule(one) == rule(other))
    long = "n" * 500
    assert (one == other) == (rule(long + one) == rule(long + other))


@trackers
@given(name=odd)
def test_every_tracker_gives_names_back(rule: Callable[[str], str], name: str) -> None:
    """A key that was not cut decodes to the name as recorded."""
    assert decode_name(rule(name)) == name or len(rule(name)) > 200
