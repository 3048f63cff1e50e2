"""Tests of joining arguments and environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollscope.errors import ConfigurationError
from rollscope.settings import Limits, disabled, environment_bool, load_settings


def test_defaults_lie_below_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Storage is ./rollscope and the node folder its journal; both absolute, so that workers elsewhere find them."""
    monkeypatch.chdir(tmp_path)
    settings = load_settings({})
    assert settings.storage == tmp_path / "rollscope"
    assert settings.directory == tmp_path / "rollscope/journal"
    assert settings.service_name == "rollscope"
    assert settings.endpoints is None
    assert settings.shipper


def test_an_argument_goes_before_the_environment() -> None:
    """`init`'s word counts more than a variable's."""
    env = {"ROLLSCOPE_DIR": "/env", "ROLLSCOPE_STORAGE": "/env", "ROLLSCOPE_ENDPOINT": "http://env:1", "ROLLSCOPE_JOURNAL_LIMIT": "1MiB"}
    assert load_settings(env).directory == Path("/env")
    assert load_settings(env).journal_bytes == 1 << 20
    settings = load_settings(env, directory="/arg", storage="/stored", endpoint="http://arg:1", journal_limit="2 GB")
    assert (settings.directory, settings.storage, settings.endpoint) == (Path("/arg"), Path("/stored"), "http://arg:1")
    assert settings.journal_bytes == 2 << 30


def test_service_name_and_resource_attributes_are_honoured() -> None:
    """`OTEL_SERVICE_NAME` goes before a `service.name` among the resource attributes, as the specification has it."""
    env = {"OTEL_RESOURCE_ATTRIBUTES": "service.name=a,deployment.environment=prod%20eu"}
    assert load_settings(env).service_name == "a"
    assert load_settings(env).resource == {"deployment.environment": "prod eu"}
    assert load_settings({**env, "OTEL_SERVICE_NAME": "b"}).service_name == "b"


def test_the_standard_limits_are_honoured() -> None:
    """The span's own variable goes before the general one."""
    limits = Limits.from_environment(
        {
            "OTEL_ATTRIBUTE_COUNT_LIMIT": "7",
            "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "5",
            "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "100",
            "OTEL_SPAN_EVENT_COUNT_LIMIT": "3",
            "OTEL_SPAN_LINK_COUNT_LIMIT": "2",
        }
    )
    assert (limits.attributes, limits.value_length, limits.events, limits.links) == (5, 100, 3, 2)


@pytest.mark.parametrize(
    "env",
    [
        {"OTEL_ATTRIBUTE_COUNT_LIMIT": "many"},
        {"OTEL_RESOURCE_ATTRIBUTES": "no equals"},
        {"ROLLSCOPE_JOURNAL_LIMIT": "a lot"},
        {"ROLLSCOPE_JOURNAL_LIMIT": "-1"},
        {"ROLLSCOPE_IMAGE_LIMIT": "big"},
        {"ROLLSCOPE_HOST_INTERVAL": "-2"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "::"},
        {"ROLLSCOPE_SHIPPER": "maybe"},
        {"ROLLSCOPE_SHIPPER_GRACE": "abc"},
    ],
)
def test_a_value_that_cannot_work_is_refused(env: dict[str, str]) -> None:
    """Wrong settings are known before anything begins."""
    with pytest.raises(ConfigurationError):
        load_settings(env)


def test_a_limit_below_zero_is_refused() -> None:
    """As an argument as well."""
    with pytest.raises(ConfigurationError, match="-1"):
        load_settings({}, journal_limit=-1)


@pytest.mark.parametrize(
    ("env", "off"),
    [
        ({}, False),
        ({"ROLLSCOPE_DISABLED": "1"}, True),
        ({"OTEL_SDK_DISABLED": "true"}, True),
        ({"OTEL_SDK_DISABLED": "FALSE"}, False),
        ({"ROLLSCOPE_DISABLED": ""}, False),
    ],
)
def test_two_switches_turn_everything_off(env: dict[str, str], off: bool) -> None:
    """Ours and the standard one mean the same."""
    assert disabled(env) is off


def test_a_switch_that_is_neither_yes_nor_no_is_an_error() -> None:
    """A misspelt switch is named, not guessed."""
    with pytest.raises(ConfigurationError, match="ROLLSCOPE_DISABLED"):
        environment_bool({"ROLLSCOPE_DISABLED": "maybe"}, "ROLLSCOPE_DISABLED")


@pytest.mark.parametrize("word", ["off", "0", "False", " no "])
def test_the_shipper_can_be_left_to_somebody_else(word: str) -> None:
    """`ROLLSCOPE_SHIPPER=off` in any usual spelling."""
    assert not load_settings({"ROLLSCOPE_SHIPPER": word}).shipper
