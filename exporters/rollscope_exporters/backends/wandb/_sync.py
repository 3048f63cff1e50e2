"""Sends what the server still lacks of runs that are over: `python -m rollscope_exporters.backends.wandb STORAGE [KEY=VALUE ...]`."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path

from .._protocol import UnavailableError
from .._uploader import Uploader
from ._checkpoints import Checkpoints
from ._config import WandbConfig
from ._files import RunFiles
from ._run import Run

_BETWEEN_LOOKS = 5.0
log = logging.getLogger("rollscope.wandb")


def sync(root: Path, config: WandbConfig) -> list[str]:
    """Send every run below `root` that is marked as needing it; returns the ids of those that still do."""
    left = []
    for path in sorted(root.glob("wandb/rollscope/*/needs_sync.json")):
        files = RunFiles(root, path.parent.name)
        mark, started = files.needs_sync, files.started
        if mark is None or started is None:
            continue
        run = Run(config, root, started.run, 0, {})
        uploads = Uploader(root, "wandb", Checkpoints(run), started.run)
        try:
            run.connect()
            while not uploads.drain(_BETWEEN_LOOKS):
                run.sync()
            run.resend(1 if mark.exit_code is None else mark.exit_code)
        except UnavailableError as error:
            log.error("%s: %s", run.id, error)
            left.append(run.id)
    return left


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0 when nothing is left to send."""
    parser = argparse.ArgumentParser(prog="python -m rollscope_exporters.backends.wandb", description="Send what W&B still lacks.")
    parser.add_argument("storage", type=Path, help="storage folder of the bridge, or backends.wandb.dir")
    parser.add_argument("keys", nargs="*", metavar="KEY=VALUE", help="keys of backends.wandb, as base_url=https://wandb.example.com")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    keys = dict(assignment.partition("=")[::2] for assignment in options.keys)
    return 1 if sync(options.storage.absolute(), WandbConfig.model_validate({"mode": "online", **keys})) else 0
