"""Jaeger by its query interface."""

from __future__ import annotations

import json
from typing import Any

from rollscope import vocabulary as v
from rollscope.messages import parts_to_openai
from tests.collector.stack import Stack
from tests.destinations.facts import As, Held


def read(stack: Stack, told: dict[str, Any]) -> Held:
    """Spans with their attributes; what is no span is not sent there."""

    def spans(trace: str) -> dict[str, dict[str, Any]]:
        (found,) = stack.get("jaeger", f"/api/traces/{trace}")["data"]
        for span in found["spans"]:
            span["tags"] = {tag["key"]: tag["value"] for tag in span["tags"]}
        return {span["spanID"]: span for span in found["spans"]} | {"": found["processes"]["p1"]}

    one, failed = spans(told["trajectory"]), spans(told["failed"])
    process = {tag["key"]: tag["value"] for tag in one.pop("")["tags"]}
    (root,) = (span for span in one.values() if _parent(span) is None)
    failed.pop("")
    ((error,),) = (span["logs"] for span in failed.values())
    (link,) = (ref for ref in root["references"] if ref["refType"] == "FOLLOWS_FROM")
    step = spans(link["traceID"])
    step.pop("")
    (shards,) = (span["tags"]["shards"] for span in step.values() if span["operationName"] == "load shards")
    tags = root["tags"]
    chats = sorted((span for span in one.values() if span["operationName"].startswith(v.SPAN_CHAT)), key=lambda span: span["startTime"])
    return {
        "run.id": As(process[v.RUN_ID], "attribute"),
        "run.name": As(process[v.RUN_NAME], "attribute"),
        "trajectory.messages": As(_conversation(chats), "attributes, new ones a turn"),
        "trajectory.tools": json.loads(chats[0]["tags"][v.GEN_AI_TOOL_DEFINITIONS]),
        "trajectory.usage": tuple(tags[f"gen_ai.usage.{side}_tokens"] for side in ("input", "output")),
        "trajectory.reward": As(tags[v.REWARD_VALUE], "attribute"),
        "trajectory.components": As(json.loads(tags[v.REWARD_COMPONENTS]), "attribute"),
        "trajectory.explanation": As(tags[v.REWARD_EXPLANATION], "attribute"),
        "trajectory.identity": As((tags[v.GROUP_ID], tags[v.TRAJECTORY_INDEX], tags[v.POLICY_VERSION]), "attributes"),
        "trajectory.outcome": As(next(iter(failed.values()))["tags"][v.TRAJECTORY_OUTCOME], "attribute"),
        "trajectory.error": {field["key"]: field["value"] for field in error["fields"]}["exception.message"],
        "trajectory.spans": {id: _parent(span) for id, span in one.items()},
        "trajectory.times": {id: span["startTime"] * 1000 for id, span in one.items()},
        "trajectory.step": As(step[link["spanID"]]["tags"][v.STEP_INDEX], "link"),
        "trace.spans": {id: _parent(span) for id, span in step.items()},
        "trace.attributes": shards,
    }


def _parent(span: dict[str, Any]) -> str | None:
    return next((ref["spanID"] for ref in span["references"] if ref["refType"] == "CHILD_OF"), None)


def _conversation(chats: list[dict[str, Any]]) -> list[object]:
    """The messages of all generations, in OpenAI format again."""
    texts = [chat["tags"][key] for chat in chats for key in (v.GEN_AI_INPUT_MESSAGES, v.GEN_AI_OUTPUT_MESSAGES)]
    return [message for text in texts for message in parts_to_openai(json.loads(text))]
