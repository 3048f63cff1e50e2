"""Runs: found by our run id, never by name, so that a restart goes on in the same one."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ...records import RunFinished, RunStarted
from .._names import encode_name
from ._connection import Connection
from ._json import as_json
from ._metrics import spelled
from ._otlp import clean_text
from ._params import flat_params

RUN_ID_TAG = "rollscope.run.id"
_STATUS = {"finished": "FINISHED", "failed": "FAILED", "aborted": "KILLED"}
_KNOWN_RUNS = 200
_PER_CALL = 100
_SHORT = 250
_FEW = 16

log = logging.getLogger("rollscope.worker")


class Handle(NamedTuple):
    """A run of MLflow's."""

    run_id: str
    experiment_id: str


class Runs:
    """The runs of one tracking store by our run id."""

    def __init__(self, connection: Connection, state: Mapping[str, list[str]], titles: Mapping[str, list[str]]) -> None:
        """`titles`: run → its name and project, for runs that have to be made again."""
        self._connection = connection
        self._handles = {run: Handle(*handle) for run, handle in state.items()}
        self._titles = {run: (name, project) for run, (name, project) in titles.items()}

    def checkpoint(self) -> dict[str, list[str]]:
        return {run: list(handle) for run, handle in list(self._handles.items())[-_KNOWN_RUNS:]}

    def titles(self) -> dict[str, list[str]]:
        """Return the part of the state that is known without the store."""
        return {run: list(title) for run, title in list(self._titles.items())[-_KNOWN_RUNS:]}

    def start(self, record: RunStarted) -> None:
        """Create the run, or reopen the one that has its id; then its configuration, tags and circumstances."""
        client = self._connection.client
        experiment = self._connection.experiment(record.project)
        handle = self._handles.get(record.run) or self._find(record.run, [experiment]) or self._create(record, experiment)
        self._handles[record.run] = handle
        self._titles[record.run] = (record.name, record.project)
        if client.get_run(handle.run_id).info.status != "RUNNING":
            client.update_run(handle.run_id, status="RUNNING")
        self._write_config(handle.run_id, record)
        self._write_tags(handle.run_id, record)

    def finish(self, record: RunFinished) -> None:
        """Close the run with what happened to it."""
        run_id = self.handle(record.run).run_id
        if record.error:
            self._connection.client.set_tag(run_id, "rollscope.error", clean_text(record.error, 8000))
        self._connection.client.set_terminated(run_id, _STATUS[record.status], max(record.time, 0) // 1_000_000)

    def handle(self, run: str) -> Handle:
        """Return the run of a record; made under the experiment `rollscope` when nothing is known of it."""
        if run not in self._handles:
            found = self._find(run, self._connection.all_experiments())
            name, project = self._titles.get(run, (run, "rollscope"))
            unknown = RunStarted(run=run, name=name, project=project, time=0)
            self._handles[run] = found or self._create(unknown, self._connection.experiment(unknown.project))
        return self._handles[run]

    def forget_gone(self, runs: Iterable[str]) -> bool:
        """Forget those of `runs` that the store has no more, so that they are made again; return whether there were any."""
        gone = [run for run in runs if run in self._handles and not self._exists(self._handles[run])]
        for run in gone:
            log.error("run %s is gone from MLflow, with all it had; it is made again for what follows", run)
            del self._handles[run]
        if gone:
            self._connection.forget_experiments()
        return bool(gone)

    def _exists(self, handle: Handle) -> bool:
        from mlflow.exceptions import MlflowException

        try:
            self._connection.client.get_run(handle.run_id)
        except MlflowException as error:
            return bool(error.error_code != "RESOURCE_DOES_NOT_EXIST")
        return True

    def _find(self, run: str, experiments: list[str]) -> Handle | None:
        filter_string = f"tags.`{RUN_ID_TAG}` = '{_tag(run)}'"
        found = self._connection.client.search_runs(experiments, filter_string, max_results=1, order_by=["attributes.start_time ASC"])
        return Handle(found[0].info.run_id, found[0].info.experiment_id) if found else None

    def _create(self, record: RunStarted, experiment: str) -> Handle:
        made = self._connection.client.create_run(
            experiment, start_time=record.time // 1_000_000, tags={RUN_ID_TAG: _tag(record.run)}, run_name=clean_text(record.name, 250)
        )
        return Handle(made.info.run_id, experiment)

    def _write_config(self, run_id: str, record: RunStarted) -> None:
        client = self._connection.client
        params, known = flat_params(record.config), client.get_run(run_id).data.params
        self._log_params(run_id, {key: value for key, value in params.items() if key not in known})
        changed = sorted(key for key, value in params.items() if known.get(key, value) != value)
        if changed:  # MLflow's parameters can be written once: the first attempt's stay, the artifact has the new ones
            client.set_tag(run_id, "rollscope.config.changed", clean_text(as_json(changed), 8000))
        with self._connection.guarded_files(run_id):
            self._write_files(run_id, record)

    def _write_files(self, run_id: str, record: RunStarted) -> None:
        client = self._connection.client
        if record.config:
            client.log_text(run_id, as_json(record.config, indent=2), "config.json")
            if record.attempt:
                client.log_text(run_id, as_json(record.config, indent=2), f"attempts/{record.attempt}/config.json")
        if record.circumstances:
            name = f"attempts/{record.attempt}/circumstances.json" if record.attempt else "circumstances.json"
            client.log_text(run_id, as_json(record.circumstances, indent=2), name)

    def _log_params(self, run_id: str, params: dict[str, str]) -> None:
        from mlflow.entities import Param

        entities = [Param(key, value) for key, value in params.items()]
        for start in range(0, len(entities), _PER_CALL):
            self._connection.client.log_batch(run_id, params=entities[start : start + _PER_CALL])

    def _write_tags(self, run_id: str, record: RunStarted) -> None:
        from mlflow.entities import RunTag

        entities = [RunTag(key, clean_text(value, 8000)) for key, value in run_tags(record).items()]
        for start in range(0, len(entities), _PER_CALL):
            self._connection.client.log_batch(run_id, tags=entities[start : start + _PER_CALL])


def run_tags(record: RunStarted) -> dict[str, str]:
    """Return tags of a run: the user's by name, with `true` as value, its notes and attempt, and circumstances that are one short value."""
    tags = {spelled(tag): "true" for tag in record.tags}
    tags["rollscope.attempt"] = str(record.attempt)
    if record.notes:
        tags["mlflow.note.content"] = record.notes
    for key, value in flat_params(_short_circumstances(record)).items():
        if len(value) <= _SHORT:
            tags[f"circumstances.{key}"[:250]] = value
    return tags | _source_tags(record.circumstances)


def _source_tags(circumstances: Mapping[str, object]) -> dict[str, str]:
    """Return where MLflow's pages look for the program and its commit."""
    tags = {}
    command, git = circumstances.get("command"), circumstances.get("git")
    if command:
        tags["mlflow.source.name"] = " ".join(map(str, command)) if isinstance(command, list) else str(command)
    if isinstance(git, Mapping) and git.get("commit"):
        tags["mlflow.source.git.commit"] = str(git["commit"])
    return tags


def _short_circumstances(record: RunStarted) -> dict[str, object]:
    """Without long lists such as package versions; the artifact has them."""
    return {key: value for key, value in record.circumstances.items() if not isinstance(value, (dict, list)) or len(value) <= _FEW}


def _tag(run: str) -> str:
    """Return `run` in characters that stand safely inside a search filter."""
    return encode_name(run, lambda character: character.isalnum() or character in "-_.:")
