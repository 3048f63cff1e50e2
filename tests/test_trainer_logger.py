"""The one-object form, over a real journal."""

import pytest

import rollscope as rs
from rollscope import vocabulary as v
from rollscope.journal import LogReader, list_logs
from rollscope.records import Event, decode


@pytest.fixture
def journal(tmp_path, monkeypatch):
    """Where the run's records lie; returns its events."""
    monkeypatch.setenv("ROLLSCOPE_SHIPPER", "off")

    def events():
        records = [decode(entry.payload) for log in list_logs(tmp_path / "node" / "producers") for entry in LogReader(log).read(0, 1 << 20)]
        return [record for record in records if isinstance(record, Event)]

    yield tmp_path / "node", events
    rs.finish()


def test_it_begins_logs_and_ends_a_run(journal):
    """Arguments as trainers pass them; scalars by step; the run is finished once."""
    directory, events = journal
    logger = rs.TrainerLogger("airline", "grpo", ["console"], {"lr": 1e-6}, directory=directory, storage=directory, circumstances=False)
    logger.log({"loss": 0.5}, step=1)
    logger.log(data={"loss": 0.25}, step=2, backend=["wandb"])
    logger.finish()
    logger.finish()
    started, first, second, finished = events()
    assert (started.name, started.attributes[v.RUN_BACKENDS]) == (v.EVENT_RUN_STARTED, ["console"])
    assert [(event.attributes[v.STEP_INDEX], event.attributes[v.METRICS]) for event in (first, second)] == [
        (1, {"loss": 0.5}),
        (2, {"loss": 0.25}),
    ]
    assert (finished.name, finished.attributes[v.RUN_STATUS]) == (v.EVENT_RUN_FINISHED, "finished")


def test_an_exception_fails_the_run(journal):
    """In `with` the run ends as the block did."""
    directory, events = journal
    with pytest.raises(ZeroDivisionError), rs.TrainerLogger("p", "e", directory=directory, storage=directory, circumstances=False):
        raise ZeroDivisionError("x")
    finished = events()[-1]
    assert (finished.attributes[v.RUN_STATUS], finished.attributes[v.RUN_ERROR]) == ("failed", "ZeroDivisionError: x")


def test_a_wrong_configuration_raises_at_once(tmp_path):
    """Before anything is recorded, with cause and cure."""
    with pytest.raises(rs.ConfigurationError):
        rs.TrainerLogger("p", "e", directory=tmp_path, storage=tmp_path, capture="everything")
