"""The SLURM job script on two hosts, with stand-ins for srun and scontrol: what it starts, in which order it ends, what is left."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rollscope_exporters.ledger import RunLedger
from tests import components
from tests.collector.configurations import ROOT
from tests.multinode.host import require_namespaces
from tests.multinode.hosts import Cluster
from tests.multinode.launch import check_lines, ledger
from tests.multinode.readback import MLFLOW_WARNS, check_mlflow

pytestmark = [pytest.mark.integration, pytest.mark.reliability, *MLFLOW_WARNS]
NODES = {"head": "10.77.0.1", "node-a": "10.77.0.2"}
STANDINS = Path(__file__).with_name("slurm_standin")


class Job:
    """A job on a cluster of its own; each host has a disk of its own at the path that the job calls its scratch."""

    def __init__(self, folder: Path, mlflow: Path) -> None:
        require_namespaces()
        self.cluster = Cluster(folder)
        self.kept, scratch = folder / "kept", folder / "scratch"
        scratch.mkdir()
        for name, address in NODES.items():
            disk = folder / f"disk-{name}"
            (disk / "bridge").mkdir(parents=True)
            shutil.copy(mlflow, disk / "bridge" / "mlflow.db")
            self.cluster.add(name, address, {str(scratch): disk})
        path = f"{STANDINS}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        nodes = {NODES[name]: host.wrap() for name, host in self.cluster.hosts.items()}
        self._environment = {name: text for name, text in os.environ.items() if not name.startswith(("ROLLSCOPE", "OTEL_"))} | {
            "PATH": path, "STANDIN_NODES": json.dumps(nodes), "SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": ",".join(nodes),
            "SLURM_SUBMIT_DIR": str(folder), "ROLLSCOPE_CONFIG_DIR": str(ROOT), "ROLLSCOPE_COLLECTOR": str(components.collector("gateway")),
            "ROLLSCOPE_SCRATCH": str(scratch), "ROLLSCOPE_KEEP": str(self.kept), "ROLLSCOPE_DRAIN_SECONDS": "240",
        }  # fmt: skip

    def start(self, steps: int, seconds: float) -> subprocess.Popen[bytes]:
        """Run the script, as a copy elsewhere, as SLURM does."""
        copy = self.cluster.folder / "slurm_script"
        shutil.copy(ROOT / "slurm" / "job.sbatch", copy)
        train = f"RANK=$SLURM_PROCID exec {sys.executable} -m tests.multinode.training slurm {steps} {seconds} 40"
        with (self.cluster.folder / "job.log").open("wb") as log:
            return subprocess.Popen(
                ["bash", str(copy), "sh", "-c", train],
                env=self._environment,
                cwd=ROOT.parent,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def log(self) -> str:
        """What it said."""
        return (self.cluster.folder / "job.log").read_text(errors="replace")[-5000:]

    def found(self) -> RunLedger:
        """The ledger in the files that the job kept."""
        found = ledger(self.kept, "slurm")
        assert found is not None, self.log()
        return found

    def left(self) -> list[int]:
        """Processes that still run on its hosts."""
        return [pid for host in self.cluster.hosts.values() for pid in host.pids()]


@pytest.fixture
def job(tmp_path: Path, mlflow_store: Path) -> Iterator[Job]:
    """Ended for sure."""
    job = Job(tmp_path, mlflow_store)
    yield job
    for host in reversed(job.cluster.hosts.values()):
        host.end()


def test_a_job_to_its_end(job: Job) -> None:
    """The script ends as the training does, when all is delivered; the bridge's files are kept, and nothing runs on."""
    process = job.start(steps=5, seconds=0.2)
    assert process.wait(380) == 0, job.log()
    run = job.found()
    assert run.verdict == "complete"
    check_lines(job.kept, run.run, range(2), steps=5)
    check_mlflow(job.kept, run, range(2), steps=5)
    assert job.left() == []


def test_a_job_at_its_time_limit(job: Job) -> None:
    """Told by SLURM that time is short, it ends the training, delivers what was recorded till then, and ends with 143."""
    process = job.start(steps=10_000, seconds=0.5)
    head = job.cluster.folder / "disk-head" / "bridge"
    job.cluster.until(lambda: (run := ledger(head, "slurm")) and run.received > 100, "nothing arrives")
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait(380) == 143, job.log()
    run = job.found()
    assert (run.verdict, run.missing, run.dropped) == ("complete", 0, 0)
    assert {rank.rank for rank in run.producers} == {0, 1}
    assert job.left() == []
