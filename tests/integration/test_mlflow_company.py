"""The MLflow backend against a server on PostgreSQL and S3, behind basic authentication and TLS."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import ClassVar

import pytest

from rollscope_exporters.backends import UnavailableError
from rollscope_exporters.backends.mlflow import MlflowBackend, MlflowConfig
from rollscope_exporters.testing import Contents, Sampler, deliver
from rollscope_exporters.testing.conformance import BackendConformance
from tests.exporters.backends.readers import read_mlflow
from tests.fixtures.certificates import Certificates
from tests.fixtures.mlflow_company import ADMINISTRATOR, PASSWORD, CompanyMlflow
from tests.fixtures.s3 import forget_s3_clients

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning"),  # MLflow's own
]


class TestCompanyMlflow(BackendConformance):
    """The conformance suite. Runs of all tests share the server, so each has a project of its own."""

    backend = "rollscope_exporters.backends.mlflow:MlflowBackend"
    config: ClassVar[dict[str, object]] = {}
    project = ""
    store = ""
    test_survives_a_kill_before_the_first_checkpoint = None  # the same code over SQLite has shown it

    @pytest.mark.parametrize("cut", [5])
    def test_survives_a_kill(self, tmp_path: Path, cut: int) -> None:
        """As in the suite, at one place only: each death costs an import of MLflow."""
        super().test_survives_a_kill(tmp_path, cut)

    @pytest.fixture(autouse=True)
    def _server(self, company_mlflow: CompanyMlflow, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
        self.__class__.config = company_mlflow.section
        self.store = company_mlflow.store
        self.project = re.sub(r"\W", "-", request.node.name)
        monkeypatch.setattr(Sampler.__init__, "__defaults__", ("run-1", "grpo-demo", self.project))
        company_mlflow.client()

    def read(self, storage: Path, run: str) -> Contents:
        return read_mlflow(str(self.config["tracking_uri"]), run, self.project, self.store)


def opened(company: CompanyMlflow, storage: Path, **changes: object) -> MlflowBackend:
    """A backend configured as it should be, but for `changes`."""
    return MlflowBackend(MlflowConfig.model_validate({**company.section, **changes}), storage, {})


@pytest.mark.parametrize(
    ("changes", "cure"),
    [
        ({"username": "", "password": ""}, "set username and password"),
        ({"password": "wrong-but-long"}, "set username and password"),
        ({"ca_file": None}, "set ca_file"),
        ({"ca_file": "other"}, "set ca_file"),
    ],
)
def test_who_is_not_let_in_is_told_what_to_set(
    changes: dict[str, object], cure: str, company_mlflow: CompanyMlflow, tmp_path: Path
) -> None:
    """At once, with the address and the cure, without the password."""
    if changes.get("ca_file"):
        Certificates(tmp_path)
        changes = {"ca_file": tmp_path / "authority.pem"}
    with pytest.raises(UnavailableError, match=cure) as caught:
        opened(company_mlflow, tmp_path, **changes)
    assert company_mlflow.uri in str(caught.value)
    assert PASSWORD not in str(caught.value)
    assert "wrong-but-long" not in str(caught.value)


def test_an_experiment_of_somebody_else(company_mlflow: CompanyMlflow, tmp_path: Path) -> None:
    """Without the right to edit it nothing is written, and the error says which right is missing."""
    company_mlflow.client(ADMINISTRATOR).create_experiment("not-yours")
    backend = opened(company_mlflow, tmp_path)
    with pytest.raises(UnavailableError, match="right to edit"):
        backend.write([Sampler(project="not-yours").started()])


def test_a_server_that_may_not_write_its_bucket(company_mlflow: CompanyMlflow, tmp_path: Path) -> None:
    """It is no fault of the record: it is not set aside, and arrives when the server has its rights back."""
    sampler = Sampler("no-rights", project="no-rights")
    backend = opened(company_mlflow, tmp_path)
    deliver(backend, [sampler.started()])
    with company_mlflow.s3.without_rights(), pytest.raises(UnavailableError, match="its bucket"):
        backend.write([sampler.artifact()])
    assert deliver(backend, [sampler.artifact()]) == []
    assert any(name.endswith("configs/train.yaml") for name in company_mlflow.s3.names("artifacts"))


def test_artifacts_that_no_server_hands_on(company_mlflow: CompanyMlflow, tmp_path: Path) -> None:
    """In an experiment whose artifacts are not proxied the worker writes to S3 itself, with keys from its environment."""
    company_mlflow.client().create_experiment("unproxied", artifact_location="s3://mlflow/unproxied")
    sampler = Sampler("unproxied", project="unproxied")
    backend = opened(company_mlflow, tmp_path)
    forget_s3_clients()
    os.environ["AWS_EC2_METADATA_DISABLED"] = "true"
    with pytest.raises(UnavailableError, match="AWS_SECRET_ACCESS_KEY"):
        backend.write([sampler.started()])
    forget_s3_clients()
    os.environ.update(company_mlflow.s3.environment)
    assert deliver(backend, [sampler.started(), sampler.artifact()]) == []
    (name,) = (name for name in company_mlflow.s3.names("unproxied") if name.endswith("configs/train.yaml"))
    assert company_mlflow.s3.content(name) == b"lr: 1e-6\n"
