"""Ranks of a training job, started as torchrun starts them, and what became of their records."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil

from rollscope_exporters.ledger import RunLedger, read_ledger
from rollscope_exporters.store import NoStoreError
from tests.multinode.training import GROUP_SIZE

ROOT = Path(__file__).parents[2]


def variables(experiment: str, rank: int, size: int, per_node: int) -> dict[str, str]:
    """What torchrun sets for a rank of a job with so many ranks on each node."""
    return {
        "RANK": str(rank),
        "WORLD_SIZE": str(size),
        "LOCAL_RANK": str(rank % per_node),
        "LOCAL_WORLD_SIZE": str(per_node),
        "GROUP_RANK": str(rank // per_node),
        "TORCHELASTIC_RUN_ID": experiment,
        "TORCHELASTIC_RESTART_COUNT": "0",
    }


def recording(folder: Path, endpoint: str, tokens: str) -> dict[str, str]:
    """Environment in which a process records into the node folder `folder` and sends to `endpoint`."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("ROLLSCOPE", "OTEL_"))}
    sending = {"ROLLSCOPE_ENDPOINT": endpoint, "ROLLSCOPE_ENDPOINT_TOKENS": tokens, "ROLLSCOPE_SHIPPER_GRACE": "0.5"}
    return {**kept, "ROLLSCOPE_DIR": str(folder / "journal"), "ROLLSCOPE_STORAGE": str(folder), **sending}


def start_rank(
    experiment: str,
    rank: int,
    steps: int,
    seconds: float,
    environment: Mapping[str, str],
    log: Path,
    wrap: Iterable[str] = (),
    tokens: int = 40,
) -> subprocess.Popen[bytes]:
    """Start one rank in a session of its own; `wrap` are words before its command, `tokens` the length of an output."""
    command = [*wrap, sys.executable, "-m", "tests.multinode.training", experiment, str(steps), str(seconds), str(tokens)]
    with log.open("ab") as out:
        return subprocess.Popen(command, env=dict(environment), cwd=ROOT, stdout=out, stderr=out, start_new_session=True)


def ledger(storage: Path, experiment: str) -> RunLedger | None:
    """The ledger of a run, None when it has not been heard of."""
    with contextlib.suppress(LookupError, NoStoreError):
        return read_ledger(storage, experiment).runs[0]
    return None


def lines(storage: Path, run: str, signal_name: str) -> Iterator[dict[str, Any]]:
    """Records of a run that the JSONL backend wrote."""
    for path in storage.glob(f"jsonl/*{run}*/{signal_name}.jsonl"):
        yield from map(json.loads, path.read_text(encoding="utf-8").splitlines())


def check_whole(storage: Path, found: RunLedger, ranks: Iterable[int], steps: int) -> None:
    """Assert that each record of the job is in the backends exactly once."""
    assert (found.verdict, found.missing, found.dropped) == ("complete", 0, 0)
    assert {backend.backend: backend.delivered for backend in found.backends} == dict.fromkeys(
        [backend.backend for backend in found.backends], found.produced
    )
    check_lines(storage, found.run, ranks, steps)


def check_lines(storage: Path, run: str, ranks: Iterable[int], steps: int) -> None:
    """Assert that JSONL has each trajectory and each loss of the job once."""
    groups = {f"rank-{rank}-step-{step}" for rank in ranks for step in range(1, steps + 1)}
    trajectories = [line for line in lines(storage, run, "trajectories") if line["record"] == "trajectory"]
    assert Counter(line["group"] for line in trajectories) == dict.fromkeys(groups, GROUP_SIZE)
    assert len({line["id"] for line in trajectories}) == len(trajectories)
    losses = [(line["step"], line["values"]["loss"]) for line in lines(storage, run, "metrics") if "loss" in line["values"]]
    assert sorted(losses) == [(step, 1.0 / step) for step in range(1, steps + 1)]


def end_everything_of(folder: Path) -> None:
    """Kill processes that were left behind: their command line or working set names the test's folder."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if any(str(folder) in word for word in process.cmdline()) and process.pid != os.getpid():
                os.kill(process.pid, signal.SIGKILL)
