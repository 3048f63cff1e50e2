"""Tests of beginning a run."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import rollscope.recorder as R
from rollscope import vocabulary as v
from rollscope.errors import ConfigurationError
from rollscope.journal import JournalError
from rollscope.recorder import gate, session
from rollscope.recorder.environment import DRIVER
from rollscope.records import Event, Record

ReadBack = Callable[..., list[Record]]


def started(read_back: ReadBack) -> list[Event]:
    return [record for record in read_back() if isinstance(record, Event) and record.name == v.EVENT_RUN_STARTED]


def test_the_driver_records_how_its_run_began(read_back: ReadBack) -> None:
    """Config with its secrets masked, tags, notes, backends, dataset and circumstances, in the lane that is never dropped."""
    recorder = R.init(
        "airline", "grpo", {"lr": 1e-6, "wandb": {"api_key": "sesame"}, "inf": float("inf")}, ["a", "b"], "why", ["jsonl"],
        dataset="tau", dataset_digest="sha256:1", system="verl", algorithm="grpo",
    )  # fmt: skip
    assert recorder is not None
    assert recorder.driver
    event = started(read_back)[-1]
    assert json.loads(str(event.attributes[v.RUN_CONFIG])) == {"lr": 1e-6, "wandb": {"api_key": "***"}, "inf": None}
    assert event.attributes[v.RUN_TAGS] == ["a", "b"]
    assert event.attributes[v.RUN_NOTES] == "why"
    assert event.attributes[v.RUN_BACKENDS] == ["jsonl"]
    assert event.attributes[v.DATASET_NAME] == "tau"
    circumstances = json.loads(str(event.attributes[v.RUN_CIRCUMSTANCES]))
    assert circumstances["dataset"] == {"name": "tau", "digest": "sha256:1"}
    assert circumstances["packages"]["msgspec"]
    resource = recorder.identity.resource()
    assert (resource[v.PROJECT_NAME], resource[v.RUN_NAME]) == ("airline", "grpo")
    assert (resource["rl.system"], resource["rl.algorithm"]) == ("verl", "grpo")


def test_one_switch_turns_circumstances_off(read_back: ReadBack) -> None:
    """No command line, no git, no versions."""
    R.init("p", "e", circumstances=False)
    (event,) = started(read_back)
    assert set(event.attributes) == {v.RUN_CONFIG}


def test_circumstances_that_take_long_come_later(read_back: ReadBack, monkeypatch: pytest.MonkeyPatch) -> None:
    """`init` does not wait for a slow git: the event is recorded at once, and again, whole, when it has answered."""
    import threading

    answer = threading.Event()
    monkeypatch.setattr("rollscope.circumstances.slow", lambda: answer.wait(10) and {"git": {"commit": "abc"}})
    R.init("p", "e")
    (first,) = started(read_back)
    answer.set()
    for thread in threading.enumerate():
        if thread.name == "rollscope-circumstances":
            thread.join(10)
    _, second = started(read_back)
    assert "git" not in json.loads(str(first.attributes[v.RUN_CIRCUMSTANCES]))
    assert json.loads(str(second.attributes[v.RUN_CIRCUMSTANCES]))["git"] == {"commit": "abc"}
    assert first.time == second.time


def test_a_large_configuration_stays_readable_json(read_back: ReadBack) -> None:
    """The longest parts are shortened, not the end of the text."""
    R.init("p", "e", {"prompt": "x" * 400_000, "list": list(range(50_000)), "lr": 1}, circumstances=False)
    config = json.loads(str(started(read_back)[0].attributes[v.RUN_CONFIG]))
    assert config["lr"] == 1
    assert config["prompt"].startswith("xxx")


def test_a_configuration_of_any_objects_is_recorded(read_back: ReadBack) -> None:
    """What JSON cannot say becomes its description."""
    R.init("p", "e", {"path": Path("/x"), "set": {1}, "object": object()}, circumstances=False)
    config = json.loads(str(started(read_back)[0].attributes[v.RUN_CONFIG]))
    assert config["set"] == [1]
    assert "/x" in config["path"]


def test_init_again_returns_the_running_recorder(caplog: pytest.LogCaptureFixture) -> None:
    """The same call is silent; another one is counted and says so once."""
    first = R.init("p", "e", circumstances=False)
    assert R.init("p", "e", circumstances=False) is first
    assert R.init() is first
    assert gate.counted() == {}
    assert R.init("other", "e") is first
    assert R.init("other", "e") is first
    assert gate.counted() == {"init_again": 2}
    assert sum("another project" in record.getMessage() for record in caplog.records) == 1


def test_after_finish_another_run_may_begin() -> None:
    """One program, two runs, two ids; the environment is clean in between."""
    first = R.init("p", "e", circumstances=False)
    assert os.environ["ROLLSCOPE_RUN_ID"]
    R.finish()
    assert not [name for name in os.environ if name.startswith("ROLLSCOPE_RUN")]
    assert R.current() is None
    second = R.init("p", "e", circumstances=False)
    assert first is not None
    assert second is not None
    assert first.identity.run.id != second.identity.run.id


def test_everything_can_be_switched_off(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Disabled, `init` returns None and touches nothing, even with settings that could not work."""
    for name, value in (("ROLLSCOPE_DISABLED", "1"), ("OTEL_SDK_DISABLED", "true")):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            assert R.init("p", "e", backends=["nonsense"]) is None
            assert R.current() is None
    assert list(tmp_path.iterdir()) == []


# -- identity -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ROLLSCOPE_RANK", "ROLLSCOPE_RUN_ATTEMPT"])
def test_a_number_in_the_environment_that_is_none_raises(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`init` says which variable it is; it does not go on under another rank or attempt."""
    monkeypatch.setenv(name, "x")
    with pytest.raises(ConfigurationError, match=name):
        R.init("airline", "grpo", circumstances=False)
    assert R.current() is None


def test_a_worker_joins_the_run_of_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the driver's variables `init` is a worker's: same run, no announcement, own role."""
    monkeypatch.setenv("ROLLSCOPE_RUN_ID", "run-1")
    monkeypatch.setenv("ROLLSCOPE_PROJECT", "airline")
    monkeypatch.setenv("ROLLSCOPE_RUN_NAME", "grpo")
    monkeypatch.setenv("ROLLSCOPE_RUN_ATTEMPT", "3")
    monkeypatch.setenv(DRIVER, "ab" * 8)
    recorder = R.init("airline", "grpo", role="rollout")
    assert recorder is not None
    assert not recorder.driver
    assert (recorder.identity.run.id, recorder.identity.run.attempt, recorder.identity.role) == ("run-1", 3, "rollout")


@pytest.mark.parametrize("asked", [{"experiment": "trial-1"}, {"project": "other"}, {"run_id": "mine"}])
def test_a_trial_of_a_sweep_is_a_run_of_its_own(
    asked: dict[str, str], monkeypatch: pytest.MonkeyPatch, read_back: ReadBack, caplog: pytest.LogCaptureFixture
) -> None:
    """Started by a program that records, with another name: its configuration and its steps are not the other run's."""
    for name, value in {"RUN_ID": "sweep", "PROJECT": "p", "RUN_NAME": "sweep", "RUN_ATTEMPT": "3", "DRIVER": "ab" * 8}.items():
        monkeypatch.setenv(f"ROLLSCOPE_{name}", value)
    recorder = R.init(**{"project": "p", "experiment": "sweep", "config": {"lr": 1}, **asked}, circumstances=False)
    assert recorder is not None
    run = recorder.identity.run
    assert recorder.driver
    assert run.id != "sweep"
    assert run.attempt == 0
    assert {"project": run.project, "experiment": run.name, "run_id": run.id}.items() >= asked.items()
    assert len(started(read_back)) == 1
    assert os.environ["ROLLSCOPE_RUN_ID"] == run.id
    assert f"init asks for another {next(iter(asked))} than the run 'sweep'" in caplog.text


def test_a_rank_that_asks_for_another_run_joins_all_the_same(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """It cannot begin one; that it asked is said."""
    for name, value in {"RUN_ID": "r", "PROJECT": "p", "RUN_NAME": "n", "DRIVER": "ab" * 8}.items():
        monkeypatch.setenv(f"ROLLSCOPE_{name}", value)
    recorder = R.init("p", "other", rank=3)
    assert recorder is not None
    assert (recorder.driver, recorder.identity.run.name) == (False, "n")
    assert "a process of this rank begins none, so it joins that one" in caplog.text


def test_a_run_id_of_the_user_s_own_makes_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job script that exports the id leaves the beginning to rank 0."""
    monkeypatch.setenv("ROLLSCOPE_RUN_ID", "job-1")
    recorder = R.init("p", "e", circumstances=False)
    assert recorder is not None
    assert recorder.driver
    assert recorder.identity.run.id == "job-1"


@pytest.mark.parametrize(("rank", "driver"), [("0", True), ("3", False)])
def test_rank_0_of_a_parallel_job_is_the_driver(monkeypatch: pytest.MonkeyPatch, rank: str, driver: bool, read_back: ReadBack) -> None:
    """All ranks call `init` alike, one announces the run; all have the same id."""
    for name, value in {"RANK": rank, "WORLD_SIZE": "4", "TORCHELASTIC_RUN_ID": "job", "TORCHELASTIC_RESTART_COUNT": "2"}.items():
        monkeypatch.setenv(name, value)
    recorder = R.init("p", "e", circumstances=False)
    assert recorder is not None
    assert recorder.driver is driver
    assert len(started(read_back)) == driver
    assert recorder.identity.run.attempt == 2
    from rollscope.launchers import find_place, shared_run_id

    assert recorder.identity.run.id == shared_run_id(find_place(os.environ), "p", "e", {})


def test_a_rank_without_a_run_is_an_error() -> None:
    """Told to be rank 3 of nothing: a run without a driver would never begin."""
    assert "ROLLSCOPE_RUN_ID" in refused(rank=3).cure
    recorder = R.init("p", "e", rank=0, circumstances=False)
    assert recorder is not None
    assert recorder.driver


def test_resuming_a_run_raises_its_attempt() -> None:
    """The same id, begun again on this node, is the next attempt; `resume=False` begins at 0, `attempt` has the last word."""
    attempts = []
    for arguments in ({}, {}, {"resume": True}, {"resume": False}, {"attempt": 9}, {}):
        recorder = R.init("p", "e", run_id="run-1", circumstances=False, **arguments)  # type: ignore[arg-type]
        assert recorder is not None
        attempts.append(recorder.identity.run.attempt)
        R.finish()
    assert attempts == [0, 1, 2, 0, 9, 10]


def test_resuming_a_run_that_began_elsewhere_is_a_later_attempt() -> None:
    """A node that has never seen the run takes the word for it."""
    recorder = R.init("p", "e", run_id="run-1", resume=True, circumstances=False)
    assert recorder is not None
    assert recorder.identity.run.attempt == 1


def test_the_environment_hands_everything_to_workers(tmp_path: Path) -> None:
    """Folder, storage, endpoint, capture and run; absolute, for workers elsewhere."""
    recorder = R.init("p", "e", endpoint="http://c:4318", capture={"text": False}, circumstances=False)
    assert recorder is not None
    assert R.environment() == {
        "ROLLSCOPE_DIR": str(tmp_path / "rollscope/journal"),
        "ROLLSCOPE_STORAGE": str(tmp_path / "rollscope"),
        "ROLLSCOPE_RUN_ID": recorder.identity.run.id,
        "ROLLSCOPE_RUN_NAME": "e",
        "ROLLSCOPE_PROJECT": "p",
        "ROLLSCOPE_RUN_ATTEMPT": "0",
        "ROLLSCOPE_DRIVER": recorder.identity.producer,
        "ROLLSCOPE_ENDPOINT": "http://c:4318",
        "ROLLSCOPE_CAPTURE": "tokens,logprobs,arguments",
    }
    assert {name: os.environ[name] for name in R.environment()} == R.environment()


def test_without_a_run_there_is_nothing_to_hand_over() -> None:
    """`environment()` of a program that does not record is empty."""
    assert R.environment() == {}


# -- what cannot work -----------------------------------------------------------------------------------------------


def refused(**arguments: object) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as caught:
        R.init("p", "e", **arguments)  # type: ignore[arg-type]
    assert R.current() is None
    assert "ROLLSCOPE_RUN_ID" not in os.environ
    return caught.value


def test_a_grpc_endpoint_needs_grpcio(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra, `init` stops with the install line instead of leaving it to the shipper's log."""
    monkeypatch.setenv("ROLLSCOPE_SHIPPER", "on")
    monkeypatch.setattr("rollscope.recorder.checks.find_spec", lambda name: None)
    assert "pip install 'rollscope[grpc]'" in refused(endpoint="grpc://127.0.0.1:1").cure


def test_a_certificate_that_cannot_be_read_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A wrong path among the endpoint's TLS settings stops at the start."""
    monkeypatch.setenv("ROLLSCOPE_SHIPPER", "on")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", str(tmp_path / "none.pem"))
    assert refused(endpoint="https://127.0.0.1:1").value == str(tmp_path / "none.pem")


def test_an_unknown_backend_names_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the embedded bridge is to serve it, a name nobody installed is an error."""
    monkeypatch.setenv("ROLLSCOPE_SHIPPER", "on")
    assert "'mlflow'" in refused(backends=["mlfow"]).cure


def test_a_missing_extra_gives_the_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """No bridge and no endpoint: said at the start, with three ways out."""
    monkeypatch.setenv("ROLLSCOPE_SHIPPER", "on")
    monkeypatch.setattr("rollscope.recorder.checks.find_spec", lambda name: None)
    cure = refused().cure
    assert "pip install 'rollscope[bridge]'" in cure
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" in cure


def test_a_backend_s_missing_package_gives_the_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """`mlflow` is an extra of its own."""
    monkeypatch.setenv("ROLLSCOPE_SHIPPER", "on")
    monkeypatch.setattr("rollscope.recorder.checks.find_spec", lambda name: None if name == "mlflow" else object())
    assert refused(backends="mlflow").cure == "pip install 'rollscope[mlflow]'"


def test_with_an_endpoint_the_bridge_elsewhere_decides() -> None:
    """A backend that is not installed here may be installed there."""
    assert R.init("p", "e", endpoint="http://c:4318", backends=["theirs"], circumstances=False) is not None


def test_a_network_file_system_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """No network file system here: the journal's own check is made to say what it says on one."""

    def refuse(folder: Path) -> None:
        raise JournalError(f"{folder} lies on /home, a nfs file system. Set ROLLSCOPE_DIR to a folder on a local disk")

    monkeypatch.setattr("rollscope.recorder.opening.check_local", refuse)
    assert "ROLLSCOPE_DIR" in refused().cure


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    """A file in the way."""
    (tmp_path / "file").write_text("")
    assert "ROLLSCOPE_DIR" in refused(directory=tmp_path / "file" / "journal").cure


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere; run the tests as an ordinary user to see this one")
def test_a_folder_without_write_permission_is_refused(tmp_path: Path) -> None:
    """A folder of somebody else's."""
    tmp_path.chmod(0o500)
    try:
        assert "writable" in refused(directory=tmp_path / "journal").cause
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"endpoint": "nonsense"}, "endpoint"),
        ({"journal_limit": "lots"}, "size"),
        ({"capture": ["txt"]}, "capture"),
        ({"resume": True}, "run_id"),
        ({"run_id": "../up"}, "run_id"),
        ({"tokenizer": "/no/such/tokenizer.json"}, "tokenizer"),
    ],
)
def test_arguments_that_cannot_work_are_refused(arguments: dict[str, object], word: str) -> None:
    """Each with cause, value and cure, before anything has begun."""
    assert word in str(refused(**arguments))


def test_a_journal_that_cannot_be_opened_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the journal objects to is a configuration error of `init`."""

    def fail(*arguments: object, **named: object) -> None:
        raise JournalError("no space for a segment")

    monkeypatch.setattr("rollscope.recorder.opening.Journal", fail)
    assert "no space" in refused().cure


# -- joining without init ---------------------------------------------------------------------------------------------


def test_a_process_joins_at_its_first_call(monkeypatch: pytest.MonkeyPatch, read_back: ReadBack) -> None:
    """`current()` finds the run in the environment; the log is opened by the first record, not before."""
    monkeypatch.setenv("ROLLSCOPE_RUN_ID", "run-1")
    recorder = R.current()
    assert recorder is not None
    assert recorder is R.current()
    assert recorder.journal is None
    assert read_back() == []
    recorder.event("e", {"a": 1})
    assert [record.name for record in read_back() if isinstance(record, Event)] == ["e"]


def test_a_broken_environment_is_counted_not_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that cannot join works on without recording."""
    monkeypatch.setenv("ROLLSCOPE_RUN_ID", "run-1")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "pigeon")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:1")
    assert R.current() is None
    assert R.current() is None
    assert gate.counted() == {"join": 1}


def test_a_worker_whose_folder_is_gone_counts_its_records(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No journal can be opened: nothing raises, each record is counted, and one attempt is made, not one a record."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ROLLSCOPE_RUN_ID", "run-1")
    monkeypatch.setenv("ROLLSCOPE_DIR", str(tmp_path / "file/journal"))
    recorder = R.current()
    assert recorder is not None
    attempts = []
    monkeypatch.setattr(recorder, "_open_journal", lambda identity, made=recorder._open_journal: attempts.append(1) or made(identity))
    recorder.event("e", {})
    with recorder.start_span("work"):
        pass
    assert gate.counted() == {"journal": 3}
    assert len(attempts) == 1
    (tmp_path / "file").unlink()
    monkeypatch.setattr(recorder, "_open_again", 0)
    recorder.event("e", {})
    assert recorder.journal is not None


def test_without_a_run_there_is_no_recorder(monkeypatch: pytest.MonkeyPatch) -> None:
    """And each further question is a look-up: the environment is read once."""
    assert R.current() is None
    monkeypatch.setenv("ROLLSCOPE_RUN_ID", "later")
    assert R.current() is None
    session.forget()
    assert R.current() is not None


def test_a_tokenizer_is_kept_for_the_shipper_and_told_to_workers(read_back: ReadBack, tmp_path: Path) -> None:
    """Its digest is in the announcement and in the environment, its content in the node folder."""
    pytest.importorskip("tokenizers")
    from tokenizers import Tokenizer, models

    recorder = R.init("p", "e", tokenizer=Tokenizer(models.BPE()), circumstances=False)
    assert recorder is not None
    assert recorder.tokenizer
    assert [path.name.partition(".")[0] for path in (tmp_path / "rollscope/journal/tokenizers").iterdir()] == [recorder.tokenizer]
    assert R.environment()["ROLLSCOPE_TOKENIZER"] == recorder.tokenizer
    assert started(read_back)[0].attributes[v.TOKENIZER_DIGEST] == recorder.tokenizer
