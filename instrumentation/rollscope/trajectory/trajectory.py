"""One rollout of one prompt: a trace of its own."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from threading import RLock
from typing import Any, Literal

from .. import vocabulary as v
from ..hooks import TraceData, hooks_registered, submit_trace
from ..recorder import Recorder, Span, current_span, guarded
from ..recorder.span import is_cancellation
from ..reward import RewardValue, record_facts, record_reward, reward_of
from ..scope import Scope, or_noop
from .conversation import Conversation
from .generation import Generation, begin_generation, request_attributes
from .identity import Coordinates
from .summary import trace_data
from .token_stream import TokenStream
from .tool import Tool, begin_tool
from .turn import Turn

__all__ = ["Outcome", "Trajectory"]

_USAGE = (v.GEN_AI_USAGE_INPUT_TOKENS, v.GEN_AI_USAGE_OUTPUT_TOKENS)
Outcome = Literal["completed", "truncated", "aborted", "cancelled", "failed", "filtered"]


class Trajectory(Scope):
    """A trajectory that is running. All methods may be called from any thread or task, current or not.

    `id` names it for late rewards and facts from other processes; it equals the trace id in hex.
    """

    __slots__ = (
        "_epoch",
        "_hooked",
        "_lock",
        "_outcome",
        "_turns",
        "_usage",
        "agent",
        "conversation",
        "coordinates",
        "id",
        "rewards",
        "stream",
    )

    def __init__(self, recorder: Recorder, span: Span, coordinates: Coordinates, agent: str | None) -> None:
        super().__init__(recorder, span)
        self._epoch = recorder.epoch
        self._hooked = hooks_registered()
        self._lock = RLock()
        self._outcome: str | None = None
        self._turns = itertools.count()
        self._usage: dict[str, int] = {}
        self.agent = agent
        self.conversation = Conversation(keep=self._hooked)
        self.coordinates = coordinates
        self.id = span.trace_id.hex()
        self.rewards: list[RewardValue] = []
        self.stream = TokenStream()

    @property
    def here(self) -> bool:
        """Whether its conversation is known here: False where it was attached in another process or inherited by a fork."""
        return self._recorder.epoch == self._epoch

    @or_noop("turn")
    def turn(self, index: int | None = None, *, attributes: Mapping[str, object] | None = None) -> Turn:
        """Begin a turn; see `rollscope.turn`."""
        number = next(self._turns) if index is None else index
        span = self._recorder.start_span(v.SPAN_TURN, parent=self._parent(), attributes=attributes, identity={v.TURN_INDEX: number})
        return Turn(self._recorder, span, self, number)

    @or_noop("generation")
    def generation(
        self,
        model: str | None = None,
        *,
        messages: object = None,
        tools: object = None,
        provider: str | None = None,
        policy_version: int | None = None,
        **parameters: object,
    ) -> Generation:
        """Begin a model call; see `rollscope.generation`."""
        attributes = request_attributes(model, provider, parameters)
        return begin_generation(self._recorder, self._parent(), self, attributes, messages, tools, policy_version)

    @or_noop("tool")
    def tool(
        self, name: str, *, arguments: object = None, call_id: str | None = None, attributes: Mapping[str, object] | None = None
    ) -> Tool:
        """Begin a tool call; see `rollscope.tool`."""
        return begin_tool(self._recorder, self._parent(), name, arguments, call_id, attributes)

    @guarded("reward")
    def reward(
        self,
        value: float,
        *,
        components: Mapping[str, float] | None = None,
        name: str = "reward",
        explanation: str | None = None,
    ) -> None:
        """Give the trajectory a reward: recorded at once, and shown on its root as long as that is open; see `rollscope.reward`."""
        given = reward_of(value, components, name, explanation)
        self.rewards.append(given)
        record_reward(self._recorder, self, given)
        self.span.set_attributes(given.attributes())

    @guarded("facts")
    def facts(self, values: Mapping[str, object] | None = None, /, **named: object) -> None:
        """Tell facts about the trajectory under names of your own; see `rollscope.facts`."""
        record_facts(self._recorder, self, {**(values or {}), **named})

    def outcome(self, outcome: Outcome) -> None:
        """Say how it ended, where that is not `completed`: `truncated`, `aborted`, `filtered`. An exception that leaves it says more."""
        self._outcome = outcome

    def add_usage(self, attributes: Mapping[str, Any]) -> None:
        """Add the token counts of an ended generation to those of the trajectory."""
        if not self.here:
            return
        with self._lock:
            for name in _USAGE:
                if name in attributes:
                    self._usage[name] = self._usage.get(name, 0) + attributes[name]

    def _parent(self) -> Span:
        span = current_span()
        return span if span is not None and span.trajectory is self and span.is_recording() else self.span

    def _finish(self, error: BaseException | None) -> None:
        known: dict[str, object] = {
            v.TRAJECTORY_OUTCOME: self._ending(error),
            v.TRAJECTORY_TURN_COUNT: next(self._turns) or self.conversation.generations,
            **self._usage,
        }
        if self.here:
            known[v.TRAJECTORY_RECORD_COUNT] = self._recorder.record_count(self.span.trace_id)
        self.span.set_attributes(known)

    def _ending(self, error: BaseException | None) -> str:
        if error is None or isinstance(error, GeneratorExit):
            return self._outcome or ("completed" if error is None else "aborted")
        if is_cancellation(error):
            return "cancelled"
        return "failed" if isinstance(error, Exception) else "aborted"

    def _ended(self) -> None:
        # A forked child has nothing to forget, and whoever held the lock of the conversation is not in it.
        if self.here and not (self._hooked and submit_trace(self._recorder, self._data, self._add)):
            self._forget()

    def _data(self) -> TraceData:
        data = trace_data(self._recorder, self)
        self._forget()
        return data

    def _add(self, added: Mapping[str, object]) -> None:
        record_facts(self._recorder, self, added)

    def _forget(self) -> None:
        """Let go of messages and ids: the object may be kept for late rewards, and programs that train often collect no garbage."""
        self.conversation.forget()
        self.stream = TokenStream()
        self.span.trajectory = None
