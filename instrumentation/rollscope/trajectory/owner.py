"""What the parts of a trajectory know of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from ..recorder import Span
from ..reward import RewardValue
from .conversation import Conversation
from .identity import Coordinates
from .token_stream import TokenStream

__all__ = ["Owner"]


class Owner(Protocol):
    """The trajectory as turns, generations and its summary see it."""

    agent: str | None
    conversation: Conversation
    coordinates: Coordinates
    id: str
    rewards: list[RewardValue]
    span: Span
    stream: TokenStream

    @property
    def here(self) -> bool:
        """Whether conversation and stream are those of the whole trajectory."""
        ...

    def add_usage(self, attributes: Mapping[str, Any]) -> None:
        """Add the token counts of an ended generation."""
        ...
