"""Calls of the library that may fail for its own process's sake, or never return."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from .._protocol import UnavailableError
from ._compat import abandon_client
from ._server import Server, Unreachable

_LOST = {"HandleAbandonedError", "MailboxClosedError", "ServerResponseError"}


class ClientLost(UnavailableError):
    """When the library's own process died or hangs; the next try starts another."""


class guarded:
    """Errors inside come out as the protocol's; a client that died is cleared away."""

    def __init__(self, server: Server | None = None) -> None:
        self._server = server

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        from wandb.errors import AuthenticationError, CommError

        if isinstance(error, AuthenticationError) and self._server:
            raise UnavailableError(
                f"W&B at {self._server.base_url} refuses the API key: set WANDB_API_KEY or backends.wandb.api_key_file"
            ) from error
        if isinstance(error, CommError) and self._server:
            raise Unreachable(f"W&B at {self._server.base_url} cannot be reached: {str(error)[:300]}") from error
        if error is not None and is_lost(error):
            abandon_client()
            raise ClientLost(f"W&B's client is gone: {type(error).__name__} {str(error)[:200]}") from error


def is_lost(error: BaseException) -> bool:
    """Whether an error of the library means that its process is gone."""
    return isinstance(error, (ConnectionError, TimeoutError)) or type(error).__name__ in _LOST


def is_outage(error: BaseException) -> bool:
    """Whether an error of the library means that the server did not answer."""
    from wandb.errors import CommError

    return isinstance(error, CommError)


def later(call: Callable[[], object]) -> Callable[[], bool]:
    """Run `call` in a thread; what is returned says whether it has ended, and raises what it raised."""
    failure: list[BaseException] = []
    ended = threading.Event()

    def run() -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - carried over to the caller's thread
            failure.append(error)
        ended.set()

    def has_ended() -> bool:
        if failure:
            raise failure[0]
        return ended.is_set()

    threading.Thread(target=run, name="wandb-artifact", daemon=True).start()
    return has_ended


def within(seconds: float, call: Callable[[], None]) -> None:
    """Run `call`; raises TimeoutError when it takes longer, and lets it run on."""
    has_ended = later(call)
    until = time.monotonic() + seconds
    while not has_ended():
        if time.monotonic() > until:
            raise TimeoutError(f"no end after {seconds:.0f} s")
        time.sleep(0.01)
