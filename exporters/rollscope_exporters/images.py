"""Images within messages: a message holds a short reference, the record beside it the content, once.

    rollscope-image:sha256:<64 hex digits>;image/png[;too-large=<bytes>]

The recorder moves the data of `data:` URIs out of messages; a backend that shows images puts it back with `restored`.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping

from rollscope.images import SCHEME

from .records import Generation, Message

__all__ = ["SCHEME", "data_uri", "digest_of", "media_type_of", "references", "restored"]


def references(messages: Iterable[Message], generations: Iterable[Generation] = ()) -> list[str]:
    """All references in messages and generations, each once, in order. Messages that several generations share are looked at once."""
    seen: set[int] = set()
    found: dict[str, None] = {}
    lists = [messages, *(part for generation in generations for part in (generation.input, generation.output))]
    for message in (message for part in lists for message in part):
        if id(message) not in seen:
            seen.add(id(message))
            found.update(dict.fromkeys(_strings(message)))
    return list(found)


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        if value.startswith(SCHEME):
            yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def media_type_of(reference: str) -> str:
    """Media type in a reference."""
    return reference.removeprefix(SCHEME).partition(";")[2].partition(";")[0]


def digest_of(reference: str) -> str:
    """Digest in a reference, `sha256:…`."""
    return reference.removeprefix(SCHEME).partition(";")[0]


def data_uri(reference: str, content: bytes) -> str:
    """The `data:` URI that a reference stands for, letter by letter."""
    return f"data:{media_type_of(reference)};base64,{base64.b64encode(content).decode()}"


def restored(messages: list[Message], images: Mapping[str, bytes], limit: int) -> list[Message]:
    """`messages` with the images that are there put back, the last ones first, at most `limit` characters of them.

    Messages without images stay the same objects.
    """
    if not images:
        return messages
    restore = _Restore(images, limit)
    return [restore.message(message) for message in reversed(messages)][::-1]


class _Restore:
    def __init__(self, images: Mapping[str, bytes], limit: int) -> None:
        self._images = images
        self._left = limit

    def message(self, message: Message) -> Message:
        found = self._value(message)
        return found if isinstance(found, dict) else message

    def _value(self, value: object) -> object:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict):
            inner = {key: self._value(item) for key, item in value.items()}
            return inner if any(inner[key] is not item for key, item in value.items()) else value
        if isinstance(value, list):
            items = [self._value(item) for item in value]
            return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
        return value

    def _text(self, text: str) -> str:
        content = self._images.get(text) if text.startswith(SCHEME) else None
        if content is None or len(content) * 4 > self._left * 3:
            return text
        uri = data_uri(text, content)
        self._left -= len(uri)
        return uri
