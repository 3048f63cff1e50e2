"""Real usage, checked by the type checker and never run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typing_extensions import assert_type

import rollscope as rs


@dataclass
class Output:
    prompt_ids: list[int]
    ids: list[int]
    logprobs: list[float]
    message: dict[str, Any]


class Engine:
    async def generate(self, messages: list[dict[str, Any]]) -> Output:
        return Output([], [], [], {})


# -- decorators keep what they decorate ---------------------------------------------------------------------------


@rs.traced
def bare(x: int, *, flag: bool = False) -> str:
    return str(x)


@rs.traced("named", attributes={"a": 1})
async def coroutine(x: int) -> str:
    return str(x)


@rs.traced(kind="tool", capture=True, limit=1024)
async def get_user(user_id: str) -> dict[str, object]:
    return {"id": user_id}


@rs.traced
def generator(n: int) -> Iterator[int]:
    yield from range(n)


@rs.traced
async def async_generator(n: int) -> AsyncIterator[int]:
    yield n


class Environment:
    @rs.traced
    def method(self, x: int) -> int:
        return x

    @rs.traced(kind="agent")
    async def act(self, x: int) -> int:
        return x

    @staticmethod
    @rs.traced(capture="result")
    def static(x: int) -> int:
        return x

    @rs.traced
    @staticmethod
    def outer_static(x: int) -> int:
        return x

    @classmethod
    @rs.traced
    def make(cls, x: int) -> Environment:
        return cls()


assert_type(bare(1, flag=True), str)
assert_type(generator(3), Iterator[int])
assert_type(async_generator(3), AsyncIterator[int])
assert_type(Environment().method(1), int)
assert_type(Environment.static(1), int)
assert_type(Environment.outer_static(1), int)
assert_type(Environment.make(1), Environment)


# -- a run --------------------------------------------------------------------------------------------------------


def begin(config: dict[str, Any]) -> None:
    rs.init(project="airline", experiment="grpo-qwen", config=config, tags=["baseline"], backends=["console", "mlflow"])


async def rollout(engine: Engine, step: int, group: str, index: int) -> str:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "hi"}]
    tools = [{"type": "function", "function": {"name": "get_user"}}]
    async with rs.trajectory(group=group, index=index, step=step, policy_version=11, agent="airline", split="train") as traj:
        assert_type(traj, rs.Trajectory)
        for _ in range(4):
            async with traj.turn() as turn:
                with turn.generation("qwen", messages=messages, tools=tools, temperature=0.7, max_tokens=512) as gen:
                    assert_type(gen, rs.Generation)
                    out = await engine.generate(messages)
                    gen.tokens(prompt=out.prompt_ids, output=out.ids, logprobs=out.logprobs, loss_mask=[1] * len(out.ids))
                    gen.output(out.message, finish_reason="tool_call")
                    gen.usage(input_tokens=len(out.prompt_ids), output_tokens=len(out.ids))
                with turn.tool("get_user", arguments={"user_id": "mia"}, call_id="c1") as tool:
                    assert_type(tool, rs.Tool)
                    tool.result(assert_type(await get_user("mia"), dict[str, object]))
        traj.outcome("truncated")
        traj.reward(1.0, components={"format": 0.2, "answer": 0.8})
        traj.set(difficulty="hard")
        traj.event("reset", {"seed": 1})
    return assert_type(traj.id, str)


async def train(engine: Engine) -> None:
    for number in range(30):
        with rs.step(number, epoch=0, policy_version=number) as step:
            with step.phase("rollout"):
                ids = [await rollout(engine, number, "task-17", index) for index in range(8)]
            with rs.phase("update_actor"):
                for id in ids:
                    rs.facts(trajectory=id, advantage=0.5, filtered=False, trained_step=number)
            rs.log({"actor/pg_loss": 0.1, "timing": {"rollout": 1.0}})
        rs.table("val/generations", rows=[{"prompt": "x", "reward": 1.0}], step=number)
        rs.table("val/more", [(1, 2)], columns=["a", "b"], step=number)
    rs.artifact("config.yaml")
    rs.artifact(Path("model.pt"), type="model", aliases=["best"])
    rs.artifact(b"text", name="notes.txt")
    rs.histogram("reward/dist", [0.1, 0.9], step=3, bins=20)
    rs.histogram("reward/dist", [0.1, 0.9], edges=[0.0, 0.5, 1.0], split="validation")
    rs.image("val/plot", Path("plot.png"), step=3, caption="before")
    result = rs.flush(timeout=5)
    assert_type(result.sent, int)
    rs.finish()


def elsewhere(carrier: dict[str, str], trajectory: str) -> None:
    with rs.attach(carrier), rs.turn(), rs.generation("judge", messages="score it") as gen, rs.tool("search", arguments='{"q": 1}'):
        gen.output("7")
        rs.set(score=7)
        rs.event("scored", score=7)
    rs.reward(0.7, trajectory=trajectory, name="judge")


def threads(traj: rs.Trajectory) -> None:
    def work(item: int) -> str:
        with rs.attach(traj), rs.span("work", {"item": item}, kind="client") as span:
            span.set_attribute("done", True)
        return str(item)

    bound = rs.in_context(work)
    with ThreadPoolExecutor() as pool:
        assert_type(list(pool.map(bound, range(3))), list[str])
    rs.carrier(traj)


@rs.register_trace_hook("custom_metric")
def risk(trace_data: rs.TraceData) -> rs.TraceData:
    trace_data["risk_score"] = len(trace_data["generation"])
    return trace_data


def one_object() -> None:
    with rs.TrainerLogger("airline", "grpo", ["console"], {"lr": 1e-6}) as logger:
        logger.log({"loss": 0.5}, step=1)
    tracer = rs.get_tracer("mine")
    with tracer.start_as_current_span("x") as span:
        span.set_attribute("a", 1)
    rs.status()
    rs.environment()
