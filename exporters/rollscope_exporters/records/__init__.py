"""Plain records: the shapes between OTLP and the backends.

The package `decode` makes them from OTLP, `assemble` joins spans, tokens and facts into trajectories, and every backend receives them
and nothing else. Frozen, free of any client, and equal to their msgpack round trip.
"""

from ._base import Message, Scalar
from .encoding import SIGNALS, Record, decode, encode
from .runs import Artifact, RunFinished, RunStarted, RunStatus
from .spans import LogLine, Span, Trace
from .steps import Histogram, Image, StepMetrics, Table
from .trajectories import Generation, LateFacts, Reward, TokenSegment, Trajectory

__all__ = [
    "SIGNALS",
    "Artifact",
    "Generation",
    "Histogram",
    "Image",
    "LateFacts",
    "LogLine",
    "Message",
    "Record",
    "Reward",
    "RunFinished",
    "RunStarted",
    "RunStatus",
    "Scalar",
    "Span",
    "StepMetrics",
    "Table",
    "TokenSegment",
    "Trace",
    "Trajectory",
    "decode",
    "encode",
]
