"""The bridge's pipeline: inbox → store. `python -m rollscope_exporters.pipeline --storage S`."""

from .engine import Pipeline
from .settings import PipelineSettings

__all__ = ["Pipeline", "PipelineSettings"]
