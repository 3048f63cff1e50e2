"""Opens MLflow: environment first, since its client reads settings from there only, then the store."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ._compat import TraceStore
from ._config import MlflowConfig
from ._database import ensure_database
from ._errors import translated, translated_files
from ._lean import lean
from ._uri import check_uri, is_server, with_credentials

if TYPE_CHECKING:
    from mlflow import MlflowClient

_PROBE = "rollscope/probe.txt"
"""An artifact that says whether one can be written."""


class Connection:
    """A tracking store: `client` for runs, `traces` for traces, and the experiments that were asked for.

    Raises `UnavailableError` when the store cannot be reached.
    """

    def __init__(self, config: MlflowConfig, storage: Path) -> None:
        self.uri = _resolve(config, storage)
        self._artifact_root = config.artifact_root or str(storage.absolute() / "mlartifacts")
        self._experiments: dict[str, str] = {}
        _prepare_environment(config)
        ensure_database(self.uri)
        self.client, self.traces = self._open()

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Errors inside come out as the protocol's."""
        with translated(self.uri, self._probe):
            yield

    @contextmanager
    def guarded_files(self, run_id: str) -> Iterator[None]:
        """The same for what is written to the artifacts of a run: these lie elsewhere, and may fail while the rest works."""
        with translated_files(self.uri, lambda: self.client.log_text(run_id, "", _PROBE)):
            yield

    def experiment(self, name: str) -> str:
        """Return the id of the experiment `name`, made or restored when need be."""
        name = name.replace("\0", "")[:250].strip() or "rollscope"
        if name not in self._experiments:
            self._experiments[name] = self._find_experiment(name) or self._create_experiment(name)
        return self._experiments[name]

    def forget_experiments(self) -> None:
        """Look them up again: the store may be another one."""
        self._experiments.clear()

    def all_experiments(self) -> list[str]:
        return [experiment.experiment_id for experiment in self.client.search_experiments(max_results=1000)]

    def _open(self) -> tuple[MlflowClient, TraceStore]:
        with lean():  # connecting imports more of MLflow
            from mlflow import MlflowClient

            logging.getLogger("mlflow").setLevel(logging.WARNING)
            with translated(self.uri):
                _connect_once(self.uri)
                client = MlflowClient(self.uri)
                client.search_experiments(max_results=1)
                return client, TraceStore(self.uri)

    def _probe(self) -> object:
        return self.client.search_experiments(max_results=1)

    def _find_experiment(self, name: str) -> str:
        found = self.client.get_experiment_by_name(name)
        if found is None:
            return ""
        if found.lifecycle_stage == "deleted":
            self.client.restore_experiment(found.experiment_id)
        return str(found.experiment_id)

    def _create_experiment(self, name: str) -> str:
        from mlflow.exceptions import MlflowException

        location = None if is_server(self.uri) else f"{self._artifact_root.rstrip('/')}/{_folder(name)}"
        try:
            return str(self.client.create_experiment(name, artifact_location=location))
        except MlflowException:
            found = self._find_experiment(name)  # somebody else was faster
            if not found:
                raise
            return found


def _resolve(config: MlflowConfig, storage: Path) -> str:
    uri = config.tracking_uri or os.environ.get("MLFLOW_TRACKING_URI", "")
    check_uri(uri)
    uri = with_credentials(uri, config.username, config.password.get_secret_value())
    return uri or f"sqlite:///{storage.absolute() / 'mlflow.db'}"


def _connect_once(uri: str) -> None:
    """Raise at once what is wrong with a database: MLflow itself tries for a hundred seconds before it says a word."""
    if is_server(uri) or uri.startswith("sqlite"):
        return
    from sqlalchemy import create_engine
    from sqlalchemy.pool import NullPool

    create_engine(uri, poolclass=NullPool).connect().close()


def _prepare_environment(config: MlflowConfig) -> None:
    os.environ.update(
        MLFLOW_DISABLE_TELEMETRY="true",
        MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT="true",
        MLFLOW_ENABLE_OTLP_EXPORTER="false",  # else MLflow's own spans would come back to the bridge
        MLFLOW_HTTP_REQUEST_MAX_RETRIES="1",  # the worker repeats, with its position kept
        MLFLOW_HTTP_REQUEST_TIMEOUT=str(max(1, round(config.timeout))),
    )
    secrets = {
        "MLFLOW_TRACKING_USERNAME": config.username,
        "MLFLOW_TRACKING_PASSWORD": config.password.get_secret_value(),
        "MLFLOW_TRACKING_TOKEN": config.token.get_secret_value(),
        "MLFLOW_TRACKING_SERVER_CERT_PATH": str(config.ca_file or ""),
        "MLFLOW_TRACKING_INSECURE_TLS": "true" if config.insecure_tls else "",
    }
    os.environ.update({name: value for name, value in secrets.items() if value})


def _folder(name: str) -> str:
    return "".join(character if character.isalnum() or character in "-_." else "_" for character in name)[:100].strip(".") or "experiment"
