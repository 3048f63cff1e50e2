"""Images and histograms of a run: images where MLflow's image charts look for them, histograms as JSON beside their quantiles."""

from __future__ import annotations

import tempfile
import uuid
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...records import Histogram, Image
from ._json import as_json
from ._metrics import metric_name, spelled

if TYPE_CHECKING:
    from mlflow import MlflowClient

_LOGGED_IMAGES = "mlflow.loggedImages"
_NAMESPACE = uuid.UUID("8f1c1d8e-3c53-4f0e-8f7e-0d7f2f1f7a10")
_THUMBNAIL = 256
"""Longest side of what MLflow shows in its grid, as its own client has it."""


def image_path(image: Image) -> str:
    """Place of an image, spelled as `log_image` spells it, but for an identity that a repetition shares.

    One of a message, which has no name, goes by its digest.
    """
    if not image.name:
        return f"message_images/{image.digest.removeprefix('sha256:')}"
    key = spelled(image.name).replace("/", "~")
    identity = uuid.uuid5(_NAMESPACE, image.uid or f"{image.run} {image.digest}")
    return f"images/{key}+step+{image.step or 0}+timestamp+{max(image.time, 0) // 1_000_000}+{identity}"


def log_image(client: MlflowClient, run_id: str, image: Image) -> None:
    """Store an image with its thumbnail and caption; what came without content leaves a note."""
    path = image_path(image)
    if image.content is None:
        if image.note and image.name:
            client.log_text(run_id, f"{image.note}\n{image.digest} {image.size} bytes\n", f"{path}.txt")
        return
    suffix = ".png" if image.name else f".{image.media_type.rpartition('/')[2]}"
    _log_bytes(client, run_id, path + suffix, image.content)
    if image.name:
        _log_bytes(client, run_id, f"{path}+compressed.webp", _thumbnail(image.content))
        client.set_tag(run_id, _LOGGED_IMAGES, "True")
    if image.caption:
        client.log_text(run_id, image.caption, f"{path}.txt")


def _log_bytes(client: MlflowClient, run_id: str, path: str, content: bytes) -> None:
    folder, _, name = path.rpartition("/")
    with tempfile.TemporaryDirectory() as temporary:
        file = Path(temporary, name)
        file.write_bytes(content)
        client.log_artifact(run_id, str(file), folder)


def _thumbnail(content: bytes) -> bytes:
    """A small WebP; without Pillow, or where it cannot read it, the image itself, which browsers know by its first bytes."""
    try:
        from PIL import Image as Pillow

        with Pillow.open(BytesIO(content)) as picture:
            small = picture.convert("RGBA")
            small.thumbnail((_THUMBNAIL, _THUMBNAIL))
            buffer = BytesIO()
            small.save(buffer, format="webp")
            return buffer.getvalue()
    except (ImportError, OSError, ValueError, KeyError):
        return content


def histogram_path(histogram: Histogram) -> str:
    """Place of a histogram: one file per name, step and record, so that a repetition meets its own."""
    step = "" if histogram.step is None else f"step-{histogram.step:06d}-"
    identity = uuid.uuid5(_NAMESPACE, histogram.uid or f"{histogram.run} {histogram.time}").hex[:6]
    return f"histograms/{spelled(metric_name(histogram.name, histogram.split))}/{step}{identity}.json"


def log_histogram(client: MlflowClient, run_id: str, histogram: Histogram) -> None:
    """Store edges and counts as JSON."""
    values = msgspec.to_builtins(histogram)
    client.log_text(
        run_id, as_json({key: value for key, value in values.items() if key not in ("run", "record", "uid")}), histogram_path(histogram)
    )
