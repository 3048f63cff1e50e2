"""A trajectory as MLflow's chat view wants it: OpenAI messages as inputs and outputs of its spans.

The root holds the whole conversation, letter by letter; each generation the history it saw and what it said; each tool
span its arguments and result. MLflow prefers these attributes to `gen_ai.*`, so the message parts of the latter, which hold
only what was new, are left off.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import takewhile

from rollscope import vocabulary as v

from ...images import restored
from ...records import Generation, Message, Span, TokenSegment, Trajectory
from ._conversation import session_of, split_conversation
from ._fold import TOO_LONG, fold_history
from ._json import as_json
from ._plain import INPUTS, OUTPUTS, SPAN_TYPE, kept_attributes, plain_attributes, span_title
from ._tokens import TokenText, token_attributes, token_usage, tokens_by_span

CHAT_TOOLS = "mlflow.chat.tools"
TOKEN_USAGE = "mlflow.chat.tokenUsage"
MODEL = "mlflow.llm.model"
SESSION = "session.id"

_SAMPLING = {
    v.GEN_AI_REQUEST_TEMPERATURE: "temperature",
    v.GEN_AI_REQUEST_TOP_P: "top_p",
    v.GEN_AI_REQUEST_TOP_K: "top_k",
    v.GEN_AI_REQUEST_MAX_TOKENS: "max_tokens",
    v.GEN_AI_REQUEST_SEED: "seed",
}


def chat_spans(
    trajectory: Trajectory, history_bytes: int, attribute_bytes: int, image_bytes: int = 1 << 20
) -> Iterator[tuple[Span, str, dict[str, object]]]:
    """Yield each span of `trajectory` with the name and the attributes it gets in MLflow."""
    generations = {generation.span_id: generation for generation in trajectory.generations}
    segments, text = tokens_by_span(trajectory.tokens), TokenText(trajectory.tokens)
    turns = dict(turn_messages(trajectory))
    for span in trajectory.spans:
        tokens = segments.get(span.span_id, [])
        if span.parent_id is None:
            own = _root(trajectory, text, attribute_bytes)
        elif span.span_id in generations:
            generation = generations[span.span_id]
            history = fold_history(whole_history(generation, trajectory.messages) or text.of(span.span_id)[0], history_bytes)
            history = restored(history, trajectory.images, image_bytes)
            own = {**_generation(generation, span, history, text, trajectory.images), **_usage(span, tokens)}
        else:
            own = plain_attributes(span)
            if span.name == v.SPAN_TURN and span.attributes.get(v.TURN_INDEX) in turns:
                own[OUTPUTS] = as_json(restored(turns[span.attributes[v.TURN_INDEX]], trajectory.images, image_bytes))
        yield span, span_title(span), {**kept_attributes(span.attributes), **own, **token_attributes(tokens)}


def whole_history(generation: Generation, messages: list[Message]) -> list[Message]:
    """Return what the model saw, with what the record left out because it stands in the conversation."""
    before, end = generation.left_out, generation.left_out + len(generation.input)
    return messages[:end] if before and messages[before:end] == generation.input else generation.input


def turn_messages(trajectory: Trajectory) -> Iterator[tuple[object, list[Message]]]:
    """Yield what happened in each turn: what the model said, and the tool results that came before it spoke again."""
    generations = [generation for generation in trajectory.generations if generation.turn is not None]
    for place, generation in enumerate(generations):
        seen = generation.left_out + len(generation.input) + len(generation.output)
        later = whole_history(generations[place + 1], trajectory.messages) if place + 1 < len(generations) else trajectory.messages
        answers = takewhile(lambda message: message.get("role") == "tool", later[seen:])
        yield generation.turn, [*generation.output, *answers]


def _root(trajectory: Trajectory, text: TokenText, limit: int) -> dict[str, object]:
    messages = restored(trajectory.messages, trajectory.images, limit // 2)
    prompt, rest = split_conversation(messages or text.messages)
    rest = fold_history(rest, limit, TOO_LONG)
    attributes: dict[str, object] = {SPAN_TYPE: "AGENT", SESSION: session_of(trajectory)}
    if prompt or rest:
        attributes |= {INPUTS: as_json({"messages": prompt}), OUTPUTS: as_json(rest)}
    tools = next((generation.tools for generation in reversed(trajectory.generations) if generation.tools), None)
    return {**attributes, CHAT_TOOLS: as_json(tools)} if tools else attributes


def _generation(
    generation: Generation, span: Span, history: list[Message], text: TokenText, images: Mapping[str, bytes]
) -> dict[str, object]:
    request: dict[str, object] = {name: span.attributes[key] for key, name in _SAMPLING.items() if key in span.attributes}
    said, reasons = text.of(span.span_id)[1], generation.finish_reasons
    choices = [
        {"index": place, "message": message, "finish_reason": reasons[min(place, len(reasons) - 1)] if reasons else None}
        for place, message in enumerate(restored(generation.output, images, 1 << 20) or said)
    ]
    attributes: dict[str, object] = {SPAN_TYPE: "CHAT_MODEL", OUTPUTS: as_json({"choices": choices})}
    if generation.model:
        attributes[MODEL] = request["model"] = generation.model
    if generation.tools:
        attributes[CHAT_TOOLS] = as_json(generation.tools)
    attributes[INPUTS] = as_json({"messages": history, **request})
    return attributes


def _usage(span: Span, tokens: list[TokenSegment]) -> dict[str, object]:
    """Return the token counts as the engine reported them, else as the segments show."""
    read, written = token_usage(tokens)
    reported_read, reported_written = (span.attributes.get(key) for key in (v.GEN_AI_USAGE_INPUT_TOKENS, v.GEN_AI_USAGE_OUTPUT_TOKENS))
    read = reported_read if isinstance(reported_read, int) else read
    written = reported_written if isinstance(reported_written, int) else written
    if read is None and written is None:
        return {}
    usage = {"input_tokens": read or 0, "output_tokens": written or 0, "total_tokens": (read or 0) + (written or 0)}
    return {TOKEN_USAGE: as_json(usage)}
