"""Values of a row as the library has them."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ._rows import Bins, Cells, Picture, Pictures

if TYPE_CHECKING:
    import wandb

log = logging.getLogger("rollscope.wandb")


def value_of(value: object, folder: Path) -> object:
    """A table, a histogram or images as the library has them, text in place of what it cannot show; anything else as it is."""
    import wandb

    if isinstance(value, Bins):
        return wandb.Histogram(np_histogram=cast("Any", (value.counts, value.edges)))  # lists will do
    if isinstance(value, Cells):
        return wandb.Table(columns=list(value.columns), data=value.rows, allow_mixed_types=True)
    if isinstance(value, Picture):
        return _image(value, folder)
    if isinstance(value, Pictures):
        images = [_image(picture, folder) for picture in value.items]
        return [image for image in images if not isinstance(image, str)] or images[0]
    return value


def _image(picture: Picture, folder: Path) -> wandb.Image | str:
    """The library's image, of the file as it came; it reads the size with Pillow and copies the file into the run's folder."""
    import wandb

    with tempfile.NamedTemporaryFile(dir=folder, suffix=f".{picture.kind}", delete=False) as file:
        file.write(picture.content)
    try:
        return wandb.Image(file.name, caption=picture.caption or None)
    except (OSError, ValueError, SyntaxError, wandb.Error) as error:  # Pillow cannot read it
        log.warning("image %s not shown: %s", picture.caption, error)
        return f"image of {len(picture.content)} bytes not shown: {error}"[:500]
