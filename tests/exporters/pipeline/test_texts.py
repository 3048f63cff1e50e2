"""Text for token ids that came without: with the run's tokenizer where it can be had, else with the reason."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pytest

import rollscope as rs
from rollscope import vocabulary as v
from rollscope.tokens import Decoded, TokenizerError, _deadline, pack_ids, register, unpack_ids
from rollscope_exporters.pipeline import PipelineSettings
from rollscope_exporters.pipeline.texts import Texts
from rollscope_exporters.records import TokenSegment, Trajectory

from ..bridge import Bridge
from ..wire import process, requests


def segment(tokenizer: str = "t", text: str | None = None, undecoded: str = "too far away") -> TokenSegment:
    """A segment of two ids."""
    ids = pack_ids([104, 105])
    return TokenSegment(span_id="s", time=1, role="output", count=2, ids=ids, tokenizer=tokenizer, text=text, undecoded=undecoded)


class Letters:
    """A tokenizer whose ids are characters."""

    exact = True

    def decode(self, lead_ids: Sequence[int], ids: Sequence[int]) -> Decoded:
        """Decode; 0 cannot be."""
        if 0 in ids:
            raise TokenizerError("0 is no id")
        return Decoded("".join(map(chr, ids)), list(range(1, len(ids) + 1)), b"")


def texts(tokenizer: object = None) -> Texts:
    """Texts that find a tokenizer, or fail to."""

    def load(name: str, folder: Path) -> Letters:
        if tokenizer is None:
            raise TokenizerError(f"no {name} in {folder}")
        return Letters()

    return Texts([Path("/folder")], load)


def test_ids_get_their_text() -> None:
    """Text, offsets and tail come from the tokenizer; the shipper's excuse is gone."""
    found = texts(Letters).complete(segment(), pack_ids([103]))
    assert (found.text, unpack_ids(found.offsets or b""), found.tail, found.undecoded) == ("hi", [1, 2], b"", "")


def test_what_has_text_keeps_it() -> None:
    """The shipper's text is not made anew."""
    assert texts(Letters).complete(segment(text="ho"), b"").text == "ho"


@pytest.mark.parametrize(("undecoded", "expected"), [("too far away", "too far away"), ("", "no t in /folder")])
def test_without_a_tokenizer_the_reason_stays(undecoded: str, expected: str) -> None:
    """The first reason given is kept; without one, ours is."""
    found = texts().complete(segment(undecoded=undecoded), b"")
    assert (found.text, found.undecoded) == (None, expected)


def test_a_tokenizer_that_fails() -> None:
    """Its error is the reason, and the ids stay."""
    broken = TokenSegment(span_id="s", time=1, role="output", count=1, ids=pack_ids([0]), tokenizer="t")
    assert texts(Letters).complete(broken, b"").undecoded == "TokenizerError: 0 is no id"


class Stuck(Letters):
    """A plain callable's decoder that hangs."""

    exact = False
    asked = 0

    def decode(self, lead_ids: Sequence[int], ids: Sequence[int]) -> Decoded:
        """Take for ever."""
        Stuck.asked += 1
        time.sleep(600)
        raise AssertionError


def test_a_tokenizer_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """It costs a deadline once, then its text: whatever else the pipeline has to do, of all runs, goes on."""
    monkeypatch.setattr(_deadline, "DEADLINE", 0.2)
    stuck = Texts([Path("/folder")], lambda name, folder: Stuck())
    for _ in range(2):
        assert stuck.complete(segment(undecoded=""), b"").undecoded == "tokenizer 't' took longer than 0.2 s"
    assert Stuck.asked == 1


def test_a_tokenizer_that_hung_in_the_shipper_is_not_asked() -> None:
    """It would cost a deadline with every start."""
    reason = "tokenizer 't' took longer than 60 s"
    assert texts(Letters).complete(segment(undecoded=reason), b"") == segment(undecoded=reason)


def test_loading_has_a_deadline_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module may do anything when it is imported."""
    monkeypatch.setattr(_deadline, "DEADLINE", 0.2)

    def load(name: str, folder: Path) -> Letters:
        time.sleep(600)
        raise AssertionError

    assert Texts([Path("/folder")], load).complete(segment(undecoded=""), b"").undecoded == "tokenizer 't' took longer than 0.2 s"


def test_a_registered_tokenizer_is_found(tmp_path: Path) -> None:
    """A run's tokenizer in the node folder on this host decodes what its shipper did not."""
    digest = register(decode_letters, tmp_path / "node")
    bridge = Bridge(tmp_path / "s", PipelineSettings(tokenizers=(str(tmp_path / "node"),)))
    with process() as worker:
        worker.memory.recorder.event(v.EVENT_RUN_STARTED, {}, priority=0)
        with rs.trajectory(group="g", index=0) as traj:
            ids = {"role": "output", "ids": [20320, 22909], "tokenizer": digest}
            worker.memory.recorder.tokens(bytes.fromhex(traj.id), b"s" * 8, **ids)
        bridge.take(requests(worker.items()))
    (found,) = bridge.of(Trajectory)
    assert [(t.text, t.undecoded) for t in found.tokens] == [("你好", "")]


def decode_letters(ids: Sequence[int]) -> str:
    """Ids are code points."""
    return "".join(map(chr, ids))
