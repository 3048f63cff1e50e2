"""One child process: restarts, pauses, the deadline, the end."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rollscope_exporters.supervisor import Child, ChildSpec, _child
from tests import waiting

WAIT_FOR_END = "import sys; sys.stdin.read()"


def beating(state: str) -> str:
    """A sign of life."""
    return f'{{"pid": 1, "time": 1, "state": "{state}"}}'


def until(child: Child, condition: Callable[[], object]) -> None:
    """Tick until `condition` holds."""
    waiting.until(lambda: condition() or child.tick(), 120)


Make = Callable[..., Child]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Make children with short pauses."""
    monkeypatch.setattr(_child, "FIRST_PAUSE", 0.02)
    monkeypatch.setattr(_child, "LONGEST_PAUSE", 0.2)
    made: list[Child] = []

    def new(code: str, *, beat: Path | None = None, deadline: float = 60.0) -> Child:
        child = Child(ChildSpec("child", ("-c", code), beat), os.environ, deadline)
        made.append(child)
        return child

    yield new
    for child in made:
        child.end()
        child.kill()
        until(child, lambda child=child: child.pid is None)  # type: ignore[misc]


def test_it_ends_when_its_pipe_closes(make: Make) -> None:
    """And is not started again."""
    child = make(WAIT_FOR_END)
    until(child, lambda: child.pid)
    child.end()
    until(child, lambda: child.pid is None)
    for _ in range(20):
        child.tick()
        time.sleep(0.01)
    assert (child.pid, child.restarts, child.last_end) == (None, 0, "exit code 0")


def test_it_is_started_again_with_growing_pauses(make: Make) -> None:
    """Up to a longest one."""
    child = make("raise SystemExit(1)")
    until(child, lambda: child.restarts >= 4)
    assert child._pause == 0.2
    assert child.last_end == "exit code 1"


@pytest.mark.parametrize(
    ("code", "crash"),
    [
        ("import os; os.abort()", True),
        ("import os; os._exit(3)", True),
        ("raise SystemExit(75)", False),
        ("raise SystemExit(0)", False),
        ("raise KeyboardInterrupt", True),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", False),
    ],
)
def test_the_next_process_is_told_of_a_crash_of_its_own_making(make: Make, tmp_path: Path, code: str, crash: bool) -> None:
    """Not of an orderly end, nor of a kill."""
    mark = tmp_path / "mark"
    child = make(f"import sys; open({str(mark)!r}, 'a').write(' '.join(sys.argv[1:]) + ';')\n{code}")
    until(child, lambda: child.restarts >= 1 and mark.exists() and mark.read_text().count(";") >= 2)
    assert mark.read_text().split(";")[:2] == ["", "--after crash" if crash else ""]


@pytest.mark.parametrize(("state", "crash"), [("writing", True), ("ended", False)])
def test_an_end_in_the_middle_of_a_write_is_a_crash_whatever_the_code(make: Make, tmp_path: Path, state: str, crash: bool) -> None:
    """A library that exits well has ended the process all the same."""
    beat, mark = tmp_path / "beat", tmp_path / "mark"
    code = f"import os, sys; open({str(beat)!r}, 'w').write({beating(state)!r})"
    child = make(f"{code}; open({str(mark)!r}, 'a').write(' '.join(sys.argv[1:]) + ';'); os._exit(0)", beat=beat)
    until(child, lambda: child.restarts >= 1 and mark.exists() and mark.read_text().count(";") >= 2)
    assert mark.read_text().split(";")[:2] == ["", "--after crash" if crash else ""]


@pytest.mark.parametrize(("state", "told"), [("writing", " --after hang"), ("waiting", " ")])
def test_one_that_makes_no_progress_is_killed(make: Make, tmp_path: Path, state: str, told: str) -> None:
    """With what it started; the next process is told that it hung where that was at a record. It is no crash: the fault may lie with a
    server."""
    beat, mark = tmp_path / "beat", tmp_path / "mark"
    code = f"""
import subprocess, sys, time
open({str(beat)!r}, "w").write({beating(state)!r})
grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open({str(mark)!r}, "a").write(f"{{grandchild.pid}} {{' '.join(sys.argv[1:])}};")
time.sleep(600)
"""
    child = make(code, beat=beat, deadline=2.0)
    until(child, lambda: child.restarts >= 1 and mark.exists() and mark.read_text().count(";") >= 2)
    first, second = mark.read_text().split(";")[:2]
    assert first.endswith(" ")
    assert second.endswith(told)
    assert child.last_end == "SIGKILL"
    assert not Path(f"/proc/{first.split()[0]}").exists() or "Z" in Path(f"/proc/{first.split()[0]}/stat").read_text().split()[2]


def test_one_that_beats_is_left_alone(make: Make, tmp_path: Path) -> None:
    """However long it works."""
    beat = tmp_path / "beat"
    child = make(f"import time\nwhile True:\n open({str(beat)!r}, 'w').close()\n time.sleep(0.05)", beat=beat, deadline=3.0)
    until(child, beat.exists)
    pid, end = child.pid, time.monotonic() + 4.5
    until(child, lambda: time.monotonic() > end)
    assert child.pid == pid


def test_what_it_prints_goes_to_the_log(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    """Line by line, under its name."""
    with caplog.at_level(logging.INFO):
        child = make("import sys; print('out'); print('err', file=sys.stderr); sys.stdin.read()")
        until(child, lambda: "child | out" in caplog.text and "child | err" in caplog.text)


def test_it_ends_with_us_however_we_end(tmp_path: Path) -> None:
    """A killed supervisor leaves nothing behind."""
    mark = tmp_path / "pid"
    child_code = f"import os, sys; open({str(mark)!r}, 'w').write(str(os.getpid())); sys.stdin.read()"
    code = f"""
import os, time
from rollscope_exporters.supervisor import Child, ChildSpec
child = Child(ChildSpec("child", ("-c", {child_code!r})), os.environ, 60)
while True:
    child.tick()
    time.sleep(0.05)
"""
    with subprocess.Popen([sys.executable, "-c", code], start_new_session=True) as supervisor:
        waiting.until(lambda: mark.exists() and mark.read_text())
        supervisor.send_signal(signal.SIGKILL)
    stat = Path(f"/proc/{mark.read_text()}/stat")
    waiting.until(lambda: not stat.exists() or stat.read_text().split()[2] == "Z")


def test_one_that_is_starting_gets_more_time(make: Make, tmp_path: Path) -> None:
    """A backend may build its database first; killed for that, it would never come up."""
    beat = tmp_path / "beat"
    code = f"import time; open({str(beat)!r}, 'w').write({beating('starting')!r}); time.sleep(600)"
    child = make(code, beat=beat, deadline=0.5)
    until(child, beat.exists)
    pid, end = child.pid, time.monotonic() + 1.2
    until(child, lambda: time.monotonic() > end)
    assert child.pid == pid
    until(child, lambda: child.restarts >= 1)


def test_helpers_of_a_process_that_ended_badly_end_too(make: Make, tmp_path: Path) -> None:
    """They would work against the next process."""
    mark = tmp_path / "mark"
    code = f"""
import subprocess, sys
helper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open({str(mark)!r}, "a").write(f"{{helper.pid}};")
sys.exit(1)
"""
    child = make(code)
    until(child, lambda: child.restarts >= 1)
    helper = Path(f"/proc/{mark.read_text().split(';')[0]}/stat")
    until(child, lambda: not helper.exists() or helper.read_text().split()[2] == "Z")
