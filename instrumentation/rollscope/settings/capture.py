"""Which content is recorded.

rollscope records content by default: a flight recorder without the conversation answers no question. Every switch can only
take away: the standard `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`, when it is set and says no, wins over all others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from ..errors import ConfigurationError, nearest

__all__ = ["GENAI_SWITCH", "Capture"]

GENAI_SWITCH = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
OWN_SWITCH = "ROLLSCOPE_CAPTURE"
_CONTENT = frozenset({"", "true", "span_only", "event_only", "span_and_event"})
_NO_CONTENT = frozenset({"false", "no_content"})


class Capture(msgspec.Struct, frozen=True):
    """Kinds of content; all True unless switched off."""

    text: bool = True
    """Messages, model output, decoded text."""
    tokens: bool = True
    """Token ids: they are text to anyone who has the tokenizer."""
    logprobs: bool = True
    """Log-probabilities and token-level advantages."""
    arguments: bool = True
    """Arguments and results of tools and traced functions."""

    def __and__(self, other: Capture) -> Capture:
        """Return what both allow."""
        return Capture(**{name: getattr(self, name) and getattr(other, name) for name in kinds()})

    @classmethod
    def of(cls, wanted: bool | str | Mapping[str, bool] | Iterable[str] | None, source: str = "capture") -> Capture:
        """Read a setting: True, False, a list of kinds to capture, or a map of kind → bool (unnamed kinds stay on).

        Raises `ConfigurationError` for an unknown kind.
        """
        if wanted is None or wanted is True:
            return cls()
        if wanted is False:
            return cls(**dict.fromkeys(kinds(), False))
        if isinstance(wanted, str):
            return cls._of_text(wanted, source)
        if isinstance(wanted, Mapping):
            _check(wanted, source)
            return cls(**{name: bool(wanted.get(name, True)) for name in kinds()})
        chosen = tuple(wanted)
        _check(chosen, source)
        return cls(**{name: name in chosen for name in kinds()})

    @classmethod
    def _of_text(cls, text: str, source: str) -> Capture:
        words = [word.strip().lower() for word in text.split(",") if word.strip()]
        if words in ([], ["all"], ["true"]):
            return cls()
        if words in (["none"], ["false"]):
            return cls.of(False)
        return cls.of(words, source)

    @classmethod
    def from_environment(cls, env: Mapping[str, str]) -> Capture:
        """Return what `ROLLSCOPE_CAPTURE` and the standard GenAI switch allow together. Raises `ConfigurationError`."""
        own = cls._of_text(env.get(OWN_SWITCH, ""), OWN_SWITCH)
        word = env.get(GENAI_SWITCH, "").strip().lower()
        if word in _NO_CONTENT:
            return own & cls(text=False, tokens=False, arguments=False)
        if word in _CONTENT:
            return own
        raise ConfigurationError(
            f"{GENAI_SWITCH} is unknown", env[GENAI_SWITCH], "use NO_CONTENT, SPAN_ONLY, EVENT_ONLY, SPAN_AND_EVENT, true or false"
        )

    def to_text(self) -> str:
        """Return the form that `ROLLSCOPE_CAPTURE` takes."""
        return ",".join(name for name in kinds() if getattr(self, name)) or "none"


def kinds() -> tuple[str, ...]:
    """Return the names of the kinds of content."""
    return Capture.__struct_fields__


def _check(names: Iterable[str], source: str) -> None:
    for name in names:
        if name not in kinds():
            near = nearest(name, kinds())
            raise ConfigurationError(f"{source} names an unknown kind of content", name, f"use {near or ', '.join(kinds())}")
