"""Driving a traced generator: its span is current while the body runs, and never while the consumer does.

Each resumption runs in the generator's own OpenTelemetry context, which is put away again before the value is handed out. So nothing
is held across a `yield`, and a span that the body opened around one does not leak into the consumer (opentelemetry-python#2606).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from types import TracebackType
from typing import Any

from opentelemetry import context as context_api
from opentelemetry.context import Context

from .recorder import Span

__all__ = ["AsyncDrive", "drive"]


class Body:
    """`with body:` runs a piece of the generator's body in the generator's own context."""

    __slots__ = ("_context", "_token")

    def __init__(self, span: Span) -> None:
        span.enter()
        self._context: Context = context_api.get_current()
        span.leave()
        self._token: Any = None

    def __enter__(self) -> None:
        self._token = context_api.attach(self._context)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._context = context_api.get_current()
        context_api.detach(self._token)


def drive(span: Span, generator: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """Delegate to `generator` as `yield from` does (PEP 380) and end the span with it."""
    body = Body(span)
    resume: Callable[[], Any] = partial(next, generator)
    try:
        while True:
            try:
                with body:
                    item = resume()
            except StopIteration as stop:
                return stop.value
            try:
                sent = yield item
            except GeneratorExit:
                with body:
                    generator.close()
                raise
            except BaseException as error:  # noqa: BLE001  # thrown in by the consumer: the body's to handle
                resume = partial(generator.throw, error)
            else:
                resume = partial(generator.send, sent)
    except BaseException as error:
        span.fail(error)
        raise
    finally:
        span.end()


class AsyncDrive:
    """Delegating to an async generator, step by step; the traced function itself has the `yield`. Without a span it only delegates."""

    __slots__ = ("_body", "_generator", "_resume", "_span", "item")

    def __init__(self, span: Span | None, generator: AsyncGenerator[Any, Any]) -> None:
        self._span = span
        self._body: AbstractContextManager[None] = nullcontext() if span is None else Body(span)
        self._generator = generator
        self._resume: Callable[[], Awaitable[Any]] = generator.__anext__
        self.item: Any = None
        """What the generator yielded last."""

    async def advance(self) -> bool:
        """Run the body up to its next `yield`; False when it has ended. What it raises is recorded and goes on."""
        try:
            with self._body:
                self.item = await self._resume()
            return True
        except StopAsyncIteration:
            self._end(None)
            return False
        except BaseException as error:
            self._end(error)
            raise

    def send(self, value: Any) -> None:
        """Hand the consumer's value to the body when it goes on."""
        self._resume = self._generator.__anext__ if value is None else partial(self._generator.asend, value)

    def throw(self, error: BaseException) -> None:
        """Raise the consumer's exception in the body when it goes on."""
        self._resume = partial(self._generator.athrow, error)

    async def close(self) -> None:
        """End the body early. What it raises on the way is recorded and goes on."""
        try:
            with self._body:
                await self._generator.aclose()
        except BaseException as error:
            self._end(error)
            raise
        self._end(None)

    def _end(self, error: BaseException | None) -> None:
        if self._span is not None:
            if error is not None:
                self._span.fail(error)
            self._span.end()
