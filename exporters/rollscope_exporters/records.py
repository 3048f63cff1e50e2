"""Plain records: the shapes between OTLP and the backends.

`decode` makes them from OTLP, `assemble` joins spans, tokens and facts into trajectories, and every backend receives
them and nothing else. Frozen, free of any client, and equal to their msgpack round trip.
"""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

import msgspec

from rollscope import vocabulary as v

Scalar: TypeAlias = bool | int | float | str
Message: TypeAlias = "dict[str, object]"
"""A chat message in OpenAI format."""

RunStatus: TypeAlias = Literal["finished", "failed", "aborted"]


class _Plain(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="record"):
    signal: ClassVar[str]


class RunStarted(_Plain, tag="run_started", kw_only=True, frozen=True):
    """A run began or was resumed (`attempt` > 0). Always the first record of a run; a run of a program without
    rollscope gets one with its `service.name` as project and experiment."""

    signal: ClassVar[str] = "runs"
    run: str
    name: str
    project: str
    attempt: int = 0
    time: int
    """Unix time, ns."""
    config: dict[str, object] = {}
    tags: list[str] = []
    notes: str = ""
    backends: list[str] = []
    """What the run asked for; the bridge's configuration decides."""
    circumstances: dict[str, object] = {}
    resource: dict[str, object] = {}


class RunFinished(_Plain, tag="run_finished", kw_only=True, frozen=True):
    """The run ended: `finished` and `failed` by its driver's word, `aborted` when the driver died without one."""

    signal: ClassVar[str] = "runs"
    run: str
    time: int
    status: RunStatus
    error: str = ""


class StepMetrics(_Plain, tag="metrics", kw_only=True, frozen=True):
    """Scalars of one step, or of one moment where a foreign program has no step."""

    signal: ClassVar[str] = "metrics"
    run: str
    time: int
    step: int | None = None
    values: dict[str, Scalar]
    """Name → value; NaN and Inf are kept."""
    split: str = ""
    producer: str = ""


class Span(_Plain, tag="span", kw_only=True, frozen=True):
    """One finished span with everything it carried."""

    trace_id: str
    span_id: str
    parent_id: str | None = None
    name: str
    kind: int = 1
    start: int
    end: int
    status: int = 0
    """0 unset, 1 ok, 2 error."""
    message: str = ""
    attributes: dict[str, object] = {}
    events: list[tuple[int, str, dict[str, object]]] = []
    links: list[tuple[str, str, dict[str, object]]] = []
    """Trace id, span id, attributes."""
    resource: dict[str, object] = {}
    """Resource attributes; within a trajectory or trace, empty where they are those of the first span."""
    scope: str = ""

    @property
    def failed(self) -> bool:
        """Whether its status is an error."""
        return self.status == v.STATUS_ERROR

    @property
    def is_tool_call(self) -> bool:
        """Whether it is the call of a tool."""
        return self.attributes.get(v.GEN_AI_OPERATION_NAME) == v.SPAN_EXECUTE_TOOL


class TokenSegment(_Plain, tag="tokens", kw_only=True, frozen=True):
    """One segment of a trajectory's token stream. Arrays have the shape `(count,)`."""

    span_id: str
    time: int
    role: str
    """`prompt` or `output`."""
    kept: int = 0
    """Ids of the context before this segment that stay."""
    count: int
    ids: bytes
    """Little-endian int32."""
    logprobs: bytes | None = None
    """Little-endian float16."""
    loss_mask: bytes | None = None
    """One bit a token, most significant bit first."""
    advantages: bytes | None = None
    """Little-endian float16."""
    tokenizer: str = ""
    text: str | None = None
    """Decoded text, special tokens visible; None when no tokenizer could be had."""
    offsets: bytes | None = None
    """End of each token in `text`, characters, little-endian int32."""
    tail: bytes = b""
    """Bytes of a character this segment leaves unfinished."""
    undecoded: str = ""
    """Why there is no text."""


class Generation(_Plain, tag="generation", kw_only=True, frozen=True):
    """One model call of a trajectory with the whole history it saw."""

    span_id: str
    index: int
    turn: int | None = None
    model: str = ""
    input: list[dict[str, object]] = []
    """Whole message history, OpenAI format."""
    left_out: int = 0
    """Messages before `input` that are not repeated here because the histories of this trajectory would be too large."""
    output: list[dict[str, object]] = []
    tools: list[dict[str, object]] = []
    """Tool definitions in force, OpenAI format."""
    finish_reasons: list[str] = []
    broken: bool = False
    """The history was edited, truncated or compacted before this call."""


class Reward(_Plain, tag="reward", kw_only=True, frozen=True):
    """One reward given to a trajectory."""

    value: float
    name: str = "reward"
    """Source that scored."""
    components: dict[str, float] = {}
    explanation: str = ""
    time: int = 0
    uid: str = ""
    """Identity of the fact, equal in every repetition."""


class Trajectory(_Plain, tag="trajectory", kw_only=True, frozen=True):
    """One rollout of one prompt, joined: spans, conversation, tokens as text, rewards."""

    signal: ClassVar[str] = "trajectories"
    run: str
    id: str
    """Equals the trace id in hex."""
    start: int
    end: int
    agent: str = ""
    step: int | None = None
    group: str | None = None
    index: int | None = None
    attempt: int = 0
    policy_version: int | None = None
    split: str = "train"
    outcome: str = "completed"
    spans: list[Span]
    """In start order, root first."""
    messages: list[dict[str, object]] = []
    """The conversation as it stood at the end, OpenAI format, letter by letter as recorded."""
    generations: list[Generation] = []
    tokens: list[TokenSegment] = []
    rewards: list[Reward] = []
    metrics: dict[str, float] = {}
    facts: dict[str, object] = {}
    incomplete: str = ""
    """What is missing, empty when everything its producer recorded is here."""
    images: dict[str, bytes] = {}
    """Images that its messages refer to, once each: reference (`rollscope-image:sha256:…;image/png`) → content. A reference that is not
    here was too large or never came; `images.restored` puts the others back."""

    @property
    def reward(self) -> float | None:
        """The last reward given, or None."""
        return self.rewards[-1].value if self.rewards else None


class Trace(_Plain, tag="trace", kw_only=True, frozen=True):
    """Spans of a trace that is no trajectory (a step, a foreign program), or late ones of any trace."""

    signal: ClassVar[str] = "traces"
    run: str
    trace_id: str
    spans: list[Span]
    late: bool = False
    """The trace was delivered before; these spans came after."""


class LateFacts(_Plain, tag="late_facts", kw_only=True, frozen=True):
    """Rewards, facts or token segments that came after their trajectory had been delivered."""

    signal: ClassVar[str] = "trajectories"
    run: str
    trajectory: str
    step: int | None = None
    rewards: list[Reward] = []
    facts: dict[str, object] = {}
    tokens: list[TokenSegment] = []


class Table(_Plain, tag="table", kw_only=True, frozen=True):
    """Rows of a named table at one step."""

    signal: ClassVar[str] = "tables"
    run: str
    name: str
    step: int | None = None
    time: int
    rows: list[dict[str, object]]
    uid: str = ""


class Artifact(_Plain, tag="artifact", kw_only=True, frozen=True):
    """A file of the run: its content, or where it lies."""

    signal: ClassVar[str] = "artifacts"
    run: str
    name: str
    time: int
    type: str = "file"
    aliases: list[str] = []
    digest: str = ""
    size: int = 0
    content: bytes | None = None
    uri: str = ""
    step: int | None = None
    files: list[tuple[str, int, int, str]] = []
    """Of a checkpoint: path below `uri` (its name where it is one file), bytes, time of modification (Unix ns), digest or empty."""
    host: str = ""
    """Where `uri` lies, for a checkpoint."""
    upload: bool = False
    """Whether the files at `uri` are wanted in the destination: set for a checkpoint by `artifacts.models: upload`."""
    uid: str = ""


class Histogram(_Plain, tag="histogram", kw_only=True, frozen=True):
    """A distribution at one step. `edges` has the shape `(bins + 1,)`, `counts` `(bins,)`; both empty where there was no finite value."""

    signal: ClassVar[str] = "histograms"
    run: str
    name: str
    step: int | None = None
    time: int
    edges: list[float]
    counts: list[int]
    count: int
    """Finite values, those outside given edges included."""
    sum: float = 0.0
    min: float | None = None
    max: float | None = None
    nan: int = 0
    positive_infinite: int = 0
    negative_infinite: int = 0
    split: str = ""
    uid: str = ""


class Image(_Plain, tag="image", kw_only=True, frozen=True):
    """An image under a name at a step, or one that stands in the messages of a trajectory (then it has no name)."""

    signal: ClassVar[str] = "images"
    run: str
    name: str = ""
    step: int | None = None
    time: int
    caption: str = ""
    media_type: str = "image/png"
    digest: str
    """`sha256:` and the digest of the content."""
    size: int = 0
    width: int = 0
    """Pixels, 0 where unknown."""
    height: int = 0
    content: bytes | None = None
    """None where it is too large or was lost, and for a repeated image of messages."""
    trajectory: str = ""
    """Whose messages it stands in."""
    note: str = ""
    """Why there is no content."""
    uid: str = ""


class LogLine(_Plain, tag="log", kw_only=True, frozen=True):
    """A log line or a user's event."""

    signal: ClassVar[str] = "logs"
    run: str
    time: int
    severity: int = 9
    body: str = ""
    name: str = ""
    trace_id: str = ""
    span_id: str = ""
    attributes: dict[str, object] = {}
    producer: str = ""


Record: TypeAlias = RunStarted | RunFinished | StepMetrics | Trajectory | Trace | LateFacts | Table | Histogram | Image | Artifact | LogLine
SIGNALS: tuple[str, ...] = ("runs", "metrics", "trajectories", "traces", "tables", "histograms", "images", "artifacts", "logs")

decode = msgspec.msgpack.Decoder(Record).decode
_encode = msgspec.msgpack.Encoder().encode
_INT64 = 1 << 63
_PRINTABLE = 4096
"""Bits of an integer that Python turns into decimal digits without complaint, and in no time."""
_DEPTH = 100
"""Levels of a value; far more than content has, far fewer than an encoder or a backend can follow."""


def encode(record: Record) -> bytes:
    """Return `record` as msgpack. What JSON can say and msgpack cannot is replaced: an integer beyond 64 bits by its decimal text, a lone
    surrogate by U+FFFD, what is nested too deep by "…"."""
    try:
        return _encode(record)
    except (OverflowError, RecursionError, UnicodeError):
        return _encode(_plain(record, _DEPTH))


def _plain(value: object, depth: int) -> object:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, int):
        if -_INT64 <= value < 2 * _INT64:
            return value
        return str(value) if value.bit_length() < _PRINTABLE else hex(value)
    if isinstance(value, msgspec.Struct):
        names = type(value).__struct_fields__
        return msgspec.structs.replace(value, **{name: _plain(getattr(value, name), depth) for name in names})
    if not isinstance(value, (dict, list, tuple)):
        return value
    if depth == 0:
        return "…"
    if isinstance(value, dict):
        return {_plain(name, depth - 1): _plain(inner, depth - 1) for name, inner in value.items()}
    return [_plain(inner, depth - 1) for inner in value]
