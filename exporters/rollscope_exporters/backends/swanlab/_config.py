"""The section `backends.swanlab` of `rollscope.yaml`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

Mode = Literal["auto", "local", "offline", "sync", "cloud"]


class SwanlabConfig(BaseModel):
    """Where SwanLab is and how much it gets. Each run has a process of its own, for the library holds one run in a process."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: Mode = "auto"
    """`local`: for `swanlab watch` on this machine (needs `pip install 'swanlab[dashboard]'`). `offline`: folders for `swanlab sync --id`.
    `sync`: the same, uploaded by us every `sync_interval`: exact times, late steps and restarts. `cloud`: the library's own live upload;
    after a restart its server takes no step before the last. `auto`: `SWANLAB_MODE` where it says one of these, else `sync` with an API
    key, else `local` with the dashboard installed, else `offline`."""
    api_host: str = ""
    """Of a private server, as in `https://swanlab.example.com`; else `SWANLAB_API_HOST`, else SwanLab's cloud."""
    web_host: str = ""
    """Its web pages, where they are elsewhere; else `SWANLAB_WEB_HOST`."""
    api_key: SecretStr = SecretStr("")
    """Else `SWANLAB_API_KEY`."""
    workspace: str = ""
    """User or team; else `SWANLAB_WORKSPACE`, else that of the API key."""
    project: str = ""
    """Project of all runs; by default a run's own."""
    group: str = "{swanlab.group}"
    """Group of a run: text in which `{key}` is replaced by that key of its config, circumstances or resource; dots lead into nested maps.
    A key that is not there gives no group."""
    job_type: str = "{swanlab.job_type}"
    """Job type, in the same way."""
    dir: Path | None = None
    """Folder of the runs; by default `swanlog` in the storage folder."""
    hold_seconds: float = Field(5.0, ge=0)
    """How long a step's values are held: of several values of a metric at one step the last one is logged, for SwanLab takes only one."""
    sync_interval: float = Field(60.0, gt=0)
    """Seconds between two uploads in mode `sync`."""
    finish_timeout: float = Field(60.0, gt=0, le=300)
    """Seconds the end of a run may take; an upload that takes longer is ended and tried again."""
    digest_rows: int = Field(64, ge=0, le=108)
    """Trajectories of one step and split in its digest, whole groups; 0 switches the digest off. SwanLab shows 108 texts at most."""
    digest_lag: int = Field(1, ge=0)
    """A step's digest is written when metrics of this many steps later come; rewards that come before stand in it, later ones in
    `late_rewards`."""
    text_bytes: int = Field(64 * 1024, ge=256, le=8 << 20)
    """Of the readable conversation of one trajectory."""
    messages: bool = True
    """Keep each digest row's messages as JSON too, letter by letter."""
    image_bytes: int = Field(256 * 1024, ge=0)
    """Of the images in the messages of one trajectory of the digest, which are shown beside it; 0 shows none."""
    tables: Literal["auto", "table", "text"] = "auto"
    """How tables are shown: SwanLab's cloud has tables, its local dashboard shows text only."""
    table_rows: int = Field(1000, ge=1)
    """Rows of a table that are shown."""

    @field_validator("api_host", "web_host")
    @classmethod
    def _is_an_address(cls, url: str) -> str:
        if url and not url.startswith(("http://", "https://")):
            raise ValueError(f"{url!r}: give scheme and host, as in https://swanlab.example.com")
        return url.rstrip("/").removesuffix("/api")
