"""A tokenizer that one process registers is found by another."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rollscope.tokens import TokenizerError, load, register
from rollscope.tokens._prefix import PrefixDecoder

from .tokenizers_here import byte_level, tiktoken_encoding, word_level


def spell(ids: list[int]) -> str:
    """A tokenizer that is a function: one character an id."""
    return "".join(map(chr, ids))


class Spelling:
    """A tokenizer object with nothing but `decode`."""

    def decode(self, ids: list[int], skip_special_tokens: bool = True) -> str:
        """Hide id 0 unless told otherwise."""
        return "".join("<s>" if index == 0 else chr(index) for index in ids if index or not skip_special_tokens)


class Fast:
    """Shaped like a fast tokenizer of transformers."""

    backend_tokenizer = property(lambda self: byte_level())


def test_registered_tokenizers_are_read_without_their_package(tmp_path: Path) -> None:
    """What `register` wrote is decoded by a process that cannot import tokenizers or tiktoken."""
    digests = [register(byte_level(), tmp_path), register(tiktoken_encoding(), tmp_path)]
    program = (
        "import sys; sys.modules.update(tokenizers=None, tiktoken=None)\n"
        "from rollscope.tokens import load\n"
        f"print([load(d, {str(tmp_path)!r}).decode([], [0]).offsets for d in {digests!r}])"
    )
    printed = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    assert printed.strip() == "[[12], [1]]"


def test_the_same_tokenizer_is_written_once(tmp_path: Path) -> None:
    """The digest depends on the tokenizer alone, however it is given."""
    digest = register(byte_level(), tmp_path)
    path = tmp_path / "tokenizers" / f"{digest}.json"
    stamp = path.stat().st_mtime_ns
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "tokenizer.json").write_text(byte_level().to_str())
    for same in (byte_level(), Fast(), path, str(tmp_path / "model"), tmp_path / "model" / "tokenizer.json"):
        assert register(same, tmp_path) == digest
    assert path.stat().st_mtime_ns == stamp
    assert [entry.name for entry in (tmp_path / "tokenizers").iterdir()] == [path.name]


def test_a_model_in_the_hub_cache_is_found_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model's name leads to the tokenizer.json that was downloaded before; nothing is downloaded."""
    snapshot = tmp_path / "hub" / "models--org--tiny" / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (snapshot / "tokenizer.json").write_text(byte_level().to_str())
    refs = tmp_path / "hub" / "models--org--tiny" / "refs"
    refs.mkdir()
    (refs / "main").write_text("abc\n")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    assert load("org/tiny").decode([], byte_level().encode("你好").ids).text == "你好"


@pytest.mark.parametrize("tokenizer", [lambda ids: "".join(map(chr, ids)), Spelling()])
def test_functions_and_objects_travel_pickled(tokenizer: object, tmp_path: Path) -> None:
    """A lambda or an object with `decode` is kept by cloudpickle."""
    pytest.importorskip("cloudpickle")
    decoder = load(register(tokenizer, tmp_path), tmp_path)
    assert decoder.decode([], [0x4F60, 0x597D])[:2] == ("你好", [1, 2])
    assert not decoder.exact


def test_special_tokens_are_asked_for() -> None:
    """An object's `decode` is asked to keep special tokens where it can be told so."""
    pytest.importorskip("cloudpickle")
    assert load(Spelling()).decode([], [0, 97]).text == "<s>a"


def test_a_reference_is_enough_for_what_can_be_imported(tmp_path: Path) -> None:
    """`module:attribute` names a tokenizer, also in a process with another search path."""
    (tmp_path / "my_tokenizer.py").write_text("def decode(ids):\n    return ''.join(map(chr, ids))\n")
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        f"from rollscope.tokens import register; print(register('my_tokenizer:decode', {str(tmp_path)!r}))"
    )
    digest = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.strip()
    assert load(digest, tmp_path).decode([], [97, 98]).text == "ab"


def test_a_pickle_of_another_user_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading a pickle runs code: only our own files are read."""
    pytest.importorskip("cloudpickle")
    digest = register(Spelling(), tmp_path)
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    with pytest.raises(TokenizerError, match="another user"):
        load(digest, tmp_path)


@pytest.mark.parametrize(
    ("tokenizer", "message"),
    [
        ("no-such-tokenizer", "no tokenizer 'no-such-tokenizer' here"),
        ("no_such_module:x", "cannot be imported"),
        ("json:nothing", "cannot be imported"),
        (12, "is no tokenizer"),
        (Path(__file__), "no tokenizer.json"),
    ],
)
def test_what_is_no_tokenizer_is_told(tokenizer: object, message: str, tmp_path: Path) -> None:
    """The error names what was given and what would help."""
    with pytest.raises(TokenizerError, match=message):
        register(tokenizer, tmp_path)


def test_damaged_files_are_told(tmp_path: Path) -> None:
    """A damaged file of a registered tokenizer raises, it does not decode to something else."""
    for tokenizer in (byte_level(), tiktoken_encoding()):
        digest = register(tokenizer, tmp_path)
        (path,) = (tmp_path / "tokenizers").glob(f"{digest}*")
        path.write_bytes(path.read_bytes()[:100])
        with pytest.raises(TokenizerError):
            load(digest, tmp_path)


def test_a_decoder_without_table_uses_the_package(tmp_path: Path) -> None:
    """A decoder that joins words needs its neighbours: it is asked for the text of prefixes."""
    tokenizer = word_level()
    assert json.loads(tokenizer.to_str())["decoder"]["type"] == "WordPiece"
    decoder = load(register(tokenizer, tmp_path), tmp_path)
    assert isinstance(decoder, PrefixDecoder)
    assert decoder.decode([], [1, 2, 3, 4, 5]) == ("the cats sat.", [3, 7, 8, 12, 13], b"")
    assert decoder.decode([1, 2], [3, 4]) == ("s sat", [1, 5], b"")


def test_a_failing_function_is_told() -> None:
    """An exception of a user's function becomes an error that names it."""

    def fail(ids: list[int]) -> str:
        raise KeyError(ids[0])

    with pytest.raises(TokenizerError, match="KeyError: 7"):
        PrefixDecoder(fail).decode([], [7])


def test_prefix_decoding_leaves_cut_characters_to_their_completer() -> None:
    """A callable over bytes gives whole characters over segments, as far as it can be told."""
    decoder = PrefixDecoder(lambda ids: bytes(ids).decode(errors="replace"))
    ids = list("你好🚀a".encode())
    for place in range(len(ids) + 1):
        first, second = decoder.decode([], ids[:place]), decoder.decode(ids[:place][-8:], ids[place:])
        assert first.text + second.text == "你好🚀a"
        assert [*first.offsets, *(len(first.text) + offset for offset in second.offsets)] == [0, 0, 1, 1, 1, 2, 2, 2, 2, 3, 4]
