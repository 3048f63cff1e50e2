"""Names whose values stay as they are: what rollscope itself made, and what records are joined by. They hold no text of the user's."""

from __future__ import annotations

from collections.abc import Mapping

from .. import vocabulary as v

KEPT = frozenset(
    {
        v.RUN_ID, v.RUN_ATTEMPT, v.PRODUCER_ID, v.SERVICE_INSTANCE_ID, v.PROCESS_PID, v.PRODUCER_SEQUENCE, v.LOG_RECORD_UID,
        v.STEP_SPAN, v.TRAJECTORY_ID, v.TRAJECTORY_OUTCOME, v.GEN_AI_CONVERSATION_ID, v.GEN_AI_OPERATION_NAME, v.GEN_AI_TOOL_TYPE,
        v.RUN_BACKENDS, v.RUN_STATUS, v.DATASET_DIGEST, v.ARTIFACT_DIGEST, v.ARTIFACT_UID, v.ARTIFACT_FILES, v.IMAGE_DIGEST,
        v.IMAGE_TYPE, v.TOKENIZER_DIGEST, v.TOKENS_ROLE, v.TOKENS_TEXT, v.TOKENS_UNDECODED,
    }
)  # fmt: skip
"""Token texts are seen to together with their ids, see `_segment`."""

OWN = frozenset(name for (kind, name) in v.REGISTRY if kind in ("attribute", "resource"))
"""Names of the vocabulary: a number under one of them is no secret."""

EVENTS = frozenset(name for (kind, name) in v.REGISTRY if kind == "event")


def kept(attributes: Mapping[str, object]) -> dict[str, object]:
    """Return those of the attributes that hold no text of the user's."""
    return {name: value for name, value in attributes.items() if name in KEPT}
