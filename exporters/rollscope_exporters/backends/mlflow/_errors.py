"""Sorts what MLflow raises into: never, not now, and everything else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .._protocol import RejectedError, UnavailableError
from ._uri import hide_password, install_line, without_secrets

_NEVER = {"INVALID_PARAMETER_VALUE", "BAD_REQUEST", "RESOURCE_ALREADY_EXISTS", "RESOURCE_DOES_NOT_EXIST", "INVALID_STATE", "NOT_FOUND"}
_NOT_NOW = {"TEMPORARILY_UNAVAILABLE", "REQUEST_LIMIT_EXCEEDED", "RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED", "ABORTED"}
_UNREACHABLE = (
    "max retries exceeded", "connection", "timed out", "name resolution", "database is locked", "disk is full", "disk i/o error",
    "unable to open database", "readonly database", "queuepool", "error code 502", "error code 503", "error code 504",
)  # fmt: skip
_ANSWERED = "too many 500 error responses"
"""What MLflow's client says after a server has failed on every try; it calls that `Max retries exceeded`, as if nobody had answered."""
_FILE_CLIENTS = {"botocore", "boto3", "s3transfer", "pyarrow", "azure", "google"}
"""Packages that write artifacts and raise what is their own."""
_DENIED = (
    "accessdenied",
    "access denied",
    "invalidaccesskeyid",
    "signaturedoesnotmatch",
    "locate credentials",
    "partial credentials",
    "(403)",
    "forbidden",
)
_CURE_OF_FILES = (
    ". Where it fails to store artifacts only, its log has the cause: look at its bucket, AWS_* keys and MLFLOW_S3_ENDPOINT_URL"
)

Probe = Callable[[], object]


@contextmanager
def translated(uri: str, probe: Probe | None = None, cure: str = "") -> Iterator[None]:
    """Turn errors of MLflow into the protocol's.

    A server that answers 500 may be sick or may choke on one record: when `probe`, a harmless call, goes through, it is the record;
    else the error ends with `cure`.
    """
    import requests
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (MlflowException, requests.RequestException, SQLAlchemyError, OSError) as error:
        raise _sorted(error, uri, probe, cure) from error
    except ImportError as error:
        raise UnavailableError(f"{hide_password(uri)} needs {error.name or error}: {install_line(error)}") from error


@contextmanager
def translated_files(uri: str, probe: Probe) -> Iterator[None]:
    """The same where artifacts are written, which have a store of their own; `probe` writes one."""
    with translated(uri, probe, _CURE_OF_FILES):
        try:
            yield
        except (RejectedError, UnavailableError):
            raise
        except Exception as error:
            trouble = _trouble_with_files(error)
            if not trouble:
                raise
            raise UnavailableError(
                f"artifacts of the MLflow at {hide_password(uri)} cannot be written: {trouble} ({_said(error, uri)})"
            ) from error


def _trouble_with_files(error: Exception) -> str:
    """Return what is wrong with the artifacts' store and its cure, empty when it is none of its errors."""
    lowered = str(error).lower()
    if "nosuchbucket" in lowered or "bucket does not exist" in lowered:
        return "there is no such bucket. Create it, or name another in artifact_root or the server's --artifacts-destination"
    if "libjvm" in lowered or "libhdfs" in lowered:
        return "HDFS needs Java and a Hadoop client here. Set JAVA_HOME, HADOOP_HOME and CLASSPATH (what `hadoop classpath --glob` prints)"
    foreign = type(error).__module__.partition(".")[0] in _FILE_CLIENTS
    if not foreign:
        return ""
    if any(sign in lowered for sign in _DENIED):
        return "access is denied. Give the bridge AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY of somebody who may read, list and put there"
    if "endpoint" in lowered:
        return "the store does not answer. Check the network, and MLFLOW_S3_ENDPOINT_URL where it is not Amazon's"
    return "the store fails"


def _sorted(error: Exception, uri: str, probe: Probe | None, cure: str) -> Exception:
    said, text, code = _said(error, uri), str(error).lower(), getattr(error, "error_code", "")
    refusal = _refusal(text, code)
    if refusal:
        return UnavailableError(f"MLflow at {hide_password(uri)} {refusal} ({said})")
    if code in _NEVER:
        return RejectedError(without_secrets(str(error), uri))
    silent = _ANSWERED not in text and (isinstance(error, OSError) or any(sign in text for sign in _UNREACHABLE))
    if code in _NOT_NOW or silent:
        return UnavailableError(
            f"MLflow at {hide_password(uri)} cannot be reached: {said}. Check that it runs and the address is right{cure}"
        )
    if probe is not None and _works(probe):
        return RejectedError(f"MLflow fails on this record alone: {said}")
    return UnavailableError(f"MLflow at {hide_password(uri)} fails: {said}{cure}")


def _refusal(lowered: str, code: str) -> str:
    if "host header" in lowered or ("403" in lowered and "rebinding" in lowered):
        return "refuses the name it is called by (Host header, 403): start it with --allowed-hosts naming that host"
    if code in {"UNAUTHENTICATED"} or "error code 401" in lowered or "401 client error" in lowered or "not authenticated" in lowered:
        return (
            "asks for credentials that it knows (401): set username and password, or token, of backends.mlflow, "
            "or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN"
        )
    if code == "PERMISSION_DENIED" or "error code 403" in lowered or "403 client error" in lowered:
        return "denies permission (403): the user needs the right to edit the experiment"
    if "certificate" in lowered:
        return "has a certificate that is not trusted: set ca_file or MLFLOW_TRACKING_SERVER_CERT_PATH"
    if "password authentication failed" in lowered or "access denied for user" in lowered or "no password supplied" in lowered:
        return "does not let this user in: set username and password of backends.mlflow"
    return ""


def _works(probe: Probe) -> bool:
    try:
        probe()
    except Exception:  # noqa: BLE001 - whatever it is, the store does not work now, and the first error is reported
        return False
    return True


def _said(error: Exception, uri: str) -> str:
    """What the error says, without secrets; of a long text the beginning and the end, where causes stand."""
    text = without_secrets(str(error), uri)
    return text if len(text) <= 400 else f"{text[:200]} … {text[-200:]}"
