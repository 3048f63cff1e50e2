"""The section `backends.tensorboard` of `rollscope.yaml`."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field


class TensorboardConfig(BaseModel):
    """Where the event files are and how much they get. Look at them with `tensorboard --logdir PATH`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: Path | None = None
    """Folder of all runs; by default `tensorboard` in the storage folder."""
    digest_rows: int = Field(16, ge=0, le=1000)
    """Trajectories of one step and split in its digest, whole groups; 0 switches the digest off."""
    digest_lag: int = Field(1, ge=0)
    """A step's digest is written when metrics of this many steps later come; rewards that come before stand in it."""
    text_bytes: int = Field(64 * 1024, ge=256)
    """Of the readable conversation of one trajectory; its messages as JSON are whole."""
    messages: bool = True
    """Keep each digest row's messages as JSON too, letter by letter."""
    image_bytes: int = Field(256 * 1024, ge=0)
    """Of the images in the messages of one trajectory of the digest, which are shown beside it; 0 shows none."""
    table_rows: int = Field(1000, ge=1)
    """Rows of a table that are shown."""
