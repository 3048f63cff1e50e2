"""What a signal handler of the program raises while something is recorded reaches the program."""

from __future__ import annotations

import functools
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import rollscope as rs
from rollscope.interruption import is_interruption
from rollscope.recorder import gate
from rollscope.testing import memory_recorder

Handler = Callable[..., None]
Handle = Callable[[Handler], None]


class TimeIsUp(Exception):
    """As time limits around reward functions raise it."""


class WrongValue(ValueError, TimeIsUp):
    """One that could be taken for what the encoder says of a value."""


class Limit:
    """A handler that is a method, and one that is an object."""

    def __init__(self, kind: type[Exception] = TimeIsUp) -> None:
        self.kind = kind

    def handle(self, *_: object) -> None:
        raise self.kind("time is up")

    __call__ = handle


def _handle(kind: type[Exception], *_: object) -> None:
    raise kind("time is up")


HANDLERS: dict[str, Handler] = {
    "function": lambda *_: _handle(TimeIsUp),
    "method": Limit().handle,
    "object": Limit(),
    "partial": functools.partial(_handle, TimeIsUp),
    "partial of a method": functools.partial(Limit().handle),
}


@pytest.fixture
def handled() -> Iterator[Handle]:
    """Install a handler of SIGALRM for the time of a test."""
    before = signal.getsignal(signal.SIGALRM)

    def install(handler: Handler) -> None:
        signal.signal(signal.SIGALRM, handler)

    yield install
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def _counting() -> Iterator[None]:
    """A recorder in memory that counts its errors, as in production."""
    gate.forget()
    with memory_recorder(strict=False):
        yield
    gate.forget()


class Late:
    """An object during whose inspection the time runs out."""

    def __repr__(self) -> str:
        signal.raise_signal(signal.SIGALRM)
        return "late"

    def __float__(self) -> float:
        signal.raise_signal(signal.SIGALRM)
        return 1.0

    def model_dump(self) -> dict[str, Any]:
        signal.raise_signal(signal.SIGALRM)
        return {}


class LateError(Exception):
    def __str__(self) -> str:
        return repr(Late())


@rs.traced(capture=True)
def late_result(argument: object) -> object:
    return argument


def log_of_an_error() -> None:
    with rs.trajectory() as trajectory:
        trajectory.span.record_exception(LateError())


CALLS: dict[str, Callable[[], object]] = {
    "log": lambda: rs.log({"loss": Late()}, step=1),
    "event": lambda: rs.event("note", value=Late()),
    "attribute at the start": lambda: rs.trajectory().turn(attributes={"x": Late()}),
    "attribute": lambda: rs.trajectory().set(x=Late()),
    "messages": lambda: rs.generation(messages=[{"role": "user", "content": Late()}]),
    "arguments": lambda: late_result(Late()),
    "table": lambda: rs.table("t", [{"a": Late()}]),
    "exception": log_of_an_error,
}


@pytest.mark.parametrize("handler", HANDLERS.values(), ids=HANDLERS)
def test_every_kind_of_handler_is_known(handler: Handler, handled: Handle) -> None:
    """Functions, methods, objects and partial calls."""
    handled(handler)
    with pytest.raises(TimeIsUp) as caught:
        repr(Late())
    assert is_interruption(caught.value)


def test_other_errors_are_none(handled: Handle) -> None:
    """Also where a handler is installed, and where it had been called before."""
    handled(Limit())

    def fail() -> None:
        raise TimeIsUp("not by a signal")

    for call in (fail, lambda: int("x")):
        with pytest.raises((TimeIsUp, ValueError)) as caught:
            call()
        assert not is_interruption(caught.value)


@pytest.mark.usefixtures("_counting")
@pytest.mark.parametrize("kind", [TimeIsUp, WrongValue])
@pytest.mark.parametrize("name", CALLS)
def test_it_leaves_every_call(name: str, kind: type[Exception], handled: Handle) -> None:
    """A limit that runs out inside a call of ours is still a limit; that the call recorded nothing is counted."""
    handled(Limit(kind))
    with pytest.raises(kind, match="time is up"):
        CALLS[name]()
    assert gate.counted().get("interrupted", 0) >= 1


@pytest.mark.usefixtures("_counting")
def test_a_value_that_fails_by_itself_is_still_ours_to_count(handled: Handle) -> None:
    """With a handler installed, wrong values are counted as ever."""
    handled(Limit())
    rs.log({"loss": object()}, step=1)
    rs.event("note", value=float("nan"), other=1 << 80)
    assert "interrupted" not in gate.counted()
