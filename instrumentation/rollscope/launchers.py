"""What the launcher of a process says about its place: torchrun, SLURM, Open MPI, PMI and Ray.

Every rank of a parallel job calls `init` alike, so the run's id must follow from what the ranks share: the launcher's job id, or the
launcher process itself on one node.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from .digests import blake2b
from .errors import ConfigurationError
from .settings import environment_int

__all__ = ["Place", "find_place", "shared_run_id"]


class Place(msgspec.Struct, frozen=True):
    """Position of a process in its job; None where the launcher does not say."""

    role: str = ""
    rank: int | None = None
    world_size: int | None = None
    local_rank: int | None = None
    node_rank: int | None = None
    restart: int = 0
    """How often the launcher restarted the job."""
    job: str = ""
    """What identifies the job among all jobs of its launcher; equal on all ranks."""


class _Launcher(msgspec.Struct, frozen=True):
    name: str
    rank: str
    world_size: str
    local_rank: str = ""
    node_rank: str = ""
    restart: str = ""
    job: tuple[str, ...] = ()


# Most specific first: torchrun inside SLURM sets both, and its ranks are the true ones.
_LAUNCHERS = (
    _Launcher("torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "GROUP_RANK", "TORCHELASTIC_RESTART_COUNT", ("TORCHELASTIC_RUN_ID",)),
    _Launcher(
        "openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
        job=("PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"),
    ),
    _Launcher(
        "slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_RESTART_COUNT", ("SLURM_JOB_ID", "SLURM_STEP_ID")
    ),
    _Launcher("pmi", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", job=("PMI_ID_JOB", "HYDI_CONTROL_FD")),
)  # fmt: skip
_UNNAMED = frozenset({"", "none"})


def find_place(env: Mapping[str, str], *, role: str | None = None, rank: int | None = None) -> Place:
    """Read the place of this process; arguments go first, `ROLLSCOPE_ROLE` and `ROLLSCOPE_RANK` next, then the launcher.

    Raises `ConfigurationError` for a rank or count that is no number.
    """
    place = next((found for launcher in _LAUNCHERS if (found := _read(env, launcher))), Place())
    own_rank = rank if rank is not None else environment_int(env, "ROLLSCOPE_RANK", default=None)
    return msgspec.structs.replace(
        place,
        role=role if role is not None else env.get("ROLLSCOPE_ROLE", ""),
        rank=own_rank if own_rank is not None else place.rank,
        job=place.job or (f"ray/{env['RAY_JOB_ID']}" if env.get("RAY_JOB_ID") else ""),
    )


def shared_run_id(place: Place, project: str, name: str, env: Mapping[str, str]) -> str | None:
    """Return the run id that all ranks of a parallel job compute alike, or None outside one.

    Raises `ConfigurationError` when the ranks share nothing that tells their job from the next one.
    """
    if (place.world_size or 1) < 2 or place.rank is None:
        return None
    job = place.job or _parent_process(env, place)
    digest = blake2b("\x1f".join((job, project, name)).encode("utf-8", "surrogatepass"), digest_size=8, person=b"rollscope run")
    return digest.hexdigest()


def _read(env: Mapping[str, str], launcher: _Launcher) -> Place | None:
    if not any(env.get(name, "").strip().isdecimal() for name in (launcher.rank, launcher.world_size)):
        return None  # not this launcher, whatever else bears the names
    rank, world_size = (environment_int(env, name, default=None) for name in (launcher.rank, launcher.world_size))
    if rank is None or world_size is None:
        return None
    job = [env[name] for name in launcher.job if env.get(name, "").lower() not in _UNNAMED]
    return Place(
        rank=rank,
        world_size=world_size,
        local_rank=environment_int(env, launcher.local_rank, default=None),
        node_rank=environment_int(env, launcher.node_rank, default=None),
        restart=environment_int(env, launcher.restart, default=0),
        job="/".join([launcher.name, *job]) if job else "",
    )


def _parent_process(env: Mapping[str, str], place: Place) -> str:
    """Name the launcher process, which all ranks of one node have as parent."""
    local = environment_int(env, "LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", default=None)
    if local != place.world_size:
        raise ConfigurationError(
            "the ranks of this job share no job id",
            f"rank {place.rank} of {place.world_size}",
            "export the same ROLLSCOPE_RUN_ID on every node, or give torchrun an --rdzv-id",
        )
    parent = os.getppid()
    started = Path(f"/proc/{parent}/stat").read_text().rpartition(")")[2].split()[19]
    return f"{os.uname().nodename}/{parent}/{started}"
