"""The reader of the transaction log, on logs of W&B's format written here."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from rollscope_exporters.backends._logfile import LogFile

_BLOCK = 32 * 1024


def written(records: list[bytes]) -> bytes:
    """A log of `records`, as LevelDB's format says."""
    out = bytearray(b":W&B\xe1\xbe\x00")
    for record in records:
        first, rest = True, record
        while True:
            room = _BLOCK - len(out) % _BLOCK
            if room < 7:
                out += bytes(room)
                room = _BLOCK
            piece, rest = rest[: room - 7], rest[room - 7 :]
            kind = (1 if first else 4) if not rest else (2 if first else 3)
            out += struct.pack("<IHB", zlib.crc32(bytes([kind]) + piece), len(piece), kind) + piece
            first = False
            if not rest:
                break
    return bytes(out)


RECORDS = st.lists(st.builds(lambda size, byte: bytes([byte]) * size, st.integers(0, 80_000), st.integers(0, 255)), max_size=12)


@given(RECORDS, st.floats(0, 1))
def test_a_log_is_read_up_to_its_cut_and_then_on(records: list[bytes], share: float) -> None:
    """However a log is cut, its whole records are read, and the others when the rest has been written."""
    data = written(records)
    with TemporaryDirectory() as folder:
        path = Path(folder, "run.wandb")
        path.write_bytes(data[: int(len(data) * share)])
        log = LogFile(path)
        before = list(log.read())
        assert before == records[: len(before)]
        path.write_bytes(data)
        assert [*before, *log.read()] == records


def test_a_flipped_bit_ends_the_reading(tmp_path: Path) -> None:
    """Nothing is made up out of a damaged piece, nor out of what follows it."""
    data = bytearray(written([b"a" * 100, b"b" * 100, b"c" * 100]))
    data[7 + 107 + 20] ^= 1
    (tmp_path / "run.wandb").write_bytes(data)
    assert list(LogFile(tmp_path / "run.wandb").read()) == [b"a" * 100]


def test_a_missing_log_is_empty(tmp_path: Path) -> None:
    """A folder whose log does not exist yet has no records."""
    assert list(LogFile(tmp_path / "none.wandb").read()) == []
