"""Spans that are neither root nor generation of a trajectory: tools, turns, steps, phases, foreign programs."""

from __future__ import annotations

import json
from collections.abc import Mapping

from rollscope import vocabulary as v

from ...records import Span
from ._json import as_json

SPAN_TYPE = "mlflow.spanType"
INPUTS = "mlflow.spanInputs"
OUTPUTS = "mlflow.spanOutputs"

_TYPES = {
    v.SPAN_CHAT: "CHAT_MODEL",
    v.SPAN_EXECUTE_TOOL: "TOOL",
    v.SPAN_INVOKE_AGENT: "AGENT",
    "embeddings": "EMBEDDING",
    "text_completion": "LLM",
}
_SHOWN_AS = {
    v.GEN_AI_TOOL_CALL_ARGUMENTS: INPUTS,
    v.CODE_ARGUMENTS: INPUTS,
    v.GEN_AI_TOOL_CALL_RESULT: OUTPUTS,
    v.CODE_RESULT: OUTPUTS,
}
_MESSAGES = {v.GEN_AI_INPUT_MESSAGES, v.GEN_AI_OUTPUT_MESSAGES, v.GEN_AI_TOOL_DEFINITIONS, v.MESSAGES_INPUT, v.MESSAGES_OUTPUT}
_OF_THE_TRANSPORT = {v.PRODUCER_SEQUENCE, v.TRAJECTORY_RECORD_COUNT}


def foreign_span(span: Span) -> tuple[str, dict[str, object]]:
    """Name and attributes of a span outside of a trajectory; MLflow reads its `gen_ai` messages itself."""
    messages = {key: value for key, value in span.attributes.items() if key in _MESSAGES}
    return span_title(span), {**kept_attributes(span.attributes), **plain_attributes(span), **messages}


def kept_attributes(attributes: Mapping[str, object]) -> dict[str, object]:
    """Return attributes without those that the rewritten ones replace."""
    replaced = _MESSAGES | _OF_THE_TRANSPORT | _SHOWN_AS.keys()
    return {key: value for key, value in attributes.items() if key not in replaced}


def span_title(span: Span) -> str:
    """Return what tells most in a tree that shows types by icons: `turn 3`, `step 12`, the name of the tool."""
    turn, step, tool = (span.attributes.get(key) for key in (v.TURN_INDEX, v.STEP_INDEX, v.GEN_AI_TOOL_NAME))
    if span.name == v.SPAN_TURN and turn is not None:
        return f"turn {turn}"
    if span.name == v.SPAN_STEP and step is not None:
        return f"step {step}"
    if span.name == f"{v.SPAN_EXECUTE_TOOL} {tool}":
        return str(tool)
    return span.name


def plain_attributes(span: Span) -> dict[str, object]:
    """Type, inputs and outputs as MLflow calls them: a tool's arguments and result or error, a traced function's too."""
    attributes: dict[str, object] = {SPAN_TYPE: _span_type(span)}
    for key, shown_as in _SHOWN_AS.items():
        if key in span.attributes:
            attributes.setdefault(shown_as, _as_shown(span.attributes[key]))
    if span.failed and INPUTS in attributes:
        attributes.setdefault(OUTPUTS, as_json({"error": span.message or span.attributes.get(v.ERROR_TYPE, "failed")}))
    return attributes


def _span_type(span: Span) -> str:
    operation = span.attributes.get(v.GEN_AI_OPERATION_NAME)
    if isinstance(operation, str) and operation in _TYPES:
        return _TYPES[operation]
    if span.name == v.SPAN_STEP:
        return "WORKFLOW"
    if v.REWARD_VALUE in span.attributes:
        return "EVALUATOR"
    return "TASK" if v.PHASE_NAME in span.attributes else "CHAIN"


def _as_shown(value: object) -> str:
    """Return JSON of an attribute that may be JSON already; a bare number or word stays the text it was."""
    if isinstance(value, str) and value.lstrip()[:1] in {"{", "["}:
        try:
            json.loads(value)
        except ValueError:
            return as_json(value)
        return value
    return as_json(value)
