"""Parts of a trace → the records that backends receive: pure functions."""

from .conversations import conversation
from .late import late_records
from .parts import Fact, Item, Part, Resources, spans_of
from .trajectory import is_trajectory, trajectory

__all__ = ["Fact", "Item", "Part", "Resources", "conversation", "is_trajectory", "late_records", "spans_of", "trajectory"]
