"""Tests of imports under way and forks."""

from __future__ import annotations

import threading
import time

from rollscope.importing import importing
from tests.forks import in_child


def test_a_fork_waits_for_an_import_and_its_child_can_import() -> None:
    """What is under way in a thread comes to its end first; the child holds nothing."""
    held, over = threading.Event(), []

    def hold() -> None:
        with importing:
            held.set()
            time.sleep(0.1)
            over.append("over")

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    assert in_child(lambda: [*over, importing.acquire(blocking=False)]) == ["over", True]
    thread.join()


def test_who_imports_may_import_more_and_fork() -> None:
    """In what it imports, or in a signal handler meanwhile."""
    with importing, importing:
        assert in_child(lambda: importing.acquire(blocking=False)) is True
