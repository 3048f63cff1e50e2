"""Steps of the training loop and their phases."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import Token
from types import TracebackType

from . import vocabulary as v
from .metrics import record_metrics, whole
from .noop import NOOP
from .recorder import Recorder, Span, current, guarded
from .scope import Scope, or_noop
from .step_point import StepPoint, close_step, current_step, enter_step, leave_step, open_step

__all__ = ["PHASE_SECONDS", "Phase", "Step", "phase", "step"]

PHASE_SECONDS = "phase_s/"
"""Prefix of the scalars that hold how long phases took, in seconds; `phase_s/step` is the whole step."""


@or_noop("step")
def step(
    index: int, *, epoch: int | None = None, policy_version: int | None = None, attributes: Mapping[str, object] | None = None
) -> Step:
    """Begin a step: a trace of its own, span `rl.loop`. Use it in `with` or `async with`.

    index: optimiser-visible global step. epoch: pass over the data. policy_version: version of the weights that act in this step.
    When it ends, one record holds how long it and its phases took, under `phase_s/`.
    """
    recorder = current()
    if recorder is None:
        return NOOP  # type: ignore[no-any-return]
    number = whole(index)
    identity: dict[str, object] = {v.STEP_INDEX: number}
    if epoch is not None:
        identity[v.EPOCH_INDEX] = whole(epoch)
    version = None if policy_version is None else whole(policy_version)
    if version is not None:
        identity[v.POLICY_VERSION] = version
    span = recorder.start_span(v.SPAN_STEP, root=True, attributes=attributes, identity=identity)
    return Step(recorder, span, StepPoint(number, span.trace_id, span.span_id, policy_version=version, here=True))


@or_noop("phase")
def phase(name: str, *, step: int | None = None, attributes: Mapping[str, object] | None = None) -> Phase:
    """Begin a phase under the current span, named by `vocabulary.phase_span`. Use it in `with` or `async with`.

    name: one of `vocabulary.PHASES`, or a word of your own. step: the step it belongs to where none is current.
    Its duration joins the step's record; where the step runs in another process it is logged when the phase ends.
    """
    recorder = current()
    if recorder is None:
        return NOOP  # type: ignore[no-any-return]
    return _begin_phase(recorder, name, None, current_step() if step is None else StepPoint(whole(step)), attributes)


def _begin_phase(
    recorder: Recorder, name: str, parent: Span | None, point: StepPoint | None, attributes: Mapping[str, object] | None
) -> Phase:
    identity = None if point is None else {v.STEP_INDEX: point.index}
    values = {**(attributes or {}), v.PHASE_NAME: name}
    return Phase(recorder, recorder.start_span(v.phase_span(name), parent=parent, attributes=values, identity=identity), name, point)


class Step(Scope):
    """A step that is running."""

    __slots__ = ("_point", "_tick", "_token", "index")

    def __init__(self, recorder: Recorder, span: Span, point: StepPoint) -> None:
        super().__init__(recorder, span)
        self.index = point.index
        self._point = point
        self._tick = recorder.tick()
        self._token: Token[StepPoint | None] | None = None
        open_step(point)

    @or_noop("phase")
    def phase(self, name: str, *, attributes: Mapping[str, object] | None = None) -> Phase:
        """Begin a phase of this step, also from a thread where it is not the current one."""
        return _begin_phase(self._recorder, name, self.span, self._point, attributes)

    @guarded("log")
    def log(self, metrics: Mapping[str, object], *, split: str | None = None) -> None:
        """Record scalars of this step, like `rollscope.log`."""
        record_metrics(self._recorder, metrics, self.index, split)

    def _finish(self, error: BaseException | None) -> None:
        close_step(self._point)
        durations = {f"{PHASE_SECONDS}{name}": seconds for name, seconds in self._point.take_durations().items()}
        if self.span.inherited:  # the step is the parent process's, as is the time it takes
            return
        durations[f"{PHASE_SECONDS}step"] = (self._recorder.tick() - self._tick) / 1e9
        record_metrics(self._recorder, durations, self.index, None)

    def __enter__(self) -> Step:
        self._token = enter_step(self._point)
        return super().__enter__()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        token, self._token = self._token, None
        if token is not None:
            leave_step(token)
        super().__exit__(kind, error, trace)


class Phase(Scope):
    """A phase that is running."""

    __slots__ = ("_point", "_tick", "name")

    def __init__(self, recorder: Recorder, span: Span, name: str, point: StepPoint | None) -> None:
        super().__init__(recorder, span)
        self.name = name
        self._point = point
        self._tick = recorder.tick()

    def _finish(self, error: BaseException | None) -> None:
        if self.span.inherited:
            return
        seconds = (self._recorder.tick() - self._tick) / 1e9
        if self._point is None or not self._point.add_duration(self.name, seconds):
            index = None if self._point is None else self._point.index
            record_metrics(self._recorder, {f"{PHASE_SECONDS}{self.name}": seconds}, index, None)
