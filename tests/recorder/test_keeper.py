"""Tests of the thread that keeps the node's shipper alive."""

from __future__ import annotations

import subprocess
import textwrap
import threading
from collections.abc import Callable

import pytest

from rollscope.recorder import gate
from rollscope.recorder.keeper import Keeper

Program = Callable[..., "subprocess.CompletedProcess[str]"]

COUNT = """
    import rollscope.shipper
    looks = []
    rollscope.shipper.ensure_running = lambda folder, env: looks.append((os.getpid(), str(folder), env))
"""


def test_it_looks_at_once_and_again() -> None:
    """First look without delay, further ones after each pause, none after the end."""
    looked = threading.Semaphore(0)
    keeper = Keeper(looked.release, pause=0.01)
    keeper.start()
    assert all(looked.acquire(timeout=60) for _ in range(3))
    keeper.stop()
    keeper._thread.join(10)
    assert not keeper._thread.is_alive()


def test_a_failing_look_is_counted_and_the_next_one_comes() -> None:
    """A shipper that cannot start is no reason to give up, or to say more than one line."""
    third = threading.Event()
    looks = []

    def look() -> None:
        looks.append(1)
        if len(looks) == 3:
            third.set()
        raise OSError("no processes left")

    keeper = Keeper(look, pause=0.01)
    keeper.start()
    assert third.wait(10)
    keeper.stop()
    keeper._thread.join(10)
    assert gate.counted()["keeper"] >= 3


def test_init_starts_it_with_the_run_s_environment(run_program: Program) -> None:
    """The shipper gets folder and endpoint of the run, even when the run ends at once."""
    done = run_program(
        COUNT
        + """
    R.init('p', 'e', circumstances=False, endpoint='http://c:1')
    R.finish()
    keepers = [t for t in threading.enumerate() if t.name == 'rollscope-keeper']
    print(looks[0][1], looks[0][2]['ROLLSCOPE_ENDPOINT'], [t for t in keepers if not t.daemon])
    """,
        ROLLSCOPE_SHIPPER="on",
    )
    assert done.stdout.split()[0].endswith("rollscope/journal")
    assert done.stdout.split()[1:] == ["http://c:1", "[]"]


@pytest.mark.parametrize("off", [{"ROLLSCOPE_SHIPPER": "off"}, {"ROLLSCOPE_SHIPPER": "on", "ROLLSCOPE_DISABLED": "1"}])
def test_it_starts_no_shipper_where_it_is_switched_off(run_program: Program, off: dict[str, str]) -> None:
    """Neither with a shipper of somebody else's nor in a disabled process; there is not even a thread in the latter."""
    program = "R.init('p', 'e', circumstances=False); R.finish(); print(looks, [t.name for t in threading.enumerate()])"
    done = run_program(COUNT + textwrap.indent(program, "    "), **off)
    assert done.stdout.startswith("[] ")
    assert ("rollscope-keeper" in done.stdout) <= ("ROLLSCOPE_DISABLED" not in off)


def test_a_forked_child_has_one_of_its_own_once_it_records(run_program: Program) -> None:
    """Threads do not survive a fork; the child's first record starts another."""
    done = run_program(
        COUNT
        + """
    r = R.init('p', 'e', circumstances=False)
    pid = os.fork()
    if pid == 0:
        before = [t.name for t in threading.enumerate()]
        r.event('e', {})
        r.keeper._looked.wait(10)
        print(before.count('rollscope-keeper'), looks[-1][0] == os.getpid(), flush=True)
        os._exit(0)
    os.waitpid(pid, 0)
    """,
        ROLLSCOPE_SHIPPER="on",
        ROLLSCOPE_ENDPOINT="http://c:1",
    )
    assert done.stdout.split() == ["0", "True"]
