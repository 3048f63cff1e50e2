"""Images of messages, kept beside the rows of a digest."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from rollscope_exporters.backends._digest_images import fitting_images, image_contents, message_images
from rollscope_exporters.backends._digests import IMAGES_NOT_SHOWN, DigestRules, Digests
from rollscope_exporters.backends._spool import Spool
from rollscope_exporters.records import Trajectory
from rollscope_exporters.testing import Sampler
from rollscope_exporters.testing.samples import png

RULES = DigestRules(most=4, lag=1, text_bytes=1 << 16, messages=True, image_bytes=200)


def digests(folder: Path, state: dict[str, object] | None = None, rules: DigestRules = RULES) -> Digests:
    known = state or {}
    return Digests(rules, Spool(folder, known.get("spool", {})), known)  # type: ignore[arg-type]


def seeing_twice() -> Trajectory:
    """A trajectory whose messages show two images of 68 bytes each, and one of them again."""
    sampler = Sampler()
    first, second = sampler.seeing(1, content=png(1)), sampler.seeing(1, content=png(2))
    messages = [*first.messages, *second.messages, *first.messages]
    return msgspec.structs.replace(first, messages=messages, images={**first.images, **second.images})


@pytest.mark.parametrize(("limit", "fit", "missing"), [(200, 2, 0), (100, 1, 1), (10, 0, 2), (0, 0, 0)])
def test_images_fit_in_the_order_of_the_messages(limit: int, fit: int, missing: int) -> None:
    """Each is taken once, the first ones first; those that do not fit are counted, but not where none are wanted."""
    record = seeing_twice()
    found, left_out = fitting_images(record, limit)
    assert list(found) == list(record.images)[:fit]
    assert left_out == missing


def test_an_image_that_never_came_is_not_counted_again() -> None:
    """What was too large or lost before is counted where that happened."""
    record = msgspec.structs.replace(seeing_twice(), images={})
    assert fitting_images(record, 1000) == ({}, 0)


def test_rows_have_their_images_after_a_restart(tmp_path: Path) -> None:
    """They wait on disk with the rows, and their files go when the digest is out and two checkpoints have passed."""
    made = digests(tmp_path)
    records = [Sampler().seeing(1, f"task-{index}", index) for index in range(3)]
    for record in records:
        assert made.add(record) == []
    again = digests(tmp_path, json.loads(json.dumps(made.checkpoint())))
    (digest,) = again.rest(0)
    assert [image_contents(row) for row in digest.rows] == [record.images for record in records]
    (image,) = message_images(digest.rows[2])
    assert (image.content, image.media_type) == (png(2), "image/png")
    assert image.caption.startswith("task-2 #2 · reward 1.0")
    for _ in range(2):
        again.checkpoint()
    assert list(tmp_path.iterdir()) == []


def test_only_images_of_shown_rows_are_read_and_counted(tmp_path: Path) -> None:
    """Of trajectories that a digest leaves out, neither the images nor what did not fit of them matter."""
    rules = DigestRules(most=1, lag=1, text_bytes=1 << 16, messages=True, image_bytes=100)
    made = digests(tmp_path, rules=rules)
    for index in range(3):
        made.add(msgspec.structs.replace(seeing_twice(), id=f"{index:032x}", group=f"task-{index}"))
    (digest,) = made.rest(0)
    assert [len(image_contents(row)) for row in digest.rows] == [1]
    assert made.left_out == {"digest_rows": 2, IMAGES_NOT_SHOWN: 1}
