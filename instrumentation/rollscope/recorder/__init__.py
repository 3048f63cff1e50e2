"""The recorder: from a call of the training program to a record in this process's journal."""

from typing import TYPE_CHECKING

from ..importing import importing
from . import joining as joining  # gives itself to the session
from .ending import finish
from .environment import environment
from .failures import is_cancellation
from .flushing import FlushResult, flush, status
from .gate import guard, guarded, report, swallow
from .log_handler import LogHandler
from .recorder import Recorder
from .sanitise import Sanitiser
from .session import current
from .span import Span, current_span
from .tracer import Tracer, TracerProvider, get_tracer

if TYPE_CHECKING:
    from .starting import init
else:

    def __getattr__(name: str) -> object:
        """Import `init` when it is first asked for: it brings the journal and the settings, which only a process with a run needs."""
        if name != "init":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        global init
        with importing:
            from .starting import init

        return init

    def __dir__() -> list[str]:
        return sorted({*globals(), "init"})


__all__ = [
    "FlushResult",
    "LogHandler",
    "Recorder",
    "Sanitiser",
    "Span",
    "Tracer",
    "TracerProvider",
    "current",
    "current_span",
    "environment",
    "finish",
    "flush",
    "get_tracer",
    "guard",
    "guarded",
    "init",
    "is_cancellation",
    "report",
    "status",
    "swallow",
]
