"""The pure parts that fill a run: parameters, metrics, tables, tags, attribute values."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from rollscope_exporters.backends.mlflow import MlflowConfig
from rollscope_exporters.backends.mlflow._artifacts import shown_tables, table_json, table_path
from rollscope_exporters.backends.mlflow._json import as_json
from rollscope_exporters.backends.mlflow._metrics import points, texts
from rollscope_exporters.backends.mlflow._otlp import any_value, clean_text, to_otlp
from rollscope_exporters.backends.mlflow._params import MOST, flat_params
from rollscope_exporters.backends.mlflow._runs import run_tags
from rollscope_exporters.records import Span, StepMetrics, Table
from rollscope_exporters.testing import NOW, Sampler

plain: Any = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
    | st.binary(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


def test_config_becomes_flat_parameters() -> None:
    """Nested maps become dotted paths, lists and empty maps stay one value, names are spelled for MLflow."""
    config = {"trainer": {"lr": 1e-6, "betas": [0.9, 0.99], "extra": {}}, "data@v2": None, "on": True, "name": "x"}
    assert flat_params(config) == {
        "trainer.lr": "1e-06", "trainer.betas": "[0.9,0.99]", "trainer.extra": "{}", "data_at_v2": "null", "on": "true", "name": "x",
    }  # fmt: skip


def test_parameters_stay_within_mlflow_s_limits() -> None:
    """A huge configuration is cut in number, a huge value in length, and the cut says so."""
    assert len(flat_params({str(number): number for number in range(MOST + 5)})) == MOST
    value = flat_params({"long": "x" * 7000})["long"]
    assert len(value) == 6000
    assert value.endswith("[7000 characters]")


def test_numbers_become_points_and_words_become_tags() -> None:
    """Bools are 1 and 0, NaN stays NaN, a missing step is 0, strings go to tags; a split other than training is in the name."""
    values = {"a": True, "b": math.nan, "c": 3, "d": "warm-up", "e": 10**400}
    record = StepMetrics(run="r", time=NOW, step=None, values=values, split="validation")  # type: ignore[arg-type]
    found = {point.name: point for point in points(record)}
    assert found["validation/a"].value == 1.0
    assert math.isnan(found["validation/b"].value)
    assert found["validation/e"].value == pytest.approx(1.797e308, rel=1e-3)
    assert {point.step for point in found.values()} == {0}
    assert found["validation/c"].timestamp == NOW // 1_000_000
    assert texts(record) == {"validation/d": "warm-up"}


def test_a_table_has_one_place() -> None:
    """The same record goes to the same file, another one of the same name and step to another; columns keep their order."""
    table, other = Sampler().table(12), Sampler("other").table(12)
    assert table_path(table) == table_path(table) != table_path(other)
    assert table_path(table).startswith("tables/val/generations/step-000012-")
    assert json.loads(table_json(table))["columns"] == ["prompt", "answer", "score", "note"]
    assert json.loads(table_json(Table(run="r", name="t", time=0, rows=[])))["data"] == []


def test_the_tag_of_tables_never_outgrows_its_limit() -> None:
    """The newest tables stay named, each once; a broken tag is begun anew."""
    tag = "not json"
    for number in range(300):
        tag = shown_tables(shown_tables(tag, f"tables/t/{number}.json"), f"tables/t/{number}.json")
    entries = json.loads(tag)
    assert len(tag) <= 7500
    assert entries[-1] == {"path": "tables/t/299.json", "type": "table"}
    assert len({entry["path"] for entry in entries}) == len(entries) > 50


def test_tags_tell_where_a_run_comes_from() -> None:
    """Tags by name, notes and commit where MLflow's pages look for them, long circumstances in the artifact only."""
    record = Sampler().started()
    record.circumstances.update(packages={f"p{number}": "1" for number in range(200)}, diff="x" * 1000)
    tags = run_tags(record)
    assert tags["baseline"] == "true"
    assert tags["mlflow.note.content"] == "A first try."
    assert tags["mlflow.source.git.commit"] == tags["circumstances.git.commit"] == "0123abc"
    assert not any("packages" in key or "diff" in key for key in tags)


@given(plain)
def test_any_value_becomes_valid_otlp(value: object) -> None:
    """Whatever an attribute holds, it can be encoded, without NUL and without NaN."""
    encoded = any_value(value, 1000).SerializeToString()
    assert isinstance(encoded, bytes)
    assert "\0" not in clean_text(str(value), 1000)
    json.loads(as_json(value))


def test_an_unfinished_span_gets_no_negative_duration() -> None:
    """A span that ends before it starts ends when it starts."""
    span = Span(trace_id="1" * 32, span_id="2" * 16, name="", start=50, end=0)
    made = to_otlp(span, span.name, {}, 100)
    assert made.end_time_unix_nano == 50
    assert made.name == "span"


@given(st.text(max_size=300), st.integers(30, 200))
def test_text_is_cut_with_a_note(text: str, limit: int) -> None:
    """Cut text keeps its beginning, says how long it was and fits; short text is untouched."""
    cut = clean_text(text, limit)
    assert len(cut) <= limit
    assert ("characters]" in cut) if len(text) > limit else cut == text.replace("\0", "\N{REPLACEMENT CHARACTER}")


@pytest.mark.parametrize("uri", ["file:///tmp/mlruns", "./mlruns", "databricks", "s3://bucket"])
def test_stores_without_traces_are_refused(uri: str) -> None:
    """A file store or an unknown scheme is an error of the configuration that names what to use instead."""
    with pytest.raises(ValidationError, match=r"http://host:5000.*sqlite:///"):
        MlflowConfig(tracking_uri=uri)


@pytest.mark.parametrize("uri", ["", "sqlite:///x.db", "postgresql+psycopg2://h/d", "mysql+pymysql://h/d", "http://h:5000", "https://h"])
def test_databases_and_servers_are_taken(uri: str) -> None:
    """Every store that holds traces can be named."""
    assert MlflowConfig(tracking_uri=uri).tracking_uri == uri
