"""Tests of imports under way and forks."""

from __future__ import annotations

import sys
import threading
import time

import pytest

from rollscope.importing import _Importing, importing
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
    assert in_child(lambda: [*over, free()]) == ["over", True]
    thread.join()


def test_who_imports_may_import_more_and_fork() -> None:
    """In what it imports, or in a signal handler meanwhile."""
    with importing, importing:
        assert in_child(free) is True


def test_a_fork_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """The import may need what a hook before the fork holds: the child can import, and whoever imports goes on."""
    monkeypatch.setattr(sys.modules[_Importing.__module__], "_LONGEST", 0.1)
    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        with importing:
            held.set()
            over.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    assert in_child(free) is True
    over.set()
    thread.join()
    assert free()


def free() -> bool:
    """Whether whoever comes now can import; blocks where not."""
    with importing:
        return True
