"""Packed bodies come out whole, and never larger than the limit."""

from __future__ import annotations

import gzip
import random
import zlib

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from rollscope_exporters.receiver import _encoding
from rollscope_exporters.receiver._encoding import STEP, EncodingError, TooLargeError, unpack, unpacking

PACK = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "zstd": zstandard.compress,
    "identity": bytes,
    "": bytes,
}
LIMIT = 1 << 16
EMPTY = gzip.compress(b"")
MIB = 1 << 20


class Meter:
    """Stands for `zlib` and counts what its decompressors are given and hand back."""

    error = zlib.error

    def __init__(self) -> None:
        self.made = self.copied = 0

    def decompressobj(self, window: int) -> Metered:
        self.made += 1
        return Metered(self, window)


class Metered:
    """A decompressor of zlib's under a meter."""

    def __init__(self, meter: Meter, window: int) -> None:
        self._meter, self._real = meter, zlib.decompressobj(window)

    def decompress(self, data: memoryview, room: int) -> bytes:
        plain = self._real.decompress(data, room)
        self._meter.copied += len(data) + len(plain) + len(self._real.unconsumed_tail) + len(self._real.unused_data)
        return plain

    def __getattr__(self, name: str) -> object:
        return getattr(self._real, name)


@pytest.fixture
def meter(monkeypatch: pytest.MonkeyPatch) -> Meter:
    meter = Meter()
    monkeypatch.setattr(_encoding, "zlib", meter)
    return meter


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


@given(bodies=st.lists(st.sampled_from([b"", b"", b"one", bytes(2000), bytes(range(256)) * 20]), min_size=1, max_size=12))
def test_empty_members_among_others_add_nothing(bodies: list[bytes]) -> None:
    """Wherever they stand."""
    assert unpack(b"".join(map(gzip.compress, bodies)), "gzip", LIMIT) == b"".join(bodies)


def test_members_larger_than_a_step_are_whole() -> None:
    """Of what packs badly and of what packs well, one behind the other."""
    badly, well = random.Random(7).randbytes(3 * STEP + 17), bytes(5 * STEP + 3)
    packed = gzip.compress(badly) + EMPTY + gzip.compress(well) + gzip.compress(badly)
    assert unpack(packed, "gzip", 64 * MIB) == badly + well + badly
    assert unpack(zlib.compress(badly + well), "deflate", 64 * MIB) == badly + well


@pytest.mark.parametrize("members", [1, 2, 50])
def test_garbage_behind_a_member_is_named(members: int) -> None:
    """As garbage in its place is."""
    for packed in (gzip.compress(b"one") * members, EMPTY * members):
        with pytest.raises(EncodingError, match="cannot be unpacked: Error -3"):
            unpack(packed + b"garbage", "gzip", LIMIT)
        with pytest.raises(EncodingError, match="in the middle"):
            unpack(packed + EMPTY[:-3], "gzip", LIMIT)


def test_work_grows_with_the_members_only(meter: Meter) -> None:
    """What zlib copies of a body of empty members is so much a member, however many follow."""
    unpack(EMPTY * 1000, "gzip", LIMIT)
    thousand = meter.copied
    unpack(EMPTY * 3000, "gzip", LIMIT)
    assert meter.copied - thousand <= 3.1 * thousand
    assert thousand <= 4 * STEP


@pytest.mark.parametrize("size", [20, 600, 5000, 100_000])
def test_work_grows_with_the_bytes_only(meter: Meter, size: int) -> None:
    """Members of any size, packed well or badly, are copied a few times, and not once for each that stands before."""
    for content in (bytes(size), random.Random(7).randbytes(size)):
        packed, count, before = gzip.compress(content), 2 * MIB // size // 4, meter.copied
        assert unpack(packed * count, "gzip", 64 * MIB) == content * count
        assert meter.copied - before <= 8 * count * (len(packed) + size + 512) + 4 * STEP


def test_too_many_members_are_refused(meter: Meter, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each costs a decompressor, empty or not."""
    monkeypatch.setattr(_encoding, "_MEMBERS", 100)
    assert unpack(EMPTY * 100, "gzip", LIMIT) == b""
    meter.made = 0
    with pytest.raises(EncodingError, match="more than 100 compressed members"):
        unpack(EMPTY * 100_000, "gzip", LIMIT)
    assert meter.made == 100
    with pytest.raises(EncodingError, match="more than 100 compressed members"):
        unpack(b"\x03\x00" * 100_000, "deflate", LIMIT)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "zstd"])
@pytest.mark.parametrize("content", [bytes(16 * MIB), random.Random(7).randbytes(16 * MIB)], ids=["bomb", "noise"])
def test_a_large_body_takes_many_steps(encoding: str, content: bytes) -> None:
    """As many as `STEP` goes into what comes out, so that whoever began need not be the one who ends."""
    assert sum(1 for _ in unpacking(PACK[encoding](content), encoding, 64 * MIB)) >= len(content) // STEP


@pytest.mark.parametrize("encoding", sorted(PACK))
def test_a_small_body_takes_a_step_or_two(encoding: str) -> None:
    """Which is all that is done in the event loop."""
    assert sum(1 for _ in unpacking(PACK[encoding](bytes(range(256)) * 100), encoding, LIMIT)) <= 2


def test_nothing_behind_an_empty_zstd_frame_is_lost_without_a_word() -> None:
    """Several frames are refused, also when the first holds nothing."""
    stream = zstandard.ZstdCompressor(write_content_size=False).compress
    for first in (zstandard.compress(b""), stream(b"")):
        assert unpack(first, "zstd", LIMIT) == b""
        for rest in (zstandard.compress(b"lost"), stream(b"lost"), b"garbage"):
            with pytest.raises(EncodingError):
                unpack(first + rest, "zstd", LIMIT)
        with pytest.raises(EncodingError):
            unpack(first[:-1], "zstd", LIMIT)


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
