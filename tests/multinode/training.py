"""A small training program; each process is one rank, told so by the variables torchrun sets.

Arguments: experiment, steps, seconds a step takes, tokens of an output.
"""

from __future__ import annotations

import os
import random
import sys
import time

import rollscope as rs

GROUP_SIZE = 4
"""Trajectories of a rank in a step."""


def roll_out(rank: int, step: int, index: int, length: int) -> None:
    """One trajectory of two turns, with a tool call and tokens."""
    prompt = list(range(64))
    with rs.trajectory(group=f"rank-{rank}-step-{step}", index=index, step=step, agent="counter") as trajectory:
        for turn in range(2):
            with rs.turn():
                messages = [{"role": "user", "content": f"count to {step}"}]
                with rs.generation(model="tiny", messages=messages) as generation:
                    output = [random.randrange(150_000) for _ in range(length)]
                    generation.tokens(prompt=prompt, output=output, logprobs=[-random.random() for _ in output])
                    generation.output({"role": "assistant", "content": "计数"}, finish_reason="stop")
                with rs.tool("count", arguments={"to": step}, call_id=f"c{turn}") as tool:
                    tool.result(str(step))
                prompt = prompt + output
        trajectory.reward(float(index))


def main(experiment: str, steps: int, seconds: float, length: int) -> None:
    """Train, as rank 0 or as one of the others."""
    rank = int(os.environ["RANK"])
    rs.init(project="multinode", experiment=experiment, role="trainer")
    for step in range(1, steps + 1):
        until = time.monotonic() + seconds
        with rs.step(step):
            for index in range(GROUP_SIZE):
                roll_out(rank, step, index, length)
        if rank == 0:
            rs.log({"loss": 1.0 / step}, step=step)
        time.sleep(max(0.0, until - time.monotonic()))
    rs.finish()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]))
