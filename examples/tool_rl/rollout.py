"""One rollout: the policy talks, the tools answer, everything is recorded."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field

import numpy as np
from tokenizers import Tokenizer

import rollscope as rs

from . import tools
from .policy import ACTIONS, MAX_TURNS, Array, Message, Progress, features, probabilities, write_message
from .tasks import Task, score
from .tokenizer import SYSTEM, Chat

MODEL = "tool-rl-softmax"


@dataclass(frozen=True)
class Job:
    """One group of rollouts of one task, as the trainer sends it to a worker."""

    task: Task
    step: int
    split: str
    size: int
    """Rollouts in the group."""
    seed: int
    attempt: int = 0
    """How often a worker died over it."""
    carrier: dict[str, str] = field(default_factory=dict)
    """The step's trace context."""
    latency: float = 0.0
    """Seconds a generation takes, to imitate an inference engine."""

    @property
    def group(self) -> str:
        """Identity of the prompt group."""
        return f"{self.step}/{self.task.id}"


@dataclass
class Rollout:
    """What the trainer gets back of one trajectory."""

    trajectory: str = ""
    """Identity under which it was recorded, empty when recording is off."""
    rewards: dict[str, float] = field(default_factory=dict)
    features: list[Array] = field(default_factory=list)
    actions: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    answer: str | None = None
    prompt_length: int = 0
    response_length: int = 0
    tool_calls: int = 0
    tool_errors: int = 0

    @property
    def reward(self) -> float:
        """Sum of the partial rewards."""
        return sum(self.rewards.values())


def run_group(job: Job, weights: Array, version: int, tokenizer: Tokenizer) -> list[Rollout]:
    """Roll out every member of a group. Same job and weights, same result, whichever worker runs it."""
    with rs.attach(job.carrier):
        return [_run(job, index, weights, version, tokenizer) for index in range(job.size)]


def _run(job: Job, index: int, weights: Array, version: int, tokenizer: Tokenizer) -> Rollout:
    rng = np.random.default_rng([job.seed, job.step, index, *job.task.id.encode()])
    with rs.trajectory(
        group=job.group,
        index=index,
        attempt=job.attempt,
        step=job.step,
        policy_version=version,
        agent="tool-user",
        split=job.split,
        group_size=job.size,
        sample_id=job.task.id,
    ) as trajectory:
        conversation = _Conversation(job, weights, rng, Chat(tokenizer))
        rollout = conversation.run()
        rollout.trajectory = trajectory.id
        trajectory.reward(rollout.reward, components=rollout.rewards)
    return rollout


class _Conversation:
    """The state of one rollout."""

    def __init__(self, job: Job, weights: Array, rng: np.random.Generator, chat: Chat) -> None:
        self._job, self._weights, self._rng, self._chat = job, weights, rng, chat
        self._rollout = Rollout()
        self._progress = Progress()
        self._messages: list[Message] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": job.task.question}]
        chat.add(self._messages)

    def run(self) -> Rollout:
        """Talk until the policy answers or has used up its turns, then score."""
        for _ in range(MAX_TURNS):
            with rs.turn():
                message = self._generate()
                if message["content"] is not None:
                    self._rollout.answer = message["content"]
                    break
                replies = [self._use_tool(call) for call in message["tool_calls"]]
            self._messages += replies
            self._chat.add(replies)
        self._rollout.rewards = score(self._job.task, self._rollout.answer, len(self._progress.results), self._progress.faults)
        return self._rollout

    def _generate(self) -> Message:
        prompt = self._chat.prompt()
        with rs.generation(model=MODEL, messages=self._messages, tools=tools.SCHEMAS) as generation:
            time.sleep(self._job.latency)
            message, logprob = self._act()
            output = self._chat.reply(message)
            # The action is drawn with the first token; the rest of the message follows from it with certainty.
            generation.tokens(prompt=prompt, output=output, logprobs=[logprob] + [0.0] * (len(output) - 1))
            generation.output(message, finish_reason="tool_calls" if message["content"] is None else "stop")
        self._messages.append(message)
        self._rollout.prompt_length = self._rollout.prompt_length or len(prompt)
        self._rollout.response_length += len(output)
        return message

    def _act(self) -> tuple[Message, float]:
        seen = features(self._job.task, self._progress)
        chances = probabilities(self._weights, seen)
        action = int(self._rng.choice(len(ACTIONS), p=chances))
        rollout, logprob = self._rollout, float(np.log(chances[action]))
        message = write_message(ACTIONS[action], self._job.task, self._progress, turn=len(rollout.actions))
        rollout.features.append(seen)
        rollout.actions.append(action)
        rollout.logprobs.append(logprob)
        return message, logprob

    def _use_tool(self, call: Message) -> Message:
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        self._rollout.tool_calls += 1
        try:
            with rs.tool(name, arguments=arguments, call_id=call["id"]) as tool:
                result = tools.call(name, arguments)
                tool.result(result)
            self._progress.results.append(result)
            self._progress.failed = False
        except (ArithmeticError, LookupError, TypeError, json.JSONDecodeError) as error:
            self._progress.failed = True
            self._progress.faults += isinstance(error, (TypeError, json.JSONDecodeError))
            self._rollout.tool_errors += 1
            result = f"{type(error).__name__}: {error}"
        return {"role": "tool", "tool_call_id": call["id"], "content": result}
