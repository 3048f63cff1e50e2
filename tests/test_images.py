"""Images of messages: moved out, sent once, put back letter by letter."""

import base64
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rollscope as rs
from rollscope import vocabulary as v
from rollscope.images import SCHEME, move_out
from rollscope.pixels import encode_png
from rollscope.testing import memory_recorder
from rollscope_exporters.images import restored

PNG = encode_png(np.zeros((2, 3, 3), dtype=np.uint8))


def uri(content=PNG, kind="image/png"):
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def message(*urls, text="what is this?"):
    pictures = [{"type": "image_url", "image_url": {"url": url, "detail": "low"}} for url in urls]
    return {"role": "user", "content": [{"type": "text", "text": text}, *pictures]}


def test_a_message_keeps_a_reference():
    """The record beside it holds the content; the reference says digest and type."""
    with memory_recorder() as memory, rs.trajectory(group="g", index=0):
        rs.generation(model="m", messages=[message(uri())]).end()
    event = memory.event(v.EVENT_IMAGE)
    reference = f"{SCHEME}{event.attributes[v.IMAGE_DIGEST]};image/png"
    root, *_ = [span for span in memory.spans if v.TRAJECTORY_ID in span.attributes and span.parent_id is None]
    recorded = json.loads(next(span.attributes[v.MESSAGES_INPUT] for span in memory.spans if v.MESSAGES_INPUT in span.attributes))
    assert recorded == [message(reference)]
    assert event.trace_id == root.trace_id
    assert v.IMAGE_NAME not in event.attributes


def test_every_trajectory_waits_for_its_images():
    """A second trajectory with the same image has a record of it, without content, that counts among its records."""
    with memory_recorder() as memory:
        for index in range(2):
            with rs.trajectory(group="g", index=index), rs.generation(messages=[message(uri(), uri())]):
                pass
    events = [event for event in memory.events if event.name == v.EVENT_IMAGE]
    assert [v.IMAGE_CONTENT in event.attributes for event in events] == [True, False, False, False]
    roots = [span for span in memory.spans if span.parent_id is None]
    assert [root.attributes[v.TRAJECTORY_RECORD_COUNT] for root in roots] == [4, 4]


def test_histories_repeat_no_image():
    """What the trajectory's context holds already is not recorded again."""
    history = [message(uri())]
    with memory_recorder() as memory, rs.trajectory(group="g", index=0):
        for turn in range(3):
            with rs.generation(messages=history) as generation:
                generation.output(f"turn {turn}")
            history = [*history, {"role": "assistant", "content": f"turn {turn}"}, {"role": "user", "content": "and?"}]
    assert len([event for event in memory.events if event.name == v.EVENT_IMAGE]) == 1


@given(
    st.lists(st.one_of(st.binary(max_size=30).map(uri), st.text(max_size=8), st.just("data:image/png;base64,?"), st.just('"data:image/')))
)
def test_what_is_moved_out_can_be_put_back(values):
    """Whatever else stands in a message, it comes back letter by letter."""
    original = {"role": "user", "content": values}
    with memory_recorder() as memory:
        moved = json.loads(move_out(memory.recorder, json.dumps(original, ensure_ascii=False).encode()))
    images = {}
    for event in memory.events:
        found = event.attributes
        if v.IMAGE_CONTENT in found:
            images[f"{SCHEME}{found[v.IMAGE_DIGEST]};{found[v.IMAGE_TYPE]}"] = found[v.IMAGE_CONTENT]
    assert restored([moved], images, 1 << 20) == [original]


@pytest.mark.parametrize(
    "url", ["data:image/png;base64,AAA", "data:image/png,plain", "data:image/svg+xml;utf8;base64,AAAA", "data:text/plain;base64,AAAA"]
)
def test_what_could_not_be_rebuilt_stays(url):
    """Another padding, another encoding, a parameter: the message is left as it is."""
    encoded = json.dumps(message(url)).encode()
    with memory_recorder() as memory:
        assert move_out(memory.recorder, encoded) == encoded
    assert memory.events == []


def test_a_large_image_leaves_a_note():
    """The reference says how large it was."""
    with memory_recorder(environment={"ROLLSCOPE_IMAGE_LIMIT": "50"}) as memory:
        moved = json.loads(move_out(memory.recorder, json.dumps(uri()).encode()))
    assert moved.endswith(f";image/png;too-large={len(PNG)}")
    assert memory.event(v.EVENT_IMAGE).body.startswith("content not sent")


def test_no_text_means_no_images():
    """Where messages are not captured their images are not either."""
    with memory_recorder(environment={"ROLLSCOPE_CAPTURE": "tokens"}) as memory, rs.trajectory(group="g", index=0):
        rs.generation(messages=[message(uri())]).end()
    assert [event.name for event in memory.events if event.name == v.EVENT_IMAGE] == []
