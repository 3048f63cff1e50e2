"""Calls that recorded nothing are told apart from records that were lost."""

from __future__ import annotations

from rollscope import vocabulary as v

from ..bridge import Bridge
from ..wire import process, requests


def test_a_call_that_recorded_nothing_is_no_lost_record(bridge: Bridge) -> None:
    """A run is complete all the same; a note tells of the calls, and counts never fall, whatever a later heartbeat has forgotten."""
    with process() as driver:
        driver.memory.recorder.event(v.EVENT_RUN_STARTED, {}, priority=0)
        driver.memory.recorder.event(v.EVENT_RUN_FINISHED, {}, priority=0)
        bridge.take(requests([*driver.items(), driver.heartbeat(failed={"log": 2})]))
        bridge.take(requests([driver.heartbeat(final=True)]), seconds=1)
    bridge.deliver()
    (run,) = bridge.ledger().runs
    assert run.verdict == "complete"
    assert run.producers[0].failed_calls == {"log": 2}
    assert "recorded nothing because of what they were given (log: 2)" in "".join(run.notes)
