"""What a traced call becomes: the span of one call, and what of its arguments and result is kept."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from . import vocabulary as v
from .jsonable import json_text
from .kinds import Kind, shape
from .recorder import Recorder, Span, swallow

__all__ = ["Call", "call_of", "keep_result", "start_call"]

_RECEIVERS = frozenset({"self", "cls"})
_SELF_DESCRIBING = frozenset({"tool"})


class Call(msgspec.Struct, frozen=True):
    """How calls of one function are recorded. Plain data: it is pickled with the function."""

    name: str
    kind: int
    attributes: dict[str, object]
    parameters: tuple[str, ...]
    """Names of positional parameters, the receiver of a method left out."""
    skip: int
    """1 where the first argument is the receiver of a method."""
    arguments: bool
    result: bool
    limit: int
    """Characters of the captured arguments, and of the result."""
    arguments_name: str = v.CODE_ARGUMENTS
    result_name: str = v.CODE_RESULT


def call_of(
    function: Callable[..., Any],
    name: str | None,
    kind: Kind | None,
    attributes: Mapping[str, object] | None,
    capture: bool | str | None,
    limit: int,
) -> Call:
    """Work out, at decoration, everything that does not depend on a call. Raises `ConfigurationError` for an unknown kind."""
    qualified = getattr(function, "__qualname__", None) or type(function).__qualname__
    # `make.<locals>.solve` is called `solve` by everyone who reads a trace.
    short = qualified.rpartition("<locals>.")[2]
    made = shape(name or (short.rpartition(".")[2] if kind else short), kind)
    parameters, skip = _parameters(function)
    wanted = kind in _SELF_DESCRIBING if capture is None else capture
    values = {v.CODE_FUNCTION_NAME: f"{getattr(function, '__module__', '')}.{qualified}", **made.attributes, **(attributes or {})}
    tool = {"arguments_name": v.GEN_AI_TOOL_CALL_ARGUMENTS, "result_name": v.GEN_AI_TOOL_CALL_RESULT} if kind == "tool" else {}
    return Call(
        made.name,
        made.kind,
        values,
        parameters,
        skip,
        arguments=wanted is True or wanted == "arguments",
        result=wanted is True or wanted == "result",
        limit=limit,
        **tool,
    )


def start_call(recorder: Recorder, call: Call, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Span:
    """Start the span of a call."""
    if not (call.arguments and recorder.settings.capture.arguments):
        return recorder.start_span(call.name, kind=call.kind, attributes=call.attributes)
    attributes = dict(call.attributes)
    try:
        attributes[call.arguments_name] = json_text(_named(call, args, kwargs), call.limit)
    except Exception as error:  # noqa: BLE001  # an argument may raise anything when it is looked at
        swallow(error, "arguments")
    return recorder.start_span(call.name, kind=call.kind, attributes=attributes)


def keep_result(recorder: Recorder, call: Call, span: Span, result: object) -> None:
    """Record what a call returned, where that is wanted."""
    if not (call.result and recorder.settings.capture.arguments):
        return
    try:
        # A tool that returns text has said what the model will read; JSON quotes around it would be ours.
        text = result[: call.limit] if isinstance(result, str) and len(result) <= call.limit else json_text(result, call.limit)
        span.set_attribute(call.result_name, text)
    except Exception as error:  # noqa: BLE001  # a result may raise anything when it is looked at
        swallow(error, "result")


def _named(call: Call, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    given = args[call.skip :]
    named = dict(zip(call.parameters, given))  # noqa: B905  # what has no name follows
    rest = given[len(call.parameters) :]
    if rest:
        named["*"] = list(rest)
    named.update(kwargs)
    return named


def _parameters(function: Callable[..., Any]) -> tuple[tuple[str, ...], int]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a builtin without a signature: its arguments have no names
        return (), 0
    positional = tuple(p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))
    skip = 1 if positional and positional[0] in _RECEIVERS else 0
    return positional[skip:], skip
