"""Images under a name, at a step: a sample, a plot, what an environment looks like."""

from __future__ import annotations

import os
from collections.abc import Callable
from io import BytesIO
from typing import TYPE_CHECKING, Any

from . import vocabulary as v
from .background import background
from .images import record_image
from .metrics import whole
from .pixels import NotAnImageError, as_pixels, encode_png, read_header
from .recorder import Recorder, current, guarded, report
from .step_point import current_step

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["image"]

_HERE_BYTES = 1 << 20
"""A file of this size is read in the caller (about 1 ms), a larger one in the background."""


@guarded("image")
def image(name: str, image: object, step: int | None = None, *, caption: str = "") -> None:
    """Record an image.

    image: path, encoded bytes (PNG, JPEG, GIF, WebP), numpy array or CPU tensor of shape `(height, width)` or `(height, width, channels)`
    with floats from 0 to 1 or integers from 0 to 255, PIL image, matplotlib figure. step: the current one unless given.

    Arrays and PIL images are copied here and encoded in the background; a figure is drawn here, because it may be closed or changed
    right after. An image of more than `limits.image_bytes` (4 MiB, encoded) is recorded by digest and size. The same image sent
    again travels as its digest.
    """
    recorder = current()
    if recorder is None:
        return
    attributes: dict[str, Any] = {v.IMAGE_NAME: name}
    if caption:
        attributes[v.IMAGE_CAPTION] = caption
    point = current_step()
    if step is not None or point is not None:
        attributes[v.STEP_INDEX] = whole(step) if step is not None else point and point.index
    now = recorder.now()
    load, cheap = _loader(image)
    if cheap:
        _send(recorder, attributes, load, now)
    else:
        background.submit(recorder, lambda: _send(recorder, attributes, load, now), "image")


def _send(recorder: Recorder, attributes: dict[str, Any], load: Callable[[], bytes], time: int) -> None:
    content = load()
    header = read_header(content)
    size = {v.IMAGE_WIDTH: header.width, v.IMAGE_HEIGHT: header.height} if header.width else {}
    record_image(recorder, content, header.media_type, {**attributes, **size}, time=time)


def _loader(image: Any) -> tuple[Callable[[], bytes], bool]:
    """What gives the encoded image, and whether that is quick. Nothing of the caller's is looked at later."""
    if isinstance(image, (bytes, bytearray, memoryview)):
        content = bytes(image)
        return lambda: content, True
    if isinstance(image, (str, os.PathLike)):
        from pathlib import Path  # loaded by `init` already; `import rollscope` does without

        return _file(Path(image))
    if hasattr(image, "savefig"):
        content = _saved(image.savefig)
        return lambda: content, True
    if hasattr(image, "save") and hasattr(image, "mode"):
        copy = image.copy()
        return lambda: _saved(copy.convert(_PNG_MODES.get(copy.mode, "RGB")).save), False
    if hasattr(image, "shape") and hasattr(image, "dtype"):
        pixels = as_pixels(image)
        return lambda: encode_png(pixels), False
    raise NotAnImageError(f"a {type(image).__qualname__} is no image; give a path, bytes, an array, a PIL image or a figure")


_PNG_MODES = {mode: mode for mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")}


def _saved(save: Callable[..., object]) -> bytes:
    buffer = BytesIO()
    save(buffer, format="png")
    return buffer.getvalue()


def _file(path: Path) -> tuple[Callable[[], bytes], bool]:
    stream = path.open("rb")
    size = os.fstat(stream.fileno()).st_size

    def read() -> bytes:
        with stream:
            content = stream.read(size + 1)
        if len(content) != size:
            report("truncated", "image_changed", f"{path.name} changed its size while it was read")
        return content[:size]

    if size <= _HERE_BYTES:
        content = read()
        return lambda: content, True
    return read, False
