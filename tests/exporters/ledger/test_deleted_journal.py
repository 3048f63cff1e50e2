"""What lay in a journal that was deleted is named in the ledger: how many records, and which."""

from __future__ import annotations

from rollscope import vocabulary as v

from ..bridge import Bridge
from ..wire import process, requests


def test_a_deleted_journal_is_named_with_what_it_cost(bridge: Bridge) -> None:
    """By what is missing of its numbers; what comes late after all is not lost, and nothing is said before that is out of the question."""
    with process() as worker:
        worker.memory.recorder.event(v.EVENT_RUN_STARTED, {}, priority=0)
        bridge.take(requests(worker.items()))
        for _ in range(6):
            worker.memory.recorder.event("", {}, body="gone")
        late = worker.items()[:2]
        for _ in range(3):
            worker.memory.recorder.event("", {}, body="after")
        worker.memory.recorder.event(v.EVENT_RUN_FINISHED, {}, priority=0)
        bridge.take(requests([*worker.items(), worker.heartbeat(final=True, deleted_upto=7)]))
        (run,) = bridge.ledger().runs
        assert (run.verdict, run.settled, run.dropped, run.missing) == ("delivering", False, 0, 6)
        bridge.take(requests(late))
    bridge.wait(130)
    bridge.deliver()
    (run,) = bridge.ledger().runs
    assert run.producers[0].dropped == {"journal deleted": 4}
    assert run.producers[0].missing_numbers == [(4, 7)]
    assert (run.produced, run.received, run.missing) == (11, 7, 4)
    assert run.verdict.startswith("incomplete: ")
    assert "dropped 4 records (journal deleted: 4)" in run.verdict
    assert "never arrived" not in run.verdict
    assert run.settled


def test_records_lost_with_a_number_are_not_waited_for(bridge: Bridge) -> None:
    """What a shipper withheld or gave up is missing for good: the verdict says so once, at once."""
    with process() as worker:
        worker.memory.recorder.event(v.EVENT_RUN_STARTED, {}, priority=0)
        worker.memory.recorder.event("", {}, body="withheld")
        kept = worker.items()[:1]
        worker.memory.recorder.event(v.EVENT_RUN_FINISHED, {}, priority=0)
        lost = {"evicted redaction failed: TypeError": 1}
        bridge.take(requests([*kept, *worker.items(), worker.heartbeat(final=True, **lost)]))
    bridge.wait(1)
    bridge.deliver()
    (run,) = bridge.ledger().runs
    assert run.reasons == [f"{run.producers[0].label} dropped 1 record (evicted redaction failed: TypeError: 1)"]
    assert (run.settled, run.producers[0].lost, run.missing) == (True, 1, 1)
