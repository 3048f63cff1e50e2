"""The MLflow backend without a server: straight into PostgreSQL or MariaDB, artifacts straight into S3."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest

from rollscope_exporters.backends import UnavailableError
from rollscope_exporters.backends.mlflow import MlflowBackend, MlflowConfig
from rollscope_exporters.testing import Contents, Sampler, deliver
from rollscope_exporters.testing.conformance import BackendConformance
from tests.exporters.backends.readers import read_mlflow
from tests.fixtures import mariadb as maria
from tests.fixtures import postgres as pg
from tests.fixtures.mariadb import MariaDb
from tests.fixtures.ports import free_port
from tests.fixtures.postgres import Postgres
from tests.fixtures.s3 import S3, forget_s3_clients

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning"),  # MLflow's own
]


class Database(BackendConformance):
    """What the conformance suite does, over a database; used by name, not collected."""

    backend = "rollscope_exporters.backends.mlflow:MlflowBackend"
    config: ClassVar[dict[str, object]] = {}

    def __init__(self, uri: str, address: str, password: str, root: str = "") -> None:
        self.uri = uri
        self.__class__.config = {"tracking_uri": address, "password": password, "artifact_root": root}

    def read(self, storage: Path, run: str) -> Contents:
        return read_mlflow(self.uri, run)


@pytest.fixture(autouse=True)
def _keys(s3: S3) -> None:
    """Those of S3 are in the environment, and nobody remembers others."""
    os.environ.update(s3.environment)
    forget_s3_clients()


@pytest.fixture(scope="module")
def address(postgres: Postgres) -> str:
    """A database of this module's own, its address without a password."""
    postgres.database("direct")
    return postgres.uri("direct", "")


@pytest.fixture
def config(address: str) -> Callable[..., MlflowConfig]:
    """Makes configurations that reach it, but for what a test changes."""

    def make(**changes: object) -> MlflowConfig:
        return MlflowConfig.model_validate(
            {"tracking_uri": address, "password": pg.PASSWORD, "artifact_root": "s3://mlflow/direct", **changes}
        )

    return make


def test_everything_arrives_in_postgresql_and_s3(postgres: Postgres, s3: S3, address: str, tmp_path: Path) -> None:
    """Killed after part of a run, a successor makes it whole; its files are objects that the worker wrote itself."""
    database = Database(postgres.uri("direct"), address, pg.PASSWORD, "s3://mlflow/direct")
    database.test_survives_a_kill(tmp_path, 5)
    assert any(name.endswith("/artifacts/config.json") for name in s3.names("direct/samples"))
    assert not (tmp_path / "mlartifacts").exists()


def test_odd_values_arrive_in_postgresql(postgres: Postgres, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL refuses what SQLite takes, such as NUL: none of it fails or disturbs what stands beside it."""
    monkeypatch.setattr(Sampler.__init__, "__defaults__", ("odd", "grpo-demo", "samples"))
    Database(postgres.uri("direct"), address, pg.PASSWORD, "s3://mlflow/direct").test_takes_odd_values(tmp_path)


def test_everything_arrives_in_mariadb(mariadb: MariaDb, tmp_path: Path) -> None:
    """The same with MySQL's protocol, and artifacts in a folder."""
    Database(mariadb.database("direct"), mariadb.uri("direct", ""), maria.PASSWORD).test_takes_every_signal(tmp_path)


def test_a_lost_connection_is_made_anew(config: Callable[..., MlflowConfig], postgres: Postgres, tmp_path: Path) -> None:
    """Cut off by the database, the next write goes through all the same."""
    sampler = Sampler("cut", project="cut")
    backend = MlflowBackend(config(), tmp_path, {})
    deliver(backend, [sampler.started()])
    statement = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'direct'"
    assert postgres.ask(statement, "postgres")
    backend.write([sampler.metrics(1), sampler.metrics(2)])
    (count,) = postgres.ask("SELECT count(*) FROM metrics JOIN tags USING (run_uuid) WHERE tags.value = 'cut'", "direct")
    assert count[0] == len(sampler.metrics(1).values) * 2


@pytest.mark.parametrize(
    ("changes", "cure"),
    [
        ({"password": "wrong"}, "set username and password"),
        ({"tracking_uri": "postgresql+psycopg2://rollscope@127.0.0.1:{port}/nowhere"}, 'database "nowhere" does not exist'),
        ({"tracking_uri": "postgresql+psycopg2://rollscope@127.0.0.1:{nobody}/direct"}, "Check that it runs"),
    ],
)
def test_a_database_that_cannot_be_had_says_why(
    changes: dict[str, str], cure: str, config: Callable[..., MlflowConfig], postgres: Postgres, tmp_path: Path
) -> None:
    """At once, with the address, without the password."""
    places = {key: text.replace("{port}", str(postgres.port)).replace("{nobody}", str(free_port())) for key, text in changes.items()}
    with pytest.raises(UnavailableError, match=cure) as caught:
        MlflowBackend(config(**places), tmp_path, {})
    assert "127.0.0.1" in str(caught.value)
    assert pg.PASSWORD not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "environment", "cure"),
    [
        ({"artifact_root": "s3://nowhere/x"}, {}, "(Create it|put there)"),
        ({}, {"AWS_SECRET_ACCESS_KEY": "wrong"}, "AWS_SECRET_ACCESS_KEY"),
        ({}, {"MLFLOW_S3_ENDPOINT_URL": "http://127.0.0.1:9"}, "MLFLOW_S3_ENDPOINT_URL"),
    ],
)
def test_a_bucket_that_cannot_be_had_says_why(
    changes: dict[str, str], environment: dict[str, str], cure: str, config: Callable[..., MlflowConfig], tmp_path: Path
) -> None:
    """It is no fault of a record: delivery waits, and the reason names the cure."""
    os.environ.update({"AWS_MAX_ATTEMPTS": "1", **environment})
    sampler = Sampler("no-bucket", project=f"no-bucket-{tmp_path.name}")
    backend = MlflowBackend(config(**changes), tmp_path, {})
    with pytest.raises(UnavailableError, match=cure):
        backend.write([sampler.started()])
