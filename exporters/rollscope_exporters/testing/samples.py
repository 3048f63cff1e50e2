"""Records as the bridge makes them, equal for equal arguments: material for tests of backends."""

from __future__ import annotations

import hashlib
import json
import struct
import zlib

import msgspec

from rollscope import vocabulary as v
from rollscope.content import content_digest

from ..images import SCHEME
from ..records import (
    Artifact,
    Histogram,
    Image,
    LateFacts,
    LogLine,
    Record,
    Reward,
    RunFinished,
    RunStarted,
    RunStatus,
    Scalar,
    Span,
    StepMetrics,
    Table,
    TokenSegment,
    Trace,
    Trajectory,
)
from ._conversation import conversation_spans, generations_of

NOW = 1_767_225_600_000_000_000
"""The moment at which sample runs start: 2026-01-01 00:00 UTC, ns."""
SECOND = 1_000_000_000

TOOLS: list[dict[str, object]] = [
    {
        "type": "function",
        "function": {
            "name": "add",
            "description": "Add two numbers.",
            "parameters": {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]},
        },
    }
]


class Sampler:
    """Builds the records of one run."""

    def __init__(
        self, run: str = "run-1", name: str = "grpo-demo", project: str = "samples", *, now: int = NOW, agent: str = "adder"
    ) -> None:
        self.now = now
        self.agent = agent
        self.run = run
        self.name = name
        self.project = project
        self.resource: dict[str, object] = {v.SERVICE_NAME: "rollscope", v.RUN_ID: run, v.PROJECT_NAME: project, v.HOST_NAME: "node-0"}

    def started(self, attempt: int = 0, config: dict[str, object] | None = None) -> RunStarted:
        return RunStarted(
            run=self.run,
            name=self.name,
            project=self.project,
            attempt=attempt,
            time=self.now + attempt * 3600 * SECOND,
            config={"trainer": {"lr": 1e-6, "steps": 30}, "model": {"path": "qwen"}} if config is None else config,
            tags=["baseline"],
            notes="A first try.",
            circumstances={"command": "python train.py", "git": {"commit": "0123abc", "dirty": False}, "python": "3.11"},
            resource=self.resource,
        )

    def finished(self, status: RunStatus = "finished", error: str = "") -> RunFinished:
        return RunFinished(run=self.run, time=self.now + 7200 * SECOND, status=status, error=error)

    def metrics(self, step: int | None, values: dict[str, Scalar] | None = None) -> StepMetrics:
        default: dict[str, Scalar] = {"reward/mean": 0.1 * (step or 0), "actor/pg_loss": 0.5, "response_length/mean": 812.0}
        return StepMetrics(run=self.run, time=self.moment(step), step=step, values=default if values is None else values)

    def conversation(self, group: str = "task-1", index: int = 0, turns: int = 2) -> list[dict[str, object]]:
        """Return a conversation in OpenAI format with a tool call in every turn but the last."""
        messages: list[dict[str, object]] = [
            {"role": "system", "content": "You add numbers. Use the tool."},
            {"role": "user", "content": f"{group}: what is {index} + 1? 请回答 🙂"},
        ]
        for turn in range(turns - 1):
            call = f"call_{group}_{index}_{turn}"
            arguments = json.dumps({"a": index, "b": turn + 1})
            messages.append(
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": call, "type": "function", "function": {"name": "add", "arguments": arguments}}],
                }
            )
            messages.append({"role": "tool", "tool_call_id": call, "name": "add", "content": str(index + turn + 1)})
        messages.append({"role": "assistant", "content": f"The answer is **{index + 1}**. 答案是 {index + 1}。"})
        return messages

    def trajectory(
        self,
        step: int | None = 1,
        group: str = "task-1",
        index: int = 0,
        *,
        messages: list[dict[str, object]] | None = None,
        reward: float | None = 1.0,
        turns: int = 2,
        outcome: str = "completed",
        tools: list[dict[str, object]] | None = None,
        split: str = "train",
    ) -> Trajectory:
        """Return a finished rollout with spans, generations, tokens and, unless `reward` is None, a reward of two components."""
        messages = self.conversation(group, index, turns) if messages is None else messages
        trace_id = self._trace_id(step, group, index)
        start = self.moment(step) + index * SECOND
        spans = conversation_spans(trace_id, messages, start, self._identity(trace_id, step, group, index, outcome), self.resource)
        rewards = [self._reward(trace_id, reward, start)] if reward is not None else []
        generations = generations_of(messages, spans, TOOLS if tools is None else tools)
        return Trajectory(
            run=self.run,
            id=trace_id,
            start=start,
            end=spans[0].end,
            agent=self.agent,
            step=step,
            group=group,
            index=index,
            policy_version=step,
            split=split,
            outcome=outcome,
            spans=spans,
            messages=messages,
            generations=generations,
            tokens=[_tokens(generation.span_id, start) for generation in generations],
            rewards=rewards,
            metrics={"response_length": 12.0},
            facts={v.ADVANTAGE_VALUE: 0.25},
        )

    def seeing(self, step: int | None = 1, group: str = "task-seen", index: int = 0, content: bytes = b"") -> Trajectory:
        """Return a trajectory whose question shows an image, by the reference that messages hold."""
        content = content or png(index % 256)
        reference = f"{SCHEME}{content_digest(content)};image/png"
        shown = {"type": "image_url", "image_url": {"url": reference}}
        messages: list[dict[str, object]] = [
            {"role": "user", "content": [shown, {"type": "text", "text": "Which?"}]},
            {"role": "assistant", "content": "The left one."},
        ]
        return msgspec.structs.replace(self.trajectory(step, group, index, messages=messages), images={reference: content})

    def trace(self, step: int = 1) -> Trace:
        """Return the trace of a step: a root and a phase."""
        trace_id = self._trace_id("step", step)
        root = self.span(trace_id, v.SPAN_STEP, attributes={v.STEP_INDEX: step})
        phase = self.span(trace_id, v.PHASE_SPANS["rollout"], parent=root, attributes={v.PHASE_NAME: "rollout"})
        return Trace(run=self.run, trace_id=trace_id, spans=[root, phase])

    def span(self, trace_id: str, name: str, parent: Span | None = None, attributes: dict[str, object] | None = None) -> Span:
        return Span(
            trace_id=trace_id,
            span_id=digest_hex(trace_id, name, parent.span_id if parent else "", size=16),
            parent_id=parent.span_id if parent else None,
            name=name,
            start=self.now,
            end=self.now + SECOND,
            attributes=attributes or {},
            events=[(self.now + 5, "mark", {"n": 1})],
            resource=self.resource,
            scope=v.SCOPE_OWN,
        )

    def late(self, trajectory: Trajectory, value: float = 0.7, name: str = "judge") -> LateFacts:
        """Return a reward and a fact that came after `trajectory`."""
        reward = Reward(value=value, name=name, explanation="read it twice", time=trajectory.end + SECOND, uid=f"{trajectory.id}-{name}")
        return LateFacts(
            run=self.run,
            trajectory=trajectory.id,
            step=trajectory.step,
            rewards=[reward],
            facts={v.TRAJECTORY_FILTERED: False, v.ADVANTAGE_VALUE: -0.5},
        )

    def table(self, step: int | None = 1, name: str = "val/generations") -> Table:
        rows: list[dict[str, object]] = [
            {"prompt": "1 + 1", "answer": "2 ✓", "score": 1.0},
            {"prompt": "2 + 2", "score": 0.0, "note": None},
        ]
        return Table(run=self.run, name=name, step=step, time=self.moment(step), rows=rows, uid=f"{self.run}-{name}-{step}")

    def histogram(self, step: int | None = 1, name: str = "reward/dist") -> Histogram:
        """Ten values in four bins, one of them not finite."""
        return Histogram(
            run=self.run, name=name, step=step, time=self.moment(step), edges=[0.0, 0.25, 0.5, 0.75, 1.0], counts=[4, 0, 1, 4],
            count=9, sum=4.5, min=0.0, max=1.0, nan=1, uid=f"{self.run}-{name}-{step}",
        )  # fmt: skip

    def image(self, step: int | None = 1, name: str = "val/plot", content: bytes = b"") -> Image:
        """Return a PNG of two pixels whose colour depends on the step."""
        content = content or png((step or 0) % 256)
        return Image(
            run=self.run, name=name, step=step, time=self.moment(step), caption=f"step {step}", size=len(content), width=2, height=1,
            digest=content_digest(content), content=content, uid=f"{self.run}-{name}-{step}",
        )  # fmt: skip

    def artifact(self, name: str = "configs/train.yaml", content: bytes = b"lr: 1e-6\n") -> Artifact:
        digest = content_digest(content)
        return Artifact(run=self.run, name=name, time=self.now, content=content, size=len(content), digest=digest, aliases=["best"])

    def log(self, body: str = "loaded 7 shards") -> LogLine:
        return LogLine(run=self.run, time=self.now, body=body, attributes={"logger": "trainer"}, producer="0123456789abcdef")

    def everything(self, steps: int = 2) -> list[Record]:
        """One record or more of every signal, from the start of a run to its end."""
        records: list[Record] = [self.started(), self.artifact(), self.log()]
        for step in range(1, steps + 1):
            group = [self.trajectory(step, f"task-{step}", index, reward=float(index % 2)) for index in range(2)]
            records += [*group, self.late(group[0]), self.trace(step), self.metrics(step), self.table(step)]
            records += [self.histogram(step), self.image(step)]
        return [*records, self.finished()]

    def moment(self, step: int | None) -> int:
        """Return when `step` happens, Unix ns."""
        return self.now + (step or 0) * 60 * SECOND

    def _trace_id(self, *parts: object) -> str:
        return digest_hex(self.project, self.run, *parts, size=32)

    def _identity(self, trace_id: str, step: int | None, group: str, index: int, outcome: str) -> dict[str, object]:
        identity: dict[str, object] = {
            v.RUN_ID: self.run,
            v.TRAJECTORY_ID: trace_id,
            v.GROUP_ID: group,
            v.TRAJECTORY_INDEX: index,
            v.TRAJECTORY_OUTCOME: outcome,
            v.GEN_AI_AGENT_NAME: self.agent,
        }
        return identity if step is None else {**identity, v.STEP_INDEX: step}

    def _reward(self, trace_id: str, value: float, time: int) -> Reward:
        components = {"format": 0.2 * value, "answer": 0.8 * value}
        return Reward(value=value, components=components, explanation="rule", time=time, uid=f"{trace_id}-reward")


def png(grey: int) -> bytes:
    """Return a PNG of two pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 1, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(bytes([0, grey, 255]))) + chunk(b"IEND", b"")


def digest_hex(*parts: object, size: int) -> str:
    """Return `size` hex digits that depend on `parts` alone."""
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:size]


def _tokens(span_id: str, time: int) -> TokenSegment:
    text = "答案 is 2<|im_end|>"
    ids = [1000 + position for position in range(len(text))]
    return TokenSegment(
        span_id=span_id,
        time=time,
        role="output",
        kept=7,
        count=len(ids),
        ids=struct.pack(f"<{len(ids)}i", *ids),
        logprobs=struct.pack(f"<{len(ids)}e", *([-0.5] * len(ids))),
        loss_mask=bytes([0xFF] * (len(ids) // 8) + [(0xFF << (8 - len(ids) % 8)) & 0xFF]),
        tokenizer="sample",
        text=text,
        offsets=struct.pack(f"<{len(ids)}i", *range(1, len(ids) + 1)),
    )
