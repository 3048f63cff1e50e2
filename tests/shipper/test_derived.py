"""Metrics derived for Prometheus wait apart from the records, in a queue that is bounded."""

from __future__ import annotations

import re

from rollscope.shipper.derived import DerivedGauges
from rollscope.shipper.otlp import Item, framed


def item(text: bytes, size: int = 0) -> Item:
    """Metrics whose bytes say which they are."""
    return Item("metrics", framed(1, b"r"), framed(1, b"s"), framed(2, text + b"x" * size), "gauges", derived=True)


def texts(items: list[Item]) -> list[bytes]:
    """Which ones they are."""
    return [found[1] for found in (re.search(rb"<([^>]+)>", item.data) for item in items) if found]


def test_the_oldest_go_when_the_queue_is_full() -> None:
    """Four mebibytes are kept; what is dropped is counted."""
    gauges = DerivedGauges()
    gauges.add(item(b"<%d>" % number, 1 << 20) for number in range(6))
    assert texts(gauges.take()) == [b"3", b"4", b"5"]
    assert (len(gauges), gauges.dropped) == (0, 3)


def test_what_could_not_be_sent_comes_before_what_came_meanwhile() -> None:
    """In order, and still within the limit."""
    gauges = DerivedGauges()
    gauges.add([item(b"<1>", 1 << 20), item(b"<2>", 1 << 20)])
    taken = gauges.take()
    gauges.add([item(b"<3>", 1 << 20), item(b"<4>", 1 << 20)])
    gauges.give_back(taken)
    assert texts(gauges.take()) == [b"2", b"3", b"4"]


def test_what_later_points_repeat_does_not_displace_what_waits() -> None:
    """A heartbeat's numbers are left out while nothing can be sent, and taken again afterwards."""
    gauges = DerivedGauges()
    gauges.add([item(b"<step>")])
    gauges.give_back(gauges.take())
    gauges.add_latest([item(b"<beat-1>")])
    assert texts(gauges.take()) == [b"step"]
    gauges.sent()
    gauges.add_latest([item(b"<beat-2>")])
    assert texts(gauges.take()) == [b"beat-2"]
