"""Asks SwanLab's server whether it is there and takes the key; the library says only "check the API key" to either."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from .._protocol import UnavailableError
from ._config import SwanlabConfig

CLOUD = "https://api.swanlab.cn"
_TIMEOUT = (5.0, 15.0)


@dataclass(frozen=True, slots=True)
class Server:
    """One server as one account sees it."""

    api_host: str
    web_host: str
    workspace: str
    api_key: str = field(repr=False)

    @classmethod
    def of(cls, config: SwanlabConfig) -> Server:
        """The one that the configuration, or else the environment, names."""
        host = config.api_host or os.environ.get("SWANLAB_API_HOST", "") or CLOUD
        return cls(
            api_host=host.rstrip("/").removesuffix("/api"),
            web_host=config.web_host or os.environ.get("SWANLAB_WEB_HOST", ""),
            workspace=config.workspace or os.environ.get("SWANLAB_WORKSPACE", ""),
            api_key=config.api_key.get_secret_value() or os.environ.get("SWANLAB_API_KEY", ""),
        )

    def check(self) -> None:
        """Log in once. Raises `UnavailableError` with the cure."""
        import requests

        if not self.api_key:
            raise UnavailableError("SwanLab needs an API key: set SWANLAB_API_KEY or backends.swanlab.api_key_file")
        try:
            answer = requests.post(f"{self.api_host}/api/login/api_key", headers={"authorization": self.api_key}, timeout=_TIMEOUT)
        except requests.RequestException as error:
            cure = "Check the address and proxy"
            raise UnavailableError(f"SwanLab at {self.api_host} cannot be reached: {type(error).__name__}. {cure}") from error
        if answer.status_code in (401, 403):
            cure = "set SWANLAB_API_KEY or backends.swanlab.api_key_file"
            raise UnavailableError(f"SwanLab at {self.api_host} refuses the API key ({answer.status_code}): {cure}")
        if answer.status_code >= 400:
            raise UnavailableError(f"SwanLab at {self.api_host} answers {answer.status_code}: check backends.swanlab.api_host")
