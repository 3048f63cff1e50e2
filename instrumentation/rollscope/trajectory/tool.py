"""One tool call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import vocabulary as v
from ..jsonable import json_text
from ..recorder import Recorder, Span, guarded
from ..scope import Scope

__all__ = ["Tool", "begin_tool"]


def begin_tool(
    recorder: Recorder,
    parent: Span | None,
    name: str,
    arguments: object,
    call_id: str | None,
    attributes: Mapping[str, object] | None,
) -> Tool:
    """Start the span of a tool call; its arguments are in the span's start already."""
    values: dict[str, Any] = {
        **(attributes or {}),
        v.GEN_AI_OPERATION_NAME: v.SPAN_EXECUTE_TOOL,
        v.GEN_AI_TOOL_NAME: name,
        v.GEN_AI_TOOL_TYPE: "function",
    }
    if call_id is not None:
        values[v.GEN_AI_TOOL_CALL_ID] = call_id
    if arguments is not None and recorder.settings.capture.arguments:
        values[v.GEN_AI_TOOL_CALL_ARGUMENTS] = _text(recorder, arguments)
    return Tool(recorder, recorder.start_span(f"{v.SPAN_EXECUTE_TOOL} {name}", parent=parent, attributes=values))


class Tool(Scope):
    """A tool call that is running. An exception that leaves it is its error."""

    __slots__ = ()

    @guarded("result")
    def result(self, value: object) -> None:
        """Record what the tool returned: a string as it is, anything else as JSON."""
        if self._recorder.settings.capture.arguments:
            self.span.set_attribute(v.GEN_AI_TOOL_CALL_RESULT, _text(self._recorder, value))

    @guarded("error")
    def error(self, message: object, *, type: str = "tool_error") -> None:
        """Record that the call failed without an exception. type: a short class of errors, such as `timeout`."""
        if isinstance(message, BaseException):
            self.span.fail(message)
            return
        self.span.set_attribute(v.ERROR_TYPE, type)
        self.span.set_error(str(message))


def _text(recorder: Recorder, value: object) -> str:
    # The arguments of an OpenAI tool call are JSON text already.
    if isinstance(value, str):
        return value
    return json_text(value, recorder.limits.value_length)
