"""With which exit code a program is left decides how its run ended."""

from __future__ import annotations

import builtins
import pickle
import sys
from collections.abc import Callable

import pytest

import rollscope.recorder as R
from rollscope import vocabulary as v
from rollscope.recorder.leaving import Exit
from rollscope.records import Event, Record

ReadBack = Callable[..., list[Record]]
Program = Callable[..., object]

BEGIN = "import sys\nr = R.init('p', 'e', circumstances=False)\n"
FINISHED = {v.RUN_STATUS: "finished"}


def failed(message: str) -> dict[str, str]:
    return {v.RUN_STATUS: "failed", v.RUN_ERROR: message}


@pytest.mark.parametrize(
    ("program", "code", "expected"),
    [
        ("sys.exit(3)", 3, failed("SystemExit: 3")),
        ("sys.exit('no data')", 1, failed("SystemExit: no data")),
        ("exit(3)", 3, failed("SystemExit: 3")),
        ("quit('no data')", 1, failed("SystemExit: no data")),
        ("exit()", 0, FINISHED),
        ("try: exit(3)\nexcept SystemExit: pass", 0, FINISHED),
        ("import threading\nt = threading.Thread(target=exit, args=[3]); t.start(); t.join()", 0, FINISHED),
        ("sys.exit()", 0, FINISHED),
        ("sys.exit(0)", 0, FINISHED),
        ("def main():\n  try: sys.exit(2)\n  finally: r.event('e', {})\nwith r.start_span('s'): main()", 2, failed("SystemExit: 2")),
        ("import argparse; argparse.ArgumentParser().parse_args(['--x'])", 2, failed("SystemExit: 2")),
        ("try: sys.exit(3)\nexcept SystemExit: pass", 0, FINISHED),
        ("try: sys.exit(3)\nexcept SystemExit as error: kept = error\nkept.raised -= 60", 0, FINISHED),
        ("try: sys.exit(3)\nexcept SystemExit: sys.exit(0)", 0, FINISHED),
        ("import threading\nt = threading.Thread(target=sys.exit, args=[3]); t.start(); t.join()", 0, FINISHED),
        ("import asyncio\nasync def main(): sys.exit(4)\nasyncio.run(main())", 4, failed("SystemExit: 4")),
        ("import os, signal; os.kill(os.getpid(), signal.SIGINT)", -2, {v.RUN_STATUS: "aborted", v.RUN_ERROR: "KeyboardInterrupt: "}),
        ("R.finish('finished'); sys.exit(3)", 3, FINISHED),
    ],
)
def test_the_exit_code_says_how_a_run_ended(
    run_program: Program, read_back: ReadBack, program: str, code: int, expected: dict[str, str]
) -> None:
    """Another code than 0 that leaves the program fails its run; one that somebody caught, or that ends a thread, does not."""
    done = run_program(BEGIN + program, check=False)
    assert done.returncode == code  # type: ignore[attr-defined]
    (end,) = [record for record in read_back() if isinstance(record, Event) and record.name == v.EVENT_RUN_FINISHED]
    assert end.attributes == expected


def test_what_others_do_at_the_exit_is_still_recorded(run_program: Program, read_back: ReadBack) -> None:
    """Whenever they were registered after rollscope was imported, before `init` too."""
    run_program("import atexit\natexit.register(lambda: r.event('last', {}))\n" + BEGIN)
    names = [record.name for record in read_back() if isinstance(record, Event)]
    assert {"last", v.EVENT_RUN_FINISHED} <= set(names)


def test_sys_exit_is_put_back() -> None:
    """A program that goes on after its run has its own `sys.exit`, `exit` and `quit`; during the run they look as before."""
    before = sys.exit, exit, quit
    R.init("p", "e", circumstances=False)
    during = sys.exit, exit, quit
    R.finish()
    assert not set(map(id, before)) & set(map(id, during))
    assert repr(during[1]) == repr(before[1])
    assert (sys.exit, exit, quit) == before


def test_a_foreign_exit_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """As interactive shells have it; and where there is none, as under `python -S`, none is added."""

    def mine() -> None:
        """Leave the shell."""

    monkeypatch.setattr(builtins, "exit", mine)
    monkeypatch.delattr(builtins, "quit")
    R.init("p", "e", circumstances=False)
    assert builtins.exit is mine
    assert not hasattr(builtins, "quit")
    R.finish()
    assert builtins.exit is mine
    assert not hasattr(builtins, "quit")


def test_a_foreign_sys_exit_stays(run_program: Program, read_back: ReadBack) -> None:
    """Who put their own in its place is called, also around ours in a later run, and also in a thread."""
    wrapped = "import sys, threading\ncalls = []\nfound = sys.exit\ndef mine(code=None): calls.append(code); found(code)\nsys.exit = mine\n"
    again = "R.finish()\nr = R.init('p', 'e', circumstances=False)\nassert sys.exit is mine\n"
    thread = "t = threading.Thread(target=sys.exit, args=[3]); t.start(); t.join(); assert calls == [3], calls"
    for program in (wrapped + BEGIN + again + thread, BEGIN + wrapped + again + thread):
        run_program(program)
    assert [record for record in read_back() if isinstance(record, Event) and record.name == v.EVENT_RUN_FINISHED]


def test_what_it_raises_is_what_everybody_knows() -> None:
    """A `SystemExit` with the code given, also on its way to another process."""
    error = Exit(3)
    assert isinstance(error, SystemExit)
    assert error.code == 3
    assert type(pickle.loads(pickle.dumps(error))) is SystemExit
