"""OTLP requests as the shipper sends them: rollouts with messages, tokens, text and rewards, by the real recorder and encoder."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import rollscope as rs
from rollscope import vocabulary as v
from rollscope.identity import Run
from rollscope.records import decode
from rollscope.shipper.otlp import Encoder, Item, assemble
from rollscope.testing import Memory, memory_recorder
from rollscope.tokens import Decoded

TURNS = 3
PER_STEP = 64
SPANS = 1 + 3 * TURNS
"""Of one rollout: root, then turns with a model call and a tool call each."""
RECORDS = SPANS + 2 * TURNS + 1
"""Spans, token segments and the reward."""
CONTENT = (
    f"{SPANS} spans and {TURNS} turns as the recorder writes them: a system prompt of 1.5 kB, answers with a tool call, tool results of "
    "0.2 to 0.8 kB; a turn has some 150 new prompt ids and 100 answered ones with log-probabilities and text; a reward with two components"
)
"""One rollout, for a benchmark's description."""
_TOGETHER = 80
"""Rollouts between two rounds of requests: their tokens are some 1.3 MB."""
_WORDS = ("a", "flight", "passenger", "refund", "policy", "booking", "before", "after", "to", "is", "was", "not", "within", "hours", "for")
Request = tuple[str, bytes]
"""Signal, encoded export request."""


def requests(rollouts: int, producer: str = "00c0ffee00c0ffee") -> list[Request]:
    """Encode what a process sends that starts a run and records `rollouts`.

    As the shipper does it: over and over a request of events, one of spans and one of tokens, the larger ones of 1 MiB or so.
    """
    rng = random.Random(11)
    return [request for round in sent(lambda index: rollout(index, rng), rollouts, producer) for request in round]


def sent(record: Callable[[int], None], count: int, producer: str = "00c0ffee00c0ffee", *, finish: bool = False) -> Iterator[list[Request]]:
    """Yield the requests that start a run, then those of each round of calls `record(0)` … `record(count - 1)`, then those of its end."""
    with memory_recorder(run=Run("bench", "bench", "bench")) as memory:
        encoder = Encoder({**memory.recorder.identity.resource(), v.PRODUCER_ID: producer}, _Texts())
        memory.recorder.event(v.EVENT_RUN_STARTED, {}, priority=0)
        yield _requests(memory, encoder)
        for first in range(0, count, _TOGETHER):
            for index in range(first, min(count, first + _TOGETHER)):
                memory.clock.advance(0.01)
                record(index)
            yield _requests(memory, encoder)
        if finish:
            memory.recorder.event(v.EVENT_RUN_FINISHED, {}, priority=0)
            last = encoder.heartbeat(memory.clock.wall, memory.journal.last_sequence, {}, {}, {}, [], final=True)
            yield [*_requests(memory, encoder), (last.signal, assemble([last]))]


def _requests(memory: Memory, encoder: Encoder) -> list[Request]:
    waiting: dict[str, list[Item]] = {"logs": [], "traces": [], "tokens": []}
    for _, number, payload in memory.journal.entries:
        for item in encoder.encode(decode(payload), number) if number else ():  # else it only began
            waiting[item.channel].append(item)
    memory.journal.entries.clear()
    return [(items[0].signal, assemble(items)) for items in waiting.values() if items]


def rollout(index: int, rng: random.Random) -> None:
    messages: list[dict[str, object]] = [
        {"role": "system", "content": _SYSTEM},
        {"role": "user", "content": _text(rng, 40)},
    ]
    ids = [rng.randrange(150_000) for _ in range(300)]
    with rs.trajectory(
        group=f"task-{index // 8}", index=index % 8, step=index // PER_STEP, policy_version=index // PER_STEP, agent="airline"
    ) as rollout:
        for _ in range(TURNS):
            with rollout.turn() as turn:
                call = f"call_{rng.getrandbits(64):016x}"
                answer = {
                    "role": "assistant",
                    "content": _text(rng, 25),
                    "tool_calls": [
                        {"id": call, "type": "function", "function": {"name": "get_user", "arguments": f'{{"id":"{rng.getrandbits(32)}"}}'}}
                    ],
                }
                with turn.generation(model="qwen", messages=messages, temperature=1.0) as generation:
                    output = [rng.randrange(150_000) for _ in range(100)]
                    generation.tokens(prompt=ids, output=output, logprobs=[-rng.random() for _ in output], tokenizer="0" * 32)
                    generation.output(answer, finish_reason="tool_call")
                with turn.tool("get_user", arguments={"id": rng.getrandbits(32)}, call_id=call) as tool:
                    result = _text(rng, rng.randint(30, 130))
                    tool.result(result)
                messages = [*messages, answer, {"role": "tool", "tool_call_id": call, "content": result}]
                ids = [*ids, *output, *(rng.randrange(150_000) for _ in range(150))]
        rollout.reward(rng.random(), components={"format": 0.2, "answer": rng.random()})


def _text(rng: random.Random, words: int) -> str:
    return " ".join(rng.choices(_WORDS, k=words))


_SYSTEM = "You are an airline agent. " + _text(random.Random(3), 250)


class _Texts:
    """Stands for the run's tokenizer, at the size of real text: four letters a token."""

    def decode(self, tokenizer: str | None, lead: list[int], ids: list[int]) -> Decoded:
        return Decoded("word" * len(ids), list(range(4, 4 * len(ids) + 4, 4)), b"")
