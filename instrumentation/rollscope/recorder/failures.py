"""What is recorded of an exception that is not ours: it may raise when it is looked at."""

from __future__ import annotations

import sys
from traceback import format_exception

from ..interruption import pass_on

__all__ = ["is_cancellation", "message_of", "stack_of", "type_name"]


def is_cancellation(error: BaseException) -> bool:
    """Return whether `error` says that asyncio cancelled the work. asyncio is not imported for the question: that takes 15 ms."""
    asyncio = sys.modules.get("asyncio.exceptions")
    return asyncio is not None and isinstance(error, asyncio.CancelledError)


def type_name(kind: type) -> str:
    """Return how an exception class is named: qualified unless it is built in."""
    return kind.__qualname__ if kind.__module__ in ("builtins", None) else f"{kind.__module__}.{kind.__qualname__}"


def message_of(error: BaseException) -> str:
    """Return the message of an exception, also of one that cannot print itself."""
    try:
        return str(error)
    except Exception as failure:  # noqa: BLE001  # a foreign __str__ may raise anything; its type says what happened
        pass_on(failure)
        return f"<no message: {type(failure).__name__}>"


def stack_of(error: BaseException, limit: int) -> str:
    """Return the stack trace, of a long one its innermost part."""
    text = "".join(format_exception(type(error), error, error.__traceback__))
    return text if len(text) <= limit else "…" + text[-limit:]
