"""What W&B calls things: names of metrics, runs, projects, tags and artifacts, spelled reversibly where it refuses or uses a character."""

from __future__ import annotations

from collections.abc import Iterable

from .._names import encode_name
from .._plain import text

AXIS = "trainer/global_step"
"""The x axis of every metric: the step as recorded, in any order."""
HOURS = "rollscope/hours"
"""Since the run began: the x axis of what has no step, as metrics of hosts."""
ROW = "rollscope/row"
"""Number of a history row within its run: what makes a repetition visible after a crash."""
DIGEST, MESSAGE_IMAGES = "trajectories", "message_images"
LATE_REWARDS = "late_rewards"
_RESERVED = {"_step", "_runtime", "_timestamp", "_wandb", AXIS}
_SECTIONS = (f"{DIGEST}/", f"{MESSAGE_IMAGES}/", LATE_REWARDS, "rollscope/")
"""Beginnings of names that are not the user's."""
_LONGEST_TAG = 64
_MOST_TAGS = 50
_LONGEST_PART = 128


def metric_key(name: str, split: str = "") -> str:
    """Key of a metric; under its split, unless that is the training split or the name says so already."""
    full = name if split in {"", "train"} or name.startswith(f"{split}/") else f"{split}/{name}"
    key = encode_name(full, str.isprintable, reserved=_SECTIONS)
    return f"_x{ord(key[0]):x}_{key[1:]}" if key in _RESERVED else key


def section_key(section: str, split: str) -> str:
    """Key of what the digest shows of one split, where no metric can be."""
    return f"{section}/{encode_name(split, str.isprintable)}"


def run_key(run: str) -> str:
    """Id of a run, also part of file names."""
    return encode_name(run, _in_file_names, 64)


def project_key(name: str) -> str:
    return encode_name(name, lambda character: character.isprintable() and character not in "/\\#?%:", _LONGEST_PART)


def artifact_key(name: str) -> str:
    return encode_name(name, _in_file_names, _LONGEST_PART)


def alias_key(alias: str) -> str:
    """Alias of an artifact's version."""
    return encode_name(alias, lambda character: character.isprintable() and character not in "/:", _LONGEST_PART)


def tag_list(tags: Iterable[str]) -> list[str]:
    """Tags of a run: without empty and repeated ones, cut to what W&B takes."""
    cut = (text(tag).strip()[:_LONGEST_TAG] for tag in tags)
    return [tag for tag in dict.fromkeys(cut) if tag][:_MOST_TAGS]


def _in_file_names(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character in "-_.")
