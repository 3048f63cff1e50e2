"""References in messages and what they stand for."""

from __future__ import annotations

from rollscope_exporters.images import data_uri, digest_of, media_type_of, references, restored
from rollscope_exporters.records import Generation

A = "rollscope-image:sha256:" + "a" * 64 + ";image/png"
B = "rollscope-image:sha256:" + "b" * 64 + ";image/jpeg"


def user(*urls: str) -> dict[str, object]:
    """A message with images."""
    return {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}} for url in urls]}


def test_parts_of_a_reference() -> None:
    """Digest and media type; a note behind them changes neither."""
    assert (digest_of(B), media_type_of(B)) == ("sha256:" + "b" * 64, "image/jpeg")
    assert media_type_of(f"{B};too-large=77") == "image/jpeg"
    assert data_uri(A, b"\0") == "data:image/png;base64,AA=="


def test_references_are_found_once_in_order() -> None:
    """In messages, and in generations whose history was edited later."""
    shared = user(A)
    generation = Generation(span_id="1", index=0, input=[shared, user(B)], output=[{"role": "assistant", "content": f"not {A}"}])
    assert references([shared, user(A)], [generation]) == [A, B]


def test_the_last_images_are_restored_first() -> None:
    """Within the limit; the others stay references, and untouched messages stay the same objects."""
    plain: dict[str, object] = {"role": "assistant", "content": "ok"}
    messages = [user(A), plain, user(B)]
    found = restored(messages, {A: b"x" * 30, B: b"y" * 30}, 80)
    assert found == [user(A), plain, user(data_uri(B, b"y" * 30))]
    assert found[0] is messages[0]
    assert found[1] is plain
    assert restored(messages, {}, 80) is messages
    assert restored([user(A)], {A: b"x" * 300}, 80) == [user(A)]
