"""Addresses of stores: checked at the start, shown without secrets."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
from pydantic import ValidationError
from sqlalchemy import make_url

from rollscope_exporters.backends.mlflow import MlflowConfig
from rollscope_exporters.backends.mlflow._uri import check_uri, hide_password, with_credentials, without_secrets
from rollscope_exporters.settings import SettingsError, load

USUAL = make_url("postgresql://h/d").get_driver_name()
"""What SQLAlchemy takes where an address names no driver."""


@pytest.mark.parametrize(
    ("uri", "hidden"),
    [
        ("postgresql://u:p@h/d", "postgresql://***@h/d"),
        ("postgresql+psycopg2://u:p@ss/w@h:5432/d", "postgresql+psycopg2://***@h:5432/d"),
        ("mysql+pymysql://h/d?user=u&password=p&ssl_ca=x", "mysql+pymysql://h/d?user=u&password=***&ssl_ca=x"),
        ("https://me:p@h/mlflow", "https://***@h/mlflow"),
        ("http://h/a@b", "http://h/a@b"),
        ("sqlite:///x@y.db", "sqlite:///x@y.db"),
    ],
)
def test_passwords_are_hidden(uri: str, hidden: str) -> None:
    """An address in a message has no user, no password and no secret in its query; the rest stays."""
    assert hide_password(uri) == hidden
    assert without_secrets(f"GET {uri} failed", uri) == f"GET {hidden} failed"


def test_a_configuration_is_shown_without_the_password() -> None:
    """Neither its dump, which `rollscope config show` prints, nor its repr has it."""
    config = MlflowConfig.model_validate({"tracking_uri": "https://me:hunter2@h", "password": "hunter3"})
    assert "hunter" not in repr(config) + str(config.model_dump(mode="json"))
    assert config.tracking_uri == "https://me:hunter2@h"


def test_an_address_that_cannot_be_used_is_not_repeated() -> None:
    """The error of the configuration says what is wrong with it, and keeps the password to itself."""
    with pytest.raises(SettingsError, match="SQLAlchemy spells it postgresql://") as caught:
        load(None, {"ROLLSCOPE__BACKENDS__MLFLOW__TRACKING_URI": "postgres://me:hunter2@h/d"})
    assert "hunter2" not in str(caught.value)


def test_a_database_gets_the_password_of_the_configuration() -> None:
    """So that it need not stand in the address; what stands there wins."""
    assert with_credentials("postgresql://h/d", "me", "p@/w") == "postgresql://me:p%40%2Fw@h/d"
    assert with_credentials("postgresql://you@h/d", "me", "x") == "postgresql://you:x@h/d"
    assert with_credentials("postgresql://you:y@h/d", "me", "x") == "postgresql://you:y@h/d"
    assert with_credentials("https://h", "me", "x") == "https://h"
    assert with_credentials("sqlite:///x.db", "me", "x") == "sqlite:///x.db"
    config = MlflowConfig.model_validate({"tracking_uri": "postgresql+psycopg2://me@h/d", "password": "hunter2"})
    assert config.store_uri == "postgresql+psycopg2://me:hunter2@h/d"


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes modules ones that are not installed."""

    def without(*names: str) -> None:
        for name in names:
            monkeypatch.setitem(sys.modules, name, None)

    return without


@pytest.mark.parametrize(
    ("uri", "cure"),
    [
        ("postgresql+psycopg2://h/d", "needs the driver psycopg2: pip install psycopg2-binary"),
        ("mysql+pymysql://h/d", "needs the driver pymysql: pip install pymysql"),
        ("mysql://h/d", "needs the driver MySQLdb: pip install mysqlclient"),
        ("postgresql://h/d", f"needs the driver {USUAL}: pip install "),
    ],
)
def test_a_missing_driver_names_what_installs_it(uri: str, cure: str, absent: Callable[..., None]) -> None:
    """At the start, where somebody is looking."""
    absent("psycopg2", "pymysql", "MySQLdb", "psycopg")
    with pytest.raises(ValueError, match="needs the driver") as caught:
        check_uri(uri)
    assert cure in str(caught.value)


@pytest.mark.skipif(USUAL == "psycopg2", reason="SQLAlchemy 2.0, the newest for Python 3.10, means psycopg2 by `postgresql://`")
def test_the_driver_that_is_there_is_offered(absent: Callable[..., None]) -> None:
    """`postgresql://` has meant psycopg 3 since SQLAlchemy 2.1; whoever has psycopg2 learns how to say so."""
    absent("psycopg")
    with pytest.raises(ValueError, match=r"write postgresql\+psycopg2://"):
        check_uri("postgresql://h/d")


@pytest.mark.parametrize(("root", "cure"), [("s3://b/x", "pip install boto3"), ("hdfs://nn:8020/x", "pip install pyarrow")])
def test_a_root_of_artifacts_that_cannot_be_written(root: str, cure: str, absent: Callable[..., None]) -> None:
    """What writes there has to be installed where the worker runs; behind a server it is the server's affair."""
    absent("boto3", "pyarrow")
    with pytest.raises(ValidationError, match=cure):
        MlflowConfig(artifact_root=root)
    MlflowConfig(tracking_uri="http://h", artifact_root=root)
