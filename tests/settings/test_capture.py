"""Tests of the content switches."""

from __future__ import annotations

import pytest

from rollscope.errors import ConfigurationError
from rollscope.settings import Capture
from rollscope.settings.capture import GENAI_SWITCH, OWN_SWITCH


def test_everything_is_captured_by_default() -> None:
    """A flight recorder records."""
    assert Capture.from_environment({}) == Capture(text=True, tokens=True, logprobs=True, arguments=True)


@pytest.mark.parametrize("word", ["NO_CONTENT", "no_content", "false"])
def test_the_standard_switch_takes_all_content_away(word: str) -> None:
    """Explicitly without content: no text, no ids (they are text), no arguments."""
    assert Capture.from_environment({GENAI_SWITCH: word}) == Capture(text=False, tokens=False, logprobs=True, arguments=False)


@pytest.mark.parametrize("word", ["SPAN_ONLY", "EVENT_ONLY", "span_and_event", "true"])
def test_the_standard_switch_keeps_content(word: str) -> None:
    """Each of the standard words for content means content."""
    assert Capture.from_environment({GENAI_SWITCH: word}) == Capture()


def test_the_own_switch_lists_kinds() -> None:
    """`ROLLSCOPE_CAPTURE` names what is wanted."""
    assert Capture.from_environment({OWN_SWITCH: "text, tokens"}) == Capture(logprobs=False, arguments=False)
    assert Capture.from_environment({OWN_SWITCH: "none"}) == Capture.of(False)


def test_every_switch_can_only_take_away() -> None:
    """Content that one switch refuses no other brings back."""
    environment = Capture.from_environment({GENAI_SWITCH: "NO_CONTENT", OWN_SWITCH: "all"})
    assert not (environment & Capture.of(True)).text
    assert Capture.of({"text": False}) & Capture() == Capture(text=False)


def test_text_form_round_trips() -> None:
    """What is handed to workers by environment is what they read."""
    for capture in (Capture(), Capture.of(False), Capture(text=False), Capture(tokens=False, logprobs=False)):
        assert Capture.from_environment({OWN_SWITCH: capture.to_text()}) == capture


@pytest.mark.parametrize("wanted", [{"txt": False}, ["tokns"], "txt"])
def test_an_unknown_kind_names_the_nearest(wanted: object) -> None:
    """A misspelt kind is an error that shows the right word."""
    with pytest.raises(ConfigurationError, match=r"use (text|tokens)"):
        Capture.of(wanted)  # type: ignore[arg-type]


def test_an_unknown_standard_word_is_an_error() -> None:
    """A privacy switch that is not understood must not be ignored."""
    with pytest.raises(ConfigurationError, match="NO_CONTENT"):
        Capture.from_environment({GENAI_SWITCH: "maybe"})
