"""`@traced`: a span around every call of a function, whatever kind of function it is."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any, Literal, TypeVar, overload

from .calls import Call, call_of, keep_result, start_call
from .generators import AsyncDrive, drive
from .kinds import Kind
from .recorder import current, session

__all__ = ["traced"]

F = TypeVar("F", bound="Callable[..., Any] | staticmethod[..., Any] | classmethod[Any, ..., Any]")
Capture = bool | Literal["arguments", "result"] | None
_LIMIT = 8192


@overload
def traced(target: F, /) -> F: ...


@overload
def traced(
    name: str | None = None,
    /,
    *,
    kind: Kind | None = None,
    attributes: Mapping[str, object] | None = None,
    capture: Capture = None,
    limit: int = _LIMIT,
) -> Callable[[F], F]: ...


def traced(
    target: Any = None,
    /,
    *,
    kind: Kind | None = None,
    attributes: Mapping[str, object] | None = None,
    capture: Capture = None,
    limit: int = _LIMIT,
) -> Any:
    """Record a span for every call: `@traced`, `@traced("name")`, `@traced(kind="tool")`.

    Works on functions, coroutine functions, generators (the span covers the iteration and is current only while the body runs), async
    generators, methods, static and class methods in either order, and callable objects. Signature, type hints, name and pickling stay as
    they are. An exception is recorded and goes on; a cancellation is marked as such; a generator that is closed early has not failed.

    name: the function's own unless given. kind: as in `span`; `tool` names the call as a tool call. attributes: set on every call.
    capture: arguments and result as JSON of at most `limit` characters each; True, "arguments", "result" or False. Unless said,
    those of a tool are captured and no others. A generator has no result. The run may begin after decoration; without one a call
    costs a look-up.
    Raises `ConfigurationError` for an unknown kind and `TypeError` for what cannot be called.
    """

    def decorate(function: Any) -> Any:
        return _decorated(function, target if isinstance(target, str) else None, kind, attributes, capture, limit)

    return decorate if target is None or isinstance(target, str) else decorate(target)


def _decorated(
    function: Any, name: str | None, kind: Kind | None, attributes: Mapping[str, object] | None, capture: Capture, limit: int
) -> Any:
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(_decorated(function.__func__, name, kind, attributes, capture, limit))
    if isinstance(function, type) or not callable(function):
        raise TypeError(f"@traced decorates functions, methods and callable objects, not {function!r}; decorate the methods of a class")
    call = call_of(function, name, kind, attributes, capture, limit)
    # What an object does when it is called is written in its class.
    code = function if inspect.isroutine(function) or isinstance(function, functools.partial) else type(function).__call__
    if inspect.iscoroutinefunction(code):
        return _coroutine(function, call)
    if inspect.isasyncgenfunction(code):
        return _async_generator(function, call)
    return _generator(function, call) if inspect.isgeneratorfunction(code) else _function(function, call)


def _function(function: Any, call: Call) -> Any:
    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        # Of what a call costs without a run, calling `current` took a fifth, and unpacking no keywords a seventh.
        recorder = session.active if session.looked else current()
        if recorder is None:
            return function(*args, **kwargs) if kwargs else function(*args)
        with start_call(recorder, call, args, kwargs) as span:
            result = function(*args, **kwargs)
            keep_result(recorder, call, span, result)
            return result

    return run


def _coroutine(function: Any, call: Call) -> Any:
    @functools.wraps(function)
    async def run(*args: Any, **kwargs: Any) -> Any:
        recorder = current()
        if recorder is None:
            return await function(*args, **kwargs)
        with start_call(recorder, call, args, kwargs) as span:
            result = await function(*args, **kwargs)
            keep_result(recorder, call, span, result)
            return result

    return run


def _generator(function: Any, call: Call) -> Any:
    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        recorder = current()
        if recorder is None:
            return (yield from function(*args, **kwargs))
        return (yield from drive(start_call(recorder, call, args, kwargs), function(*args, **kwargs)))

    return run


def _async_generator(function: Any, call: Call) -> Any:
    @functools.wraps(function)
    async def run(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        recorder = current()
        span = None if recorder is None else start_call(recorder, call, args, kwargs)
        body = AsyncDrive(span, function(*args, **kwargs))
        while await body.advance():
            try:
                body.send((yield body.item))
            except GeneratorExit:
                await body.close()
                raise
            except BaseException as error:  # noqa: BLE001  # thrown in by the consumer: the body's to handle
                body.throw(error)

    return run
