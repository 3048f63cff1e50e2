"""Tests of reading a process's place from its launcher."""

from __future__ import annotations

import subprocess
import sys

import pytest

from rollscope.errors import ConfigurationError
from rollscope.launchers import Place, find_place, shared_run_id

TORCHRUN = {
    "RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "GROUP_RANK": "1", "LOCAL_WORLD_SIZE": "4", "TORCHELASTIC_RESTART_COUNT": "2",
    "TORCHELASTIC_RUN_ID": "job-7",
}  # fmt: skip
SLURM = {
    "SLURM_PROCID": "3", "SLURM_NTASKS": "4", "SLURM_LOCALID": "1", "SLURM_NODEID": "1", "SLURM_JOB_ID": "99", "SLURM_STEP_ID": "0",
    "SLURM_RESTART_COUNT": "1",
}  # fmt: skip
OPEN_MPI = {
    "OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "0", "PMIX_NAMESPACE": "ns",
}  # fmt: skip
PMI = {"PMI_RANK": "1", "PMI_SIZE": "2", "MPI_LOCALRANKID": "1"}


@pytest.mark.parametrize(
    ("env", "place"),
    [
        ({}, Place()),
        (TORCHRUN, Place("", 5, 8, 1, 1, 2, "torchrun/job-7")),
        (SLURM, Place("", 3, 4, 1, 1, 1, "slurm/99/0")),
        (OPEN_MPI, Place("", 2, 4, 0, None, 0, "openmpi/ns")),
        (PMI, Place("", 1, 2, 1, None, 0, "")),
        ({"RANK": "1"}, Place()),
        ({"RANK": "first", "WORLD_SIZE": "all"}, Place()),
    ],
)
def test_each_launcher_is_read(env: dict[str, str], place: Place) -> None:
    """Rank, world size, local rank, node, restarts and job come from the launcher's variables; half of them is nothing."""
    assert find_place(env) == place


@pytest.mark.parametrize(
    ("env", "name"),
    [
        ({"ROLLSCOPE_RANK": "x"}, "ROLLSCOPE_RANK"),
        ({"ROLLSCOPE_RANK": "-1"}, "ROLLSCOPE_RANK"),
        ({**TORCHRUN, "RANK": "x"}, "RANK"),
        ({**TORCHRUN, "WORLD_SIZE": "eight"}, "WORLD_SIZE"),
        ({**TORCHRUN, "LOCAL_RANK": "1.5"}, "LOCAL_RANK"),
        ({**TORCHRUN, "TORCHELASTIC_RESTART_COUNT": "two"}, "TORCHELASTIC_RESTART_COUNT"),
        ({**SLURM, "SLURM_NODEID": "n1"}, "SLURM_NODEID"),
    ],
)
def test_a_number_that_is_none_is_an_error(env: dict[str, str], name: str) -> None:
    """It names the variable, its value and the cure; so does every variable of a launcher that is there."""
    with pytest.raises(ConfigurationError, match=f"{name} is not an integer of at least 0.*{env[name]}.*correct or unset it"):
        find_place(env)


def test_torchrun_inside_slurm_gives_its_own_ranks() -> None:
    """The inner launcher is the one that started this process."""
    assert find_place({**SLURM, **TORCHRUN}).rank == 5


def test_arguments_go_before_own_variables_and_those_before_the_launcher() -> None:
    """Role and rank can be told."""
    env = {**SLURM, "ROLLSCOPE_ROLE": "rollout", "ROLLSCOPE_RANK": "7"}
    assert (find_place(env).role, find_place(env).rank) == ("rollout", 7)
    assert find_place(env, role="env", rank=0).rank == 0
    assert find_place(env, role="env", rank=0).role == "env"


def test_ray_gives_a_job_to_ranks_that_a_trainer_set_by_itself() -> None:
    """verl sets RANK and WORLD_SIZE in Ray actors; Ray's job tells one run from the next."""
    env = {"RANK": "0", "WORLD_SIZE": "2", "RAY_JOB_ID": "04000000"}
    assert find_place(env).job == "ray/04000000"


def test_all_ranks_of_a_job_compute_one_run_id() -> None:
    """Without a word between them, and another one in the next job or experiment."""
    ids = {shared_run_id(find_place({**SLURM, "SLURM_PROCID": str(rank)}), "p", "e", {}) for rank in range(4)}
    assert len(ids) == 1
    assert shared_run_id(find_place({**SLURM, "SLURM_JOB_ID": "100"}), "p", "e", {}) not in ids
    assert shared_run_id(find_place(SLURM), "p", "other", {}) not in ids


def test_a_single_process_shares_nothing() -> None:
    """Outside a parallel job each run gets a new id."""
    assert shared_run_id(Place(), "p", "e", {}) is None
    assert shared_run_id(Place(rank=0, world_size=1, job="x"), "p", "e", {}) is None


def test_ranks_of_one_node_are_told_by_their_common_parent() -> None:
    """torchrun without an id on a single node: its own process is what the ranks share."""
    program = "import os; from rollscope.launchers import *; env = dict(os.environ); print(shared_run_id(find_place(env), 'p', 'e', env))"
    env = {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": "none"}
    ids = {
        subprocess.run([sys.executable, "-c", program], env={**env, "RANK": rank}, capture_output=True, text=True, check=True).stdout
        for rank in "01"
    }
    assert len(ids) == 1
    assert len(ids.pop().strip()) == 16


def test_ranks_of_several_nodes_without_a_common_id_are_an_error() -> None:
    """Two halves of a job must not become two runs in silence."""
    env = {"RANK": "0", "WORLD_SIZE": "16", "LOCAL_WORLD_SIZE": "8"}
    with pytest.raises(ConfigurationError, match="ROLLSCOPE_RUN_ID"):
        shared_run_id(find_place(env), "p", "e", env)
