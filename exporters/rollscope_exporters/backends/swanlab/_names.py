"""What SwanLab calls things: metrics, runs and projects, spelled reversibly where it refuses or trims a character."""

from __future__ import annotations

from collections.abc import Iterable

from .._hosts import PREFIX
from .._names import encode_name
from .._plain import text

TRAJECTORIES, MESSAGES, TABLES, TEXTS, LATE = "trajectories", "messages", "tables", "texts", "late_rewards"
IMAGES, MESSAGE_IMAGES = "images", "message_images"
SYSTEM = "__swanlab__."
"""What the keys of SwanLab's system view begin with; no metric of a user can."""
_SECTIONS = (TRAJECTORIES, MESSAGES, TABLES, TEXTS, IMAGES, MESSAGE_IMAGES)
_RESERVED = (*(f"{section}/" for section in _SECTIONS), LATE, SYSTEM)
_TRIMMED = " ./"
_LONGEST_KEY = 480
"""SwanLab cuts at 512; parts of a table are numbered behind it."""
_LONGEST_TAG, _MOST_TAGS = 512, 30


def metric_key(name: str, split: str = "") -> str:
    """Key of a metric; under its split, unless that is the training split or the name says so already."""
    full = name if split in {"", "train"} or name.startswith(f"{split}/") else f"{split}/{name}"
    return encode_name(full, str.isprintable, _LONGEST_KEY, edges=_TRIMMED, reserved=_RESERVED)


def host_key(name: str) -> str:
    """Key of what a host measures, in the system view: host and measure."""
    return SYSTEM + encode_name(name.removeprefix(PREFIX), str.isprintable, _LONGEST_KEY, edges=_TRIMMED)


def section_key(section: str, name: str) -> str:
    """Key of what is not a number: under a heading of its own, where no metric can be."""
    return f"{section}/{encode_name(name, str.isprintable, _LONGEST_KEY, edges=_TRIMMED)}"


def is_cut(name: str, key: str) -> bool:
    """Whether `name` cannot be had back from `key`."""
    return len(name) > len(key) or len(key) >= _LONGEST_KEY


def run_key(run: str) -> str:
    """Id of a run, also part of folder names."""
    return encode_name(run, _plain_character, 100)


def project_key(name: str) -> str:
    return encode_name(name, lambda character: _plain_character(character) or character == "+", 100)


def tag_list(tags: Iterable[str]) -> list[str]:
    """Tags of a run: without empty and repeated ones, cut to what SwanLab takes."""
    cut = (text(tag).strip()[:_LONGEST_TAG] for tag in tags)
    return [tag for tag in dict.fromkeys(cut) if tag][:_MOST_TAGS]


def _plain_character(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character in "-_.")
