"""How long a trajectory takes from its last line of code to where a person would look for it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from rollscope_exporters.positions import read_workers

from .backends_mlflow import server
from .delay_readers import READERS, Reader
from .harness import Outcome
from .recording import scratch
from .servers import answers, free_ports

NAME = "delay"
WORKLOAD = (
    "A process records trajectories of three spans with messages, tokens and a reward at a steady rate, ten a step, each step ended by its "
    "scalars, once everything has started and a first step has arrived. They go recorder, shipper (started by the recorder), bridge (one "
    "process group, one backend), backend, all with their defaults, on this machine. Delay: from the end of the trajectory's block to when "
    "the backend's own reader, asked over and over, shows it. Shown is, for MLflow: search_traces lists it; W&B, offline: a row of a table "
    "file of the run's folder; SwanLab: a text or table that the run file names; TensorBoard: a text event; trackio: get_traces has it; "
    "JSONL: a whole line. All but MLflow and JSONL show a step's trajectories together once the next step's scalars have come (0.05 s "
    "later at 200 a second, 1 s at 10). Asking costs the machine, too: on a small one the figures are an upper limit."
)
BAR = "no bar"
_RATES = (10.0, 200.0)
_EVERY = 0.1
"""Seconds between two looks, at least."""
_START = 180.0
"""Seconds that bridge and backend may take to start; libraries take long to be imported on a busy machine."""
_PATIENCE = 60.0
"""Seconds to wait for what is not shown yet when the recorder has ended."""


class Case(NamedTuple):
    """One backend."""

    backend: str
    module: str
    section: dict[str, object]
    server: bool = False


CASES = {
    "MLflow, SQLite": Case("mlflow", "mlflow", {"tracking_uri": "{uri}"}),
    "MLflow, server": Case("mlflow", "mlflow.server", {"tracking_uri": "{uri}"}, server=True),
    "W&B, offline": Case("wandb", "wandb", {"mode": "offline", "dir": "{out}"}),
    "SwanLab, local": Case("swanlab", "swanlab", {"mode": "local", "dir": "{out}"}),
    "SwanLab, offline": Case("swanlab", "swanlab", {"mode": "offline", "dir": "{out}"}),
    "TensorBoard": Case("tensorboard", "tensorboard", {"path": "{out}"}),
    "trackio": Case("trackio", "trackio", {"path": "{out}"}),
    "JSONL": Case("jsonl", "msgspec", {"path": "{out}"}),
}


def run(*, quick: bool) -> Outcome:
    """Measure."""
    outcome = Outcome()
    seconds = 2.0 if quick else 15.0
    for title, case in CASES.items():
        if find_spec(case.module.partition(".")[0]) is None:
            outcome.notes.append(f"{title}: pip install 'rollscope[{case.backend}]'")
            continue
        for rate in _RATES:
            name = f"{title}, {rate:.0f} trajectories a second"
            try:
                outcome.measured[name], shown, recorded = measure(case, rate, seconds)
            except (RuntimeError, subprocess.SubprocessError) as error:
                outcome.notes.append(f"{name}: could not be measured: {error}")
                continue
            if shown < recorded:
                outcome.notes.append(
                    f"{name}: {recorded - shown} of {recorded} not shown {_PATIENCE:.0f} s after the last; not in the figures"
                )
    outcome.notes.append(f"recorded for {seconds:.0f} s a row; looked every {_EVERY} s or as fast as the reader answers")
    return outcome


def measure(case: Case, rate: float, seconds: float) -> tuple[dict[str, float], int, int]:
    """Return the figures, how many trajectories were shown, and how many were recorded."""
    with scratch() as folder:
        out = folder / "out"
        out.mkdir()
        with server(folder / "server") if case.server else nullcontext() as served:
            uri = served.uri if served else f"sqlite:///{out}/mlflow.db"
            section = {key: value.format(out=out, uri=uri) if isinstance(value, str) else value for key, value in case.section.items()}
            reader = READERS[case.backend](out, uri)
            with _bridge(folder, {case.backend: section}) as endpoint:
                shown = _watch(folder, endpoint, reader, rate, seconds)
            ends = dict(line.split() for line in (folder / "recorded").read_text().splitlines())
    delays = sorted(shown[trace] - float(end) for trace, end in ends.items() if trace in shown)
    if not delays:
        raise RuntimeError("nothing was shown")
    last = max(shown.values()) - min(float(end) for end in ends.values())
    figures = {
        "median_s": statistics.median(delays),
        "p99_s": delays[min(len(delays) - 1, int(0.99 * len(delays)))],
        "shown_per_s": len(delays) / last,
    }
    return figures, len(delays), len(ends)


def _watch(folder: Path, endpoint: str, read: Reader, rate: float, seconds: float) -> dict[str, float]:
    """Trace id → Unix time at which it was shown first."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ROLLSCOPE", "OTEL_"))}
    environment["ROLLSCOPE_SHIPPER_GRACE"] = "0.5"
    command = [sys.executable, "-m", "benchmarks.delay_recorder", str(folder), endpoint, str(rate), str(seconds)]
    shown: dict[str, float] = {}
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=sys.stderr) as recorder:
        _wait(lambda: any(worker.position > 1 for worker in read_workers(folder / "bridge")), recorder)
        assert recorder.stdin is not None
        recorder.stdin.write(b"\n")
        recorder.stdin.close()
        ended, deadline = False, time.monotonic() + seconds + 2 * _PATIENCE
        while len(shown) < int(rate * seconds) and time.monotonic() < deadline:
            begin = time.monotonic()
            with contextlib.suppress(OSError):  # a file that is being replaced
                found = read()
                now = time.time()
                for trace in found - shown.keys():
                    shown[trace] = now
            if recorder.poll() is not None and not ended:
                ended, deadline = True, time.monotonic() + _PATIENCE
            time.sleep(max(0.0, begin + _EVERY - time.monotonic()))
    return shown


@contextmanager
def _bridge(folder: Path, backends: dict[str, dict[str, object]]) -> Iterator[str]:
    """Run a bridge; yields its OTLP/HTTP address."""
    grpc, http = (f"127.0.0.1:{port}" for port in free_ports(2))
    config = folder / "rollscope.yaml"
    config.write_text(json.dumps({"storage": str(folder / "bridge"), "listen": {"grpc": grpc, "http": http}, "backends": backends}))
    command = [sys.executable, "-m", "rollscope_exporters.cli", "bridge", "--config", str(config)]
    environment = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true", "SWANLAB_LOG_LEVEL": "error"}
    process = subprocess.Popen(command, env=environment, stdout=sys.stderr, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        _wait(lambda: answers(f"http://{http}/readyz"), process)
        yield f"http://{http}"
    finally:
        process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=20)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait(until: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START
    while not until():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError("the bridge or its backend does not start")
        time.sleep(0.1)
