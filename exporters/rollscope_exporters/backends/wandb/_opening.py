"""Starts the library: its settings, and the environment that some of its parts go by."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

from ._compat import own_client, private_settings
from ._config import WandbConfig
from ._identity import Identity
from ._server import Server

if TYPE_CHECKING:
    from wandb import Run as WandbRun


def open_run(config: WandbConfig, server: Server, root: Path, identity: Identity, online: bool) -> WandbRun:
    """Call `wandb.init` for one folder of a run."""
    import wandb

    settings = wandb.Settings(
        root_dir=str(root),
        base_url=server.base_url,
        api_key=server.api_key or None,
        http_proxy=config.http_proxy or None,
        https_proxy=config.https_proxy or None,
        insecure_disable_ssl=config.insecure_tls,
        init_timeout=config.init_timeout,
        finish_timeout=config.finish_timeout,
        finish_timeout_raises=True,
        console="off",
        silent=True,
        symlink=False,
        disable_git=True,
        program="rollscope",
        disable_code=True,
        save_code=False,
        **private_settings(config),
    )
    return wandb.init(
        mode="online" if online else "offline",
        reinit="create_new",
        resume="allow" if online else None,
        id=identity.id,
        name=identity.name,
        project=identity.project,
        entity=server.entity or None,
        group=identity.group or None,
        job_type=identity.job_type or None,
        notes=identity.notes or None,
        tags=identity.tags,
        config=identity.config,
        settings=settings,
    )


def prepare(config: WandbConfig, root: Path) -> None:
    """Some parts of the library read the environment only."""
    root.mkdir(parents=True, exist_ok=True)
    own = (root / "wandb" / "rollscope").absolute()
    values = {
        "WANDB_ERROR_REPORTING": "false",
        "WANDB_SILENT": "true",
        "WANDB_DATA_DIR": str(own / "data"),
        "WANDB_CACHE_DIR": str(own / "cache"),
        "WANDB_CONFIG_DIR": str(own / "config"),
        "HTTP_PROXY": config.http_proxy,
        "HTTPS_PROXY": config.https_proxy,
    }
    os.environ.update({name: value for name, value in values.items() if value})
    logging.getLogger("wandb").setLevel(logging.WARNING)
    own_client()
