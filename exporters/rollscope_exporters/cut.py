"""Texts cut to size."""

from __future__ import annotations


def cut(text: str, limit: int, why: str) -> str:
    """Shorten `text` to about `limit` bytes of UTF-8, and say so and `why` in it."""
    if len(text) * 4 <= limit:
        return text
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) <= limit:
        return text
    return f"{raw[:limit].decode('utf-8', 'ignore')}… [{len(raw) - limit} bytes cut by {why}]"
