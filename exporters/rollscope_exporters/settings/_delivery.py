"""What reaches trackers, and in which form: at the top for all of them, in a backend's own section for that one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ByteSize, ConfigDict, Field, create_model

from ..records import SIGNALS

Rule: TypeAlias = Literal["mean", "min", "max", "last", "sum"]
"""How the values of several steps become one."""
SWITCHES = tuple(signal for signal in SIGNALS if signal != "runs")
"""Keys of every backend's section: a signal, with false, true, or a map of what holds for this backend."""

Options = TypeVar("Options", bound=BaseModel)


class _Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Metrics(_Options):
    """What reaches trackers of the scalars."""

    every_n_steps: int = Field(
        default=1, ge=1, description="Hand on one point of n steps, made of all of them by the rule of each metric; validation as it is."
    )
    rules: dict[str, Rule] = Field(
        default={},
        description="Glob of metric names → how `every_n_steps` makes one value of many. Else the end of a name decides: min, max (peak), "
        "sum (count), last (`…_total`, `global_step`, `epoch`, `lr`, `learning_rate`), and mean where it says nothing.",
    )


class TrajectoryOptions(_Options):
    """What reaches trackers of the rollouts."""

    sample_rate: float = Field(default=1.0, ge=0, le=1, description="Share of the groups kept; a group is kept or left out as a whole.")
    per_step: int | None = Field(
        default=None,
        ge=1,
        description="Trajectories kept of one step and split, about, in whole groups spread over the step; null: any number.",
    )
    keep: list[Literal["errors", "extremes"]] = Field(
        default=["errors", "extremes"],
        description="Kept besides: what did not complete or has a span in error; what is the best or the worst of its step when it comes.",
    )
    max_turns: int | None = Field(default=None, ge=1, description="First turns kept of a trajectory, for its size; null keeps all.")
    max_bytes: ByteSize = Field(
        default=ByteSize(1 << 20), ge=1024, description="Longest single text (a message, a tool result); a longer one is cut and says so."
    )
    max_trajectory_bytes: ByteSize | None = Field(
        default=None,
        ge=4096,
        description="Size of a whole trajectory; beyond it go token arrays, images, repeated histories, then long texts, and a fact "
        "`shortened` says what. null: any size.",
    )


class Trajectories(TrajectoryOptions):
    """What reaches trackers of the rollouts."""

    token2text: bool = Field(default=True, description="Decode token ids to text where the shipper could not.")


class Artifacts(_Options):
    """What happens to checkpoints; small files always travel with the run."""

    models: Literal["off", "reference", "upload"] = Field(
        default="reference",
        description="Checkpoints: `off` leaves them out, `reference` says where they lie, `upload` brings their files to trackers.",
    )
    max_bytes: ByteSize = Field(
        default=ByteSize(100 << 30), ge=0, description="Size of a checkpoint above which it is referred to and not uploaded."
    )


class Runs(_Options):
    """What runs are called in trackers."""

    name: str | None = Field(
        default=None,
        min_length=1,
        description="Template of the name, as in `{model}_{algorithm.adv_estimator}_{data.train}`: `{key}` is that key of the run's "
        "config, dots lead into nested maps, of a path its last part counts; `{name}`, `{project}`, `{run}`, `{attempt}` are its own. "
        "What is missing goes with its separator. null: the name the run gave itself.",
    )
    name_length: int = Field(default=120, ge=8, le=250, description="Longest name made by the template, characters.")
    tags: list[str] = Field(default=[], description="Tags every run gets in every tracker besides its own.")


OPTIONS: dict[str, type[BaseModel]] = {"metrics": Metrics, "trajectories": TrajectoryOptions, "artifacts": Artifacts}


def section_model(config: type[BaseModel], section: Mapping[str, Any]) -> type[BaseModel]:
    """Return `config` with the keys of `SWITCHES` that stand in `section`; what the backend itself has under such a name stays its own."""
    extra: dict[str, Any] = {
        name: (_kind(name, section[name]), ...) for name in SWITCHES if name in section and name not in config.model_fields
    }
    return create_model(config.__name__, __base__=config, **extra) if extra else config


def own_keys(config: type[BaseModel], section: Mapping[str, Any]) -> dict[str, Any]:
    """Return `section` without the keys of `SWITCHES` that are not the backend's own."""
    return {key: value for key, value in section.items() if key not in SWITCHES or key in config.model_fields}


def options_of(section: Mapping[str, Any], signal: str, top: Options) -> Options:
    """Return `top` with what `section` says of `signal` over it. Only for sections that have been validated."""
    given = section.get(signal)
    kind = OPTIONS.get(signal)
    if kind is None or not isinstance(given, Mapping):
        return top
    over = kind.model_validate(given)
    return top.model_copy(update={name: getattr(over, name) for name in over.model_fields_set})


def switch_of(section: Mapping[str, Any], signal: str) -> bool | None:
    """Return whether `section` switches `signal` on or off, None where it says nothing. A map of options switches on."""
    given = section.get(signal)
    if isinstance(given, Mapping):
        return True
    return _Switch.model_validate({"on": given}).on if given is not None and not isinstance(given, list) else None


class _Switch(BaseModel):
    on: bool


def _kind(signal: str, value: object) -> Any:
    return OPTIONS[signal] if signal in OPTIONS and isinstance(value, Mapping) else bool
