"""The bridge's pipeline in this process, as its own process runs it."""

from __future__ import annotations

import os
from pathlib import Path

from rollscope_exporters.beats import PIPELINE_BEAT, BeatFile
from rollscope_exporters.pipeline.loop import Loop
from rollscope_exporters.pipeline.settings import PipelineSettings
from rollscope_exporters.pipeline.trial import Trial
from rollscope_exporters.store import Store


def pipeline(storage: Path, store: Store) -> Loop:
    """Return a loop over `storage`; no tokens become text, and no backend is wanted."""
    beat = BeatFile(storage / PIPELINE_BEAT, os.getpid())
    return Loop(storage, store, PipelineSettings(token2text=False), lambda _: [], trial=Trial(storage, None), beat=beat)
