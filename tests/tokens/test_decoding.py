"""Segments of ids become text whose concatenation is the text of the whole stream."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollscope.tokens import Decoded, Decoder, load
from rollscope.tokens._table import UNKNOWN, TableDecoder

from .tokenizers_here import byte_fallback, byte_level, tiktoken_encoding, unigram

LEAD = 8
texts = st.text(max_size=30) | st.text("你好世界的👩‍🚀🚀é\u0301 a\x00\n", max_size=40)
BYTES = TableDecoder([bytes([byte]) for byte in range(256)] + [b"", "你好".encode(), "🚀".encode()[:3], "🚀".encode()[3:], b"\xe4\xbd"])


def cut(ids: list[int], places: list[int]) -> list[list[int]]:
    """`ids` cut into segments at `places`."""
    borders = sorted({0, len(ids), *(place % (len(ids) + 1) for place in places)})
    return [ids[start:end] for start, end in pairwise(borders)]


def decode_segments(decoder: Decoder, segments: list[list[int]]) -> list[Decoded]:
    """Each segment decoded by itself, with the ids before it as lead."""
    before: list[int] = []
    decoded = []
    for segment in segments:
        decoded.append(decoder.decode(before[-LEAD:], segment))
        before += segment
    return decoded


def joined(decoded: list[Decoded]) -> str:
    """The whole text: what the last segment left unfinished is invalid, as nothing completes it."""
    return "".join(part.text for part in decoded) + (decoded[-1].tail.decode(errors="replace") if decoded else "")


@given(st.lists(st.integers(-3, 270), max_size=60), st.lists(st.integers(0, 60), max_size=5))
def test_any_bytes_cut_anywhere(ids: list[int], places: list[int]) -> None:
    """Invalid bytes, empty tokens, unknown ids and cuts inside characters: exactly what decoding the whole stream gives."""
    stream = b"".join(BYTES.pieces[index] if 0 <= index < len(BYTES.pieces) else UNKNOWN for index in ids)
    # Fewer than three bytes in eight ids are not promised to be seen: only tokens without bytes can do that.
    segments = cut([index for index in ids if index != 256], places)
    assert joined(decode_segments(BYTES, segments)) == stream.decode(errors="replace")


@given(st.lists(st.integers(0, 259), max_size=40))
def test_offsets_end_where_tokens_end(ids: list[int]) -> None:
    """A token's offset is the number of characters that all bytes up to its end complete."""
    decoded = BYTES.decode([], ids)
    for place in range(len(ids)):
        prefix = BYTES.decode([], ids[: place + 1])
        assert decoded.offsets[place] == len(prefix.text)
        assert decoded.text.startswith(prefix.text)


@given(st.lists(st.integers(0, 259).filter(lambda index: index != 256), max_size=40), st.integers(0, 40))
def test_offsets_go_on_over_segments(ids: list[int], place: int) -> None:
    """Offsets of a segment are those of the stream, less what came before it."""
    place = min(place, len(ids))
    whole = BYTES.decode([], ids)
    before = BYTES.decode([], ids[:place])
    after = BYTES.decode(ids[:place][-LEAD:], ids[place:])
    assert [offset - len(before.text) for offset in whole.offsets[place:]] == after.offsets
    assert after.tail == whole.tail or place == len(ids)


@pytest.mark.parametrize("make", [byte_level, byte_fallback, unigram])
def test_tables_agree_with_huggingface(make: Any) -> None:
    """Our table of a tokenizer.json decodes what the tokenizers package decodes, special tokens visible."""
    tokenizer, decoder = make(), load(make())
    assert isinstance(decoder, TableDecoder)
    for text in ("the quick fox", " lazy  dog", "a", ""):
        ids = tokenizer.encode(text).ids
        assert decoder.decode([], ids).text == tokenizer.decode(ids, skip_special_tokens=False)


@given(texts, st.lists(st.integers(0, 200), max_size=6))
def test_byte_level_text_survives_any_cut(text: str, places: list[int]) -> None:
    """What was encoded by byte-level BPE comes back whole from any segments."""
    tokenizer = byte_level()
    ids = tokenizer.encode(text).ids
    assert joined(decode_segments(load_cached("byte_level"), cut(ids, places))) == tokenizer.decode(ids, skip_special_tokens=False)


@given(texts, st.lists(st.integers(0, 200), max_size=6))
def test_byte_fallback_text_survives_any_cut(text: str, places: list[int]) -> None:
    """What was encoded with byte fallback and metaspace comes back whole, the first space taken away once."""
    segments = cut(byte_fallback().encode(text).ids, places)
    expected = text.replace("▁", " ")
    assert joined(decode_segments(load_cached("byte_fallback"), segments)) == expected


@given(texts, st.lists(st.integers(0, 200), max_size=6))
def test_tiktoken_text_survives_any_cut(text: str, places: list[int]) -> None:
    """What a tiktoken encoding encoded comes back whole from any segments."""
    ids = tiktoken_encoding().encode(text, disallowed_special=())
    assert joined(decode_segments(load_cached("tiktoken_encoding"), cut(ids, places))) == text


_loaded: dict[str, Decoder] = {}


def load_cached(name: str) -> Decoder:
    """The decoder of one of this folder's tokenizers."""
    if name not in _loaded:
        _loaded[name] = load(globals()[name]())
    return _loaded[name]


def test_special_tokens_stay_visible() -> None:
    """Special tokens are part of the text, also those that are not in the byte alphabet, with their offsets."""
    tokenizer = byte_level()
    ids = tokenizer.encode("<|im_start|>你<|im_end|><|begin▁of▁text|>").ids
    decoded = load(tokenizer).decode([], ids)
    assert decoded.text == "<|im_start|>你<|im_end|><|begin▁of▁text|>"
    assert decoded.offsets[0] == len("<|im_start|>")
    assert decoded.offsets[-1] == len(decoded.text)


def test_a_cut_character_belongs_to_its_completer() -> None:
    """The earlier segment reports the bytes, the later one has the character."""
    rocket = list("🚀".encode())
    assert BYTES.decode([], [97, *rocket[:3]]) == Decoded("a", [1, 1, 1, 1], bytes(rocket[:3]))
    assert BYTES.decode([97, *rocket[:3]], [rocket[3], 98]) == Decoded("🚀b", [1, 2], b"")


def test_nothing_gives_nothing() -> None:
    """A segment without ids has no text and no offsets, and passes on what is unfinished."""
    assert BYTES.decode([], []) == Decoded("", [], b"")
    assert BYTES.decode([0xE4], []) == Decoded("", [], b"\xe4")


def test_unknown_ids_are_replacement_characters() -> None:
    """An id outside the vocabulary, or in a hole of it, shows as U+FFFD and disturbs no other."""
    assert load(tiktoken_encoding()).decode([], [97, 299, 98, 10_000, -1, 300]).text == "a\ufffdb\ufffd\ufffd<|end|>"
