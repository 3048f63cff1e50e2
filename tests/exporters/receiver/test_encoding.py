"""Packed bodies come out whole, and never larger than the limit."""

from __future__ import annotations

import gzip
import zlib

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from rollscope_exporters.receiver._encoding import EncodingError, TooLargeError, unpack

PACK = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "zstd": zstandard.compress,
    "identity": bytes,
    "": bytes,
}
LIMIT = 1 << 16


@given(body=st.binary(max_size=5000), encoding=st.sampled_from(sorted(PACK)))
def test_round_trip(body: bytes, encoding: str) -> None:
    """What was packed comes out."""
    assert unpack(PACK[encoding](body), encoding, LIMIT) == body


@given(body=st.binary(max_size=500), encoding=st.sampled_from(["gzip", "deflate", "zstd"]))
def test_garbage_is_named(body: bytes, encoding: str) -> None:
    """Bytes that are not packed are an error of their own, never another exception."""
    try:
        unpack(body, encoding, LIMIT)
    except (EncodingError, TooLargeError):
        return


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "zstd"])
def test_a_bomb_is_refused(encoding: str) -> None:
    """A body that unpacks to more than the limit is refused without being unpacked whole."""
    with pytest.raises(TooLargeError, match=str(LIMIT)):
        unpack(PACK[encoding](bytes(64 << 20)), encoding, LIMIT)


def test_a_zstd_bomb_without_its_size_is_refused() -> None:
    """Streams do not say how large they are."""
    packer = zstandard.ZstdCompressor(write_content_size=False)
    with pytest.raises(TooLargeError):
        unpack(packer.compress(bytes(64 << 20)), "zstd", LIMIT)
    assert unpack(packer.compress(b"small"), "zstd", LIMIT) == b"small"


def test_a_plain_body_over_the_limit_is_refused() -> None:
    """The limit holds for every encoding."""
    with pytest.raises(TooLargeError):
        unpack(bytes(LIMIT + 1), "", LIMIT)


def test_several_gzip_members_are_one_body() -> None:
    """As gzip allows; together they must stay within the limit."""
    assert unpack(gzip.compress(b"one") + gzip.compress(b"two"), "gzip", LIMIT) == b"onetwo"
    with pytest.raises(TooLargeError):
        unpack(gzip.compress(bytes(LIMIT - 1)) * 2, "gzip", LIMIT)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "zstd"])
def test_a_cut_body_is_named(encoding: str) -> None:
    """Half a body is no body."""
    with pytest.raises(EncodingError):
        unpack(PACK[encoding](bytes(range(256)) * 8)[:-12], encoding, LIMIT)


def test_raw_deflate_is_understood() -> None:
    """Some clients leave the zlib header out."""
    packer = zlib.compressobj(wbits=-15)
    assert unpack(packer.compress(b"body") + packer.flush(), "deflate", LIMIT) == b"body"


def test_an_unknown_encoding_is_named() -> None:
    """With those that are known."""
    with pytest.raises(LookupError, match="'br' is not one of gzip, zstd, deflate"):
        unpack(b"", "br", LIMIT)
