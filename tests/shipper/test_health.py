"""What does not go is said in one sentence, and taken back when it goes again."""

from __future__ import annotations

from rollscope.shipper.delivery import Postponed
from rollscope.shipper.health import Health
from rollscope.shipper.sender import Ended, Sender
from rollscope.shipper.status import Status

WELL = Ended(None, [])


def failed(detail: str) -> Ended:
    """A piece of work that the peer could not take."""
    return Ended(Postponed(detail), [])


def test_senders_that_fail_for_one_reason_are_named_together() -> None:
    """A reason is said once, with all it concerns; what goes again is left out, and with the last of them the error."""
    status = Status()
    spans, tokens, beats = senders = [Sender(name, lambda: None) for name in ("spans", "tokens", "heartbeats")]
    health = Health(status, senders)
    assert not health.after(spans, failed("HTTP 503"))
    assert not health.after(tokens, failed("timeout"))
    assert not health.after(beats, failed("HTTP 503"))
    assert (status.state, status.error) == ("waiting", "HTTP 503 (spans, heartbeats); timeout (tokens)")
    assert health.after(spans, WELL)
    assert status.error == "timeout (tokens); HTTP 503 (heartbeats)"
    assert health.hindered
    health.after(tokens, WELL)
    health.after(beats, WELL)
    assert (status.state, status.error, health.hindered) == ("working", "", False)


def test_held_logs_and_a_full_disk_are_told_with_them() -> None:
    """Each hinders, and each is taken back by itself."""
    status = Status()
    health = Health(status, [Sender("spans", lambda: None)])
    health.stored("the disk is full")
    health.held({"no function": 1, "no other": 2})
    assert status.error == "1 log is held back: no function; 2 logs are held back: no other; the disk is full"
    assert not health.can_store
    health.stored("")
    assert (health.can_store, health.hindered) == (True, True)
    health.held({})
    assert (status.error, health.hindered) == ("", False)


def test_records_set_aside_are_counted_by_reason() -> None:
    """The status says how many the peer will never take."""
    status = Status()
    health = Health(status, [])
    for reason in ("refused", "refused", "failed"):
        health.set_aside(reason)
    assert status.set_aside == {"refused": 2, "failed": 1}
