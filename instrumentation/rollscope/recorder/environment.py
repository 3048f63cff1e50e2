"""How a run reaches its other processes: a handful of environment variables that every child inherits.

Programs that start processes with an environment of their own (Ray's `runtime_env`, `subprocess` with `env=`) pass `environment()` on.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from . import session
from .recorder import Recorder

if TYPE_CHECKING:
    from ..identity import Run

__all__ = ["attempt_of", "environment", "export", "run_of", "variables_of", "withdraw", "without_run"]

RUN_ID, _NAME, _PROJECT, _ATTEMPT = "ROLLSCOPE_RUN_ID", "ROLLSCOPE_RUN_NAME", "ROLLSCOPE_PROJECT", "ROLLSCOPE_RUN_ATTEMPT"
DRIVER = "ROLLSCOPE_DRIVER"
"""Producer that began the run: who finds it in the environment is a worker."""
TOKENIZER = "ROLLSCOPE_TOKENIZER"
_withdraw: dict[str, str | None] = {}


def variables_of(recorder: Recorder) -> dict[str, str]:
    """Return the variables through which another process joins the run of `recorder`."""
    from ..settings import Capture  # loaded by `init` already; `import rollscope` does without

    run, settings = recorder.identity.run, recorder.settings
    variables = {
        "ROLLSCOPE_DIR": str(settings.directory),
        "ROLLSCOPE_STORAGE": str(settings.storage),
        RUN_ID: run.id,
        _NAME: run.name,
        _PROJECT: run.project,
        _ATTEMPT: str(run.attempt),
        DRIVER: recorder.identity.producer,
        "ROLLSCOPE_ENDPOINT": settings.endpoint or "",
        "ROLLSCOPE_CAPTURE": "" if settings.capture == Capture() else settings.capture.to_text(),
        TOKENIZER: recorder.tokenizer or "",
        **settings.redaction.to_environment(),
    }
    return {name: value for name, value in variables.items() if value}


def environment() -> dict[str, str]:
    """Return what a process started elsewhere needs in its environment to join the run; empty without one."""
    recorder = session.current()
    return {} if recorder is None else variables_of(recorder)


def run_of(env: Mapping[str, str]) -> Run | None:
    """Return the run that an environment carries, or None."""
    run_id = env.get(RUN_ID, "").strip()
    if not run_id:
        return None
    from ..identity import Run

    return Run(
        id=run_id,
        name=env.get(_NAME, "") or run_id,
        project=env.get(_PROJECT, "") or "default",
        attempt=attempt_of(env) or 0,
    )


def without_run(env: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without the run that it carries."""
    return {name: value for name, value in env.items() if name not in (RUN_ID, _NAME, _PROJECT, _ATTEMPT, DRIVER)}


def attempt_of(env: Mapping[str, str]) -> int | None:
    """Return the attempt that an environment carries, or None. Raises `ConfigurationError`."""
    from ..settings import environment_int

    return environment_int(env, _ATTEMPT, default=None)


def export(recorder: Recorder) -> None:
    """Write the run into this process's environment, and remember what was there."""
    for name, value in variables_of(recorder).items():
        _withdraw.setdefault(name, os.environ.get(name))
        os.environ[name] = value


def withdraw() -> None:
    """Put the environment back as it was before `export`."""
    while _withdraw:
        name, value = _withdraw.popitem()
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
