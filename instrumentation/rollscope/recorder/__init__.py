"""The recorder: from a call of the training program to a record in this process's journal."""

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
from .starting import init
from .tracer import Tracer, TracerProvider, get_tracer

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
