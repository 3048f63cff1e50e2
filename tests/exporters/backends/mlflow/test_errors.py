"""What MLflow raises, sorted into never, not now, and poison."""

from __future__ import annotations

import pytest

from rollscope_exporters.backends import RejectedError, UnavailableError
from rollscope_exporters.backends.mlflow._errors import translated, translated_files

pytest.importorskip("mlflow.exceptions", reason="pip install 'rollscope[mlflow]'")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # of MLflow's own imports


def raised(text: str, code: str = "INTERNAL_ERROR") -> Exception:
    from mlflow.exceptions import MlflowException
    from mlflow.protos.databricks_pb2 import ErrorCode

    return MlflowException(text, error_code=ErrorCode.Value(code))


@pytest.mark.parametrize(
    ("error", "cure"),
    [
        (
            ("failed with error code 403. Invalid Host header - possible DNS rebinding attack detected", "PERMISSION_DENIED"),
            "--allowed-hosts",
        ),
        (("failed with error code 401 != 200", "UNAUTHENTICATED"), "MLFLOW_TRACKING_USERNAME"),
        (('FATAL: password authentication failed for user "me"', "INTERNAL_ERROR"), "set username and password"),
        (("Permission denied", "PERMISSION_DENIED"), "right to edit"),
        (("certificate verify failed", "INTERNAL_ERROR"), "ca_file"),
        (("Max retries exceeded with url", "INTERNAL_ERROR"), "Check that it runs"),
        (("database is locked", "TEMPORARILY_UNAVAILABLE"), "Check that it runs"),
    ],
)
def test_trouble_with_the_store_names_the_cure(error: tuple[str, str], cure: str) -> None:
    """What a retry can mend is unavailability, with the address and what to do, and without the password."""
    with pytest.raises(UnavailableError, match=cure) as caught, translated("https://me:secret@host"):
        raise raised(*error)
    assert "secret" not in str(caught.value)
    assert "host" in str(caught.value)


def test_bad_values_are_rejected() -> None:
    """What MLflow calls an invalid parameter will never be taken."""
    with pytest.raises(RejectedError), translated("sqlite:///x"):
        raise raised("Invalid metric name", "INVALID_PARAMETER_VALUE")


def test_a_failure_of_one_record_is_told_from_one_of_the_store() -> None:
    """After a failure without a name a harmless call decides: it works, so it is the record; it fails too, so it is the store."""

    def fails() -> None:
        raise ValueError("down")

    with pytest.raises(RejectedError), translated("http://h", lambda: 1):
        raise raised("boom")
    with pytest.raises(UnavailableError), translated("http://h", fails):
        raise raised("boom")


@pytest.mark.parametrize("error", [ConnectionError("refused"), TimeoutError("late")])
def test_connection_errors_are_unavailability(error: OSError) -> None:
    """Errors of the network below MLflow are a matter of time."""
    with pytest.raises(UnavailableError), translated("http://h", lambda: 1):
        raise error


def test_a_missing_package_names_what_installs_it() -> None:
    """What MLflow imports only when it is needed is missing for all records, and none of them is to blame."""
    with pytest.raises(UnavailableError, match="pip install boto3"), translated("http://h", lambda: 1):
        raise ModuleNotFoundError("No module named 'boto3'", name="boto3")


def of_botocore(text: str) -> Exception:
    """An error of the package that writes to S3."""
    return type("ClientError", (Exception,), {"__module__": "botocore.exceptions"})(text)


@pytest.mark.parametrize(
    ("error", "cure"),
    [
        (of_botocore("Unable to locate credentials"), "AWS_ACCESS_KEY_ID"),
        (of_botocore("An error occurred (NoSuchBucket) when calling the PutObject operation"), "Create it"),
        (of_botocore("Could not connect to the endpoint URL"), "MLFLOW_S3_ENDPOINT_URL"),
        (of_botocore("something new"), "the store fails"),
        (OSError("Unable to load libjvm: dlopen failed"), "JAVA_HOME"),
        (OSError("Unable to load libhdfs: dlopen failed"), "HADOOP_HOME"),
    ],
)
def test_trouble_with_the_store_of_artifacts_names_the_cure(error: Exception, cure: str) -> None:
    """Errors of the package that writes files are unavailability, even while MLflow's own store works."""
    with pytest.raises(UnavailableError, match=cure) as caught, translated_files("https://me:secret@host", lambda: 1):
        raise error
    assert "secret" not in str(caught.value)


def test_an_artifact_that_fails_is_told_from_a_store_that_does() -> None:
    """A server that only says 500 is asked to take another file."""

    def fails() -> None:
        raise raised("error code 500")

    silent = "Max retries exceeded with url: /x (Caused by ResponseError('too many 500 error responses'))"
    with pytest.raises(UnavailableError, match="its bucket"), translated_files("http://h", fails):
        raise raised(silent)
    with pytest.raises(RejectedError), translated_files("http://h", lambda: 1):
        raise raised(silent)
    with pytest.raises(RejectedError), translated_files("http://h", lambda: 1):
        raise raised("error code 413")
