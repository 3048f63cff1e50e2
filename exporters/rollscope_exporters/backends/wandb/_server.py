"""Asks the server what it has; errors come out as the protocol's."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from .._protocol import UnavailableError
from ._compat import missing_files, server_rows
from ._config import WandbConfig

CLOUD = "https://api.wandb.ai"
_TIMEOUT = (5.0, 20.0)


class Unreachable(UnavailableError):
    """When the server does not answer; rows go on into an offline folder."""


class Server:
    """The API of one server as one account sees it."""

    def __init__(self, config: WandbConfig) -> None:
        self._config = config
        self.base_url = config.base_url or os.environ.get("WANDB_BASE_URL", "").rstrip("/") or CLOUD
        self.entity = config.entity or os.environ.get("WANDB_ENTITY", "")
        self.api_key = config.api_key.get_secret_value() or os.environ.get("WANDB_API_KEY", "")

    def rows(self, project: str, run_id: str) -> int:
        """Rows the server has of a run. Raises `Unreachable`, or `UnavailableError` with the cure where it refuses."""
        return server_rows(self._post, self.entity, project, run_id)

    def missing(self, project: str, run_id: str, names: Sequence[str]) -> set[str]:
        """Files out of `names` that the server has not got. Raises as `rows` does."""
        try:
            return set(missing_files(self._post, self.entity, project, run_id, names))
        except (KeyError, TypeError) as error:
            raise Unreachable(f"W&B at {self.base_url} does not tell which files it has of {run_id}") from error

    def _post(self, query: str, variables: dict[str, object]) -> dict[str, Any]:
        import requests

        proxies = {"http": self._config.http_proxy, "https": self._config.https_proxy}
        try:
            answer = requests.post(
                f"{self.base_url}/graphql",
                data=json.dumps({"query": query, "variables": variables}),
                auth=("api", self.api_key),
                headers={"Content-Type": "application/json", **self._config.headers},
                proxies={scheme: proxy for scheme, proxy in proxies.items() if proxy} or None,
                timeout=_TIMEOUT,
                verify=not self._config.insecure_tls,
            )
        except requests.RequestException as error:
            raise Unreachable(f"W&B at {self.base_url} cannot be reached: {type(error).__name__}. Check the address and proxy") from error
        return self._data(answer)

    def _data(self, answer: Any) -> dict[str, Any]:
        if answer.status_code in (401, 403):
            raise UnavailableError(
                f"W&B at {self.base_url} refuses the API key ({answer.status_code}): set WANDB_API_KEY or backends.wandb.api_key_file"
            )
        if answer.status_code == 404:
            raise UnavailableError(f"there is no W&B at {self.base_url} (404): check backends.wandb.base_url")
        if answer.status_code >= 400:
            raise Unreachable(f"W&B at {self.base_url} answers {answer.status_code}")
        try:
            data: dict[str, Any] = answer.json().get("data") or {}
        except ValueError as error:
            raise UnavailableError(f"what answers at {self.base_url} is no W&B: check backends.wandb.base_url") from error
        return data


def is_online(config: WandbConfig, server: Server) -> bool:
    """Where the configuration leaves it open: as `WANDB_MODE` says, else online when there is an API key."""
    said = config.mode if config.mode != "auto" else os.environ.get("WANDB_MODE", "")
    return said == "online" or (said not in {"offline", "disabled", "dryrun"} and bool(server.api_key))
