"""`rollscope ledger`, beside a running bridge and after it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from rollscope.journal import Journal
from rollscope.records import Event
from rollscope_exporters.cli import main
from rollscope_exporters.cli._common import CommandError
from rollscope_exporters.cli._ledgers import choose
from rollscope_exporters.cli.ledger import awaited, wait_for
from rollscope_exporters.ledger import Ledger, RunLedger
from rollscope_exporters.store import RunRow

from ..supervisor.bridges import RunningBridge, ending, log_lines
from .commands import rollscope

Output = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def bridge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBridge]:
    """A bridge that was sent a run of 21 records and its end."""
    running = RunningBridge(tmp_path_factory.mktemp("ledger") / "storage").start()
    assert running.send(log_lines(0, 20))
    assert running.send(ending(22))
    yield running
    running.kill()
    running.pool.clear()


def test_it_waits_for_completeness(bridge: RunningBridge) -> None:
    """Exit code 0 when all is there; the numbers are those of the run."""
    done = rollscope("ledger", "--storage", bridge.storage, "--wait", 60, "--json", cwd=bridge.storage.parent)
    ledger = json.loads(done.stdout)
    (run,) = ledger["runs"]
    assert (done.returncode, run["verdict"]) == (0, "complete"), done.stdout
    assert (run["produced"], run["received"], run["missing"]) == (22, 22, 0)
    assert run["backends"][0]["backend"] == "counting"
    assert run["backends"][0]["delivered"] == 22
    assert ledger["unsent"] == []


def test_it_is_a_table_for_people(bridge: RunningBridge, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a line for the process, one for the backend, and the verdict."""
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["ledger", "--storage", str(bridge.storage), "--wait", "60"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("test (run1) in project ")
    assert lines[1].split()[:3] == ["process", "produced", "dropped"]
    assert any(line.split()[:2] == ["counting", "22"] for line in lines)
    assert lines[-1] == "verdict: complete"


@pytest.mark.parametrize("name", ["run1", "run", "test"])
def test_a_run_goes_by_id_prefix_or_name(bridge: RunningBridge, name: str, capsys: Output) -> None:
    """As people remember it; asked of the storage or of the bridge."""
    assert main(["ledger", "--storage", str(bridge.storage), "--wait", "60", "--json"]) == 0
    capsys.readouterr()
    assert main(["ledger", name, "--storage", str(bridge.storage), "--json"]) == 0
    from_storage = json.loads(capsys.readouterr().out)
    assert main(["ledger", name, "--bridge", bridge.url, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"] == from_storage["runs"]


def test_an_unknown_run_is_an_error(bridge: RunningBridge, capsys: Output) -> None:
    """Which names those there are."""
    assert main(["ledger", "other", "--bridge", bridge.url]) == 2
    assert "no run is called or begins with 'other'; the latest are run1 (test)" in capsys.readouterr().err


def test_a_bridge_that_is_not_there_is_an_error(capsys: Output) -> None:
    """Which names the address."""
    assert main(["ledger", "--bridge", "127.0.0.1:1"]) == 2
    assert "the bridge at http://127.0.0.1:1 does not answer" in capsys.readouterr().err


def test_nothing_yet_is_not_complete(tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 1; it says where it looked, and where programs send to if that is elsewhere."""
    assert main(["ledger", "--storage", str(tmp_path)]) == 1
    assert capsys.readouterr().out == f"no run has arrived yet in {tmp_path}\n"
    monkeypatch.setenv("ROLLSCOPE_ENDPOINT", "http://head:4318")
    assert main(["ledger", "--storage", str(tmp_path)]) == 1
    said = f"no run has arrived yet in {tmp_path}; programs started here send to http://head:4318: ask that bridge with --bridge URL\n"
    assert capsys.readouterr().out == said


def test_it_says_when_nobody_ships(tmp_path: Path, capsys: Output) -> None:
    """A journal that holds something while no shipper lives is named, with what to do."""
    journal = Journal(tmp_path / "journal" / "producers" / "aaaa", meta={})
    journal.append(msgspec.msgpack.encode(Event("rl.run.started", 1, {})), 0)
    journal.close()
    assert main(["ledger", "--storage", str(tmp_path)]) == 1
    folder = tmp_path / "journal"
    assert f"nobody sends 1 journal in {folder} (" in (text := capsys.readouterr().out)
    assert f"rollscope ship {folder} --once" in text


def test_which_run_is_meant() -> None:
    """The latest, the exact one, the latest of a name, the only one that begins so."""
    runs = [RunRow(id, name, "p", 0, "running", None, 1, 1) for id, name in [("ab1", "x"), ("ab2", "y"), ("c", "x")]]
    assert choose(runs, None) == "c"
    assert choose(runs, "ab1") == "ab1"
    assert choose(runs, "x") == "c"
    assert choose([], None) is None
    with pytest.raises(CommandError, match="several runs begin with 'ab'"):
        choose(runs, "ab")


def test_it_does_not_wait_for_what_cannot_come_any_more() -> None:
    """Incomplete for good ends the waiting as completeness does; what may still come does not."""
    readings = [ledger("delivering", settled=False), ledger("incomplete: lost", settled=False), ledger("incomplete: lost", settled=True)]
    told: list[Ledger | None] = []
    found = wait_for(lambda run: readings.pop(0), None, 60.0, told.append)
    assert found is not None
    assert (found.complete, found.settled, readings) == (False, True, [])
    assert [each.runs[0].verdict for each in told if each] == ["delivering", "incomplete: lost"]


def test_it_tells_what_it_waits_for() -> None:
    """The reasons of all runs stand in one line, and that nothing has come yet."""
    waiting = ledger("delivering", settled=False)
    waiting.runs[0].reasons = ["mlflow: 3 still to take", "2 on their way"]
    assert awaited(waiting) == "waiting: mlflow: 3 still to take; 2 on their way"
    assert awaited(None) == "waiting: no run has arrived yet"


def ledger(verdict: str, *, settled: bool) -> Ledger:
    """One of one run."""
    return Ledger(runs=[RunLedger(run="r", name="n", project="p", status="finished", verdict=verdict, settled=settled)])
