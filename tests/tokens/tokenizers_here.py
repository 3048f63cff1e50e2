"""Real tokenizers, trained or built on the spot, in every family that a table covers."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import pytest

CORPUS = ["你好,世界!训练一个智能体。", "the quick brown fox jumps over the lazy dog", "👩‍🚀🚀 café naïve Ünïcode", "a  b\tc\n\nd"] * 3


@lru_cache
def byte_level() -> Any:
    """GPT-2 style byte-level BPE with special tokens."""
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<|im_start|>", "<|im_end|>", "<|begin▁of▁text|>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


@lru_cache
def byte_fallback() -> Any:
    """Llama-2 style: metaspace written as ▁, unknown characters as bytes, the first space taken away."""
    tokenizers = pytest.importorskip("tokenizers")
    letters = ["▁", *"abcdefghijklmnopqrstuvwxyz", "▁the", "▁a", "你", "好"]
    names = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *letters]
    model = tokenizers.models.BPE(
        vocab={name: index for index, name in enumerate(names)}, merges=[], unk_token="<unk>", byte_fallback=True, fuse_unk=True
    )
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.normalizer = tokenizers.normalizers.Sequence([tokenizers.normalizers.Prepend("▁"), tokenizers.normalizers.Replace(" ", "▁")])
    tokenizer.decoder = tokenizers.decoders.Sequence(
        [
            tokenizers.decoders.Replace("▁", " "),
            tokenizers.decoders.ByteFallback(),
            tokenizers.decoders.Fuse(),
            tokenizers.decoders.Strip(" ", 1, 0),
        ]
    )
    tokenizer.add_special_tokens(["<s>", "</s>"])
    return tokenizer


@lru_cache
def unigram() -> Any:
    """Sentencepiece-style unigram with metaspace, as T5 and XLM-R have it."""
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.Unigram())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    tokenizer.decoder = tokenizers.decoders.Metaspace()
    trainer = tokenizers.trainers.UnigramTrainer(vocab_size=120, special_tokens=["<unk>", "</s>"], unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


@lru_cache
def word_level() -> Any:
    """A tokenizer whose decoder needs its neighbours: words joined by spaces."""
    tokenizers = pytest.importorskip("tokenizers")
    vocab = {"<unk>": 0, "the": 1, "cat": 2, "##s": 3, "sat": 4, ".": 5}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocab, unk_token="<unk>"))
    tokenizer.decoder = tokenizers.decoders.WordPiece()
    return tokenizer


@lru_cache
def tiktoken_encoding() -> Any:
    """A tiktoken encoding over single bytes and a few merges, with holes in its ids."""
    tiktoken = pytest.importorskip("tiktoken")
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"th": 256, b"the": 257, "你".encode()[:2]: 258, "你".encode(): 259}
    return tiktoken.Encoding("tiny", pat_str=r"\S+|\s+", mergeable_ranks=ranks, special_tokens={"<|end|>": 300})
