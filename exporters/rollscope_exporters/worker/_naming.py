"""What a run is called in trackers: a template of the configuration, filled from what the run said of itself."""

from __future__ import annotations

import msgspec

from ..records import RunStarted
from ..settings import Runs
from ..templates import PLACE, look_up

OWN_NAME = "rollscope.name"
"""Among a run's circumstances, the name it gave itself, where the template made another one."""
_SEPARATORS = "_-.:/ "


def named(record: RunStarted, runs: Runs) -> RunStarted:
    """Return `record` under the name and with the tags that `runs` asks for."""
    if runs.tags:
        record = msgspec.structs.replace(record, tags=list(dict.fromkeys([*record.tags, *runs.tags])))
    name = filled(runs.name, record, runs.name_length) if runs.name else ""
    if not name or name == record.name:
        return record
    return msgspec.structs.replace(record, name=name, circumstances={**record.circumstances, OWN_NAME: record.name})


def filled(template: str, record: RunStarted, length: int) -> str:
    """Return `template` with its keys replaced, at most `length` characters; empty where nothing of it is known.

    A key that is nowhere takes the separators before it along, or those behind it at the beginning.
    """
    result, known = "", False
    for literal, key in _pieces(template):
        value = _value(record, key) if key else None
        if key and value is None:
            result += literal.rstrip(_SEPARATORS)
            continue
        known |= value is not None
        result += (literal if result else literal.lstrip(_SEPARATORS)) + (value or "")
    return result[:length].strip(_SEPARATORS) if known else ""


def _pieces(template: str) -> list[tuple[str, str]]:
    """Text and the key behind it; the last one has no key."""
    parts = PLACE.split(template)
    return [(parts[at], parts[at + 1] if at + 1 < len(parts) else "") for at in range(0, len(parts), 2)]


def _value(record: RunStarted, key: str) -> str | None:
    own = {"name": record.name, "project": record.project, "run": record.run[:8], "attempt": str(record.attempt)}
    found = look_up(record.config, key)
    if found is None or isinstance(found, (list, tuple)):
        return own.get(key)
    word = str(found).rstrip("/").rpartition("/")[2].strip()
    return " ".join(word.split()) or None
