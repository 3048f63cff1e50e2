"""`bridge.log`: rotated, and the only place a detached bridge writes to."""

from __future__ import annotations

import logging
import sys
from logging.handlers import RotatingFileHandler
from pathlib import Path

_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_KEPT = 3


def log_to(storage: Path, max_bytes: int, *, foreground: bool) -> None:
    """Send what the bridge and its children say to `bridge.log`, and to standard error when someone is looking."""
    handlers: list[logging.Handler] = [RotatingFileHandler(storage / "bridge.log", maxBytes=max_bytes, backupCount=_KEPT)]
    if foreground:
        handlers.append(logging.StreamHandler(sys.stderr))
    logging.basicConfig(level=logging.INFO, format=_FORMAT, handlers=handlers, force=True)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
