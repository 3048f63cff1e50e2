"""The conversation: what is recorded gives every history back."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollscope.trajectory.conversation import Conversation

texts = st.text(max_size=8) | st.integers(0, 3).map(lambda n: "长" * 30_000 + str(n))
messages = st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", "tool"]), "content": texts | st.none()})
turns = st.lists(st.tuples(st.integers(0, 12), st.lists(messages, max_size=4), st.none() | messages), max_size=8)


def loads(encoded):
    return [json.loads(message) for message in encoded]


@given(turns)
def test_the_recorded_messages_rebuild_every_history(turns):
    """Kept messages plus the recorded ones give every history, however it was edited on the way."""
    conversation, context = Conversation(), []
    for number, (keep, extra, output) in enumerate(turns):
        history = context[:keep] + extra
        found = conversation.begin(history)
        assert found.number == number
        assert context[: found.kept] + loads(found.new) == history
        assert found.broken == (found.kept < len(context))
        context = history + loads(conversation.finish(found.number, output))


def test_a_changed_assistant_message_is_a_break():
    """An output that comes back changed is recorded again from there on."""
    conversation = Conversation()
    first = conversation.begin([{"role": "user", "content": "hi"}])
    conversation.finish(first.number, {"role": "assistant", "content": "<think>x</think>yes"})
    second = conversation.begin([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes"}])
    assert (second.kept, second.broken, loads(second.new)) == (1, True, [{"role": "assistant", "content": "yes"}])


def test_a_continued_history_is_no_break():
    """Only the messages after the output are recorded when the framework appends."""
    conversation, history = Conversation(), [{"role": "user", "content": "hi"}]
    conversation.finish(conversation.begin(history).number, "yes")
    history += [{"role": "assistant", "content": "yes"}, {"role": "user", "content": "more"}]
    assert conversation.begin(history) == (1, 2, False, [b'{"role":"user","content":"more"}'])


def test_an_overtaken_output_joins_nothing():
    """Where two generations run at once, the latest history is the context."""
    conversation = Conversation()
    first, second = conversation.begin("a"), conversation.begin("b")
    conversation.finish(first.number, "late")
    assert conversation.begin("b").kept == 1
    assert second.kept == 0


def test_the_first_of_several_choices_joins():
    """Other choices are recorded, the context goes on with the first."""
    conversation = Conversation()
    assert len(conversation.finish(conversation.begin("q").number, [{"content": "a"}, {"content": "b"}])) == 2
    assert conversation.begin([{"role": "user", "content": "q"}, {"content": "a"}]).kept == 2


def test_a_generation_without_messages_keeps_the_context():
    """A generation that hands over tokens only leaves the context as it is."""
    conversation = Conversation()
    conversation.begin("q")
    assert conversation.begin(None) == (1, 1, False, [])


def test_histories_change_under_the_hand():
    """A message that was edited in place is new, although the object is the same."""
    conversation, message = Conversation(), {"role": "user", "content": "a"}
    conversation.begin([message])
    message["content"] = "b"
    assert conversation.begin([message]).kept == 0


@pytest.mark.parametrize(
    "history", [({"role": "user", "content": "x"},), np.array([{"role": "user", "content": "x"}]), {"role": "user", "content": "x"}]
)
def test_histories_come_in_many_shapes(history):
    """Tuples, numpy arrays of messages and single messages are histories."""
    assert loads(Conversation().begin(history).new) == [{"role": "user", "content": "x"}]


def test_an_iterator_is_not_consumed():
    """An iterator is refused before anything is taken from it."""
    history = iter([{"role": "user"}])
    with pytest.raises(TypeError, match="must be a list of messages"):
        Conversation().begin(history)
    assert list(history) == [{"role": "user"}]


def test_tools_are_said_when_they_change():
    """Tool definitions are recorded once, and again when others are offered."""
    conversation, tools = Conversation(), [{"type": "function", "function": {"name": "f"}}]
    assert conversation.tools(None) is None
    assert conversation.tools([]) is None
    assert conversation.tools(tools) == json.dumps(tools, separators=(",", ":")).encode()
    assert conversation.tools(tools) is None
    assert conversation.tools([]) == b"[]"


def test_a_conversation_that_is_kept_can_be_read():
    """Where a hook wants them, the messages are there as they stood at the end."""
    conversation = Conversation(keep=True)
    conversation.finish(conversation.begin("q").number, "a")
    assert loads(conversation.messages) == [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
