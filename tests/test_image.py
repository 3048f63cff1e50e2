"""Images."""

import hashlib
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

import rollscope as rs
from rollscope import vocabulary as v
from rollscope.background import background
from rollscope.content import CHUNK_BYTES
from rollscope.pixels import encode_png
from rollscope.testing import memory_recorder

PNG = encode_png(np.zeros((2, 3, 3), dtype=np.uint8))


def content_of(events):
    return b"".join(event.attributes[v.IMAGE_CONTENT] for event in events)


def decoded(memory):
    assert background.drain(30) == 0
    return np.asarray(Image.open(BytesIO(content_of(memory.events))))


def test_bytes_travel_as_they_are(rollscope_memory):
    """One record with digest, type, size, caption and step, in the last lane."""
    with rs.step(4):
        rs.image("val/plot", PNG, caption="before")
    event = rollscope_memory.event(v.EVENT_IMAGE)
    assert event.attributes == {
        v.IMAGE_NAME: "val/plot",
        v.IMAGE_CAPTION: "before",
        v.STEP_INDEX: 4,
        v.IMAGE_WIDTH: 3,
        v.IMAGE_HEIGHT: 2,
        v.IMAGE_TYPE: "image/png",
        v.IMAGE_DIGEST: f"sha256:{hashlib.sha256(PNG).hexdigest()}",
        v.IMAGE_SIZE: len(PNG),
        v.IMAGE_CHUNK_INDEX: 0,
        v.IMAGE_CHUNK_COUNT: 1,
        v.IMAGE_CONTENT: PNG,
    }
    assert {lane for lane, _, _ in rollscope_memory.journal.entries} >= {2}


def test_the_same_image_is_sent_once(rollscope_memory):
    """Later records of the process name its digest."""
    for step in range(3):
        rs.image("val/plot", PNG, step=step)
    counts = [event.attributes[v.IMAGE_CHUNK_COUNT] for event in rollscope_memory.events]
    assert counts == [1, 0, 0]
    assert [v.IMAGE_CONTENT in event.attributes for event in rollscope_memory.events] == [True, False, False]


def test_arrays_are_copied_and_encoded_later(rollscope_memory):
    """What the caller does with the array afterwards does not show."""
    array = np.random.default_rng(1).integers(0, 255, (300, 400, 3), dtype=np.uint8)
    kept = array.copy()
    rs.image("x", array, step=1)
    array[:] = 0
    assert np.array_equal(decoded(rollscope_memory), kept)
    events = rollscope_memory.events
    assert [event.attributes[v.IMAGE_CHUNK_INDEX] for event in events] == list(range(len(events)))
    assert all(len(event.attributes[v.IMAGE_CONTENT]) <= CHUNK_BYTES for event in events)


@pytest.mark.parametrize("mode", ["RGB", "L", "RGBA", "CMYK", "P"])
def test_pictures_of_pillow(rollscope_memory, mode):
    """By the methods they offer; a mode PNG has no word for becomes RGB."""
    rs.image("x", Image.new(mode, (5, 4)), step=1)
    assert decoded(rollscope_memory).shape[:2] == (4, 5)


def test_files_and_figures(rollscope_memory, tmp_path):
    """A path is read; a figure draws itself."""

    class Figure:
        """Stand-in for a matplotlib figure: all that is used of one."""

        def savefig(self, file, format):
            assert format == "png"
            file.write(PNG)

    (tmp_path / "p.png").write_bytes(PNG)
    rs.image("a", tmp_path / "p.png", step=1)
    rs.image("b", Figure(), step=1)
    assert [event.attributes[v.IMAGE_NAME] for event in rollscope_memory.events] == ["a", "b"]
    assert len({event.attributes[v.IMAGE_DIGEST] for event in rollscope_memory.events}) == 1


def test_a_large_image_is_named_only():
    """Digest and size, a word about why, and a count."""
    with memory_recorder(environment={"ROLLSCOPE_IMAGE_LIMIT": "50"}) as memory:
        rs.image("x", PNG, step=1)
    event = memory.event(v.EVENT_IMAGE)
    assert event.body == f"content not sent: {len(PNG)} bytes, more than the 50 that travel"
    assert (event.attributes[v.IMAGE_CHUNK_COUNT], v.IMAGE_CONTENT in event.attributes) == (0, False)
    assert memory.journal.truncated == {"big_image": 1}


def test_what_is_no_image_is_counted():
    """Text, text files and numbers."""
    with memory_recorder(strict=False) as memory:
        rs.image("x", b"text", step=1)
        rs.image("x", 3, step=1)
        rs.image("x", "/nowhere.png", step=1)
    assert (memory.events, memory.journal.failed) == ([], {"image": 3})
