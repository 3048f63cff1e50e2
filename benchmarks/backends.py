"""What a step and a trajectory cost in each backend, through the bridge's worker and by the library alone."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import rollscope as rs

from .backends_cost import Cost, Meter, tree_cpu
from .backends_mlflow import server
from .backends_ours import deliver, material
from .harness import COUNT, Outcome
from .otlp_rollouts import PER_STEP, Request, rollout, sent
from .recording import scratch

NAME = "backends"
WORKLOAD = (
    f"Steps of 100 scalars, and trajectories of ten spans and three turns with messages ({PER_STEP} a step, all of them shown). Ours: the "
    "records lie in the bridge's store, the backend's own worker process delivers them with its default settings (token ids and text too "
    "where the backend takes them). Direct: the same scalars and messages by the library's documented calls (log_metrics, start_span and "
    "log_feedback; run.log and wandb.Table; swanlab.log and swanlab.Text; event files; trackio.log and trackio.Trace; a JSON line). "
    "Processor time of the program and of all that it starts, from when the run is open until it is finished; the server's beside it. "
    "Bytes of the files it leaves, over the same time; of the server, its database. Scaled to 1,000 where another number was run."
)
BAR = "no bar"
_OURS, _DIRECT = "ours", "direct"


class Case(NamedTuple):
    """One backend."""

    backend: str
    """Name of ours."""
    module: str
    direct: str
    """Name in `backends_direct.LIBRARIES`."""
    section: dict[str, object]
    """Of ours, with {out} for the folder and {uri} for the address."""
    server: bool = False


CASES = {
    "MLflow, SQLite": Case("mlflow", "mlflow", "mlflow", {"tracking_uri": "{uri}", "artifact_root": "{out}/artifacts"}),
    "MLflow, server": Case("mlflow", "mlflow.server", "mlflow", {"tracking_uri": "{uri}"}, server=True),
    "W&B, offline": Case("wandb", "wandb", "wandb", {"mode": "offline", "dir": "{out}"}),
    "SwanLab, local": Case("swanlab", "swanlab", "swanlab-local", {"mode": "local", "dir": "{out}"}),
    "SwanLab, offline": Case("swanlab", "swanlab", "swanlab-offline", {"mode": "offline", "dir": "{out}"}),
    "TensorBoard": Case("tensorboard", "tensorboard", "tensorboard", {"path": "{out}", "digest_rows": PER_STEP}),
    "trackio": Case("trackio", "trackio", "trackio", {"path": "{out}"}),
    "JSONL": Case("jsonl", "msgspec", "jsonl", {"path": "{out}"}),
}


class Material(NamedTuple):
    """One kind of thing to log."""

    name: str
    count: int
    rounds: list[list[Request]]


def run(*, quick: bool) -> Outcome:
    """Measure."""
    outcome = Outcome()
    count = int(os.environ.get(COUNT, 0))
    chosen = materials(count, count) if count else materials(10, PER_STEP) if quick else materials(500, 8 * PER_STEP)
    for title, case in CASES.items():
        if find_spec(case.module.partition(".")[0]) is None:
            outcome.notes.append(f"{title}: pip install 'rollscope[{case.backend}]'")
            continue
        for each in chosen:
            compare(outcome, title, case, each)
    outcome.notes += [f"1,000 {each.name}: scaled from {each.count:,}" for each in chosen if each.count != 1000]
    outcome.notes.append("processor time is told in hundredths of a second; times the scale, that is its resolution here")
    return outcome


def materials(steps: int, trajectories: int) -> list[Material]:
    """Return both kinds, in these numbers."""
    rng = random.Random(11)
    return [
        Material("steps of 100 metrics", steps, list(sent(_step, steps, finish=True))),
        Material("trajectories", trajectories, list(sent(lambda index: rollout(index, rng), trajectories, finish=True))),
    ]


def _step(index: int) -> None:
    rs.log({f"{part}/metric_{n}": 0.125 * n + index for part in ("actor", "critic", "timing", "reward") for n in range(25)}, step=index)


def compare(outcome: Outcome, title: str, case: Case, material_: Material) -> None:
    """Measure ours and the library alone, into `outcome`."""
    found: dict[str, dict[str, float]] = {}
    for side, measure in ((_OURS, _ours), (_DIRECT, _direct)):
        name = f"{title}, 1,000 {material_.name}, {side}"
        try:
            found[side] = outcome.measured[name] = _measure(case, material_, measure)
        except (RuntimeError, subprocess.SubprocessError) as error:
            outcome.notes.append(f"{name}: could not be measured: {error}")
    if len(found) == 2:
        for figure in found[_OURS].keys() & found[_DIRECT].keys():
            if found[_DIRECT][figure] > 0:
                outcome.ratios[f"{title}, {material_.name}, {figure}, ours / direct"] = found[_OURS][figure] / found[_DIRECT][figure]


def _measure(case: Case, material_: Material, measure: Callable[[Case, Material, Path, str], Cost]) -> dict[str, float]:
    with scratch() as folder:
        with server(folder / "server") if case.server else nullcontext() as served:
            (folder / "out").mkdir()
            if served is None:
                uri = f"sqlite:///{folder}/out/mlflow.db"
                found, used = measure(case, material_, folder, uri), 0.0
            else:
                before, size_before = tree_cpu(served.pid), served.bytes()
                found = measure(case, material_, folder, served.uri)
                used = tree_cpu(served.pid) - before
                found = found._replace(bytes=served.bytes() - size_before)
        scale = 1000 / material_.count
        figures = {"cpu_s": found.cpu * scale, "mib": found.bytes * scale / (1 << 20)}
        return {**figures, "server_cpu_s": used * scale} if case.server else figures


def _ours(case: Case, material_: Material, folder: Path, uri: str) -> Cost:
    out = folder / "out"
    section = {key: value.format(out=out, uri=uri) if isinstance(value, str) else value for key, value in case.section.items()}
    return deliver(material_.rounds, folder / "storage", out, case.backend, section)


def _direct(case: Case, material_: Material, folder: Path, uri: str) -> Cost:
    file = folder / "material"
    material(material_.rounds, folder / "storage", file)
    with _program(case.direct, folder / "out", uri, file) as say:
        pid = say("ready")
        meter = Meter(pid, folder / "out")
        say("done")
        return meter.read()


@contextmanager
def _program(name: str, out: Path, uri: str, file: Path) -> Iterator[Callable[[str], int]]:
    """Start the library's program; call what is yielded to go on and wait until it says so. It returns the program's pid."""
    command = [sys.executable, "-m", "benchmarks.backends_direct", name, str(out), uri, str(file)]
    environment = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true", "SWANLAB_LOG_LEVEL": "error"}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        stdin, stdout = process.stdin, process.stdout

        def say(word: str) -> int:
            if word != "ready":
                stdin.write(b"\n")
                stdin.flush()
            if not any(line.strip() == word.encode() for line in stdout):
                raise RuntimeError(f"{name}: not {word} (exit {process.wait()})")
            return process.pid

        yield say
