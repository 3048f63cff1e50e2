"""Beginning trajectories, and what happens within the current one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import vocabulary as v
from ..metrics import whole
from ..noop import NOOP
from ..recorder import Recorder, current, current_span
from ..scope import or_noop
from ..step_point import StepPoint, current_step
from .generation import Generation, begin_generation, request_attributes
from .identity import Coordinates, claim
from .tool import Tool, begin_tool
from .trajectory import Trajectory
from .turn import Turn

__all__ = ["generation", "tool", "trajectory", "turn"]


@or_noop("trajectory")
def trajectory(
    *,
    group: str | int | None = None,
    index: int | None = None,
    step: int | None = None,
    policy_version: int | None = None,
    agent: str | None = None,
    split: str = "train",
    attempt: int = 0,
    group_size: int | None = None,
    sample_id: str | int | None = None,
    dataset: str | None = None,
    environment: str | None = None,
    metadata: Mapping[str, object] | None = None,
) -> Trajectory:
    """Begin a trajectory: a trace of its own, linked to the step. Use it in `with` or `async with`, or call its `end`.

    group: the prompt's group (GRPO uid). index: position in the group. step, policy_version: of the current step unless given.
    attempt: retry or resumed rollout, from 0. split: `train`, `validation`, `test`. sample_id: row of the dataset. metadata: attributes
    of the root under names of your own.

    With step, group and index the trace id is a function of (run, step, group, index, attempt, split): other processes can
    compute it. The same coordinates once more in this process become the next attempt, which is counted.
    """
    recorder = current()
    if recorder is None:
        return NOOP  # type: ignore[no-any-return]
    point, number = current_step(), None if step is None else whole(step)
    if point is not None and number not in (None, point.index):
        point = None
    if point is not None and policy_version is None:
        policy_version = point.policy_version
    wanted = Coordinates(
        step=number if point is None else point.index,
        group=None if group is None else str(group),
        index=None if index is None else whole(index),
        attempt=whole(attempt),
        split=split,
        policy_version=None if policy_version is None else whole(policy_version),
    )
    root = {
        v.GROUP_SIZE: group_size,
        v.SAMPLE_ID: None if sample_id is None else str(sample_id),
        v.DATASET_NAME: dataset,
        v.ENVIRONMENT_NAME: environment,
        v.GEN_AI_AGENT_NAME: agent,
    }
    return _begin(recorder, wanted, point, agent, {**(metadata or {}), **{k: x for k, x in root.items() if x is not None}})


def _begin(recorder: Recorder, wanted: Coordinates, point: StepPoint | None, agent: str | None, attributes: dict[str, Any]) -> Trajectory:
    coordinates, trace_id = claim(recorder, wanted)
    trace_id = trace_id or recorder.ids.trace_id()
    id = trace_id.hex()
    attributes[v.GEN_AI_OPERATION_NAME] = v.SPAN_INVOKE_AGENT
    attributes[v.GEN_AI_CONVERSATION_ID] = id
    span = recorder.start_span(
        f"{v.SPAN_INVOKE_AGENT} {agent}" if agent else v.SPAN_INVOKE_AGENT,
        root=True,
        trace_id=trace_id,
        attributes=attributes,
        links=[(point.trace_id, point.span_id, {})] if point is not None and point.span_id is not None else None,
        identity=coordinates.identity(id),
        counted=True,
    )
    made = Trajectory(recorder, span, coordinates, agent)
    span.trajectory = made
    return made


@or_noop("turn")
def turn(index: int | None = None, *, attributes: Mapping[str, object] | None = None) -> Turn:
    """Begin a turn of the current trajectory, span `rl.turn`. Use it in `with` or `async with`.

    index: place in the trajectory, counted from 0 unless given.
    """
    recorder = current()
    if recorder is None:
        return NOOP  # type: ignore[no-any-return]
    owner = _owner()
    if owner is not None:
        return owner.turn(index, attributes=attributes)
    number = index or 0
    return Turn(recorder, recorder.start_span(v.SPAN_TURN, attributes=attributes, identity={v.TURN_INDEX: number}), None, number)


@or_noop("generation")
def generation(
    model: str | None = None,
    *,
    messages: object = None,
    tools: object = None,
    provider: str | None = None,
    policy_version: int | None = None,
    **parameters: object,
) -> Generation:
    """Begin a model call of the current trajectory, span `chat {model}`. Use it in `with` or `async with`.

    messages: the whole history, OpenAI format: a list of messages, one message, or a string. Only what the trajectory does not hold
    yet is stored; the caller's objects are neither changed nor kept. New messages beyond `limits.value_length` characters of JSON
    (images as data URIs, usually) have their longest strings cut, and say so. tools: definitions in OpenAI format, stored when they
    change. provider: the engine, such as `vllm`. policy_version: where it is not the trajectory's. parameters: of sampling, such as
    `temperature`, `top_p`, `top_k`, `max_tokens`, `seed`.
    """
    recorder = current()
    if recorder is None:
        return NOOP  # type: ignore[no-any-return]
    attributes = request_attributes(model, provider, parameters)
    return begin_generation(recorder, None, _owner(), attributes, messages, tools, policy_version)


@or_noop("tool")
def tool(name: str, *, arguments: object = None, call_id: str | None = None, attributes: Mapping[str, object] | None = None) -> Tool:
    """Begin a tool call of the current trajectory, span `execute_tool {name}`. Use it in `with` or `async with`.

    arguments: a map, or the JSON text of an OpenAI tool call. call_id: id of the call in the assistant's message.
    """
    recorder = current()
    if recorder is None:
        return NOOP  # type: ignore[no-any-return]
    return begin_tool(recorder, None, name, arguments, call_id, attributes)


def _owner() -> Trajectory | None:
    span = current_span()
    found = None if span is None else span.trajectory
    return found if isinstance(found, Trajectory) else None
