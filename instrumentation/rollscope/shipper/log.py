"""The shipper's own log file: private, bounded."""

from __future__ import annotations

import logging
import os
import time
from logging.handlers import RotatingFileHandler
from pathlib import Path

NAME = "shipper.log"
_BYTES, _OLD = 4 << 20, 1


def log_to(directory: Path) -> None:
    """Send what this package logs to `shipper.log` in `directory`, in UTC."""
    path = directory / NAME
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    handler = RotatingFileHandler(path, maxBytes=_BYTES, backupCount=_OLD, encoding="utf-8", errors="replace")
    formatter = logging.Formatter("%(asctime)s.%(msecs)03dZ %(process)d %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    logger = logging.getLogger("rollscope")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
