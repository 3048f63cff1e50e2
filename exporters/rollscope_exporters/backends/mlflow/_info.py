"""What OTLP cannot carry: a trace's tags, metadata, previews, and rewards as assessments.

The id of an assessment follows from its fact, and MLflow merges by id: the same fact written twice is there once.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from rollscope import vocabulary as v

from ...records import Reward, Trajectory
from ._conversation import session_of
from ._otlp import clean_text
from ._preview import previews

if TYPE_CHECKING:
    from mlflow.entities import Assessment, TraceInfo

_TAG_LIMIT = 4096
_METADATA_LIMIT = 250
_FAILED = {"failed", "aborted"}


def trace_id_of(trajectory: str) -> str:
    """MLflow's name for an OpenTelemetry trace id in hex."""
    return f"tr-{trajectory}"


def trajectory_info(trajectory: Trajectory, run_id: str, experiment_id: str) -> TraceInfo:
    """Return everything about `trajectory` beside its spans."""
    from mlflow.entities import TraceInfo, TraceLocation, TraceState

    request, response = previews(trajectory)
    return TraceInfo(
        trace_id=trace_id_of(trajectory.id),
        trace_location=TraceLocation.from_experiment_id(experiment_id),
        request_time=max(trajectory.start, 0) // 1_000_000,
        execution_duration=max(trajectory.end - trajectory.start, 0) // 1_000_000,
        state=TraceState.ERROR if trajectory.outcome in _FAILED else TraceState.OK,
        client_request_id=clean_text(_request_id(trajectory), 50),
        request_preview=request,
        response_preview=response,
        trace_metadata=_metadata(trajectory, run_id),
        tags=_tags(trajectory),
        assessments=assessments(trajectory.id, trajectory.rewards),
    )


def fact_tags(facts: Mapping[str, object]) -> dict[str, str]:
    """Return facts as tags of a trace."""
    return {clean_text(key, 250): clean_text(_scalar_text(value), _TAG_LIMIT) for key, value in facts.items() if value is not None}


def assessments(trajectory: str, rewards: Iterable[Reward]) -> list[Assessment]:
    """Return rewards and their components, `name` and `name.component`, as feedback of a trace. MLflow shows only what follows a `/`."""
    return [made for reward in rewards for made in _assessments(trajectory, reward)]


def _assessments(trajectory: str, reward: Reward) -> Iterable[Assessment]:
    uid = reward.uid or f"{trajectory}-{reward.name}-{reward.value}-{reward.time}"
    yield _feedback(trajectory, uid, reward.name, reward.value, reward)
    for component, value in reward.components.items():
        yield _feedback(trajectory, uid, f"{reward.name}.{component}", value, reward)


def _feedback(trajectory: str, uid: str, name: str, value: float, reward: Reward) -> Assessment:
    from mlflow.entities import AssessmentSource, AssessmentSourceType, Feedback

    made = Feedback(
        name=clean_text(name, 250) or "reward",
        value=value if math.isfinite(value) else str(value),  # MLflow takes no NaN here, but text
        source=AssessmentSource(AssessmentSourceType.CODE, clean_text(reward.name, 250) or "reward"),
        rationale=clean_text(reward.explanation, 60_000) or None,
        metadata={"rollscope.uid": clean_text(uid, 500)},
        trace_id=trace_id_of(trajectory),
        create_time_ms=reward.time // 1_000_000 or None,
        last_update_time_ms=reward.time // 1_000_000 or None,
    )
    made.assessment_id = "a-" + hashlib.sha256(f"{trajectory}\0{uid}\0{name}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return made


def _request_id(trajectory: Trajectory) -> str:
    parts = (trajectory.step, trajectory.group, trajectory.index)
    return "/".join(str(part) for part in parts if part is not None) or trajectory.id


def _metadata(trajectory: Trajectory, run_id: str) -> dict[str, str]:
    metadata = {"mlflow.sourceRun": run_id, "mlflow.trace.session": session_of(trajectory)}
    dataset = _root_attribute(trajectory, v.DATASET_NAME)
    if dataset:
        metadata["mlflow.trace.user"] = clean_text(str(dataset), _METADATA_LIMIT)
    return metadata


def _tags(trajectory: Trajectory) -> dict[str, str]:
    named: dict[str, object] = {
        "mlflow.traceName": trajectory.agent or "trajectory",
        v.STEP_INDEX: trajectory.step,
        v.GROUP_ID: trajectory.group,
        v.TRAJECTORY_INDEX: trajectory.index,
        v.TRAJECTORY_ATTEMPT: trajectory.attempt or None,
        v.POLICY_VERSION: trajectory.policy_version,
        v.SPLIT_NAME: trajectory.split,
        v.TRAJECTORY_OUTCOME: trajectory.outcome,
        v.REWARD_VALUE: trajectory.reward,
        v.SAMPLE_ID: _root_attribute(trajectory, v.SAMPLE_ID),
        v.TRAJECTORY_INCOMPLETE: trajectory.incomplete or None,
    }
    return fact_tags({**named, **trajectory.metrics, **trajectory.facts})


def _root_attribute(trajectory: Trajectory, key: str) -> object:
    return trajectory.spans[0].attributes.get(key) if trajectory.spans else None


def _scalar_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else str(value)
