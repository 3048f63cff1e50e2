"""Real worker processes that deliver a store's rows to W&B, and a store to deliver from."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from rollscope_exporters.records import Record, Trajectory
from rollscope_exporters.testing import Sampler
from rollscope_exporters.worker import Position, worker_folder
from tests.exporters.uploads.checkpoints import checkpoint, recorded
from tests.exporters.worker.outbox import FilledStore

RUN = "run-1"


class Workers:
    """Starts, kills and waits for the worker of `RUN`, one at a time."""

    def __init__(self, storage: Path, **keys: object) -> None:
        self._storage = storage
        settings = {f"ROLLSCOPE__BACKENDS__WANDB__{name.upper()}": str(value) for name, value in keys.items()}
        self._env = {**os.environ, **settings, "ROLLSCOPE__WORKERS__BATCH_ROWS": "4", "ROLLSCOPE__WORKERS__MAX_PAUSE": "1"}
        self._process: subprocess.Popen[bytes] | None = None
        self.log = storage / "worker.log"

    def start(self) -> subprocess.Popen[bytes]:
        """Start the worker as the supervisor does."""
        arguments = ["--supervised", "--storage", str(self._storage), "--backend", "wandb", "--run", RUN]
        with open(self.log, "ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "rollscope_exporters.worker", *arguments],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=self._env,
                cwd=self._storage,
                start_new_session=True,
            )
        return self._process

    def kill(self) -> None:
        """SIGKILL, no flush, no farewell."""
        if self._process:
            with self._process:
                self._process.kill()
            self._process = None

    def end(self) -> int:
        """Close the worker's input, as a bridge that ends does; returns its exit code."""
        assert self._process
        with self._process as process:
            assert process.stdin
            process.stdin.close()
            code = process.wait(60)
        self._process = None
        return code

    def position(self) -> Position:
        path = worker_folder(self._storage, "wandb", RUN) / "position.json"
        return msgspec.json.decode(path.read_bytes(), type=Position) if path.exists() else Position()

    def until(self, position: int, seconds: float = 120.0) -> None:
        """Wait until the worker has passed `position`, starting it anew whenever it asks for that."""
        end = time.monotonic() + seconds
        while self.position().position < position:
            assert time.monotonic() < end, f"stuck at {self.position().position} of {position}:\n{self.log.read_text()[-3000:]}"
            if self._process is None or self._process.poll() is not None:
                self.start()
            time.sleep(0.05)

    def deliver_under_kills(self, position: int, kills: int, seed: int) -> None:
        """Deliver up to `position` while the worker is killed `kills` times at moments that `seed` chooses."""
        chance = random.Random(seed)
        for _ in range(kills):
            self.start()
            until, before = time.monotonic() + 30.0, self.position().position
            while self.position().position <= before < position and time.monotonic() < until:
                time.sleep(0.01)
            time.sleep(chance.uniform(0.0, 0.4))
            self.kill()
        self.until(position)
        assert self.end() == 0


def fill(storage: Path, records: Sequence[Record]) -> int:
    """Put `records` into the store of `storage`; returns the position after the last."""
    store = FilledStore(storage)
    try:
        store.announce(RUN, ["wandb"])
        store.add(records)
        return store.store.head()
    finally:
        store.close()


def long_run(steps: int = 30) -> list[Record]:
    """A run of `steps` steps with trajectories, late rewards, tables, images and artifacts; steps come a little out of order."""
    sampler = Sampler(RUN)
    records: list[Record] = [sampler.started(), sampler.artifact(), sampler.artifact("weights/step", b"\0\1\2")]
    for step in range(1, steps + 1):
        group = [sampler.trajectory(step, f"task-{step}", index, reward=float(index % 2)) for index in range(2)]
        records += [*group, sampler.late(group[0]), sampler.metrics(step), sampler.table(step)]
        if step % 5 == 0:
            records += [sampler.histogram(step), sampler.image(step), sampler.seeing(step + 1, index=step)]
            records.append(sampler.metrics(step - 2, {"late/value": float(step)}))
            records.append(sampler.late(sampler.trajectory(max(step - 4, 1), f"task-{max(step - 4, 1)}", 1), float(step), f"judge-{step}"))
    return [*records, sampler.finished()]


def with_checkpoint(records: Sequence[Record], place: Path) -> list[Record]:
    """`records` with a checkpoint of some files, recorded in the middle."""
    checkpoint(place, {f"shards/{number}.bin": bytes([number]) * 200_000 for number in range(8)})
    middle = len(records) // 2
    return [*records[:middle], recorded(place), *records[middle:]]


def seen_images(records: Sequence[Record]) -> Counter[bytes]:
    """Images in the messages of the trajectories among `records`."""
    return Counter(content for record in records if isinstance(record, Trajectory) for content in record.images.values())
