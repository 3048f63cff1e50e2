"""One readable line a step."""

from __future__ import annotations

import os
import pty
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollscope_exporters.backends.console import ConsoleBackend, ConsoleConfig
from rollscope_exporters.backends.console._choose import DEFAULT_METRICS, choose
from rollscope_exporters.backends.console._line import format_value, one_line, short_name
from rollscope_exporters.backends.console._sink import Terminal
from rollscope_exporters.records import Record, Scalar, StepMetrics
from rollscope_exporters.testing import Sampler


def written(storage: Path, records: list[Record], **config: object) -> list[str]:
    backend = ConsoleBackend(ConsoleConfig.model_validate(config), storage, {})
    for record in records:
        backend.write([record])
    backend.checkpoint()
    backend.close()
    return (storage / "console.log").read_text(encoding="utf-8").splitlines()


def test_a_run_is_a_start_a_line_a_step_and_an_end(tmp_path: Path) -> None:
    """Start with project and name, each step with its metrics and trajectories, and how it ended."""
    lines = written(tmp_path, [record for record in Sampler().everything(2) if record.signal in ConsoleBackend.accepts])
    assert len(lines) == 4
    assert "samples/grpo-demo starts · id run-1 · 3 settings · tags baseline" in lines[0]
    assert "reward/mean 0.1000" in lines[1]
    assert "2 trajectories: 2 completed" in lines[1]
    assert lines[3].endswith("samples/grpo-demo finished")


def test_a_start_told_again_is_one_line(tmp_path: Path) -> None:
    """What is found out of a run later, such as its git commit, makes no second line, also after a restart; another attempt does."""
    started = Sampler().started()
    first = ConsoleBackend(ConsoleConfig(), tmp_path, {})
    first.write([started, started])
    state = first.checkpoint()
    first.close()
    second = ConsoleBackend(ConsoleConfig(), tmp_path, state)
    second.write([started, msgspec.structs.replace(started, attempt=1)])
    second.close()
    starts, resumes = (tmp_path / "console.log").read_text(encoding="utf-8").splitlines()
    assert " starts · " in starts
    assert " resumes · attempt 1 · " in resumes


def test_columns_stay_where_they_are(tmp_path: Path) -> None:
    """A metric keeps its place although others come and go, and its value is `-` where it is missing."""
    sampler = Sampler()
    steps: list[dict[str, Scalar]] = [{"reward": 0.5, "loss": 1.0}, {"loss": 2.0}, {"kl": 0.1, "reward": 123456.0, "loss": 1e-9}]
    lines = written(tmp_path, [sampler.metrics(step, values) for step, values in enumerate(steps)])
    assert len({line.index("reward ") for line in lines}) == 1
    assert len({line.index("loss ") for line in lines}) == 1
    assert "reward - " in lines[1]


def test_the_rest_is_counted(tmp_path: Path) -> None:
    """Of many metrics the wanted ones are shown, chosen patterns first, and the others counted."""
    values: dict[str, Scalar] = {f"perf/x{number}": 1.0 for number in range(300)}
    values |= {"critic/rewards/mean": 0.25, "my/special": 7}
    (line,) = written(tmp_path, [Sampler().metrics(3, values)], show=["my/*"], columns=2)
    assert line.index("my/special 7") < line.index("critic/rewards/mean 0.2500")
    assert "+300" in line


def test_verl_s_metrics_are_found() -> None:
    """Of a real step's names the score, loss, KL, entropy, length and time are chosen, in this order."""
    names = [
        "perf/throughput", "actor/entropy", "timing_s/step",
        "actor/pg_loss", "critic/score/mean", "critic/score/max", "response_length/mean",
        "actor/ppo_kl", "training/epoch",
    ]  # fmt: skip
    assert choose(names, DEFAULT_METRICS, 6) == [
        "critic/score/mean", "actor/pg_loss", "actor/ppo_kl", "actor/entropy", "response_length/mean", "perf/throughput",
    ]  # fmt: skip


def test_tool_errors_are_counted(tmp_path: Path) -> None:
    """The line tells how trajectories ended and how many tool calls failed."""
    sampler = Sampler()
    failed = sampler.trajectory(1, index=1, turns=3, outcome="truncated")
    tools = [msgspec.structs.replace(span, status=2) if span.name == "execute_tool add" else span for span in failed.spans]
    records = [sampler.trajectory(1), msgspec.structs.replace(failed, spans=tools), sampler.metrics(1)]
    (line,) = written(tmp_path, records)
    assert line.endswith("2 trajectories: 1 completed, 1 truncated · 2 of 3 tool calls failed")


def test_pieces_of_a_step_in_one_batch_become_one_line(tmp_path: Path) -> None:
    """Two records of one step that come together are one line; two without a step are two."""
    backend = ConsoleBackend(ConsoleConfig(), tmp_path, {})
    sampler = Sampler()
    backend.write([sampler.metrics(1, {"reward": 1.0}), sampler.metrics(1, {"loss": 2.0})])
    backend.write([sampler.metrics(None, {"reward": 1.0}), sampler.metrics(None, {"reward": 2.0})])
    assert len((tmp_path / "console.log").read_text().splitlines()) == 3


def test_a_successor_repeats_no_line(tmp_path: Path) -> None:
    """Lines written after the last checkpoint are recognised: neither the log nor the terminal shows them twice."""
    terminal = tmp_path / "terminal"
    terminal.touch()
    config, steps = ConsoleConfig(path=terminal), [Sampler().metrics(step) for step in range(1, 5)]
    first = ConsoleBackend(config, tmp_path, {})
    first.write(steps[:2])
    state = first.checkpoint()
    first.write(steps[2:3])
    second = ConsoleBackend(config, tmp_path, state)
    second.write(steps[2:])
    second.checkpoint()
    for path in (terminal, tmp_path / "console.log"):
        assert [line.split()[2] for line in path.read_text().splitlines()] == ["1", "2", "3", "4"]


def test_a_terminal_gets_colour_and_the_log_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal lines are painted, unless NO_COLOR is set; the log file is plain."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    master, slave = pty.openpty()
    written(tmp_path, [Sampler().metrics(1)], path=os.ttyname(slave))
    assert b"\x1b[36mreward/mean" in os.read(master, 4096)
    assert "\x1b" not in (tmp_path / "console.log").read_text()
    monkeypatch.setenv("NO_COLOR", "1")
    written(tmp_path / "plain", [Sampler().metrics(1)], path=os.ttyname(slave))
    assert b"\x1b[36m" not in os.read(master, 4096)
    os.close(slave)
    os.close(master)


def test_a_terminal_that_is_gone_is_counted_only(tmp_path: Path) -> None:
    """No path, a missing path and a terminal that was closed cost lines, never an error."""
    Terminal(None).write("x")
    missing = Terminal(tmp_path / "no/such")
    missing.write("x")
    assert missing.lost == 1
    master, slave = pty.openpty()
    terminal = Terminal(Path(os.ttyname(slave)))
    os.close(slave)
    os.close(master)
    terminal.write("x")
    terminal.close()
    assert terminal.lost == 1


def test_a_stopped_terminal_never_blocks() -> None:
    """A terminal that takes nothing more (nobody reads) makes lines count as lost."""
    master, slave = pty.openpty()
    terminal = Terminal(Path(os.ttyname(slave)))
    for _ in range(200):
        terminal.write("x" * 1000)
    assert terminal.lost > 0
    terminal.close()
    os.close(slave)
    os.close(master)


@given(st.floats() | st.integers() | st.booleans() | st.text() | st.none())
def test_a_value_fits_its_column(value: object) -> None:
    """Any value takes at most nine characters and never moves the cursor."""
    shown = format_value(value)
    assert len(shown) <= 9
    assert shown.isprintable()


@given(st.text())
def test_a_line_stays_one_line(text: str) -> None:
    """Text of the program cannot move the cursor or break a line."""
    assert one_line(text).isprintable()
    assert len(short_name(text)) <= 24


def test_unknown_runs_and_wide_numbers_do_no_harm(tmp_path: Path) -> None:
    """Metrics of a run that nobody announced, with numbers too wide for a float, are a line."""
    values: dict[str, Scalar] = {"reward": 10**400, "loss": float("inf")}
    (line,) = written(tmp_path, [StepMetrics(run="x", time=0, step=1, values=values)])
    assert "loss inf" in line
