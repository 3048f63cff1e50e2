"""`shipper.state`: what must outlive the shipper, replaced in one step."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

import msgspec

from ..files import replace_file
from ..settings import Redaction

NAME = "shipper.state"
_log = logging.getLogger(__name__)


class Remembered(msgspec.Struct):
    """What must outlive the shipper about a log: all that its acknowledged records said and that is still to be told."""

    resource: dict[str, object] = {}
    """Who the producer is; its segments, which say so, may be gone before its last heartbeat is sent."""
    lost: dict[str, int] = {}
    """Records left behind by the shipper, by reason."""
    replaced: dict[str, int] = {}
    """Values that were redacted, by what found them."""
    redact: Redaction = Redaction()
    """What the producer wants redacted."""
    last_seen: int = 0
    """When the process was seen last, Unix time in ns."""
    began: bool = False
    """Whether it began a run."""
    finished: bool = False
    """Whether it finished the run it began."""


def read_state(directory: Path) -> dict[str, Remembered]:
    """Return what was remembered, by producer; empty when there is none or the file is damaged."""
    try:
        return msgspec.msgpack.decode((directory / NAME).read_bytes(), type=dict[str, Remembered])
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.MsgspecError) as error:
        _log.error("%s cannot be read, what of each process was lost and redacted so far may be forgotten: %s", NAME, error)
        return {}


def write_state(directory: Path, state: Mapping[str, Remembered]) -> None:
    """Replace the file. Raises `OSError`."""
    replace_file(directory / NAME, msgspec.msgpack.encode(state))
