"""Content of files and images as it travels: in pieces, under its digest."""

from __future__ import annotations

from collections.abc import Iterator

from .importing import importing

__all__ = ["CHUNK_BYTES", "content_digest", "pieces"]

CHUNK_BYTES = 192 << 10
"""Content of one record: below the size from which the recorder looks into a record's values."""


def pieces(content: bytes) -> Iterator[bytes]:
    """Yield the content in parts of at most `CHUNK_BYTES`; empty content is one empty part."""
    yield content[:CHUNK_BYTES]
    for start in range(CHUNK_BYTES, len(content), CHUNK_BYTES):
        yield content[start : start + CHUNK_BYTES]


def content_digest(content: bytes) -> str:
    """Return `sha256:` and the digest of the content in hex."""
    with importing:
        from hashlib import sha256  # 3 ms, which `import rollscope` does not pay

    return f"sha256:{sha256(content).hexdigest()}"
