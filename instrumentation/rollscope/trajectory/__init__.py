"""Trajectories: a rollout of one prompt with its turns, model calls, tool calls, messages and tokens."""

from .attached import span_elsewhere
from .begin import generation, tool, trajectory, turn
from .generation import Generation
from .tool import Tool
from .trajectory import Outcome, Trajectory
from .turn import Turn

__all__ = [
    "Generation",
    "Outcome",
    "Tool",
    "Trajectory",
    "Turn",
    "generation",
    "span_elsewhere",
    "tool",
    "trajectory",
    "turn",
]
