"""A trajectory of three spans with its tokens and text."""

from __future__ import annotations

import contextlib
import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

import rollscope as rs

from .harness import Absent, Contender, Operation, Outcome, compare, judged, paired_ratio, summary
from .recording import recording, scratch

NAME = "trajectory"
WORKLOAD = (
    "Root, turn and model call: two prompt messages (8 KiB), 2,048 prompt ids, 8,192 output ids, the answer (32 KiB), a finish reason. Ids "
    "once as the list of ints that engines return, once as numpy int32. MLflow: the same three spans by its own API (start_span, "
    "set_inputs, set_outputs), ids as lists, SQLite store; what it writes in its own thread is waited for between rounds, untimed."
)
BAR = "ours <= 200 µs in the caller"
OURS, NUMPY, PEER = "rollscope, lists, durable", "rollscope, numpy, durable", "MLflow start_span, lists"

_RANDOM = random.Random(7)
PROMPT_IDS = [_RANDOM.randrange(151_000) for _ in range(2048)]
OUTPUT_IDS = [_RANDOM.randrange(151_000) for _ in range(8192)]
MESSAGES = [
    {"role": "system", "content": "You are an airline agent. Follow the policy. " * 170},
    {"role": "user", "content": "My flight was cancelled and I need another one tonight."},
]
ANSWER = {"role": "assistant", "content": "I looked up the reservation and compared the flights. " * 600}


@contextlib.contextmanager
def _ours(make: Callable[[list[int]], Any], group: str) -> Iterator[Operation]:
    indexes = itertools.count()
    prompt, output = make(PROMPT_IDS), make(OUTPUT_IDS)

    def operation() -> None:
        with (
            rs.trajectory(group=group, index=next(indexes), step=3, policy_version=2, agent="airline") as trajectory,
            trajectory.turn() as turn,
            turn.generation(model="qwen", messages=MESSAGES) as generation,
        ):
            generation.tokens(prompt=prompt, output=output)
            generation.output(ANSWER, finish_reason="stop")

    yield operation


@contextlib.contextmanager
def _recorded(make: Callable[[list[int]], Any], group: str) -> Iterator[Operation]:
    with scratch() as folder, recording(folder), _ours(make, group) as operation:
        yield operation


def _numpy(ids: list[int]) -> Any:
    try:
        import numpy
    except ImportError:
        raise Absent("pip install numpy") from None
    return numpy.array(ids, dtype=numpy.int32)


@contextlib.contextmanager
def _mlflow() -> Iterator[Operation]:
    try:
        import mlflow
    except ImportError:
        raise Absent("pip install mlflow") from None

    def operation() -> None:
        with mlflow.start_span("invoke_agent airline", span_type="AGENT") as root:
            root.set_attributes({"rl.group.id": "task-17", "rl.step.index": 3, "rl.policy.version": 2})
            with mlflow.start_span("turn"), mlflow.start_span("chat qwen", span_type="CHAT_MODEL") as chat:
                chat.set_inputs({"messages": MESSAGES, "prompt_ids": PROMPT_IDS})
                chat.set_outputs({"choices": [{"message": ANSWER, "finish_reason": "stop"}], "output_ids": OUTPUT_IDS})

    with scratch() as folder:
        mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
        mlflow.create_experiment("bench", artifact_location=str(folder / "artifacts"))
        mlflow.set_experiment("bench")
        yield operation
        mlflow.flush_trace_async_logging(terminate=True)


def _flush_mlflow() -> None:
    with contextlib.suppress(ImportError):
        import mlflow

        mlflow.flush_trace_async_logging()


def run(*, quick: bool) -> Outcome:
    """Compare."""
    times = 10 if quick else 60
    contenders = [
        Contender(OURS, lambda: _recorded(list, "task-17"), times),
        Contender(NUMPY, lambda: _ours(_numpy, "task-18"), times),
        Contender(PEER, _mlflow, 1, _flush_mlflow),
    ]
    measured, notes = compare(contenders, 2 if quick else 15)
    found = summary(measured)
    ratios = {f"{PEER} / {name}": paired_ratio(measured[PEER], measured[name]) for name in (OURS, NUMPY) if {PEER, name} <= measured.keys()}
    cost, busy = judged(measured[OURS])
    return Outcome(found, ratios, cost <= 200, notes + busy)
