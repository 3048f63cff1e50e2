"""The GenAI shapes that leave, as semantic conventions 1.41 define them."""

from __future__ import annotations

import pytest

from rollscope.messages import MessagesError, load_json, openai_json_to_parts_json, openai_to_parts, parts_to_openai

CALL = {"id": "c1", "type": "function", "function": {"name": "get_user", "arguments": '{"id": "mia" }'}}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"role": "user", "content": "hi"}, {"role": "user", "parts": [{"type": "text", "content": "hi"}]}),
        ({"role": "user", "content": "hi", "name": "Mia"}, {"role": "user", "name": "Mia", "parts": [{"type": "text", "content": "hi"}]}),
        (
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "get_user", "arguments": '{"id": "mia" }'}]},
        ),
        (
            {"role": "tool", "tool_call_id": "c1", "name": "get_user", "content": "{}"},
            {"role": "tool", "name": "get_user", "parts": [{"type": "tool_call_response", "id": "c1", "response": "{}"}]},
        ),
        (
            {"role": "assistant", "reasoning_content": "hm", "content": "yes"},
            {"role": "assistant", "parts": [{"type": "reasoning", "content": "hm"}, {"type": "text", "content": "yes"}]},
        ),
        (
            {"role": "assistant", "content": None, "refusal": "no"},
            {"role": "assistant", "refusal": "no", "parts": []},
        ),
    ],
)
def test_plain_messages_have_plain_shapes(message: dict[str, object], expected: dict[str, object]) -> None:
    """A usual message becomes exactly the conventions' shape, with nothing of ours in it."""
    assert openai_to_parts([message]) == [expected]


def test_multi_part_content_is_told_by_modality() -> None:
    """Text, images by data and by address, audio and files have each its GenAI part."""
    content = [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBOR"}},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png", "detail": "low"}},
        {"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}},
        {"type": "file", "file": {"file_id": "f-1"}},
        {"type": "refusal", "refusal": "no"},
    ]
    assert openai_to_parts([{"role": "user", "content": content}]) == [
        {
            "role": "user",
            "parts": [
                {"type": "text", "content": "look"},
                {"type": "blob", "modality": "image", "mime_type": "image/png", "content": "iVBOR"},
                {"type": "uri", "modality": "image", "uri": "https://example.org/a.png", "detail": "low"},
                {"type": "blob", "modality": "audio", "mime_type": "audio/wav", "content": "UklG"},
                {"type": "file", "modality": "document", "file_id": "f-1"},
                {"type": "refusal", "refusal": "no"},
            ],
        }
    ]


def test_arguments_keep_their_text() -> None:
    """Arguments that are text stay the very text; an object stays an object and says so."""
    as_object = {"id": "c2", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}}
    (message,) = openai_to_parts([{"role": "assistant", "content": None, "tool_calls": [CALL, as_object]}])
    assert message["parts"] == [
        {"type": "tool_call", "id": "c1", "name": "get_user", "arguments": '{"id": "mia" }'},
        {"type": "tool_call", "id": "c2", "name": "f", "arguments": {"a": 1}, "rl.arguments": "value"},
    ]


def test_what_the_shapes_cannot_say_rides_along() -> None:
    """A missing `content` and a list of one text are kept as a difference."""
    assert openai_to_parts([{"role": "user", "content": [{"type": "text", "text": "a"}]}, {"role": "assistant"}]) == [
        {
            "role": "user",
            "parts": [{"type": "text", "content": "a"}],
            "rl.openai": {"set": {"content": [{"type": "text", "text": "a"}]}},
        },
        {"role": "assistant", "parts": [], "rl.openai": {"drop": ["content"]}},
    ]


def test_choices_carry_their_finish_reasons() -> None:
    """Several choices are several output messages, each with its reason in GenAI words."""
    messages = openai_to_parts([{"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}], ["stop", "tool_calls"])
    assert [message["finish_reason"] for message in messages] == ["stop", "tool_call"]


def test_a_single_message_is_a_list_of_one() -> None:
    """JSON of one message, not in a list, becomes a list of one."""
    assert parts_to_openai(load_json(openai_json_to_parts_json('{"role":"user","content":"a"}'))) == [{"role": "user", "content": "a"}]


@pytest.mark.parametrize("text", ["", "[{", "nope", "[" * 100_000])
def test_what_is_no_json_is_refused(text: str) -> None:
    """Text that is no JSON raises, it is not guessed at."""
    with pytest.raises(MessagesError):
        openai_json_to_parts_json(text)


def test_lone_surrogates_travel_escaped() -> None:
    """A lone surrogate in a message leaves as an escape, so that the text can be encoded."""
    text = openai_json_to_parts_json('[{"role":"user","content":"a\\ud800你"}]')
    text.encode()
    assert parts_to_openai(load_json(text)) == [{"role": "user", "content": "a\ud800你"}]
