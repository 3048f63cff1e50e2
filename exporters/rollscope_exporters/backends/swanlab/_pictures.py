"""Images as SwanLab takes them: PNG, JPEG and BMP as they came, what Pillow reads besides as PNG."""

from __future__ import annotations

from collections.abc import Iterable
from io import BytesIO

from ...records import Image
from .._digest_images import message_images
from .._digests import Digest
from ._names import IMAGES, MESSAGE_IMAGES, section_key
from ._points import MOST_BYTES, MOST_ITEMS, Item, Media, Point

_ENDINGS = {"image/png": "png", "image/jpeg": "jpg", "image/bmp": "bmp"}


def image_point(record: Image, step: int) -> Point | None:
    """An image under its name; None when it cannot be shown."""
    item = _item(record.content or b"", record.media_type, record.caption)
    return Point(section_key(IMAGES, record.name), step, record.time, Media("image", (item,))) if item else None


def message_image_points(digest: Digest, step: int) -> tuple[list[Point], int]:
    """The images in the messages of a digest's trajectories, and how many of them cannot be shown."""
    found = [_item(image.content, image.media_type, image.caption) for row in digest.rows for image in message_images(row)]
    items = [item for item in found if item]
    key = section_key(MESSAGE_IMAGES, digest.split)
    return [Point(key, step, digest.time, Media("image", some)) for some in _in_records(items)], len(found) - len(items)


def _in_records(items: list[Item]) -> Iterable[tuple[Item, ...]]:
    return (tuple(items[start : start + MOST_ITEMS]) for start in range(0, len(items), MOST_ITEMS))


def _item(content: bytes, media_type: str, caption: str) -> Item | None:
    ending = _ENDINGS.get(media_type)
    if ending is None:
        content, ending = _as_png(content), "png"
    return Item(content, caption, ending) if 0 < len(content) <= MOST_BYTES else None


def _as_png(content: bytes) -> bytes:
    """The image, of a moving one its first; empty where Pillow is not installed or cannot read it."""
    try:
        from PIL import Image as Pillow

        with Pillow.open(BytesIO(content)) as picture:
            buffer = BytesIO()
            picture.convert("RGBA").save(buffer, format="png")
            return buffer.getvalue()
    except (ImportError, OSError, ValueError, SyntaxError, KeyError):
        return b""
