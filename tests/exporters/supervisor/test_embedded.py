"""When an embedded bridge goes."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from rollscope_exporters.supervisor._embedded import IDLE, IDLE_WAITING, PATIENCE, Retirement


class World:
    """What the bridge looks at."""

    def __init__(self, folder: Path) -> None:
        self.idle, self.delivered, self.waiting = IDLE + 1, True, False
        self.lock = folder / "shipper.lock"
        self.retirement = Retirement(self.lock, lambda: self.idle, lambda: self.delivered, lambda: self.waiting)

    def goes(self) -> bool:
        """Say whether it goes when nothing changes any more."""
        return [self.retirement.due(now) for now in (0.0, 1.0, 60.0)][-1]


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Everything is done."""
    return World(tmp_path)


def test_it_goes_when_all_is_done(world: World) -> None:
    """After a moment, not at the first look."""
    assert not world.retirement.due(0.0)
    assert not world.retirement.due(1.0)
    assert world.retirement.due(2.5)


def test_it_stays_while_requests_come(world: World) -> None:
    """Or came a moment ago."""
    world.idle = IDLE - 1
    assert not world.goes()


def test_it_stays_while_a_shipper_lives(world: World) -> None:
    """However long nothing comes."""
    descriptor = os.open(world.lock, os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    world.idle = PATIENCE + 1
    assert not world.goes()
    os.close(descriptor)
    assert world.goes()


def test_it_stays_while_a_backend_is_behind_but_not_for_ever(world: World) -> None:
    """The store keeps what is left."""
    world.delivered = False
    assert not world.goes()
    world.idle = PATIENCE + 1
    assert world.goes()


def test_it_waits_for_the_rest_of_a_trace_as_long_as_the_pipeline_does(world: World) -> None:
    """Then there is nothing to wait for."""
    world.waiting = True
    assert not world.goes()
    world.idle = IDLE_WAITING + 1
    assert world.goes()


def test_something_new_starts_the_moment_again(world: World) -> None:
    """It must be quiet without a break."""
    world.retirement.due(0.0)
    world.delivered = False
    world.retirement.due(1.0)
    world.delivered = True
    assert not world.retirement.due(3.0)
