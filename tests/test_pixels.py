"""Pixels and headers, against a real imaging library."""

from io import BytesIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image

from rollscope.pixels import NotAnImageError, as_pixels, encode_png, read_header

shapes = st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(1, 4))


@given(shapes.flatmap(lambda shape: arrays(np.uint8, shape)))
def test_png_holds_every_pixel(pixels):
    """Grey, grey and alpha, RGB, RGBA: read back by Pillow they are the same; the header says type and size."""
    encoded = encode_png(as_pixels(pixels))
    read = np.asarray(Image.open(BytesIO(encoded)))
    assert np.array_equal(read.reshape(pixels.shape), pixels)
    assert read_header(encoded) == ("image/png", pixels.shape[1], pixels.shape[0])


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_headers_of_other_encoders(kind):
    """What Pillow writes is known by its first bytes; of WebP the size is not."""
    buffer = BytesIO()
    Image.new("RGB", (7, 3)).save(buffer, kind)
    size = (0, 0) if kind == "WEBP" else (7, 3)
    assert read_header(buffer.getvalue()) == (f"image/{kind.lower()}", *size)


@given(st.binary(max_size=40))
def test_any_bytes_are_an_image_or_refused(content):
    """Cut or made up, nothing else is raised."""
    for start in (b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a"):
        try:
            read_header(start + content)
        except NotAnImageError:
            assert not start


def test_values_become_shades():
    """Floats run from 0 to 1, integers from 0 to 255, bools are black and white; a torch tensor is read as an array."""
    assert as_pixels(np.array([[0.0, 0.5, 2.0]])).ravel().tolist() == [0, 128, 255]
    assert as_pixels(np.array([[-5, 300]])).ravel().tolist() == [0, 255]
    assert as_pixels(np.array([[True, False]])).ravel().tolist() == [255, 0]


@pytest.mark.parametrize(
    "array", [np.zeros(3), np.zeros((2, 2, 5)), np.zeros((0, 2)), np.zeros((2, 2), dtype="U1"), np.zeros((1, 2, 2, 3))]
)
def test_what_is_no_image_is_refused(array):
    """With the shape that is wanted."""
    with pytest.raises(NotAnImageError):
        as_pixels(array)
