"""How often a run was begun on this node: one small file per run in the node folder."""

from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec

from ..errors import ConfigurationError

__all__ = ["known_attempt", "remember_attempt"]

_SAFE = re.compile(r"[\w.\-]{1,128}")


def known_attempt(directory: Path, run_id: str) -> int | None:
    """Return the last attempt of a run that was begun here, or None."""
    try:
        return int(msgspec.json.decode(_path(directory, run_id).read_bytes())["attempt"])
    except (OSError, msgspec.DecodeError, ValueError, KeyError, TypeError):
        return None


def remember_attempt(directory: Path, run_id: str, attempt: int) -> None:
    """Keep `attempt` for the next process that resumes the run."""
    path = _path(directory, run_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(f".{os.getpid()}.new")
    new.write_bytes(msgspec.json.encode({"attempt": attempt}))
    os.replace(new, path)


def check_run_id(run_id: str) -> str:
    """Return `run_id` if it can be part of paths and URLs. Raises `ConfigurationError`."""
    if not _SAFE.fullmatch(run_id) or run_id.startswith("."):
        raise ConfigurationError("run_id is not usable", run_id, "use up to 128 letters, digits, `_`, `-`, `.`")
    return run_id


def _path(directory: Path, run_id: str) -> Path:
    return directory / "runs" / f"{run_id}.json"
