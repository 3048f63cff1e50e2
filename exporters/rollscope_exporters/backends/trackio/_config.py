"""The section `backends.trackio` of `rollscope.yaml`."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field


class TrackioConfig(BaseModel):
    """Where trackio's database is and how much it gets. Look at it with `TRACKIO_DIR=PATH trackio show`; to a Space it goes with
    `trackio sync`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: Path | None = None
    """Folder of the databases, one for each project; by default `TRACKIO_DIR`, else `trackio` in the storage folder."""
    project: str = ""
    """Project of all runs; by default a run's own."""
    digest_rows: int = Field(64, ge=0, le=1000)
    """Trajectories of one step and split that become traces, whole groups; 0 switches them off."""
    text_bytes: int = Field(64 * 1024, ge=256)
    """Of the decoded tokens among a trace's metadata; messages are whole."""
    image_bytes: int = Field(256 * 1024, ge=0)
    """Of the images in the messages of one trajectory, which its trace shows; 0 shows none."""
    digest_lag: int = Field(1, ge=0)
    """A step's trajectories are written when metrics of this many steps later come; rewards that come before stand in them."""
