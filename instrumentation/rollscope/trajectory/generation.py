"""One call of the model: what it saw, what it said, and the token ids of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import vocabulary as v
from ..arrays import FLOATS, IDS, MASK, ArrayError, Kind, Packed, cut, length, normalise
from ..images import move_out
from ..jsonable import fit
from ..recorder import Recorder, Span, guarded, swallow
from ..scope import Scope
from .conversation import Conversation
from .owner import Owner
from .token_record import write_segment
from .token_stream import TokenStream

__all__ = ["Generation", "begin_generation", "request_attributes"]


def request_attributes(model: str | None, provider: str | None, parameters: Mapping[str, object]) -> dict[str, Any]:
    """Return the `gen_ai.*` attributes of a request; a parameter the conventions do not know gets `gen_ai.request.` before its name."""
    found: dict[str, Any] = {v.GEN_AI_OPERATION_NAME: v.SPAN_CHAT}
    if model is not None:
        found[v.GEN_AI_REQUEST_MODEL] = model
    if provider is not None:
        found[v.GEN_AI_PROVIDER_NAME] = provider
    for name, value in parameters.items():
        if value is not None:
            found[f"{v.NAMESPACE_REQUEST}{name}"] = value
    return found


def begin_generation(
    recorder: Recorder,
    parent: Span | None,
    trajectory: Owner | None,
    attributes: dict[str, Any],
    messages: object,
    tools: object,
    policy_version: int | None,
) -> Generation:
    """Start the span of a generation. Its input is in the span's start already: a process killed while generating leaves it behind."""
    conversation = Conversation() if trajectory is None or not trajectory.here else trajectory.conversation
    trace_id = bytes.fromhex(trajectory.id) if trajectory is not None else None if parent is None else parent.trace_id
    number = _add_input(recorder, conversation, attributes, messages, trace_id)
    _add_tools(recorder, conversation, attributes, tools)
    if trajectory is not None:
        attributes[v.GEN_AI_CONVERSATION_ID] = trajectory.id
        # Elsewhere than the trajectory's own process nobody knows the context: such a generation is whole in itself.
        if trajectory.here:
            attributes[v.CONTEXT_INDEX] = number
    model = attributes.get(v.GEN_AI_REQUEST_MODEL)
    identity = None if policy_version is None else {v.POLICY_VERSION: policy_version}
    span = recorder.start_span(
        f"{v.SPAN_CHAT} {model}" if model else v.SPAN_CHAT, kind=3, parent=parent, attributes=attributes, identity=identity
    )
    return Generation(recorder, span, trajectory, conversation, number)


def _add_input(recorder: Recorder, conversation: Conversation, attributes: dict[str, Any], messages: object, trace_id: bytes | None) -> int:
    try:
        history = conversation.begin(messages)
    except TypeError as error:
        swallow(error, "messages")
        history = conversation.begin(None)
    if recorder.settings.capture.text:
        attributes[v.MESSAGES_KEPT] = history.kept
        if history.broken:
            attributes[v.CONTEXT_BREAK] = True
        if history.new:
            new = b",".join([move_out(recorder, message, trace_id) for message in history.new])
            attributes[v.MESSAGES_INPUT] = fit(b"[%b]" % new, recorder.limits.value_length)
    return history.number


def _add_tools(recorder: Recorder, conversation: Conversation, attributes: dict[str, Any], tools: object) -> None:
    if recorder.settings.capture.text:
        definitions = conversation.tools(tools)
        if definitions is not None:
            attributes[v.GEN_AI_TOOL_DEFINITIONS] = fit(definitions, recorder.limits.value_length)


class Generation(Scope):
    """A model call that is running."""

    __slots__ = ("_conversation", "_number", "_outputs", "_stream", "trajectory")

    def __init__(self, recorder: Recorder, span: Span, trajectory: Owner | None, conversation: Conversation, number: int) -> None:
        super().__init__(recorder, span)
        self.trajectory = trajectory
        self._conversation = conversation
        self._number = number
        self._outputs: list[bytes] = []
        self._stream = trajectory.stream if trajectory is not None and trajectory.here else TokenStream()

    @guarded("output")
    def output(self, message: object, *, finish_reason: str | Sequence[str] | None = None) -> None:
        """Record what the model said.

        message: an OpenAI message with its tool calls, a string, or a list of choices; the first one joins the conversation.
        finish_reason: why generation ended, one or one a choice: `stop`, `length`, `tool_call`, …
        """
        if finish_reason is not None:
            reasons = [finish_reason] if isinstance(finish_reason, str) else list(finish_reason)
            self.span.set_attribute(v.GEN_AI_RESPONSE_FINISH_REASONS, reasons)
        said = self._conversation.finish(None if self._outputs else self._number, message)
        if self._recorder.settings.capture.text:
            self._outputs += [move_out(self._recorder, choice, self.span.trace_id, self.span.span_id) for choice in said]
            text = fit(b"[%b]" % b",".join(self._outputs), self._recorder.limits.value_length)
            self.span.set_attribute(v.MESSAGES_OUTPUT, text)

    @guarded("usage")
    def usage(self, input_tokens: int | None = None, output_tokens: int | None = None, **other: int) -> None:
        """Record token counts as the engine gives them; without a call they are the lengths of `tokens`.

        other: further counts, recorded under `gen_ai.usage.`.
        """
        if input_tokens is not None:
            self.span.set_attribute(v.GEN_AI_USAGE_INPUT_TOKENS, int(input_tokens))
        if output_tokens is not None:
            self.span.set_attribute(v.GEN_AI_USAGE_OUTPUT_TOKENS, int(output_tokens))
        for name, count in other.items():
            self.span.set_attribute(f"{v.NAMESPACE_USAGE}{name}", int(count))

    @guarded("tokens")
    def tokens(
        self,
        prompt: object = None,
        output: object = None,
        *,
        logprobs: object = None,
        prompt_logprobs: object = None,
        loss_mask: object = None,
        advantages: object = None,
        tokenizer: str | None = None,
    ) -> None:
        """Record token ids, once a generation. Only ids that the trajectory does not hold yet are stored.

        Shapes: prompt, prompt_logprobs `(prompt,)`, the whole prompt; output, logprobs, loss_mask, advantages `(output,)`. Lists,
        numpy arrays, CPU torch tensors or packed bytes; log-probabilities are natural logarithms. An array of another shape is left
        out and counted, the others are recorded. A tensor on a device is not read. tokenizer: name or digest where it is not the run's.
        """
        capture = self._recorder.settings.capture
        if not capture.tokens:
            return
        name = tokenizer or self._recorder.tokenizer
        prompt_ids, output_ids = _array(prompt, IDS, "prompt"), _array(output, IDS, "output")
        if not capture.logprobs:
            logprobs = prompt_logprobs = advantages = None
        self._count(prompt_ids, output_ids)
        with self._stream.lock:
            if prompt_ids is not None:
                side = _side(prompt_logprobs, FLOATS, "prompt_logprobs", prompt_ids)
                segment = self._stream.prompt(prompt_ids)
                write_segment(self._recorder, self.span, "prompt", segment, name, logprobs=_behind(side, segment.kept))
            if output_ids is not None:
                write_segment(
                    self._recorder,
                    self.span,
                    "output",
                    self._stream.output(output_ids),
                    name,
                    logprobs=_side(logprobs, FLOATS, "logprobs", output_ids),
                    loss_mask=_side(loss_mask, MASK, "loss_mask", output_ids),
                    advantages=_side(advantages, FLOATS, "advantages", output_ids),
                )

    def _count(self, prompt: Packed | None, output: Packed | None) -> None:
        told, counts = self.span.attributes, {}
        if prompt is not None and v.GEN_AI_USAGE_INPUT_TOKENS not in told:
            counts[v.GEN_AI_USAGE_INPUT_TOKENS] = length(prompt, IDS)
        if output is not None and v.GEN_AI_USAGE_OUTPUT_TOKENS not in told:
            counts[v.GEN_AI_USAGE_OUTPUT_TOKENS] = length(output, IDS)
        self.span.set_attributes(counts)

    def _finish(self, error: BaseException | None) -> None:
        if self.trajectory is not None:
            self.trajectory.add_usage(self.span.attributes)


def _array(values: object, kind: Kind, name: str) -> Packed | None:
    if values is None:
        return None
    try:
        return normalise(values, kind, name)
    except ArrayError as error:
        swallow(error, "token_array")
        return None


def _side(values: object, kind: Kind, name: str, ids: Packed) -> Packed | None:
    """Return an array that goes along with `ids`; one of another length is left out."""
    found = _array(values, kind, name)
    if found is not None and length(found, kind) != length(ids, IDS):
        swallow(ArrayError(f"{name}: {length(found, kind)} values for {length(ids, IDS)} ids"), "token_array")
        return None
    return found


def _behind(values: Packed | None, kept: int) -> Packed | None:
    """Return the prompt's log-probabilities of the ids that are recorded."""
    return values if values is None or not kept else cut(values, kept, length(values, FLOATS), FLOATS)
