"""Rewards and other facts about a trajectory: while it runs, or later from any process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from . import vocabulary as v
from .recorder import Recorder, Span, current, current_span, guarded, report
from .scalars import NotScalarError, number

__all__ = ["RewardValue", "Subject", "facts", "record_facts", "record_reward", "reward", "reward_of"]


class Subject(Protocol):
    """A trajectory of this process."""

    @property
    def id(self) -> str:
        """Trace id in hex."""
        ...

    @property
    def span(self) -> Span:
        """Its root."""
        ...


class RewardValue(NamedTuple):
    """One reward, checked."""

    value: float
    name: str
    components: dict[str, float]
    explanation: str | None

    def attributes(self) -> dict[str, Any]:
        """Return what the event and the root of the trajectory say."""
        found: dict[str, Any] = {v.REWARD_VALUE: self.value, v.REWARD_SOURCE_NAME: self.name}
        if self.components:
            found[v.REWARD_COMPONENTS] = self.components
        if self.explanation is not None:
            found[v.REWARD_EXPLANATION] = self.explanation
        return found


@guarded("reward")
def reward(
    value: float,
    *,
    trajectory: Subject | str | None = None,
    components: Mapping[str, float] | None = None,
    name: str = "reward",
    explanation: str | None = None,
) -> None:
    """Give a reward to a trajectory, at once or late, from any process of the run.

    trajectory: the object, its `id`, or None for the current one. components: named partial rewards. name: function or model that
    scored. explanation: why. Several rewards under different names stand side by side; NaN and Inf are kept.
    """
    recorder = current()
    if recorder is None or trajectory == "":
        return
    subject = _current_subject() if trajectory is None else trajectory
    if not isinstance(subject, str):
        # The object knows its root, which carries the headline as long as it is open.
        subject.reward(value, components=components, name=name, explanation=explanation)  # type: ignore[attr-defined]
        return
    record_reward(recorder, subject, reward_of(value, components, name, explanation))


@guarded("facts")
def facts(
    values: Mapping[str, object] | None = None,
    /,
    *,
    trajectory: Subject | str | None = None,
    advantage: float | None = None,
    filtered: bool | str | None = None,
    return_value: float | None = None,
    trained_step: int | None = None,
    trained_version: int | None = None,
    **named: object,
) -> None:
    """Tell facts about a trajectory that are known late: after it ended, in another process, once or several times.

    values, named: facts under names of your own. advantage, return_value: of the whole sequence. filtered: whether, or why, the sample was
    left out of the update. trained_step, trained_version: the step and the policy version whose update consumed it.
    trajectory: the object, its `id`, or None for the current one. A fact told again replaces what was told before.
    """
    recorder = current()
    if recorder is None or trajectory == "":
        return
    known = {
        v.ADVANTAGE_VALUE: advantage,
        v.RETURN_VALUE: return_value,
        v.TRAJECTORY_FILTERED: filtered,
        v.TRAINED_STEP: trained_step,
        v.TRAINED_VERSION: trained_version,
    }
    told = {**(values or {}), **named, **{key: value for key, value in known.items() if value is not None}}
    record_facts(recorder, _current_subject() if trajectory is None else trajectory, told)


def reward_of(value: object, components: Mapping[str, object] | None, name: str, explanation: str | None) -> RewardValue:
    """Check a reward. A component that is no number is left out and counted; raises `NotScalarError` when the value is none."""
    kept = {}
    for key, part in (components or {}).items():
        try:
            kept[str(key)] = _float(part)
        except NotScalarError as error:
            report("truncated", "not_scalar", f"reward component {key!r} was left out: {error}")
    return RewardValue(_float(value), name, kept, explanation)


def record_reward(recorder: Recorder, subject: Subject | str, reward: RewardValue) -> None:
    """Write the event of a reward."""
    _record(recorder, v.EVENT_REWARD, subject, reward.attributes())


def record_facts(recorder: Recorder, subject: Subject | str, values: Mapping[str, object]) -> None:
    """Write the event of late facts."""
    _record(recorder, v.EVENT_FACTS, subject, {v.FACTS: {str(name): _plain(value) for name, value in values.items()}})


def _record(recorder: Recorder, event: str, subject: Subject | str, attributes: dict[str, Any]) -> None:
    if isinstance(subject, str):
        attributes[v.TRAJECTORY_ID] = subject
        recorder.event(event, attributes, trace_id=_trace_id(subject))
        return
    span = subject.span
    attributes.update(span.identity or {})
    recorder.event(event, attributes, trace_id=span.trace_id, span_id=span.span_id)


def _current_subject() -> Subject:
    span = current_span()
    subject: Subject | None = None if span is None else span.trajectory
    if subject is None:
        raise LookupError("no trajectory is current here; name it with trajectory=traj.id")
    return subject


def _trace_id(id: str) -> bytes:
    if len(id) != 32:
        raise ValueError(f"{id!r} is no trajectory id; it is the 32 hex digits that traj.id gives")
    return bytes.fromhex(id)


def _float(value: object) -> float:
    found = number(value)
    if isinstance(found, str):
        raise NotScalarError(f"{found!r} is a string, a number is wanted")
    return float(found)


def _plain(value: object) -> object:
    try:
        return number(value)
    except NotScalarError:
        return value
