"""A run that meets a secret everywhere a program can; `python secretive_program.py SECRET`."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path

import tokenizers

import rollscope as rs

secret = sys.argv[1]
tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = tokenizers.decoders.ByteLevel()
alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
tokenizer.train_from_iterator(["no merges"], tokenizers.trainers.BpeTrainer(initial_alphabet=alphabet, show_progress=False))

rs.init(
    project="secretive",
    experiment="secretive",
    config={"env": {"KEY": secret}, "lr": 1e-6},
    notes=f"with {secret}",
    tags=[secret],
    backends=["mlflow", "jsonl", "console"],
    tokenizer=tokenizer,
    redact={"patterns": [r"sk-\w+"], "keys": ["*.password"]},
)
logging.getLogger().addHandler(rs.LogHandler())
logging.getLogger("program").warning("key %s", secret)


@rs.traced(kind="tool")
def login(key: str) -> str:
    """Fail over the key."""
    raise ValueError(f"{key} is not valid")


call = {"id": "c1", "type": "function", "function": {"name": "login", "arguments": json.dumps({"key": secret, "password": "hunter2"})}}
messages = [{"role": "user", "content": f"my key is {secret}, log in"}, {"role": "assistant", "content": None, "tool_calls": [call]}]
with rs.step(1), rs.trajectory(group=f"task of {secret}", index=0, agent="helper") as trajectory:
    with rs.turn():
        with rs.generation(model="m", messages=messages) as generation:
            generation.tokens(prompt=tokenizer.encode(f"use {secret} now").ids, output=tokenizer.encode(f"I use {secret}").ids)
            generation.output({"role": "assistant", "content": f"I use {secret}"})
        try:
            login(secret)
        except ValueError:
            rs.event("failed", {"why": {"deep": [secret]}})
    trajectory.reward(1.0, explanation=f"it kept {secret}")
rs.log({f"loss of {secret}": 1.0, "loss": 0.5, "said": secret}, step=1)
rs.table("answers", rows=[{"answer": secret}], step=1)
Path("settings.yaml").write_text(f"key: {secret}\n")
rs.artifact("settings.yaml")
with rs.get_tracer("library").start_as_current_span(f"query {secret}") as span:
    span.set_attribute("query", secret)
print(json.dumps(tokenizer.encode(secret).ids))
rs.finish()
