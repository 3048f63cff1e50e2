"""Tests of how a run ends: by word, by the end of the program, by an exception, by a signal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import rollscope.recorder as R
from rollscope import vocabulary as v
from rollscope.journal import LogReader, list_logs
from rollscope.recorder import gate
from rollscope.records import Event, Record

ReadBack = Callable[..., list[Record]]
Program = Callable[..., object]

BEGIN = "r = R.init('p', 'e', circumstances=False)\n"


def ended(read_back: ReadBack) -> list[dict[str, object]]:
    return [record.attributes for record in read_back() if isinstance(record, Event) and record.name == v.EVENT_RUN_FINISHED]


@pytest.mark.parametrize(
    ("status", "error", "expected"),
    [
        (None, None, {v.RUN_STATUS: "finished"}),
        ("failed", "diverged, api_key=sesame", {v.RUN_STATUS: "failed", v.RUN_ERROR: "diverged, api_key=***"}),
        ("aborted", None, {v.RUN_STATUS: "aborted"}),
    ],
)
def test_finish_records_the_driver_s_word(read_back: ReadBack, status: object, error: str | None, expected: dict[str, str]) -> None:
    """Status and error, with secrets masked; the journal is closed."""
    R.init("p", "e", circumstances=False)
    R.finish(status, error)  # type: ignore[arg-type]
    assert ended(read_back) == [expected]
    (folder,) = list_logs(Path("rollscope/journal/producers"))
    assert not LogReader(folder).alive()


def test_what_comes_after_the_end_is_counted_not_raised() -> None:
    """A span that outlives its run is dropped by name."""
    recorder = R.init("p", "e", circumstances=False)
    assert recorder is not None
    span = recorder.start_span("work")
    R.finish()
    span.end()
    recorder.event("late", {})
    assert gate.counted() == {"closed": 2}
    R.finish()


def test_what_comes_after_the_end_is_no_loss_of_the_next_run(read_back: ReadBack) -> None:
    """A judge that still holds a trajectory of the run before, in a sweep: the next run's log knows nothing of it."""
    first = R.init("p", "first", circumstances=False)
    assert first is not None
    span = first.start_span("judged late")
    R.finish()
    second = R.init("p", "second", circumstances=False)
    assert second is not None
    assert second.journal is not None
    span.end()
    first.event("late", {})
    assert second.journal.counters().dropped == {}  # type: ignore[attr-defined]
    R.finish()
    assert gate.counted() == {"closed": 2}


def test_a_program_that_ends_finishes_its_run(run_program: Program, read_back: ReadBack) -> None:
    """Nobody has to call `finish`."""
    run_program(BEGIN)
    assert ended(read_back) == [{v.RUN_STATUS: "finished"}]


def test_an_exception_fails_the_run_and_is_still_printed(run_program: Program, read_back: ReadBack) -> None:
    """The former hook has its turn."""
    former = "sys.excepthook = lambda *a: print('former', a[0].__name__)\n"
    done = run_program(former + BEGIN + "raise ValueError('token=abc')", check=False)
    assert done.returncode == 1  # type: ignore[attr-defined]
    assert "former ValueError" in done.stdout  # type: ignore[attr-defined]
    assert ended(read_back) == [{v.RUN_STATUS: "failed", v.RUN_ERROR: "ValueError: token=***"}]


def test_control_c_aborts_the_run(run_program: Program, read_back: ReadBack) -> None:
    """The program was stopped, it did not fail."""
    run_program(BEGIN + "os.kill(os.getpid(), signal.SIGINT); time.sleep(5)", check=False)
    assert ended(read_back) == [{v.RUN_STATUS: "aborted", v.RUN_ERROR: "KeyboardInterrupt: "}]


def test_an_exception_in_a_thread_is_not_the_end(run_program: Program, read_back: ReadBack) -> None:
    """The main thread decides."""
    run_program(BEGIN + "t = threading.Thread(target=lambda: 1 / 0); t.start(); t.join()")
    assert ended(read_back) == [{v.RUN_STATUS: "finished"}]


def test_a_finish_after_a_handled_exception_is_a_finish(run_program: Program, read_back: ReadBack) -> None:
    """Only what ends the program counts."""
    run_program(BEGIN + "try:\n    1 / 0\nexcept ZeroDivisionError:\n    pass\nR.finish()")
    assert ended(read_back) == [{v.RUN_STATUS: "finished"}]


def test_a_worker_does_not_end_the_run(run_program: Program, read_back: ReadBack) -> None:
    """It joined, recorded and left; its journal says it left in order."""
    run_program("R.current().event('e', {})", ROLLSCOPE_RUN_ID="run-1")
    assert ended(read_back) == []
    (folder,) = list_logs(Path("rollscope/journal/producers"))
    assert not LogReader(folder).alive()


def test_exit_waits_for_nothing(run_program: Program) -> None:
    """With a peer that never answers and a shipper that cannot start, the end takes no more than half a second."""
    hanging = (
        "import rollscope.shipper\n"
        "busy = threading.Event()\n"
        "def hang(*a): busy.set(); time.sleep(60)\n"
        "rollscope.shipper.ensure_running = hang\n"
    )
    end = "assert busy.wait(20)\nbegin = time.monotonic(); R.finish(); print(time.monotonic() - begin)"
    program = hanging + BEGIN + end
    done = run_program(program, ROLLSCOPE_SHIPPER="on", ROLLSCOPE_ENDPOINT="http://127.0.0.1:9")
    assert float(done.stdout) < 20  # type: ignore[attr-defined]  # far less than the 60 s that it would take to wait


def test_finish_without_a_run_is_nothing() -> None:
    """Also twice."""
    R.finish()
    R.finish("failed")
    assert gate.counted() == {}
