"""A short training run as a company records it. Arguments: folder of the checkpoint, number of steps."""

from __future__ import annotations

import sys
from pathlib import Path

import rollscope as rs

place, steps = Path(sys.argv[1]), int(sys.argv[2])
rs.init(project="company", experiment="grpo-qwen", config={"lr": 1e-6, "model": {"path": "qwen"}}, tags=["baseline"])
for step in range(1, steps + 1):
    with rs.step(step):
        for index in range(2):
            messages = [{"role": "user", "content": f"Which flights leave on day {step}? 航班"}]
            with rs.trajectory(group=f"g{step}", index=index, agent="airline") as trajectory:
                with rs.turn(), rs.generation(model="qwen", messages=messages) as generation:
                    generation.output({"role": "assistant", "content": f"Number {index}."}, finish_reason="stop")
                trajectory.reward(float(index), components={"format": 0.5})
            rs.reward(0.25, trajectory=trajectory.id, name="judge")
        rs.log({"reward/mean": 0.5 + step, "loss": 1.0 / step}, step=step)
        rs.table("val/generations", rows=[{"step": step, "output": "早上好"}], step=step)
rs.artifact(place, name="policy", type="model", aliases=["best"])
rs.finish()
