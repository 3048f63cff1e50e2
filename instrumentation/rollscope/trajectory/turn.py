"""One turn of a trajectory."""

from __future__ import annotations

from collections.abc import Mapping

from ..recorder import Recorder, Span
from ..scope import Scope, or_noop
from .generation import Generation, begin_generation, request_attributes
from .owner import Owner
from .tool import Tool, begin_tool

__all__ = ["Turn"]


class Turn(Scope):
    """A turn that is running: usually one generation and the tool calls it asked for."""

    __slots__ = ("index", "trajectory")

    def __init__(self, recorder: Recorder, span: Span, trajectory: Owner | None, index: int) -> None:
        super().__init__(recorder, span)
        self.trajectory = trajectory
        self.index = index

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
        """Begin a model call of this turn; see `rollscope.generation`."""
        attributes = request_attributes(model, provider, parameters)
        return begin_generation(self._recorder, self.span, self.trajectory, attributes, messages, tools, policy_version)

    @or_noop("tool")
    def tool(
        self, name: str, *, arguments: object = None, call_id: str | None = None, attributes: Mapping[str, object] | None = None
    ) -> Tool:
        """Begin a tool call of this turn; see `rollscope.tool`."""
        return begin_tool(self._recorder, self.span, name, arguments, call_id, attributes)
