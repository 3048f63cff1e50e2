"""Keep a trajectory within a size: what is bulky and repeated goes first, and a fact says what is gone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from ..cut import cut
from ..records import Generation, Trajectory, encode

_LIMIT = "trajectories.max_trajectory_bytes"
_SHORTEST = 256
"""Texts are not cut below this many bytes: then whole turns go."""
Step = Callable[[Trajectory], Trajectory]


def within(record: Trajectory, limit: int) -> Trajectory:
    """Return `record` with an encoded size of about `limit` bytes at most, or as near to it as its bare frame allows."""
    if (size := len(encode(record))) <= limit:
        return record
    gone: list[str] = []
    for name, step in _steps(limit):
        smaller = step(record)
        if smaller != record:
            record = smaller
            gone = [*(each for each in gone if each.split(" over ")[0] != name.split(" over ")[0]), name]
        if len(encode(record)) <= limit:
            break
    said = f"{', '.join(gone)} left out or cut: {size} bytes are more than {limit} ({_LIMIT})"
    before = record.facts.get("shortened")
    return msgspec.structs.replace(record, facts={**record.facts, "shortened": f"{before}; {said}" if before else said})


def first_turns(record: Trajectory, turns: int) -> Trajectory:
    """Return `record` with its first `turns` generations and what happened before the next one began."""
    if len(record.generations) <= turns:
        return record
    kept, cut_off = record.generations[:turns], record.generations[turns]
    starts = {span.span_id: span.start for span in record.spans}
    end = starts.get(cut_off.span_id, record.end)
    spans = [span for span in record.spans if span.parent_id is None or span.start < end]
    names = {span.span_id for span in spans}
    return msgspec.structs.replace(
        record,
        spans=spans,
        generations=kept,
        messages=[*kept[-1].input, *kept[-1].output],
        tokens=[segment for segment in record.tokens if segment.span_id in names],
        facts={**record.facts, "shortened": f"{turns} of {len(record.generations)} turns kept (trajectories.max_turns)"},
    )


def _steps(limit: int) -> Iterator[tuple[str, Step]]:
    yield "token arrays", lambda record: msgspec.structs.replace(record, tokens=[])
    yield "images", lambda record: msgspec.structs.replace(record, images={})
    yield (
        "repeated histories",
        lambda record: msgspec.structs.replace(record, generations=[_without_history(g) for g in record.generations]),
    )
    longest = limit // 4
    while longest >= _SHORTEST:
        yield f"texts over {longest} bytes", _texts_of(longest)
        longest //= 4
    yield "spans and messages but the first and last", _ends


def _without_history(generation: Generation) -> Generation:
    return msgspec.structs.replace(generation, input=[], left_out=generation.left_out + len(generation.input))


def _texts_of(longest: int) -> Step:
    def step(record: Trajectory) -> Trajectory:
        found = {name: _shortened(getattr(record, name), longest) for name in ("spans", "messages", "generations", "facts")}
        return msgspec.structs.replace(record, **found)

    return step


def _shortened(value: Any, longest: int) -> Any:
    if isinstance(value, str):
        return cut(value, longest, _LIMIT)
    if isinstance(value, dict):
        return {key: _shortened(item, longest) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_shortened(item, longest) for item in value)
    if isinstance(value, bytes):
        return value if len(value) <= longest else b""
    if isinstance(value, msgspec.Struct):
        return type(value)(**{name: _shortened(getattr(value, name), longest) for name in value.__struct_fields__})
    return value


def _ends(record: Trajectory) -> Trajectory:
    """Keep two spans, generations and messages from each end."""
    parts = {name: getattr(record, name) for name in ("spans", "generations", "messages")}
    return msgspec.structs.replace(record, **{name: part if len(part) <= 4 else [*part[:2], *part[-2:]] for name, part in parts.items()})
