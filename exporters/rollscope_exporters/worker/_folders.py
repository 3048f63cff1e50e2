"""Where a worker keeps its files: `<storage>/backends/<name>[/<run>]/`."""

from __future__ import annotations

from ..positions import worker_folder

__all__ = ["LOCK_FILE", "SET_ASIDE_FILE", "TRIAL_FILE", "worker_folder"]

SET_ASIDE_FILE = "set_aside.jsonl"
TRIAL_FILE = "trial.json"
LOCK_FILE = "lock"
