"""Hooks of the user on finished trajectories, run outside the rollout loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .background import background
from .recorder import Recorder, report

__all__ = ["TraceData", "TraceHook", "hooks_registered", "register_trace_hook", "run_hooks", "submit_trace", "unregister_trace_hook"]

TraceData = dict[str, Any]
"""A finished trajectory: `prompt`, `generation`, `messages`, `reward`, `rewards`, `metrics`, `outcome`, and the ids `id`, `run`, `step`,
`group`, `index`, `attempt`, `policy_version`, `split`, `agent`."""

TraceHook = Callable[[TraceData], "TraceData | None"]
F = TypeVar("F", bound=TraceHook)

_METRICS = "metrics"
_hooks: dict[str, TraceHook] = {}


def register_trace_hook(name: str) -> Callable[[F], F]:
    """Decorate `f(trace_data) -> trace_data`: keys it adds, also within `metrics`, become facts of the trajectory everywhere.

    A hook sees trajectories that begin after it was registered, in the process that ended them, in a thread of its own; its
    exceptions are counted as `hook:{name}`, and what it changed before is not recorded. A second hook of the same name replaces the first.
    """

    def register(function: F) -> F:
        _hooks[name] = function
        return function

    return register


def unregister_trace_hook(name: str) -> None:
    """Forget a hook; an unknown name is no error."""
    _hooks.pop(name, None)


def hooks_registered() -> bool:
    """Return whether any hook wants trajectories."""
    return bool(_hooks)


def submit_trace(recorder: Recorder, build: Callable[[], TraceData], record: Callable[[dict[str, object]], None]) -> bool:
    """Run the hooks on what `build` returns and hand what they add to `record`, both outside the caller's thread; False when refused."""

    def job() -> None:
        added = run_hooks(build())
        if added:
            record(added)

    return background.submit(recorder, job, "hook")


def run_hooks(data: TraceData) -> dict[str, object]:
    """Run all hooks in order of registration, each on what the one before returned; return what they added."""
    known, measured = set(data), set(data.get(_METRICS, ()))
    added: dict[str, object] = {}
    for name, hook in list(_hooks.items()):
        try:
            returned = hook(data)
            data = data if returned is None else dict(returned)
            metrics = data.get(_METRICS)
            if isinstance(metrics, dict):
                added.update((key, value) for key, value in metrics.items() if key not in measured)
            added.update((key, value) for key, value in data.items() if key not in known)
        except Exception as error:  # noqa: BLE001  # a user's function may raise anything; its name says whose
            report("failed", f"hook:{name}", f"trace hook {name!r} raised {type(error).__name__}: {error}", error)
    return added
