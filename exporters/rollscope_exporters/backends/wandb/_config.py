"""The section `backends.wandb` of `rollscope.yaml`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

Aggregate = Literal["min", "max", "mean", "last", "first", "none"]


class WandbConfig(BaseModel):
    """Where W&B is and how much it gets. Each run has a process of its own: a finish that hangs or a client that dies then concerns one
    run only. Rows are written below `<dir>/wandb` first, whatever the mode; online they are uploaded from there."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: Literal["auto", "online", "offline"] = "auto"
    """`offline` writes folders for `wandb sync`. `auto`: what `WANDB_MODE` says, else online where there is an API key."""
    base_url: str = ""
    """Of a self-managed server or another region; else `WANDB_BASE_URL`, else https://api.wandb.ai."""
    api_key: SecretStr = SecretStr("")
    """Else `WANDB_API_KEY`."""
    entity: str = ""
    """User or team; else `WANDB_ENTITY`, else the default of the API key."""
    project: str = ""
    """Project of all runs; by default a run's own."""
    group: str = "{wandb.group}"
    """Group of a run: text in which `{key}` is replaced by that key of its config, circumstances or resource; dots lead into nested maps.
    A key that is not there gives no group."""
    job_type: str = "{wandb.job_type}"
    """Job type, in the same way."""
    dir: Path | None = None
    """Folder of `wandb/`; by default the storage folder."""
    http_proxy: str = ""
    """Proxy for http addresses; else `HTTP_PROXY`."""
    https_proxy: str = ""
    """Proxy for https addresses; else `HTTPS_PROXY`."""
    insecure_tls: bool = False
    """Do not check the server's certificate."""
    headers: dict[str, str] = {}
    """Added to every request, for gateways."""
    init_timeout: float = Field(30.0, gt=0, le=90)
    """Seconds to wait for the server at the start of a run; then rows go to an offline folder until it answers."""
    finish_timeout: float = Field(30.0, gt=0, le=90)
    """Seconds the upload may take when a run ends or the bridge stops; what is left is sent later."""
    upload_interval: int = Field(15, ge=1)
    """Seconds between two uploads of rows."""
    upload_retries: int = Field(6, ge=0)
    """Tries of one upload before the client gives up on the open folder; the backend then goes on in a new one."""
    recheck: float = Field(60.0, gt=0)
    """Seconds between two looks whether the server has what it was sent; at least two upload intervals."""
    patience: float = Field(600.0, ge=0)
    """Seconds for which the end of a run waits for an unreachable server. Then it is left to `rollscope_exporters.backends.wandb.sync`."""
    flush_interval: float = Field(0.2, gt=0, le=5)
    """Seconds between two flushes of the transaction log; each batch of records waits for one."""
    summaries: dict[str, Aggregate] = {}
    """Metric name, `*` at its end for all that begin so, → what the summary shows of it; by default the last value. The first that fits
    counts; names with a dot have the last value."""
    digest_rows: int = Field(64, ge=0, le=1000)
    """Trajectories of one step and split in its digest table, whole groups; 0 switches the digest off."""
    digest_lag: int = Field(1, ge=0)
    """A step's digest is written when metrics of this many steps later come; rewards that come before stand in it, later ones in
    `late_rewards`."""
    text_bytes: int = Field(64 * 1024, ge=256)
    """Of the readable conversation and of the decoded text of one row; `messages` is whole."""
    messages: bool = True
    """Keep each digest row's messages as JSON too, letter by letter."""
    image_bytes: int = Field(256 * 1024, ge=0)
    """Of the images in the messages of one trajectory of the digest, which are shown beside it; 0 shows none."""
    merge_bytes: int = Field(64 << 20, ge=0)
    """Folders that restarts left of an offline run are joined into one at its end, up to this size together."""

    @field_validator("base_url")
    @classmethod
    def _is_an_address(cls, url: str) -> str:
        if url and not url.startswith(("http://", "https://")):
            raise ValueError(f"base_url {url!r}: give scheme and host, as in https://wandb.example.com")
        return url.rstrip("/")
