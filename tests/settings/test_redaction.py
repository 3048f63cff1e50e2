"""What is to be redacted comes from `init` and the environment, and is checked at the start."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollscope.errors import ConfigurationError
from rollscope.settings import Redaction, load_settings


def test_argument_and_environment_are_joined() -> None:
    """Each can only add; patterns stand one a line, as they may hold commas."""
    env = {"ROLLSCOPE_REDACT_KEYS": "*.password, api_key", "ROLLSCOPE_REDACT_PATTERNS": "sk-\\w+\n\\d{3,4}\n"}
    found = load_settings(env, redact={"keys": ["mine"], "patterns": "one"}).redaction
    assert found == Redaction(("mine", "*.password", "api_key"), ("one", "sk-\\w+", "\\d{3,4}"))


def test_nothing_is_asked_for_by_default() -> None:
    """Then nothing is done either."""
    assert not load_settings({}).redaction


def test_a_process_that_joins_gets_the_same() -> None:
    """By the environment."""
    found = Redaction.of({"keys": ["a"], "patterns": ["b,c", "d"], "function": "tests.redact.functions:scrub"}, {})
    assert Path(found.place, "tests", "redact", "functions.py").exists()
    assert Redaction.of(None, found.to_environment()) == found


def test_patterns_and_keys_of_any_letters_reach_other_processes_whole() -> None:
    """A pattern over several lines, and keys with commas: cut apart they would be others, or none."""
    found = Redaction.of({"keys": ["a,b", '["c"]'], "patterns": ["(?x) (\n sk-\\d+ # one\n | é\0 )", "[ab]", '["x"]']}, {})
    env = found.to_environment()
    assert not any("\0" in text for text in env.values())
    assert Redaction.of(None, env) == found


def test_what_only_begins_like_json_is_taken_as_it_is_written() -> None:
    """A class of letters opens with a bracket too."""
    found = Redaction.of(None, {"ROLLSCOPE_REDACT_PATTERNS": "[a-f]{8}\nsk-", "ROLLSCOPE_REDACT_KEYS": "[x, y"})
    assert (found.patterns, found.keys) == (("[a-f]{8}", "sk-"), ("[x", "y"))


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"pattern": ["x"]}, "redact has an unknown key: 'pattern'; use patterns"),
        ({"patterns": ["("]}, "redact has a pattern that cannot be read: '('"),
        ({"patterns": [3]}, "redact.patterns is no list of text"),
        ({"function": "nowhere:f"}, "redact.function cannot be used: 'nowhere:f'"),
        ({"function": len}, "redact.function is no import path"),
    ],
)
def test_what_cannot_work_is_an_error_at_init(wanted: dict[str, object], said: str) -> None:
    """With cause, value and cure."""
    with pytest.raises(ConfigurationError) as raised:
        load_settings({}, redact=wanted)
    assert str(raised.value).startswith(said)
