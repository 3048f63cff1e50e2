"""Addresses of stores: which can be used, with which drivers, and how they are shown."""

from __future__ import annotations

import re
from importlib.util import find_spec

_DATABASES = ("sqlite", "postgresql", "mysql", "mssql")
_DRIVERS = {
    "psycopg2": "psycopg2-binary",
    "psycopg": "'psycopg[binary]'",
    "MySQLdb": "mysqlclient",
    "pymysql": "pymysql",
    "mysql": "mysql-connector-python",
}
"""Module → what installs it, where the names differ or there is a choice."""
_FILE_STORES = {
    "s3": ("boto3", "boto3"),
    "gs": ("google.cloud.storage", "google-cloud-storage"),
    "wasbs": ("azure.storage.blob", "azure-storage-blob"),
    "abfss": ("azure.storage.filedatalake", "azure-storage-file-datalake"),
    "hdfs": ("pyarrow", "pyarrow"),
    "viewfs": ("pyarrow", "pyarrow"),
}
_USER_INFO = re.compile(r"(?<=://)[^/@\s]+@")
_INSIDE_QUERY = re.compile(r"(?<=[?&])([^=&]*(?:password|passwd|pwd|secret|token)[^=&]*)=[^&]*", re.IGNORECASE)


def is_server(uri: str) -> bool:
    """Whether MLflow is reached by HTTP there."""
    return uri.lower().startswith(("http://", "https://"))


def check_uri(uri: str) -> None:
    """Raise `ValueError` with the cure for a store that cannot hold traces, or whose driver is not installed."""
    scheme = uri.partition(":")[0].partition("+")[0].lower()
    if not uri or is_server(uri):
        return
    if scheme not in _DATABASES:
        hint = "; SQLAlchemy spells it postgresql://" if scheme == "postgres" else ""
        raise ValueError(
            f"tracking_uri {hide_password(uri)!r}: MLflow's file store holds no traces and other schemes are not supported{hint}; "
            "use a server (http://host:5000) or a database (sqlite:///path/mlflow.db, postgresql+psycopg2://…)"
        )
    if scheme != "sqlite":
        _check_driver(uri)


def check_file_store(uri: str) -> None:
    """Raise `ValueError` with the install line when what writes to an artifact root is not installed."""
    module, package = _FILE_STORES.get(uri.partition(":")[0].lower(), ("", ""))
    if module and not _is_installed(module):
        raise ValueError(f"artifact_root {hide_password(uri)!r} needs {module}: pip install {package}")


def install_line(error: ImportError) -> str:
    """Return what installs the module that `error` misses."""
    module = error.name or str(error).rpartition(" ")[2].strip("'")
    packages = dict(_FILE_STORES.values()) | _DRIVERS
    return f"pip install {packages.get(module) or packages.get(module.partition('.')[0]) or module}"


def with_credentials(uri: str, username: str, password: str) -> str:
    """Return a database's `uri` with user and password in it, where it has none of its own."""
    if is_server(uri) or uri.startswith("sqlite") or not (username or password):
        return uri
    from sqlalchemy.engine import make_url

    url = make_url(uri)
    url = url.set(username=url.username or username or None, password=url.password or password or None)
    return url.render_as_string(hide_password=False)


def hide_password(uri: str) -> str:
    """Return `uri` without user, password and whatever its query calls a secret."""
    scheme, separator, rest = uri.partition("://")
    if not separator or scheme.lower().startswith("sqlite"):
        return uri
    before, question, query = rest.partition("?")
    authority, slash, path = before.partition("/")
    if not is_server(uri):  # a database's password may have a slash in it
        authority, slash, path = before, "", ""
    if "@" in authority:
        authority = f"***@{authority.rpartition('@')[2]}"
    return f"{scheme}://{authority}{slash}{path}" + _INSIDE_QUERY.sub(r"\1=***", f"{question}{query}")


def without_secrets(text: str, uri: str) -> str:
    """Return `text`, of an error about `uri`, with addresses as `hide_password` shows them."""
    return _USER_INFO.sub("***@", text.replace(uri, hide_password(uri)))


def _check_driver(uri: str) -> None:
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError, NoSuchModuleError

    shown = hide_password(uri)
    try:
        make_url(uri).get_dialect().import_dbapi()
    except (ArgumentError, NoSuchModuleError, ValueError) as error:
        raise ValueError(f"tracking_uri {shown!r}: {without_secrets(str(error), uri)}") from None
    except ImportError as error:
        cure = install_line(error)
        if uri.startswith("postgresql://") and _is_installed("psycopg2"):
            cure = f"write postgresql+psycopg2://, which is installed; postgresql:// means psycopg 3 ({cure})"
        raise ValueError(f"tracking_uri {shown!r} needs the driver {error.name or error}: {cure}") from None


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
