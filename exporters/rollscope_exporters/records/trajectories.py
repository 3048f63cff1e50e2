"""Trajectories: one rollout of one prompt with everything it consists of."""

# ruff: noqa: RUF012 - every record has its own copy of an empty default; ruff does not see the Struct behind `Plain`
from __future__ import annotations

from typing import ClassVar

from ._base import Plain
from .spans import Span


class TokenSegment(Plain, tag="tokens", kw_only=True, frozen=True):
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


class Generation(Plain, tag="generation", kw_only=True, frozen=True):
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


class Reward(Plain, tag="reward", kw_only=True, frozen=True):
    """One reward given to a trajectory."""

    value: float
    name: str = "reward"
    """Source that scored."""
    components: dict[str, float] = {}
    explanation: str = ""
    time: int = 0
    uid: str = ""
    """Identity of the fact, equal in every repetition."""


class Trajectory(Plain, tag="trajectory", kw_only=True, frozen=True):
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


class LateFacts(Plain, tag="late_facts", kw_only=True, frozen=True):
    """Rewards, facts or token segments that came after their trajectory had been delivered."""

    signal: ClassVar[str] = "trajectories"
    run: str
    trajectory: str
    step: int | None = None
    rewards: list[Reward] = []
    facts: dict[str, object] = {}
    tokens: list[TokenSegment] = []
