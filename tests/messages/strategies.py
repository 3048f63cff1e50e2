"""Random chat messages, well-formed and not."""

from __future__ import annotations

from hypothesis import strategies as st

text = st.text(max_size=20) | st.sampled_from(["", " ", "你好,世界", "👩‍🚀", "a\x00b", '{"a": 1}', "data:image/png;base64,AAAA"])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)

_TYPES = [
    "text",
    "image_url",
    "input_audio",
    "file",
    "refusal",
    "reasoning",
    "tool_call",
    "tool_call_response",
    "openai",
    "blob",
    "uri",
    "x",
]
_content_part = (
    st.fixed_dictionaries({"type": st.just("text"), "text": text}, optional={"cache_control": json_values, "content": text})
    | st.fixed_dictionaries(
        {"type": st.just("image_url"), "image_url": st.fixed_dictionaries({"url": text}, optional={"detail": st.just("low")})}
    )
    | st.builds(lambda data, kind: {"type": "input_audio", "input_audio": {"data": data, "format": kind}}, text, text)
    | st.builds(lambda file: {"type": "file", "file": file}, st.dictionaries(st.sampled_from(["file_id", "filename", "type"]), text))
    | st.builds(lambda kind, rest: {**rest, "type": kind}, st.sampled_from(_TYPES), st.dictionaries(text, json_values, max_size=2))
    | json_values
)
_call = (
    st.fixed_dictionaries(
        {
            "function": st.fixed_dictionaries(
                {"name": text}, optional={"arguments": text | json_values, "strict": st.booleans(), "id": text}
            )
        },
        optional={
            "id": text,
            "type": st.sampled_from(["function", "custom"]),
            "index": st.integers(0, 3),
            "arguments": text,
            "x": json_values,
        },
    )
    | json_values
)
_known_keys = {
    "role": st.sampled_from(["system", "developer", "user", "assistant", "tool", "function", "critic", ""]) | json_values,
    "content": st.none() | text | st.lists(_content_part, max_size=3) | json_values,
    "tool_calls": st.none() | st.lists(_call, max_size=3) | json_values,
    "tool_call_id": text | st.none(),
    "name": text | st.none(),
    "refusal": st.none() | text,
    "reasoning": st.none() | text | json_values,
    "reasoning_content": st.none() | text,
    "parts": json_values,
    "finish_reason": text,
    "rl.openai": json_values,
    "annotations": json_values,
}
messages = st.builds(
    lambda known, extra: {**extra, **known},
    st.fixed_dictionaries({}, optional=_known_keys),
    st.dictionaries(text, json_values, max_size=2),
)
conversations = st.lists(messages | json_values, max_size=4)
