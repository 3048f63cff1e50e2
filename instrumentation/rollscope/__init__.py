"""The flight recorder of LLM reinforcement learning.

    import rollscope as rs

    rs.init(project="airline", experiment="grpo-qwen", backends=["console", "mlflow"])
    with rs.step(12), rs.trajectory(group="task-17", index=3, agent="airline") as traj:
        with rs.turn(), rs.generation(model="qwen", messages=messages) as gen:
            out = engine.generate(...)
            gen.tokens(prompt=out.prompt_ids, output=out.ids, logprobs=out.logprobs)
            gen.output(out.message, finish_reason="stop")
        traj.reward(1.0)

What a call recorded survives the death of its process. No call raises after `init`, waits for a network or a GPU, or needs a run: without
one everything here does nothing. `rollscope.testing` records into memory.
"""

import typing as _typing

from .artifact import artifact
from .carrier import Attachment, attach, carrier, in_context
from .errors import ConfigurationError, RollscopeError
from .histogram import histogram
from .hooks import TraceData, register_trace_hook, unregister_trace_hook
from .image import image
from .kinds import Kind
from .metrics import log
from .recorder import (
    FlushResult,
    LogHandler,
    Recorder,
    Span,
    Tracer,
    TracerProvider,
    environment,
    finish,
    flush,
    get_tracer,
    status,
)
from .reward import facts, reward
from .spans import event, span
from .spans import set_ as set
from .step import Phase, Step, phase, step
from .table import table
from .traced import traced
from .trainer_logger import TrainerLogger
from .trajectory import Generation, Outcome, Tool, Trajectory, Turn, generation, tool, trajectory, turn

if _typing.TYPE_CHECKING:
    from .recorder import init
else:

    def __getattr__(name: str) -> object:
        """Import `init` when it is first asked for, see `rollscope.recorder`."""
        if name != "init":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from .recorder import init

        return init

    def __dir__() -> list[str]:
        return sorted({*globals(), "init"})


__version__ = "0.1.0"

__all__ = [
    "Attachment",
    "ConfigurationError",
    "FlushResult",
    "Generation",
    "Kind",
    "LogHandler",
    "Outcome",
    "Phase",
    "Recorder",
    "RollscopeError",
    "Span",
    "Step",
    "Tool",
    "TraceData",
    "Tracer",
    "TracerProvider",
    "TrainerLogger",
    "Trajectory",
    "Turn",
    "__version__",
    "artifact",
    "attach",
    "carrier",
    "environment",
    "event",
    "facts",
    "finish",
    "flush",
    "generation",
    "get_tracer",
    "histogram",
    "image",
    "in_context",
    "init",
    "log",
    "phase",
    "register_trace_hook",
    "reward",
    "set",
    "span",
    "status",
    "step",
    "table",
    "tool",
    "traced",
    "trajectory",
    "turn",
    "unregister_trace_hook",
]
