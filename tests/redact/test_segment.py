"""Token ids decode back to the text: what is redacted in it goes from the ids too."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollscope.redact import MASKED_ID, REDACTED, Redactor, Withheld, segment
from rollscope.settings import Redaction
from rollscope.tokens import Decoded, Undecoded

PATTERN = Redactor(Redaction(patterns=(r"sk-\w+",)))


def decoded(*pieces: str) -> Decoded:
    """A segment of which each token is one piece of the text."""
    ends, text = [], ""
    for piece in pieces:
        text += piece
        ends.append(len(text))
    return Decoded(text, ends, b"")


def test_the_ids_of_a_match_are_masked_and_the_others_stay() -> None:
    """Every token that the match touches, also with one letter; text and offsets say what is left."""
    ids, left = segment(PATTERN, [1, 2, 3, 4, 5], decoded("my ", "key sk", "-ab", "c.", " ok"))
    assert ids == [1, MASKED_ID, MASKED_ID, MASKED_ID, 5]
    assert left == Decoded(f"my key {REDACTED}. ok", [3, 17, 17, 18, 21], b"")


def test_a_token_that_completes_no_character_goes_with_the_one_that_does() -> None:
    """Bytes of a character that is masked are masked."""
    redactor = Redactor(Redaction(patterns=("秘",)))
    ids, _ = segment(redactor, [1, 2, 3, 4], Decoded("a秘b", [1, 1, 2, 3], b""))
    assert ids == [1, MASKED_ID, MASKED_ID, 4]


def test_a_match_that_begins_before_the_segment_counts() -> None:
    """By the text of the few ids before it."""
    ids, left = segment(PATTERN, [1, 2], decoded("cdef", " ok"), before="key sk-ab")
    assert (ids, left) == ([MASKED_ID, 2], Decoded(f"{REDACTED} ok", [10, 13], b""))


def test_without_text_no_id_is_sent() -> None:
    """What cannot be looked at stays on the node, and the record says why."""
    ids, left = segment(PATTERN, [1, 2], Undecoded("no tokenizer was given to the run"))
    assert ids == [MASKED_ID] * 2
    assert isinstance(left, Undecoded)
    assert left.reason.endswith("(no tokenizer was given to the run)")


def test_where_a_function_changes_the_text_all_ids_go() -> None:
    """Nobody can tell which tokens it meant; where it changes nothing they stay."""
    redactor = Redactor(Redaction(function="tests.redact.functions:scrub"))
    assert segment(redactor, [1, 2], decoded("hunter2", "!")) == ([MASKED_ID] * 2, Decoded("…!", [2, 2], b""))
    assert segment(redactor, [1, 2], decoded("a", "b")) == ([1, 2], decoded("a", "b"))
    with pytest.raises(Withheld):
        segment(redactor, [1], decoded("poison"))


def test_a_key_takes_text_and_ids() -> None:
    """Named by either of them; without text, other keys do not touch tokens."""
    for key in ("rl.tokens.text", "rl.tokens.*"):
        assert segment(Redactor(Redaction(keys=(key,))), [1, 2], decoded("a", "b")).ids == [MASKED_ID] * 2
    assert segment(Redactor(Redaction(keys=("password",))), [1], Undecoded("why")) == ([1], Undecoded("why"))


@given(st.lists(st.text(st.sampled_from("sk-a .秘"), max_size=4), min_size=1, max_size=12))
def test_no_id_of_a_match_is_left(pieces: list[str]) -> None:
    """The text of what is left of the ids matches nothing, and each token left has the text it had."""
    ids, left = segment(PATTERN, list(range(len(pieces))), decoded(*pieces))
    assert isinstance(left, Decoded)
    assert PATTERN.text("", left.text) == left.text
    assert len(left.offsets) == len(ids)
    assert left.offsets == sorted(left.offsets)
    assert left.offsets[-1] == len(left.text)
    starts = [0, *left.offsets[:-1]]
    for id, start, end in zip(ids, starts, left.offsets, strict=True):
        if id != MASKED_ID:
            assert left.text[start:end] == pieces[id]


def test_a_value_under_a_key_takes_its_ids() -> None:
    """The arguments of a tool call are part of what was sampled; the key may stand in the segment before."""
    redactor = Redactor(Redaction(keys=("password",)))
    left = segment(redactor, [1, 2, 3, 4], decoded('{"pass', 'word": "', "hunter2", '"}'))
    assert (left.ids, left.decoded.text) == ([1, 2, MASKED_ID, 4], '{"password": "[redacted]"}')  # type: ignore[union-attr]
    assert segment(redactor, [5, 6], decoded("hunter2", '"}'), before='"password": "').ids == [MASKED_ID, 6]
    assert redactor.replaced["keys"] == 2
