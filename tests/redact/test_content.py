"""Files that travel are texts too."""

from __future__ import annotations

from rollscope import vocabulary as v
from rollscope.content import content_digest
from rollscope.redact import REDACTED, Redactor, content
from rollscope.settings import Redaction

PATTERN = Redactor(Redaction(patterns=(r"sk-\w+",)))


def artifact(found: bytes, pieces: int = 1) -> dict[str, object]:
    """Attributes of an artifact's event."""
    return {
        v.ARTIFACT_NAME: "config.yaml",
        v.ARTIFACT_SIZE: len(found),
        v.ARTIFACT_DIGEST: content_digest(found),
        v.ARTIFACT_CHUNK_COUNT: pieces,
        v.ARTIFACT_CONTENT: found,
    }


def test_a_text_is_redacted_and_its_digest_made_to_fit() -> None:
    """So that the other side finds it to be what the record says."""
    left = content(PATTERN, artifact(b"key: sk-abc\nlr: 1\n"))
    clean = f"key: {REDACTED}\nlr: 1\n".encode()
    assert left == artifact(clean)


def test_what_is_no_text_is_left() -> None:
    """A picture, an archive; and a text with nothing in it."""
    for found in (b"\x89PNG sk-abc\xff", b"plain"):
        assert content(PATTERN, artifact(found)) == artifact(found)


def test_of_a_text_in_pieces_nothing_is_sent() -> None:
    """A secret could lie across two of them; cut characters at the ends do not make it anything but text."""
    piece = "密钥 sk-abc".encode()[1:-1]
    left = content(PATTERN, artifact(piece, pieces=3))
    assert left[v.ARTIFACT_CONTENT] == b""
    assert "3 pieces" in str(left[v.ARTIFACT_URI])
    binary = artifact(bytes(range(256)), pieces=3)
    assert content(PATTERN, binary) == binary
