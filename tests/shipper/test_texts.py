"""Tokenizers of the user's own cost their text at most."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from rollscope.shipper.texts import NodeTexts
from rollscope.tokens import Decoded, Undecoded, _deadline

_MODULE = """
import time

asked = []

def hangs(ids):
    asked.append(ids)
    time.sleep(600)

def plain(ids):
    return "".join(map(chr, ids))

def raises(ids):
    raise RuntimeError("no such id")
"""


@pytest.fixture
def decoders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> NodeTexts:
    """The decoders of a node whose run brought a module with tokenizers of its own."""
    (tmp_path / "own_tokenizers.py").write_text(_MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(_deadline, "DEADLINE", 0.2)
    return NodeTexts(tmp_path)


def test_a_tokenizer_that_hangs_is_given_up(decoders: NodeTexts, caplog: pytest.LogCaptureFixture) -> None:
    """Its ids stay without text and say why; it is not asked again, and others go on."""
    first = decoders.decode("own_tokenizers:hangs", [], [65])
    assert isinstance(first, Undecoded)
    assert "took longer than 0.2 s" in first.reason
    assert decoders.decode("own_tokenizers:hangs", [], [66]) == first
    assert len(importlib.import_module("own_tokenizers").asked) == 1
    assert decoders.decode("own_tokenizers:plain", [], [72, 105]) == Decoded("Hi", decoded_offsets("Hi"), b"")
    assert "is not used any more" in caplog.text


def test_a_tokenizer_that_raises_says_why(decoders: NodeTexts) -> None:
    """The reason travels in the place of the text."""
    answer = decoders.decode("own_tokenizers:raises", [], [65])
    assert isinstance(answer, Undecoded)
    assert "no such id" in answer.reason


def decoded_offsets(text: str) -> list[int]:
    """End of each one-character token."""
    return list(range(1, len(text) + 1))
