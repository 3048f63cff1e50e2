"""A run of several processes as it reaches the bridge, and what must come of it in whatever batches it is taken."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable

import rollscope as rs
from rollscope import vocabulary as v
from rollscope.shipper.otlp import Item, assemble
from rollscope_exporters.records import LateFacts, Record, Trace, encode

from .foreign import gauge_request, log_request, span_request
from .wire import Request, process

WORKERS = 3


def workload(seed: int, trajectories: int = 30) -> list[Request]:
    """Requests of a driver, some workers and a foreign program, some sent twice, roughly in order."""
    rng = random.Random(seed)
    with process("00000000000000d0") as driver:
        driver.memory.recorder.event(v.EVENT_RUN_STARTED, {}, priority=0)
        first = driver.items()
        for step in range(5):
            rs.log({"loss": 1.0 / (step + 1)}, step=step)
        rs.table("val", rows=[{"a": 1}], step=3)
        rs.artifact(b"content" * 50_000, name="config")
        items = driver.items()
    for worker in range(WORKERS):
        items += _rollouts(f"00000000000000e{worker}", worker, trajectories // WORKERS, rng)
    requests = _in_requests(items, rng)
    requests += _foreign()
    requests += rng.sample(requests, len(requests) // 5)
    order = sorted(range(len(requests)), key=lambda place: place + rng.uniform(-20, 20))
    return [("logs", assemble(first)), *(requests[place] for place in order)]


def _rollouts(producer: str, worker: int, trajectories: int, rng: random.Random) -> list[Item]:
    with process(producer) as recorder:
        done: list[str] = []
        for index in range(trajectories):
            with rs.trajectory(group=f"g{worker}", index=index, step=index // 4) as traj:
                for turn in range(rng.randint(1, 3)):
                    with traj.generation(model="m", messages=[{"role": "user", "content": f"{worker} {index} {turn} 你好"}]) as gen:
                        gen.tokens(prompt=[1, 2, turn], output=[3, 4])
                        gen.output({"role": "assistant", "content": "yes"})
            done.append(traj.id)
            if rng.random() < 0.5:
                rs.reward(rng.random(), trajectory=rng.choice(done))
        return recorder.items()


def _in_requests(items: list[Item], rng: random.Random) -> list[Request]:
    """Requests of a few records each; records of one signal and process stay in order, as a shipper sends them."""
    found: list[Request] = []
    for signal in ("logs", "traces"):
        waiting = [item for item in items if item.signal == signal]
        while waiting:
            size = rng.randint(1, 8)
            found.append((signal, assemble(waiting[:size])))
            waiting = waiting[size:]
    rng.shuffle(found)
    return found


def _foreign() -> list[Request]:
    spans = [span_request("plain", [("a", None), ("b", "a")], trace=f"t{n}") for n in range(5)]
    points = [gauge_request("plain", {"loss": float(n)}, time=n + 1) for n in range(5)]
    return [*spans, *points, log_request("plain", ["hello", "hello"])]


def effects(records: Iterable[Record]) -> Counter[bytes]:
    """What reached the backends, piece by piece: what came late is bundled as the batches fell, all else is as it is."""
    found: Counter[bytes] = Counter()
    for record in records:
        if isinstance(record, LateFacts):
            pieces: list[Record] = [LateFacts(run=record.run, trajectory=record.trajectory, rewards=[one]) for one in record.rewards]
            pieces += [LateFacts(run=record.run, trajectory=record.trajectory, tokens=[one]) for one in record.tokens]
        elif isinstance(record, Trace) and record.late:
            pieces = [Trace(run=record.run, trace_id=record.trace_id, spans=[span], late=True) for span in record.spans]
        else:
            pieces = [record]
        found.update(encode(piece) for piece in pieces)
    return found
