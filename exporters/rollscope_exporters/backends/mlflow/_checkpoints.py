"""Checkpoints as artifacts of the run and, where asked for, as versions of a registered model."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from rollscope import vocabulary as v

from ...uploads import Order
from ._connection import Connection
from ._metrics import spelled

if TYPE_CHECKING:
    from mlflow import MlflowClient

_RUN, _PLACE = "run_id", "path"
_UID_TAG = "rollscope.artifact.uid"


class Checkpoints:
    """Brings files of a checkpoint to `<name>/…` within its run's artifacts."""

    def __init__(self, connection: Connection, registered_model: str) -> None:
        """`registered_model`: the model whose versions checkpoints become; empty for none."""
        self._connection = connection
        self._registered_model = registered_model

    def upload(self, order: Order, file: Path, name: str) -> None:
        folder = PurePosixPath(order.target[_PLACE]) / PurePosixPath(name).parent
        with self._connection.guarded_files(order.target[_RUN]):
            self._connection.client.log_artifact(order.target[_RUN], str(file), str(folder))

    def finish(self, order: Order) -> None:
        """Make a version, unless one of this upload is there, and point its aliases to it."""
        if not self._registered_model:
            return
        with self._connection.guarded():
            client = self._connection.client
            version = self._find(client, order) or self._create(client, order)
            for alias in order.artifact.aliases:
                client.set_registered_model_alias(self._registered_model, alias, version)

    def _find(self, client: MlflowClient, order: Order) -> str:
        found = client.search_model_versions(f"name = '{self._registered_model}' and tags.`{_UID_TAG}` = '{order.artifact.uid}'")
        return str(found[0].version) if found else ""

    def _create(self, client: MlflowClient, order: Order) -> str:
        if not client.search_registered_models(f"name = '{self._registered_model}'", max_results=1):
            client.create_registered_model(self._registered_model)
        run_id = order.target[_RUN]
        source = f"{client.get_run(run_id).info.artifact_uri}/{order.target[_PLACE]}"
        step = {} if order.artifact.step is None else {v.STEP_INDEX: str(order.artifact.step)}
        made = client.create_model_version(
            self._registered_model,
            source,
            run_id=run_id,
            tags={_UID_TAG: order.artifact.uid, "rollscope.digest": order.artifact.digest, **step},
        )
        return str(made.version)


def target_of(run_id: str, name: str) -> dict[str, str]:
    """Where the files of a checkpoint go."""
    return {_RUN: run_id, _PLACE: spelled(name)}
