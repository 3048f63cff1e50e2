"""Chat messages: OpenAI format, as RL code holds them, to GenAI message parts, as they travel, and back without loss."""

from ._json import MessagesError, load_json, openai_json_to_parts_json
from ._to_openai import parts_to_openai, tools_to_openai
from ._to_parts import openai_to_parts

__all__ = [
    "MessagesError",
    "load_json",
    "openai_json_to_parts_json",
    "openai_to_parts",
    "parts_to_openai",
    "tools_to_openai",
]
