"""Histograms and images as TensorBoard events: its own tabs show them."""

from __future__ import annotations

import struct

from rollscope.pixels import NotAnImageError, read_header

from ...records import Histogram, Image
from .._digest_images import message_images
from .._digests import Digest
from .._names import encode_name
from .._plain import text

HISTOGRAMS, IMAGES, MESSAGE_IMAGES = "histograms", "images", "message_images"


def histogram_event(record: Histogram, tag: str, step: int) -> bytes:
    """Edges and counts: a tensor of the shape `(bins, 3)`, left edge, right edge, count."""
    from tensorboard.compat.proto import types_pb2
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.plugins.histogram.metadata import create_summary_metadata

    event = Event(wall_time=max(record.time, 0) / 1e9, step=step)
    value = event.summary.value.add(tag=f"{HISTOGRAMS}/{tag}", metadata=create_summary_metadata(text(record.name), None))
    value.tensor.dtype = types_pb2.DT_DOUBLE
    for size in (len(record.counts), 3):
        value.tensor.tensor_shape.dim.add(size=size)
    numbers = [number for bin in zip(record.edges, record.edges[1:], record.counts, strict=False) for number in bin]
    value.tensor.tensor_content = struct.pack(f"<{len(numbers)}d", *numbers)
    encoded: bytes = event.SerializeToString()
    return encoded


def image_event(record: Image, step: int) -> bytes:
    """The encoded image as it came; the caption is its description."""
    tag = f"{IMAGES}/{encode_name(record.name, str.isprintable, 400)}"
    return _images(tag, text(record.name), text(record.caption), [record.content or b""], step, record.time)


def message_images_event(digest: Digest, step: int) -> list[bytes]:
    """One event with the images in the messages of a digest's trajectories, in their order; none where there are none."""
    contents = [image.content for row in digest.rows for image in message_images(row)]
    tag = f"{MESSAGE_IMAGES}/{encode_name(digest.split, str.isprintable)}"
    about = "Images in the messages of the trajectories that the text of this step shows, in their order."
    return [_images(tag, tag, about, contents, step, digest.time)] if contents else []


def _images(tag: str, name: str, description: str, contents: list[bytes], step: int, time: int) -> bytes:
    """Samples of one tag and step; TensorBoard notes one size for all, that of the first."""
    from tensorboard.compat.proto import types_pb2
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.plugins.image.metadata import create_summary_metadata

    event = Event(wall_time=max(time, 0) / 1e9, step=step)
    value = event.summary.value.add(tag=tag, metadata=create_summary_metadata(display_name=name, description=description))
    value.tensor.dtype = types_pb2.DT_STRING
    value.tensor.string_val.extend([*_size(contents[0]), *contents])
    value.tensor.tensor_shape.dim.add(size=2 + len(contents))
    encoded: bytes = event.SerializeToString()
    return encoded


def _size(content: bytes) -> tuple[bytes, bytes]:
    try:
        header = read_header(content)
    except NotAnImageError:
        return b"0", b"0"
    return str(header.width).encode(), str(header.height).encode()
