"""A digest row as text for people: a heading of facts, then what was said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ._plain import as_json


def headline(row: Mapping[str, object]) -> str:
    """Return who it is and how it ended, on one line."""
    parts = [
        f"{row.get('group') or row.get('trajectory')} #{row.get('index')}"
        if row.get("index") is not None
        else str(row["group"] or row["trajectory"])
    ]
    if row.get("reward") is not None:
        parts.append(f"reward {row['reward']}")
    parts += [str(row.get("outcome")), f"{row.get('turns')} turns", f"{row.get('tool_calls')} tool calls"]
    if row.get("tool_errors"):
        parts.append(f"{row['tool_errors']} tool errors")
    parts.append(f"{row.get('input_tokens')} → {row.get('output_tokens')} tokens")
    return " · ".join(parts)


def body(row: Mapping[str, object]) -> str:
    """Return the heading, the error, the rewards with their components, other facts, the conversation, and the decoded tokens where there
    is none."""
    parts = [headline(row), *([f"error: {row['error']}"] if row.get("error") else []), *map(_reward, _list(row.get("rewards")))]
    if row.get("policy_version") is not None:
        parts.append(f"policy version: {row['policy_version']}")
    if row.get("facts"):
        parts.append(as_json(row["facts"]))
    if row.get("incomplete"):
        parts.append(f"incomplete: {row['incomplete']}")
    return "\n".join(parts) + "\n\n" + str(row.get("conversation") or row.get("text") or "")


def late_line(row: Mapping[str, object]) -> str:
    """Return a reward that came late, on one line."""
    return f"{row.get('trajectory')} · {_reward(row)}" + (f" · {as_json(row['facts'])}" if row.get("facts") else "")


def _reward(reward: Mapping[str, object]) -> str:
    components = reward.get("components")
    inner = ", ".join(f"{name} {value}" for name, value in components.items()) if isinstance(components, Mapping) else ""
    explanation = reward.get("explanation")
    return (
        f"{reward.get('name') or 'reward'}: {reward.get('value')}"
        + (f" ({inner})" if inner else "")
        + (f" – {explanation}" if explanation else "")
    )


def _list(value: object) -> Sequence[Mapping[str, object]]:
    return value if isinstance(value, list) else []
