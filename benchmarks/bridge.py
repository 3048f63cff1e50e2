"""What the bridge takes on one core."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from rollscope_exporters.decode import decode
from rollscope_exporters.receiver import Inbox
from rollscope_exporters.store import Store

from . import otlp, otlp_rollouts
from .harness import Outcome
from .otlp_rollouts import Request
from .pipeline import pipeline
from .recording import scratch

NAME = "bridge"
WORKLOAD = (
    "Trajectories of ten spans in requests of 1 MiB or so, as the shipper sends them. Flat ones: ten attributes a span, nothing else. "
    f"Rollouts: {otlp_rollouts.CONTENT}. The mix has one rollout for every three flat ones. Accepted: OTLP/gRPC over loopback into the "
    "real receiver, eight requests of flat ones under way, until the last is acknowledged, which is after its fsync. Decoded: the bytes to "
    "plain records. Whole pipeline: read from the inbox, decoded, duplicates dropped, joined into trajectories, rows and all state "
    "committed to the store with its fsyncs. One core: seconds are those of processor time, user and system, of the one process that "
    "does the work; by the clock, the sender, the disk and whatever else the machine does take part."
)
BAR = "one core: accepted >= 200,000 spans/s, whole pipeline, mix >= 40,000 spans/s"
ACCEPTED, MIX = "accepted and durable", "whole pipeline, mix"
_BATCH = 250
"""Flat trajectories in a request."""

_SERVER = """
import asyncio, json, os, resource, sys
from pathlib import Path
from rollscope_exporters.receiver import Gate, Receiver
from rollscope_exporters.settings import Settings

async def serve():
    settings = Settings.model_validate({"listen": {"grpc": "127.0.0.1:0", "http": None}})
    receiver = Receiver(settings, Path(sys.argv[1]), Gate(None))
    await receiver.start()
    print(receiver.grpc_port, flush=True)
    loop = asyncio.get_running_loop()
    while await loop.run_in_executor(None, sys.stdin.readline):
        usage = resource.getrusage(resource.RUSAGE_SELF)
        print(usage.ru_utime + usage.ru_stime, flush=True)
    await receiver.stop()

os.sched_setaffinity(0, {int(sys.argv[2])})
asyncio.run(serve())
"""


class _Load(NamedTuple):
    requests: list[Request]
    trajectories: int

    @property
    def spans(self) -> int:
        return self.trajectories * otlp.SPANS


def run(*, quick: bool) -> Outcome:
    """Measure."""
    rounds, batches = (2, 4) if quick else (5, 24)
    flat = _flat(batches)
    rollouts = otlp_rollouts.requests(_BATCH * batches // 3)
    loads = {
        "flat": _Load(rollouts[:1] + flat, _BATCH * batches),
        "mix": _Load(_mixed(rollouts, flat), _BATCH * batches + _BATCH * batches // 3),
        "rollouts": _Load(rollouts, _BATCH * batches // 3),
    }
    accepted = [_accept([payload for _, payload in flat] * 3, number) for number in range(rounds)]
    measured = {ACCEPTED: _rates(accepted)}
    with _one_core():
        for name, load in loads.items():
            measured[f"decoded, {name}"] = _rates([_decode(load) for _ in range(rounds)])
        for name, load in loads.items():
            measured[f"whole pipeline, {name}"] = _rates([_commit(load) for _ in range(rounds)])
    passed = measured[ACCEPTED]["spans_per_cpu_s"] >= 200_000 and measured[MIX]["spans_per_cpu_s"] >= 40_000
    return Outcome(measured, {}, passed, [_size(name, load) for name, load in loads.items()])


def _flat(batches: int) -> list[Request]:
    return [("traces", otlp.request(number, _BATCH, producer="00f1a7")) for number in range(batches)]


def _mixed(rollouts: list[Request], flat: list[Request]) -> list[Request]:
    """The start of the run, then both as if their processes recorded side by side."""
    places = [(n / len(each), request) for each in (rollouts[1:], flat) for n, request in enumerate(each)]
    return rollouts[:1] + [request for _, request in sorted(places, key=lambda place: place[0])]


def _size(name: str, load: _Load) -> str:
    size = sum(len(payload) for _, payload in load.requests)
    return f"{name}: {load.spans:,} spans in {len(load.requests)} requests, {size / load.spans:,.0f} bytes a span"


class _Took(NamedTuple):
    """Spans a second."""

    wall: float
    cpu: float


def _rates(rounds: Sequence[_Took]) -> dict[str, float]:
    return {
        "spans_per_cpu_s": statistics.median(each.cpu for each in rounds),
        "spans_per_s": statistics.median(each.wall for each in rounds),
    }


def _accept(requests: list[bytes], number: int) -> _Took:
    cores = sorted(os.sched_getaffinity(0))
    with scratch() as folder:
        command = [sys.executable, "-c", _SERVER, str(folder / "inbox"), str(cores[number % len(cores)])]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdin is not None
            assert server.stdout is not None
            port = int(server.stdout.readline())
            asyncio.run(_send(port, requests[:8]))
            before = _cpu(server)
            begin = time.perf_counter()
            asyncio.run(_send(port, requests))
            took = time.perf_counter() - begin
            used = _cpu(server) - before
            server.stdin.close()
    spans = len(requests) * _BATCH * otlp.SPANS
    return _Took(spans / took, spans / used)


def _cpu(server: subprocess.Popen[str]) -> float:
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write("\n")
    server.stdin.flush()
    return float(json.loads(server.stdout.readline()))


async def _send(port: int, requests: list[bytes]) -> None:
    import grpc

    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", [("grpc.max_send_message_length", -1)]) as channel:
        export = channel.unary_unary("/opentelemetry.proto.collector.trace.v1.TraceService/Export")
        left = iter(requests)

        async def sender() -> None:
            for payload in left:
                await export(payload)

        await asyncio.gather(*(sender() for _ in range(8)))


def _decode(load: _Load) -> _Took:
    found = 0
    with _timed(load.spans) as took:
        for signal, payload in load.requests:
            found += sum(len(group.spans) for group in decode(signal, payload))
    assert found == load.spans, found
    return took[0]


def _commit(load: _Load) -> _Took:
    with scratch() as folder:
        asyncio.run(_fill(folder / "inbox", load.requests))
        with Store.open(folder / "store.db") as store:
            loop = pipeline(folder, store)
            with _timed(load.spans) as took:
                while loop.turn():
                    pass
            rows = store.db.execute("SELECT count(*) FROM outbox WHERE signal = 'trajectories'").fetchone()[0]
            assert rows == load.trajectories, rows
    return took[0]


@contextlib.contextmanager
def _timed(spans: int) -> Iterator[list[_Took]]:
    """Fills the list when done. Garbage is collected seldom, as in the pipeline's own process."""
    found: list[_Took] = []
    gc.collect()
    gc.freeze()
    gc.disable()
    begin, begin_cpu = time.perf_counter(), time.process_time()
    yield found
    found.append(_Took(spans / (time.perf_counter() - begin), spans / (time.process_time() - begin_cpu)))
    gc.enable()
    gc.unfreeze()


async def _fill(folder: Path, requests: list[Request]) -> None:
    inbox = Inbox(folder, 8 << 30)
    for signal, payload in requests:
        await inbox.put(signal, payload)
    await inbox.close()


@contextlib.contextmanager
def _one_core() -> Iterator[None]:
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)
