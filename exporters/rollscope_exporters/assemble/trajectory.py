"""Spans, tokens, rewards and facts of one trace → a `Trajectory`."""

from __future__ import annotations

from collections.abc import Sequence

from rollscope import vocabulary as v

from ..decode import integer
from ..records import Reward, Span, Trajectory
from .conversations import conversation, generations_of
from .parts import Part, facts_of, rewards_of, segments_of
from .summary import count, outcome


def is_trajectory(spans: Sequence[Span]) -> bool:
    """Return whether these spans, root first, are a rollout: ours by identity, a foreign program's by its `invoke_agent` root."""
    root = spans[0]
    if root.parent_id is None:
        operation = root.attributes.get(v.GEN_AI_OPERATION_NAME)
        return v.TRAJECTORY_ID in root.attributes or operation == v.SPAN_INVOKE_AGENT
    return any(v.TRAJECTORY_ID in span.attributes for span in spans)


def trajectory(run: str, trace_id: str, spans: list[Span], others: Sequence[Part], missing: str = "") -> Trajectory:
    """Join a rollout's spans (of `spans_of`) and its other parts; `missing` says what is known not to be among them."""
    calls = generations_of(spans)
    talk = conversation(spans, calls)
    tokens = segments_of(others)
    absent = [missing, *talk.missing] if missing else talk.missing
    return Trajectory(
        run=run,
        id=trace_id,
        start=min([span.start for span in spans]),
        end=max([span.end for span in spans]),
        agent=_text(spans, v.GEN_AI_AGENT_NAME),
        step=_integer(spans, v.STEP_INDEX),
        group=_text(spans, v.GROUP_ID) or None,
        index=_integer(spans, v.TRAJECTORY_INDEX),
        attempt=_integer(spans, v.TRAJECTORY_ATTEMPT) or 0,
        policy_version=_integer(spans, v.POLICY_VERSION),
        split=_text(spans, v.SPLIT_NAME) or "train",
        outcome=outcome(spans[0]),
        spans=spans,
        messages=talk.messages,
        generations=talk.generations,
        tokens=tokens,
        # What is missing may hold the reward that the root repeats: made from the root as well, it would be there twice.
        rewards=rewards_of(others) or ([] if missing else _reward_on_root(spans[0])),
        metrics=count(spans, calls, tokens),
        facts=facts_of(others),
        incomplete=f"missing: {', '.join(absent)}" if absent else "",
    )


def _reward_on_root(root: Span) -> list[Reward]:
    """A program without rollscope may write its reward as an attribute of the root."""
    value = root.attributes.get(v.REWARD_VALUE)
    if not isinstance(value, (int, float)):
        return []
    name = str(root.attributes.get(v.REWARD_SOURCE_NAME, "reward"))
    return [Reward(value=float(value), name=name, time=root.end, uid=f"{root.span_id}-reward")]


def _first(spans: Sequence[Span], name: str) -> object:
    for span in spans:
        if name in span.attributes:
            return span.attributes[name]
    return None


def _text(spans: Sequence[Span], name: str) -> str:
    value = _first(spans, name)
    return "" if value is None else str(value)


def _integer(spans: Sequence[Span], name: str) -> int | None:
    return integer(_first(spans, name))
