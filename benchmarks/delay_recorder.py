"""`python -m benchmarks.delay_recorder FOLDER ENDPOINT RATE SECONDS`: rollouts at a steady rate, as a training process records them.

Records one step's scalars, so that everything starts, and waits for a line on standard input. A step has ten trajectories and ends with
its scalars. Writes `FOLDER/recorded`: trace id and Unix time at the end of each, a line each.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import rollscope as rs

RUN = "delay"
PER_STEP = 10
MARK = "trajectory:"
"""Stands before the trajectory's id in its question, so that it is found in whatever shape a backend keeps messages."""


def main(folder: Path, endpoint: str, rate: float, seconds: float) -> None:
    """Record."""
    rs.init(project="bench", experiment="delay", run_id=RUN, directory=folder / "journal", endpoint=endpoint, circumstances=False)
    rs.log({"reward/mean": 0.0, "loss": 1.0}, step=0)
    sys.stdin.readline()
    with (folder / "recorded").open("w", encoding="ascii") as recorded:
        begin = time.perf_counter()
        for number in range(int(rate * seconds)):
            time.sleep(max(0.0, begin + number / rate - time.perf_counter()))
            step, index = divmod(number + PER_STEP, PER_STEP)
            recorded.write(f"{_trajectory(step, index)} {time.time()}\n")
            recorded.flush()
            if index == PER_STEP - 1:
                rs.log({"reward/mean": 0.5, "loss": 1.0 / (step + 1)}, step=step)
    rs.finish()


def _trajectory(step: int, index: int) -> str:
    with rs.trajectory(group=f"task-{step}", index=index, step=step, policy_version=step, agent="delay") as trajectory:
        question = [{"role": "user", "content": f"{MARK}{trajectory.id} What is the fare from Hangzhou to Beijing, one way, on Friday?"}]
        with trajectory.turn() as turn, turn.generation(model="qwen", messages=question) as generation:
            generation.tokens(prompt=list(range(200)), output=list(range(100)))
            generation.output({"role": "assistant", "content": "553 yuan. " * 20}, finish_reason="stop")
        trajectory.reward(1.0)
    return str(trajectory.id)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]), float(sys.argv[4]))
