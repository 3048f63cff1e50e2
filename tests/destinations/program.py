"""A run with a little of everything: `python -m tests.destinations.program TOKENIZER FOLDER TOLD.json` records it and notes what it said.

Trained in nothing; every value is chosen so that a destination that bends it is found out.
"""

from __future__ import annotations

import base64
import json
import logging
import math
import sys
import time
from pathlib import Path

import rollscope as rs
from examples.tool_rl.tokenizer import load_tokenizer
from rollscope_exporters.testing.samples import TOOLS, png

EXPERIMENT, PROJECT, AGENT = "every signal", "destinations", "adder"
CONFIG = {"trainer": {"lr": 1e-6, "steps": 2}, "model": {"path": "qwen/7b", "tied": True}, "note": "学习率"}
TAGS = ["baseline", "第一次"]
NOTES = "A first try."
VALUES = {"reward/mean": 0.1, "val/acc@4": 1 / 3, "奖励/平均": -2.5e-300}
UNUSUAL = {"odd/nan": math.nan, "odd/inf": math.inf, "odd/minus": -math.inf}
WORD = {"phase/name": "warm-up ✓"}
DISTRIBUTION = [0.0, 0.1, 0.1, 0.3, 0.9, 1.0, math.nan]
EDGES = [0.0, 0.25, 0.5, 1.0]
COUNTS = [3, 1, 2]
PLOT, SEEN = png(40), png(80)
CAPTION = "the plot 图"
ROWS = [{"prompt": "1 + 1", "answer": "2 ✓", "score": 1.0}, {"prompt": "2 | 2", "answer": "four", "score": 0.25}]
FILE = b"lr: 1e-6\n\xff\x00"
COMPONENTS = {"answer": 0.8, "format": 0.2}
EXPLANATION = "the rule says so"
JUDGE = 0.375
ADVANTAGE = -0.5
LOGPROBS = [-0.5, -0.25]
LOG_LINE = "loaded 7 shards"

CALL = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1, "b": 2}'}}
QUESTION = {"role": "user", "content": "What is 1 + 2? 请回答 🙂 **now**"}
ASKING = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "call_1", "name": "add", "content": "3"}
ANSWER = {"role": "assistant", "content": "It is **3**. 答案是 3。"}
CONVERSATION = [QUESTION, ASKING, RESULT, ANSWER]


def record(folder: Path) -> dict[str, object]:
    """Record everything; returns the ids that only recording gives."""
    handler = rs.LogHandler()
    logging.getLogger("shards").addHandler(handler)
    with rs.step(1), rs.phase("rollout"):
        ids = {"trajectory": _trajectory(), "failed": _failed(), "seen": _seen()}
        with rs.span("load shards", attributes={"shards": 7}):
            logging.getLogger("shards").warning(LOG_LINE)
    rs.reward(JUDGE, trajectory=ids["trajectory"], name="judge")
    rs.facts(trajectory=ids["trajectory"], advantage=ADVANTAGE, filtered=True)
    for step, values in ((3, VALUES | UNUSUAL | WORD), (2, {"reward/mean": 0.7})):
        time.sleep(0.02)  # Prometheus counts milliseconds, and takes one value of a series at each
        rs.log(values, step=step)
    rs.histogram("reward/dist", DISTRIBUTION, step=3, edges=EDGES)
    rs.image("val/plot", PLOT, step=3, caption=CAPTION)
    rs.table("val/generations", ROWS, step=3)
    rs.artifact(FILE, name="configs/train.yaml")
    (folder / "model.bin").write_bytes(b"weights")
    rs.artifact(folder / "model.bin", name="actor", type="model", aliases=["best"], step=3)
    return ids


def _trajectory() -> str:
    with rs.trajectory(group="task-1", index=4, policy_version=11, agent=AGENT, split="train") as trajectory:
        with rs.turn():
            with rs.generation(model="qwen", messages=[QUESTION], tools=TOOLS) as generation:
                generation.tokens(prompt=[20, 21], output=[30, 31], logprobs=LOGPROBS, loss_mask=[1, 0])
                generation.output(ASKING, finish_reason="tool_calls")
            with rs.tool("add", arguments={"a": 1, "b": 2}, call_id="call_1") as tool:
                tool.result(RESULT["content"])
        with rs.turn(), rs.generation(model="qwen", messages=[QUESTION, ASKING, RESULT], tools=TOOLS) as generation:
            generation.output(ANSWER, finish_reason="stop")
        trajectory.reward(1.0, components=COMPONENTS, explanation=EXPLANATION)
    return trajectory.id


def _failed() -> str:
    try:
        with rs.trajectory(group="task-2", index=0, policy_version=11, agent=AGENT) as trajectory:
            raise TimeoutError("the sandbox did not answer")
    except TimeoutError:
        return trajectory.id


def _seen() -> str:
    url = f"data:image/png;base64,{base64.b64encode(SEEN).decode()}"
    question = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": "Which?"}]}
    with rs.trajectory(group="task-3", index=0, policy_version=11, agent=AGENT) as trajectory:
        with rs.turn(), rs.generation(model="qwen", messages=[question]) as generation:
            generation.output({"role": "assistant", "content": "The left one."})
        trajectory.reward(0.0)
    return trajectory.id


def main() -> None:
    """Record, end the run, and write what the tests have to know."""
    tokenizer, folder, told = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    rs.init(PROJECT, EXPERIMENT, CONFIG, TAGS, NOTES, tokenizer=load_tokenizer(Path(tokenizer)), role="trainer", algorithm="grpo")
    run = rs.environment()["ROLLSCOPE_RUN_ID"]
    ids = record(folder)
    text = load_tokenizer(Path(tokenizer)).decode([20, 21, 30, 31], skip_special_tokens=False)
    rs.flush(10)
    rs.finish()
    told.write_text(json.dumps({**ids, "run": run, "text": text}))


if __name__ == "__main__":
    main()
