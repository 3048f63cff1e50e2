"""One trajectory as a row of its step's digest table, and the rewards that came after it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rollscope import vocabulary as v

from ..cut import cut
from ..images import digest_of, references
from ..records import LateFacts, Message, Reward, Trajectory
from ._plain import as_json, plain, text

COLUMNS = (
    "trajectory", "group", "index", "attempt", "policy_version", "agent", "outcome", "error", "reward", "rewards", "turns",
    "tool_calls", "tool_errors", "input_tokens", "output_tokens", "seconds", "conversation", "text", "messages", "facts", "incomplete",
)  # fmt: skip
_ERROR_BYTES = 1000
LATE_COLUMNS = ("trajectory", "step", "name", "value", "components", "explanation", "time", "facts")


def digest_row(record: Trajectory, limit: int, messages: bool) -> dict[str, object]:
    """Return a trajectory for reading: who, how it ended, what it cost, what was said; `messages`: also letter by letter, as JSON."""
    tools = [span for span in record.spans if span.is_tool_call]
    row: dict[str, object] = {
        "trajectory": record.id,
        "group": record.group,
        "index": record.index,
        "attempt": record.attempt,
        "policy_version": record.policy_version,
        "agent": record.agent,
        "outcome": record.outcome,
        "error": cut(text(record.spans[0].message), _ERROR_BYTES, "the digest") if record.spans else "",
        "rewards": [_reward(reward) for reward in record.rewards],
        "turns": len(record.generations),
        "tool_calls": len(tools),
        "tool_errors": sum(span.failed for span in tools),
        "input_tokens": _usage(record, v.GEN_AI_USAGE_INPUT_TOKENS, "prompt"),
        "output_tokens": _usage(record, v.GEN_AI_USAGE_OUTPUT_TOKENS, "output"),
        "seconds": (record.end - record.start) / 1e9,
        "conversation": cut(text(conversation(record.messages)), limit, "text_bytes"),
        "text": cut(text("".join(segment.text or "" for segment in record.tokens)), limit, "text_bytes"),
        "facts": plain(record.facts),
        "incomplete": record.incomplete,
    }
    return row | ({"messages": as_json(plain(record.messages))} if messages else {})


def late_rows(record: LateFacts) -> Iterable[dict[str, object]]:
    """Yield a row for each reward; facts alone make one too."""
    facts = plain(record.facts) if record.facts else None
    for reward in record.rewards or ([Reward(value=0.0, name="")] if facts else []):
        given = _reward(reward)
        empty = not reward.name and not record.rewards
        yield {
            "trajectory": record.trajectory, "step": record.step, **given, "value": None if empty else given["value"],
            "time": reward.time / 1e9, "facts": facts,
        }  # fmt: skip


def joined(row: Mapping[str, object], late: Iterable[Mapping[str, object]]) -> dict[str, object]:
    """Return a digest row with what was told of its trajectory later."""
    rewards, facts = list(_items(row["rewards"])), dict(_pairs(row["facts"]))
    for told in late:
        if told["name"] or told["value"] is not None:
            rewards.append({key: told[key] for key in ("name", "value", "components", "explanation")})
        facts |= _pairs(told["facts"])
    last = rewards[-1]["value"] if rewards else None
    return {**row, "rewards": rewards, "facts": facts, "reward": last}


def conversation(messages: Iterable[Message]) -> str:
    """Return the messages for reading: a heading each, tool calls as calls."""
    return "\n\n".join(_message(message) for message in messages)


def _message(message: Message) -> str:
    name = message.get("name")
    lines = [f"[{message.get('role', '?')}{f' {name}' if name else ''}]"]
    lines += [f"({message[key]})" for key in ("reasoning", "reasoning_content") if isinstance(message.get(key), str)]
    lines += [part for part in (_content(message.get("content")), *map(_call, _items(message.get("tool_calls")))) if part]
    return "\n".join(lines)


def _content(content: object) -> str:
    if isinstance(content, list):
        return "\n".join(_part(part) for part in content)
    return "" if content is None else str(content)


def _part(part: object) -> str:
    """A part's text, or what it is; of an image also the digest by which it is shown elsewhere."""
    if not isinstance(part, Mapping):
        return str(part)
    image = next((digest_of(reference)[:19] for reference in references([{"content": [dict(part)]}])), "")
    return str(part.get("text", f"[{part.get('type', 'part')}{image and f' {image}'}]"))


def _call(call: object) -> str:
    function = call.get("function") if isinstance(call, Mapping) else None
    return f"→ {function.get('name')}({function.get('arguments')})" if isinstance(function, Mapping) else f"→ {as_json(plain(call))}"


def _reward(reward: Reward) -> dict[str, object]:
    return {
        "name": text(reward.name),
        "value": plain(reward.value),
        "components": plain(reward.components),
        "explanation": text(reward.explanation),
    }


def _usage(record: Trajectory, attribute: str, role: str) -> int:
    """Return tokens by the spans' own word, else by the segments that were recorded."""
    said = [value for span in record.spans if isinstance(value := span.attributes.get(attribute), int) and _is_chat(span.attributes)]
    return sum(said) if said else sum(segment.count for segment in record.tokens if segment.role == role)


def _is_chat(attributes: Mapping[str, object]) -> bool:
    return attributes.get(v.GEN_AI_OPERATION_NAME) == v.SPAN_CHAT


def _items(value: object) -> list[dict[str, object]]:
    return value if isinstance(value, list) else []


def _pairs(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}
