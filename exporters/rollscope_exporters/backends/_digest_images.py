"""Images in the messages of a digest row: at most so many bytes of a trajectory, kept beside the rows until the digest is due."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ..images import digest_of, media_type_of, references
from ..records import Trajectory
from ._digest_text import headline

_IMAGES, _LEFT_OUT = "images", "images_left_out"


class MessageImage(NamedTuple):
    """One image of one trajectory."""

    content: bytes
    media_type: str
    caption: str
    """Whose it is, and the digest by which the messages refer to it."""


def fitting_images(record: Trajectory, limit: int) -> tuple[dict[str, bytes], int]:
    """Return those images of the messages that fit into `limit` bytes, by reference, and how many do not; 0 keeps none and counts none."""
    fitting: dict[str, bytes] = {}
    left, missing = limit, 0
    for reference in references(record.messages) if limit and record.images else []:
        content = record.images.get(reference)
        if content is not None and len(content) <= left:
            left -= len(content)
            fitting[reference] = content
        elif content is not None:
            missing += 1
    return fitting, missing


def image_lines(trajectory: str, images: Mapping[str, bytes], left_out: int) -> Iterator[dict[str, object]]:
    """Yield what a spool keeps of a trajectory's images."""
    for reference, content in images.items():
        yield {"trajectory": trajectory, "reference": reference, "content": base64.b64encode(content).decode()}
    if left_out:
        yield {"trajectory": trajectory, _LEFT_OUT: left_out}


def with_images(rows: list[Mapping[str, object]], lines: Iterable[Mapping[str, object]]) -> tuple[list[Mapping[str, object]], int]:
    """Return `rows` with their images out of a spool's lines, and how many of theirs did not fit."""
    images: dict[str, dict[str, str]] = {str(row["trajectory"]): {} for row in rows}
    missing = 0
    for line in lines:
        mine = images.get(str(line["trajectory"]))
        if mine is not None and isinstance(number := line.get(_LEFT_OUT), int):
            missing += number
        elif mine is not None:
            mine[str(line["reference"])] = str(line["content"])
    return [{**row, _IMAGES: found} if (found := images[str(row["trajectory"])]) else row for row in rows], missing


def image_contents(row: Mapping[str, object]) -> dict[str, bytes]:
    """Return reference → content."""
    held = row.get(_IMAGES)
    return {reference: base64.b64decode(text) for reference, text in held.items()} if isinstance(held, Mapping) else {}


def message_images(row: Mapping[str, object]) -> list[MessageImage]:
    """Return the images of a row, in the order of its messages."""
    return [
        MessageImage(content, media_type_of(reference), f"{headline(row)} · {digest_of(reference)[:19]}")
        for reference, content in image_contents(row).items()
    ]
