"""A byte-level BPE trained on the spot, and the chat template that turns messages into its tokens."""

from __future__ import annotations

import json
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from .policy import Message
from .tasks import make_task
from .tools import SCHEMAS

START, END = "<|im_start|>", "<|im_end|>"
SPECIAL = [START, END, "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"]
SYSTEM = "You answer questions about numbers and mountains. Never guess: use the tools.\n\n# Tools\n\n" + "\n".join(
    json.dumps(schema, ensure_ascii=False) for schema in SCHEMAS
)


def train_tokenizer(path: Path, seed: int) -> None:
    """Train on the run's own tasks and write `path` (tokenizers' JSON format)."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=900, special_tokens=SPECIAL, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    corpus = [SYSTEM, *(make_task(seed, "train", number).question for number in range(400))]
    tokenizer.train_from_iterator(corpus, trainer)
    path.parent.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(path))


def render(message: Message) -> str:
    """Text of a message's inside: content, then tool calls, in the form that Qwen's template uses."""
    text = str(message.get("content") or "")
    if message["role"] == "tool":
        return f"<tool_response>\n{text}\n</tool_response>"
    for call in message.get("tool_calls", []):
        text += f"<tool_call>\n{json.dumps(call['function'], ensure_ascii=False)}\n</tool_call>"
    return text


class Chat:
    """The token side of one conversation: what the engine was given and what it sampled, without re-encoding."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self.ids: list[int] = []

    def add(self, messages: list[Message]) -> None:
        """Append messages that the policy did not write."""
        for message in messages:
            self._append(f"{START}{message['role']}\n{render(message)}{END}\n")

    def prompt(self) -> list[int]:
        """Open the assistant's turn and return the whole prompt's ids."""
        self._append(f"{START}assistant\n")
        return list(self.ids)

    def reply(self, message: Message) -> list[int]:
        """Append what the policy wrote and return its ids, the end marker included."""
        ids: list[int] = self._tokenizer.encode(render(message) + END).ids
        self.ids += ids
        self._append("\n")
        return ids

    def _append(self, text: str) -> None:
        self.ids += self._tokenizer.encode(text).ids


def load_tokenizer(path: Path) -> Tokenizer:
    """Read what `train_tokenizer` wrote."""
    return Tokenizer.from_file(str(path))
