"""The one-object form: a drop-in for the tracking classes of trainers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any

from .metrics import log
from .recorder import finish

__all__ = ["TrainerLogger"]


class TrainerLogger:
    """A run and its scalars: `TrainerLogger(project, experiment, backends, config)`, `log(data, step)`, `finish()`.

    Takes what trainers hand to their own classes (verl: `Tracking(project_name, experiment_name, default_backend, config)`). Further
    arguments are those of `init`. Usable in `with`: an exception marks the run as failed. Raises `ConfigurationError` for what
    cannot work.
    """

    def __init__(
        self,
        project: str | None = None,
        experiment: str | None = None,
        backends: str | Iterable[str] | None = None,
        config: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        from .recorder import init  # brings journal and settings

        init(project, experiment, config, backends=backends, **options)

    def log(self, data: Mapping[str, object], step: int | None = None, backend: object = None) -> None:
        """Record the scalars of one step, see `rollscope.log`. `backend` is accepted and ignored: routes are the bridge's configuration."""
        log(data, step)

    def finish(self) -> None:
        """End the run. A second call does nothing."""
        finish()

    def __enter__(self) -> TrainerLogger:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            finish()
        else:
            finish("failed" if isinstance(error, Exception) else "aborted", f"{type(error).__name__}: {error}")
