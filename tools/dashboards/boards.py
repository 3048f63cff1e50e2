"""The dashboards that there are."""

from __future__ import annotations

from .board import Board
from .fleet import FLEET
from .pipeline import PIPELINE
from .rollouts import ROLLOUTS
from .training import TRAINING

BOARDS: tuple[Board, ...] = (TRAINING, ROLLOUTS, FLEET, PIPELINE)
