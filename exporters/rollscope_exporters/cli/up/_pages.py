"""The trackers' own pages on the files that the backends write here."""

from __future__ import annotations

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

from pydantic import BaseModel

from ...settings import Settings, SettingsError, backend_config, split_address
from ._service import Service


def pages(settings: Settings, mlflow: str, swanlab: str, tensorboard: str) -> list[Service]:
    """Return the pages there can be; each address is `host:port`."""
    found = [_mlflow(settings, mlflow), _swanlab(settings, swanlab), _tensorboard(settings, tensorboard)]
    return [service for service in found if service is not None]


def mlflow_store(settings: Settings) -> str | None:
    """Return the database the MLflow backend writes, None when there is no such backend or a server has it."""
    if settings.backends is not None and "mlflow" not in settings.backends:
        return None
    if find_spec("mlflow") is None:
        return None
    config = backend_config("mlflow", (settings.backends or {}).get("mlflow", {}))
    uri = str(getattr(config, "store_uri", "")) or f"sqlite:///{settings.storage.absolute() / 'mlflow.db'}"
    return None if uri.startswith(("http://", "https://")) else uri


def _mlflow(settings: Settings, address: str) -> Service | None:
    uri = mlflow_store(settings)
    if uri is None or find_spec("flask") is None:  # the skinny client brings no pages
        return None
    host, port = split_address(address)
    command = [sys.executable, "-m", "mlflow", "server", "--host", host, "--port", str(port), "--workers", "1"]
    store = {"MLFLOW_BACKEND_STORE_URI": uri}  # no argument: these can be read by everybody on the host, a password among them
    return Service("MLflow", command, [address], f"http://{address}", environment=store, problem=_unprepared(uri))


def _unprepared(uri: str) -> str:
    """Make sure that the database exists before the server and the backend open it at once; return what went wrong."""
    from ...backends import UnavailableError
    from ...backends.mlflow import ensure_database

    try:
        ensure_database(uri)
    except UnavailableError as error:
        return str(error)
    return ""


def _swanlab(settings: Settings, address: str) -> Service | None:
    config = _configured(settings, "swanlab")
    if config is None:
        return None
    program = shutil.which("swanlab", path=str(Path(sys.executable).parent)) or shutil.which("swanlab")
    if program is None or find_spec("swanboard") is None:
        return Service("SwanLab", problem="its pages are not installed: pip install 'swanlab[dashboard]'")
    folder = _folder(settings, getattr(config, "dir", None), "swanlog")
    host, port = split_address(address)
    command = [program, "watch", str(folder), "--host", host, "--port", str(port)]
    database = folder / "runs.swanlab"  # it never looks again for one that was not there
    return Service("SwanLab", command, [address], f"http://{address}", needs=database)


def _tensorboard(settings: Settings, address: str) -> Service | None:
    config = _configured(settings, "tensorboard")
    if config is None:
        return None
    if find_spec("tensorboard") is None:
        return Service("TensorBoard", problem="it is not installed: pip install tensorboard")
    folder = _folder(settings, getattr(config, "path", None), "tensorboard")
    host, port = split_address(address)
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(folder), "--host", host, "--port", str(port)]
    return Service("TensorBoard", command, [address], f"http://{address}")


def _configured(settings: Settings, name: str) -> BaseModel | None:
    if not settings.backends or name not in settings.backends:
        return None
    try:
        return backend_config(name, settings.backends[name])
    except SettingsError:
        return None  # the bridge says so


def _folder(settings: Settings, chosen: Path | None, name: str) -> Path:
    folder = (chosen or settings.storage / name).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    return folder
